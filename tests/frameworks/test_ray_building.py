"""Builds on a cluster of several nodes, into folders and stores, are those of one process file by file."""

import contextlib
import importlib
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from ray_nodes import STORE, digests, photographs, started, wait_for

import oodometer
from oodometer.building.shards import Shards
from oodometer.building.tree import Tree
from oodometer.errors import ArgumentError
from oodometer.scaling import Cluster

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore::ResourceWarning:ray")]

OPTIONS = {"corruptions": "deadly,contrast", "severities": (1, 3), "preprocess": "none", "progress": False}
IMAGES = 24


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return photographs(tmp_path_factory.mktemp("images") / "val", IMAGES)


@pytest.fixture(autouse=True)
def deadly(own, faults, monkeypatch):
    """Know the corruption, and have blocks of a few images, which the nodes are told of with the work."""
    monkeypatch.setattr(Tree, "images", 5)
    monkeypatch.setattr(Shards, "images", 5)
    sys.modules.pop("deadly", None)
    return importlib.import_module("deadly")


@pytest.fixture
def build(images, nodes):
    return partial(oodometer.build, images, cluster=Cluster(nodes.address), workers=1, **OPTIONS)


@pytest.fixture
def expected(images, tmp_path):
    """Build in one process, without any fault, and return the digests."""
    oodometer.build(images, tmp_path / "expected", **OPTIONS)
    return digests(tmp_path / "expected")


@pytest.mark.parametrize("form", ["jpeg", "png", "webdataset", "parquet", "npy"])
def test_the_files_are_those_of_one_process(build, images, tmp_path, form):
    here = oodometer.build(images, tmp_path / "here", **OPTIONS | {"format": form})
    there = build(tmp_path / "there", format=form)
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
    assert (there.images, there.pictures, there.made) == (here.images, here.pictures, here.made)
    again = build(tmp_path / "there", format=form)
    assert again.made == 0
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
    assert oodometer.building.verify(tmp_path / "there") == []


def test_videos_are_those_of_one_process(images, nodes, tmp_path):
    options = {"perturbations": "tilt", "preprocess": "none", "frames": 3, "progress": False}
    from oodometer.building import SequenceOptions, build_sequences, construct, settle_sequences

    build_sequences(images, tmp_path / "here", **options)
    del options["progress"]
    recipe = settle_sequences(images, tmp_path / "there", SequenceOptions(**options))
    construct(recipe, tmp_path / "there", 1, None, Cluster(nodes.address), progress=False)
    assert digests(tmp_path / "there") == digests(tmp_path / "here")


def test_unreadable_images_are_left_out_alike(nodes, tmp_path):
    images = photographs(tmp_path / "val", 12)
    for number in (3, 4, 9):
        (path,) = images.rglob(f"{number:04d}.png")
        path.write_bytes(b"no image")
    here = oodometer.build(images, tmp_path / "here", **OPTIONS)
    there = oodometer.build(images, tmp_path / "there", cluster=Cluster(nodes.address), workers=1, **OPTIONS)
    assert there.skipped == here.skipped
    assert len(there.skipped) == 3
    assert digests(tmp_path / "there") == digests(tmp_path / "here")


