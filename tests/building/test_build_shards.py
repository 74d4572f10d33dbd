"""Shards of a build fill one folder side by side, and it ends as one process leaves it, file by file."""

import itertools
import json
import shutil
import signal
import subprocess
import sys
import time

import filelock
import hypothesis.strategies as st
import pytest
from built import FAST, QUICK, files
from hypothesis import given

import oodometer
from oodometer.building import occupied, verify
from oodometer.building.engine import shared
from oodometer.building.shards import Shards
from oodometer.building.tree import Tree
from oodometer.errors import ArgumentError, StoreError
from oodometer.outfolder import LOCK
from oodometer.sharding import Shard

KINDS = ("jpeg", "webdataset", "parquet", "npy")


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a block have few images."""
    monkeypatch.setattr(Tree, "images", 3)
    monkeypatch.setattr(Shards, "images", 3)


@given(st.integers(1, 400), st.integers(1, 70), st.integers(1, 12))
def test_shards_partition_the_blocks(images, size, count):
    whole = shared(range(images), size, None)
    assert list(itertools.chain.from_iterable(part for _, part in whole)) == list(range(images))
    parts = [shared(range(images), size, Shard(k, count)) for k in range(count)]
    assert sorted(itertools.chain.from_iterable(parts), key=lambda block: block[0]) == whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [2, 4])
def test_the_build_of_shards_is_that_of_one_process(photographs, tmp_path, small_blocks, kind, count):
    root, out, options = photographs(11), tmp_path / "out", QUICK | {"format": kind, "clean": True}
    oodometer.build(root, tmp_path / "single", **options)
    made = [oodometer.build(root, out, shard=(k, count), **options) for k in reversed(range(count))]
    assert sum(one.images for one in made) == 11
    assert sum(one.pictures for one in made) == sum(one.made for one in made) == 11 * 5
    assert [fault.problem for fault in verify(out)][:1] == ["unfinished"]
    assert oodometer.build(root, out, **options).made == 0
    assert verify(out) == []
    assert files(out) == files(tmp_path / "single")


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_shard_lacks_is_made_in_the_end(photographs, tmp_path, small_blocks, kind):
    """One never ran, and a picture of another is damaged."""
    root, out, options = photographs(11), tmp_path / "out", QUICK | {"format": kind}
    oodometer.build(root, tmp_path / "single", **options)
    for k in (0, 2):
        oodometer.build(root, out, shard=f"{k}/4", **options)
    written = sorted(path for path in out.rglob("*") if path.suffix in {".JPEG", ".tar", ".pixels", ".parquet"})
    damaged = next(path for path in written if "manifest" not in path.parts)
    damaged.write_bytes(damaged.read_bytes()[:-3])
    assert 4 * 5 < oodometer.build(root, out, **options).made < 4 * 11
    assert files(out) == files(tmp_path / "single")


def test_parts_that_were_built_apart_are_joined_by_copying(photographs, tmp_path, small_blocks):
    root, out = photographs(9), tmp_path / "out"
    oodometer.build(root, tmp_path / "single", **QUICK)
    for k in range(3):
        part = oodometer.build(root, tmp_path / f"machine{k}", shard=(k, 3), **QUICK).path
        shutil.copytree(part, out, dirs_exist_ok=True)
    assert oodometer.build(root, out, **QUICK).made == 0
    assert files(out) == files(tmp_path / "single")


def test_unreadable_images_are_left_out_as_by_one_process(photographs, tmp_path, small_blocks):
    """All images of one shard are."""
    root, out = photographs(6), tmp_path / "out"
    for path in sorted(root.rglob("*.png"))[:3]:
        path.write_bytes(b"no image")
    oodometer.build(root, tmp_path / "single", **QUICK)
    first = oodometer.build(root, out, shard=(0, 2), **QUICK)
    assert (first.images, len(first.skipped)) == (0, 3)
    oodometer.build(root, out, shard=(1, 2), **QUICK)
    assert len(oodometer.build(root, out, **QUICK).skipped) == 3
    assert files(out) == files(tmp_path / "single")


def test_videos_are_shared_too(photographs, tmp_path):
    root, out = photographs(26), tmp_path / "out"
    options = {"perturbations": "brightness", "frames": 2, "preprocess": "none", "progress": False}
    oodometer.build_sequences(root, tmp_path / "single", **options)
    for k in range(2):
        oodometer.build_sequences(root, out, shard=(k, 2), **options)
    assert oodometer.build_sequences(root, out, **options).made == 0
    assert files(out) == files(tmp_path / "single")


def test_what_cannot_be_shared_is_refused(photographs, tmp_path, small_blocks):
    root, out = photographs(6), tmp_path / "out"
    for shard in ((2, 2), "2/2", "x", (0, 0)):
        with pytest.raises(ArgumentError, match="shard"):
            oodometer.build(root, out, shard=shard, **QUICK)
    for shard in ((0, 3), (2, 3)):
        with pytest.raises(ArgumentError, match="blocks of 3: 2 in all, which 3 shards cannot share"):
            oodometer.build(root, out, shard=shard, **QUICK)
    assert not out.exists()
    oodometer.build(root, out, shard=(0, 2), **QUICK)
    before = files(out)
    with pytest.raises(StoreError, match=r"holds another build\..*seed"):
        oodometer.build(root, out, shard=(1, 2), **(QUICK | {"seed": 1}))
    assert files(out) == before


def test_who_would_meet_others_is_refused(photographs, tmp_path, small_blocks, monkeypatch):
    monkeypatch.setattr(occupied, "PATIENCE", 0.05)
    root, out = photographs(6), tmp_path / "out"
    oodometer.build(root, out, shard=(0, 2), **QUICK)
    lock = out / ".unfinished" / "shard-0000-of-0002.lock"
    with filelock.FileLock(lock):
        for refused in (None, (0, 2), (0, 1)):
            with pytest.raises(StoreError, match="A process is building shard-0000-of-0002 of"):
                oodometer.build(root, out, shard=refused, **QUICK)
        assert oodometer.build(root, out, shard=(1, 2), **QUICK).images == 3
    with filelock.FileLock(out / LOCK), pytest.raises(StoreError, match="Another process is building into"):
        oodometer.build(root, out, shard=(0, 2), **QUICK)
    oodometer.build(root, out, **QUICK)
    assert verify(out) == []


SCRIPT = """
import sys
import oodometer
from oodometer.building.shards import Shards
from oodometer.building.tree import Tree
Tree.images = Shards.images = 3
oodometer.build(sys.argv[1], sys.argv[2], shard=sys.argv[3], **eval(sys.argv[4]))
"""


@pytest.mark.parametrize("kind", ["jpeg", "webdataset"])
def test_shards_at_the_same_time_one_of_them_killed(photographs, tmp_path, small_blocks, kind):
    root, out = photographs(24), tmp_path / "out"
    options = FAST | {"corruptions": "blur,fog", "format": kind}
    oodometer.build(root, tmp_path / "single", **options)
    arguments = [[str(root), str(out), f"{k}/3", repr(options)] for k in range(3)]
    processes = [subprocess.Popen([sys.executable, "-c", SCRIPT, *one]) for one in arguments]
    deadline = time.monotonic() + 120
    while not list(out.glob("manifest/*.parquet")):
        assert time.monotonic() < deadline
        time.sleep(0.002)
    processes[1].send_signal(signal.SIGKILL)
    assert [process.wait(120) for process in processes] in ([0, -signal.SIGKILL, 0], [0, 0, 0])
    oodometer.build(root, out, shard=(1, 3), **options)
    assert oodometer.build(root, out, **options).made == 0
    assert verify(out) == []
    assert files(out) == files(tmp_path / "single")


def test_from_the_command_line(photographs, tmp_path, small_blocks, call, monkeypatch):
    root, out = photographs(6), tmp_path / "out"
    (root / "n01440764" / "0000.png").write_bytes(b"no image")
    options = ["-c", "fog", "-s", "3", "--preprocess", "none", "--edition", "tiny64"]
    for k in range(2):
        monkeypatch.setenv("RANK", str(k))
        monkeypatch.setenv("WORLD_SIZE", "2")
        status, text, _ = call(root, out, *options, "--shard", "auto")
        assert status == 0  # or a launcher would end the others
        assert f"shard {k}/2: {2 + k} pictures of {2 + k} images" in text
        assert "the same command without --shard finishes the build" in text
    status, text, errors = call(root, out, *options)
    assert status == 1
    assert "0 made now" in text
    assert "0000.png" in errors
    assert json.loads((out / "manifest.json").read_text())["complete"]
    assert call(root, out, *options, "--shard", "0/2", "--dry-run")[0] == 2
    picture = next(root.rglob("0001.png"))
    status, _, errors = call(picture, tmp_path / "one.png", "-c", "fog", "-s", "3", "--shard", "0/2")
    assert status == 2
    assert "shard: goes with a data set" in errors
