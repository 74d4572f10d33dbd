"""What the tests on a cluster of several nodes on this machine share."""

import contextlib
import hashlib
import subprocess
import time
from pathlib import Path

import numpy as np
import PIL.Image

from oodometer.datasets import imagenet1k

STORE = 80 * 2**20
"""Bytes of the object store of a node: nearly the least that Ray takes."""


def photographs(root, count=24, side=64):
    """Write pictures with texture, two to a class, in folders named by wnid."""
    for number in range(count):
        rng = np.random.default_rng(number)
        coarse = PIL.Image.fromarray(rng.integers(0, 256, (side // 8, side // 8, 3)).astype(np.uint8))
        place = root / imagenet1k().classes[number // 2 * 7]
        place.mkdir(parents=True, exist_ok=True)
        coarse.resize((side, side), PIL.Image.Resampling.BICUBIC).save(place / f"{number:04d}.png")
    return root


def digests(root):
    """Return the SHA-256 of each file below a folder, but for locks."""
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def predictions(run):
    """Return the SHA-256 of all that a run has kept but its manifest, which tells when it was made."""
    found = {name: digest for name, digest in digests(run).items() if name.endswith(".parquet")}
    assert found
    return found


def wait_for(condition, process=None):
    until = time.monotonic() + 120
    while not condition():
        assert process is None or process.poll() is None, "the process ended before"
        assert time.monotonic() < until, "there is no progress"
        time.sleep(0.02)


@contextlib.contextmanager
def started(command, **options):
    """Start a process, and see that it is gone in the end."""
    process = subprocess.Popen(command, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait(60)


def environment(state):
    """Return the variables that nodes and drivers need to find ``faulty`` and its files."""
    return {"OODOMETER_FAULTY": str(state), "PYTHONPATH": str(Path(__file__).parent)}


class Bucket:
    """A bucket of the S3 that the environment names, asked by fsspec itself."""

    def __init__(self, name):
        import fsspec

        self.url = f"s3://{name}"
        self._name = name
        self._system = fsspec.filesystem("s3", skip_instance_cache=True, use_listings_cache=False)
        self._system.mkdir(name)

    def put(self, folder, path):
        self._system.put(f"{folder}/", f"{self._name}/{path}/", recursive=True)

    def remove(self, path, below):
        self._system.rm_file(f"{self._name}/{below}/{path}")

    def digests(self, below):
        root = f"{self._name}/{below}/"
        return {
            path.removeprefix(root): hashlib.sha256(self._system.cat_file(path)).hexdigest()
            for path in self._system.find(root)
        }