def test_a_damaged_file_is_made_again(build, tmp_path, expected):
    build(tmp_path / "there")
    path = next((tmp_path / "there" / "contrast").rglob("*.JPEG"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    assert 0 < build(tmp_path / "there").made < IMAGES * 4
    assert digests(tmp_path / "there") == expected


def test_a_worker_that_is_killed_loses_nothing(build, tmp_path, expected, faults):
    (faults / "die").touch()
    build(tmp_path / "there")
    assert not (faults / "die").exists()
    assert digests(tmp_path / "there") == expected


def test_a_node_that_is_removed_loses_nothing(build, tmp_path, expected, faults, nodes):
    """It is removed while every task is held at the gate, so that all of its work is lost."""
    import threading

    extra = nodes.add_node(num_cpus=1)
    (faults / "gate").touch()
    began = tmp_path / "there" / ".unfinished"

    def remove():
        wait_for(lambda: len(list(began.glob("part-*"))) >= 3 and tasks() >= 3)
        nodes.remove_node(extra, allow_graceful=False)
        wait_for(lambda: tasks() < 3)  # else the process of the node may yet finish what it holds
        (faults / "gate").unlink()

    thread = threading.Thread(target=remove)
    thread.start()
    built = build(tmp_path / "there")
    thread.join()
    assert built.made == IMAGES * 4
    assert digests(tmp_path / "there") == expected


def tasks():
    """Count the processes of this machine that make a part for Ray, which names them by what they do."""
    found = 0
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += place.read_bytes().startswith(b"ray::_task")
    return found


def test_a_driver_that_is_killed_is_started_again(build, images, tmp_path, expected, faults, nodes):
    out = tmp_path / "there"
    build(out, limit=None)
    listed = sorted((out / "manifest").glob("*.parquet"))
    times = {path.name: path.stat().st_mtime_ns for path in listed[:2]}
    for path in listed[2:]:  # as if they had not been made so far
        path.unlink()
    (faults / "gate").touch()
    script = (
        "import sys, deadly, oodometer\n"
        "from oodometer.building.tree import Tree\n"
        "from oodometer.scaling import Cluster\n"
        "Tree.images = 5\n"
        f"oodometer.build(sys.argv[1], sys.argv[2], cluster=Cluster({nodes.address!r}), workers=1, **{OPTIONS!r})\n"
    )
    with started([sys.executable, "-c", script, str(images), str(out)]) as process:
        wait_for(lambda: len(list((out / ".unfinished").glob("part-*"))) >= 2, process)
    (faults / "gate").unlink()
    assert build(out).made == (IMAGES - 10) * 4
    assert digests(out) == expected
    assert times == {path.name: path.stat().st_mtime_ns for path in listed[:2]}


def test_the_others_make_the_blocks_of_a_slow_worker(build, tmp_path, expected, faults):
    """It does not get on until all blocks but its own are made."""
    (faults / "pictures").unlink(missing_ok=True)
    (faults / "slow").touch()
    build(tmp_path / "there")
    assert not (faults / "slow").exists()
    assert digests(tmp_path / "there") == expected


def test_a_full_object_store_stops_nothing(build, tmp_path, expected, nodes):
    ray = pytest.importorskip("ray")
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        held = [ray.put(np.zeros(19 * 2**20, np.uint8)) for _ in range(6)]
        pinned = [ray.get(reference) for reference in held[:4]]
        build(tmp_path / "there")
        assert sum(array.nbytes for array in pinned) > 0.9 * STORE
    finally:
        ray.shutdown()
    assert digests(tmp_path / "there") == expected


def test_a_store_holds_the_files_of_a_folder(build, images, bucket, tmp_path, expected):
    bucket.put(images, "val")
    copied = oodometer.open_dataset(f"{bucket.url}/val")
    assert [(s.id, s.label, s.size) for s in copied.samples] == [
        (s.id, s.label, s.size) for s in oodometer.open_dataset(images).samples
    ]
    cluster = build.keywords["cluster"]
    url = f"{bucket.url}/out/tree"
    built = oodometer.build(f"{bucket.url}/val", url, cluster=cluster, workers=1, **OPTIONS)
    assert (built.path, built.made) == (url, IMAGES * 4)
    assert bucket.digests("out/tree") == expected
    bucket.remove(next(path for path in bucket.digests("out/tree") if path.endswith(".JPEG")), "out/tree")
    assert 0 < oodometer.build(f"{bucket.url}/val", url, cluster=cluster, workers=1, **OPTIONS).made < IMAGES * 4
    assert bucket.digests("out/tree") == expected


def test_a_run_over_images_in_a_store_is_that_of_a_folder(images, bucket, nodes, tmp_path):
    bucket.put(images, "val")
    options = {"corruptions": "fog", "preprocess": "none", "batch_size": 8, "progress": False}
    here = oodometer.evaluate("fake", images, tmp_path / "here", **options)
    there = oodometer.evaluate(
        "fake", f"{bucket.url}/val", tmp_path / "there", cluster=Cluster(nodes.address), workers=1, **options
    )
    assert here.manifest.benchmarks == there.manifest.benchmarks
    found = [{k: v for k, v in digests(run.path).items() if k.endswith(".parquet")} for run in (here, there)]
    assert found[0] == found[1]


def test_a_store_without_access_is_one_message(images, nodes, bucket, tmp_path):
    with pytest.raises(oodometer.errors.StoreError, match=r"s3://nobody/x/manifest\.json cannot be read or written"):
        oodometer.build(images, "s3://nobody/x", cluster=Cluster(nodes.address), workers=1, **OPTIONS)


def test_memory_is_of_one_process(build):
    with pytest.raises(ArgumentError, match="other processes find nothing there"):
        build("memory://x")


def test_the_command_says_what_it_does(images, nodes, tmp_path, expected):
    command = [sys.executable, "-m", "oodometer", "--import", "deadly", "corrupt", images.name, str(tmp_path / "there")]
    options = ["-c", "deadly,contrast", "-s", "1,3", "--preprocess", "none", "--workers", "1", "--ray", nodes.address]
    done = subprocess.run(
        [*command, *options], capture_output=True, text=True, check=False, timeout=300, cwd=images.parent
    )
    assert done.returncode == 0, done.stderr
    assert "96 pictures of 24 images; 96 made now." in done.stdout
    pictures = {name: digest for name, digest in expected.items() if name.endswith(".JPEG")}
    assert pictures.items() <= digests(tmp_path / "there").items()
