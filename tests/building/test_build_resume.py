"""A build that is stopped at any moment, or damaged afterwards, ends as if nothing had happened."""

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import filelock
import pytest
from built import FAST, QUICK, files, names

import oodometer
from oodometer.building import BuildFolder, tree, verify
from oodometer.building.shards import Shards
from oodometer.building.spool import Spool
from oodometer.building.tree import Tree
from oodometer.errors import ArgumentError, StoreError
from oodometer.outfolder import LOCK

KINDS = ("jpeg", "webdataset", "parquet", "npy")

# Kills itself when it is about to open a file for writing, rename or remove one in the output folder for the n-th time.
KILLED = """
import os, signal, sys
import oodometer
from oodometer.building.shards import Shards
from oodometer.building.tree import Tree
Tree.images = Shards.images = int(sys.argv[5])
source, out, options, left = sys.argv[1], sys.argv[2], eval(sys.argv[3]), int(sys.argv[4])
def count(event, arguments):
    global left
    writing = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if not (writing or event in ("os.rename", "os.remove", "os.mkdir")) or not str(arguments[0]).startswith(out):
        return
    inner = str(arguments[0])[len(out):]
    if writing and inner and "/." not in inner:
        os.write(2, f"written under its final name: {inner}".encode())
        os._exit(7)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
oodometer.build(source, out, **options)
"""


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a block have few images."""
    monkeypatch.setattr(Tree, "images", 7)
    monkeypatch.setattr(Shards, "images", 7)


def kill_at(point, root, out, options, block=7):
    """Build in blocks of some images, and be killed at a point; returns whether it came to that."""
    arguments = [str(root), str(out), repr(options), str(point), str(block)]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, timeout=300)
    assert done.returncode in (0, -signal.SIGKILL)
    return done.returncode != 0


def images_are_whole(out, expected):
    """Whatever has its final name has its final content, if an uninterrupted build has that name too."""
    for path, content in files(out).items():
        if not path.startswith((".unfinished", "manifest")) and "oodometer-tmp" not in path:
            assert content == expected[path], path


def test_a_build_killed_half_way_repeats_less_than_a_tenth(photographs, tmp_path):
    """Case K3."""
    root, out = photographs(40), tmp_path / "out"
    options = FAST | {"corruptions": "contrast,fog,gaussian_noise", "severities": [3]}
    oodometer.build(root, tmp_path / "whole", **options)
    expected = files(tmp_path / "whole")
    assert kill_at(180, root, out, options, block=250)
    images_are_whole(out, expected)
    assert "unfinished" in [fault.problem for fault in verify(out)]
    finished = len(list(out.glob("*/3/*/*.JPEG")))
    assert 30 < finished < 90
    again = oodometer.build(root, out, **options)
    assert again.pictures == 120
    assert finished - (120 - again.made) < 0.1 * finished
    assert files(out) == expected


@pytest.mark.parametrize(("kind", "point"), [("webdataset", 26), ("npy", 70)])
def test_a_killed_build_continues_to_the_same_files(photographs, tmp_path, small_blocks, kind, point):
    root, options = photographs(20), QUICK | {"format": kind, "clean": True}
    oodometer.build(root, tmp_path / "whole", **options)
    expected = files(tmp_path / "whole")
    assert kill_at(point, root, tmp_path / "out", options)
    images_are_whole(tmp_path / "out", expected)
    oodometer.build(root, tmp_path / "out", **options)
    assert files(tmp_path / "out") == expected


@pytest.mark.long
@pytest.mark.parametrize(("kind", "points"), [("jpeg", 346), ("webdataset", 77), ("parquet", 77), ("npy", 98)])
def test_a_build_survives_a_kill_at_any_point(photographs, tmp_path, small_blocks, kind, points):
    """Some of the points, each on its own; then one build that is killed again and again until it ends."""
    root, options = photographs(20), QUICK | {"format": kind, "clean": True}
    oodometer.build(root, tmp_path / "whole", **options)
    expected = files(tmp_path / "whole")
    rng = random.Random(kind)
    for point in rng.sample(range(1, points), 8):
        kill_at(point, root, tmp_path / "out", options)
        images_are_whole(tmp_path / "out", expected)
        oodometer.build(root, tmp_path / "out", **options)
        assert files(tmp_path / "out") == expected
        shutil.rmtree(tmp_path / "out")
    for _ in range(60):
        if not kill_at(rng.randrange(15, points // 2), root, tmp_path / "out", options):
            break
        images_are_whole(tmp_path / "out", expected)
    else:
        pytest.fail("the build makes no progress")
    assert files(tmp_path / "out") == expected


@pytest.mark.long
@pytest.mark.parametrize("kind", ["jpeg", "webdataset"])
def test_twenty_kills_at_random_moments(photographs, tmp_path, kind):
    root = photographs(60, 320, 240)
    options = {"corruptions": "blur,fog", "severities": "1,3", "format": kind}
    oodometer.build(root, tmp_path / "whole", **options, progress=False)
    expected = files(tmp_path / "whole")
    command = [sys.executable, "-m", "oodometer", "corrupt", str(root), str(tmp_path / "out"), "--format", kind]
    command += ["-c", options["corruptions"], "-s", options["severities"]]
    rng, kills = random.Random(0), 0
    while kills < 20:
        before, deadline = len(names(tmp_path / "out")), time.monotonic() + 120
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None and len(names(tmp_path / "out")) <= before and time.monotonic() < deadline:
                time.sleep(0.002)  # it has begun to write
            time.sleep(rng.random() * 0.3)
            process.kill()
        if process.returncode == 0:  # it was done before: begin anew
            assert verify(tmp_path / "out") == []
            shutil.rmtree(tmp_path / "out")
            continue
        kills += 1
        for path, content in files(tmp_path / "out").items():
            if kind == "jpeg" and path.endswith(".JPEG"):
                assert content == expected[path]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert files(tmp_path / "out") == expected
    assert verify(tmp_path / "out") == []


def damage(path, how):
    content = path.read_bytes()
    if how == "missing":
        path.unlink()
    elif how == "shorter":
        path.write_bytes(content[:-5])
    else:
        path.write_bytes(content[:-5] + bytes(255 - byte for byte in content[-5:]))


FILES = {
    "jpeg": "fog/3/n01440764/0001.JPEG",
    "webdataset": "fog/3/00001.tar",
    "parquet": "fog/3/00000.parquet",
    "npy": "fog.npy",
}


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_found_and_made_again(photographs, tmp_path, small_blocks, kind):
    root, out, options = photographs(20), tmp_path / "out", QUICK | {"format": kind, "clean": True}
    oodometer.build(root, out, **options)
    whole = files(out)
    assert verify(out) == []
    remade = {"jpeg": 1, "webdataset": 7, "parquet": 7, "npy": 40}[kind]
    problems = {"missing": "missing", "shorter": "size", "other": "content"}
    for how, problem in problems.items():
        damage(out / FILES[kind], how)
        assert [(fault.path, fault.problem) for fault in verify(out)] == [(FILES[kind], problem)]
        assert oodometer.build(root, out, **options).made == remade
        assert files(out) == whole
    damage(out / "manifest" / "00001.parquet", "other")
    assert [fault.problem for fault in verify(out)] == ["manifest", "manifest"]
    oodometer.build(root, out, **options)
    assert files(out) == whole


def test_what_does_not_belong_is_a_fault(photographs, tmp_path):
    root, out = photographs(2), tmp_path / "out"
    oodometer.build(root, out, **QUICK)
    (out / "fog" / "1" / "extra.txt").write_text("mine")
    assert [(fault.path, fault.problem) for fault in verify(out)] == [("fog/1/extra.txt", "unknown")]


def test_what_a_kill_left_half_written_goes(photographs, tmp_path):
    root, out = photographs(2), tmp_path / "out"
    oodometer.build(root, tmp_path / "whole", **QUICK)
    leftovers = [".a.oodometer-tmp", "manifest/.b.oodometer-tmp", ".unfinished/.c.oodometer-tmp"]
    for first, count in (True, 1), (False, 3):  # of the manifest itself, before anything else; later
        for path in leftovers[:count]:
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            (out / path).write_bytes(b"half")
        if not first:
            (out / "fog/3/n01440764/0000.JPEG").unlink()
        oodometer.build(root, out, **QUICK)
        assert files(out) == files(tmp_path / "whole")


def test_the_journal_may_be_torn_or_wrong(photographs, tmp_path, monkeypatch):
    root, out = photographs(4), tmp_path / "out"
    oodometer.build(root, tmp_path / "whole", **QUICK)
    with monkeypatch.context() as patch:
        patch.setattr(BuildFolder, "write_block", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            oodometer.build(root, out, **QUICK)
    (journal,) = (out / ".unfinished").glob("*.journal")
    lines = journal.read_bytes().splitlines(keepends=True)
    assert len(lines) == 16
    journal.write_bytes(b"0 0 12 " + b"0" * 64 + b"\n\0\0\0\n" + b"".join(lines[1:]) + lines[0][:-9])
    assert oodometer.build(root, out, **QUICK).made == 1
    assert files(out) == files(tmp_path / "whole")


CHANGES = {
    "seed": {"seed": 1},
    "edition": {"edition": "cifar32"},
    "layout": {"format": "png"},
    "preprocess": {"preprocess": "tiny64"},
    "corruptions": {"corruptions": "contrast,snow"},
    "severities": {"severities": "1,2"},
    "method": {"method": "reference"},
    "clean": {"clean": True},
    "images": {"limit": 3},
    "orientation": {"orientation": "apply"},
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_build_of_another_plan_is_refused_by_name(photographs, tmp_path, what):
    root, out = photographs(4), tmp_path / "out"
    oodometer.build(root, out, **QUICK)
    before = files(out)
    with pytest.raises(StoreError, match=rf"holds another build\..*{what}"):
        oodometer.build(root, out, **(QUICK | CHANGES[what]))
    assert files(out) == before


def test_changed_sources_and_packages_are_refused(photographs, tmp_path, textured, monkeypatch):
    root, out = photographs(4), tmp_path / "out"
    oodometer.build(root, out, **QUICK)
    with monkeypatch.context() as patch:
        patch.setattr("oodometer.building.recipe.environment", lambda *_: {"numpy": "0.1"})
        with pytest.raises(StoreError, match="begun with other versions"):
            oodometer.build(root, out, **QUICK)
    root.rename(tmp_path / "moved")  # the same images elsewhere are the same
    assert oodometer.build(tmp_path / "moved", out, **QUICK).made == 0
    textured(9).save(tmp_path / "moved" / "n01440764" / "new.png")
    with pytest.raises(StoreError, match="images were added"):
        oodometer.build(tmp_path / "moved", out, **QUICK)


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_that_becomes_unreadable_takes_nothing_with_it(photographs, tmp_path, kind):
    """Nor does one that becomes readable come into some cells alone."""
    root, out, options = photographs(4), tmp_path / "out", QUICK | {"format": kind}
    bad = root / "n01440764" / "0001.png"
    good, content = bad.read_bytes(), bad.read_bytes()[:200].ljust(bad.stat().st_size, b"\0")
    oodometer.build(root, out, **options)
    damage(out / FILES[kind].replace("00001", "00000"), "shorter")
    before = files(out)
    bad.write_bytes(content)
    with pytest.raises(StoreError, match=r"0001.png could be read when its block was made.*00000.parquet"):
        oodometer.build(root, out, **options)
    assert files(out).keys() >= before.keys() - {FILES[kind]}
    (out / "manifest" / "00000.parquet").unlink()
    assert oodometer.build(root, out, **options).images == 3
    assert verify(out) == []
    bad.write_bytes(good)
    if kind == "jpeg":
        assert oodometer.build(root, out, **options).images == 4
        assert verify(out) == []
    else:
        with pytest.raises(StoreError, match=r"0001.png can be read now"):
            oodometer.build(root, out, **options)


def test_folders_with_something_else_are_left_alone(photographs, tmp_path):
    root, out = photographs(2), tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="is not empty and holds no built data set"):
        oodometer.build(root, out, **QUICK)
    assert [path.name for path in out.iterdir()] == ["thesis.txt"]
    oodometer.evaluate("fake", root, tmp_path / "run", corruptions="fog", **FAST)
    before = files(tmp_path / "run")
    with pytest.raises(StoreError, match="something else than a built data set"):
        oodometer.build(root, tmp_path / "run", **QUICK)
    assert files(tmp_path / "run") == before
    with pytest.raises(StoreError, match="Cannot write"):
        oodometer.build(root, out / "thesis.txt", **QUICK)


def test_sources_and_results_lie_apart(photographs, tmp_path):
    root = photographs(2)
    with pytest.raises(ArgumentError, match="lies within the data"):
        oodometer.build(root, root / "n01440764" / "out", **QUICK)
    with pytest.raises(ArgumentError, match="lies within the data"):
        oodometer.build(f"folder:{root}", root, **QUICK)
    oodometer.build(root, tmp_path / "out", clean=True, **QUICK)
    with pytest.raises(ArgumentError, match="lies within the output folder"):
        oodometer.build(tmp_path / "out" / "clean", tmp_path / "out", **QUICK)


def test_two_processes_exclude_each_other(photographs, tmp_path):
    root, out = photographs(2), tmp_path / "out"
    oodometer.build(root, out, **QUICK)
    with filelock.FileLock(out / LOCK), pytest.raises(StoreError, match="Another process is building into"):
        oodometer.build(root, out, **QUICK)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_disk_is_one_message_and_no_loss(photographs, tmp_path, monkeypatch, small_blocks, kind):
    root, out, options = photographs(10), tmp_path / "out", QUICK | {"format": kind}
    oodometer.build(root, tmp_path / "whole", **options)
    owner, name = {"jpeg": (tree, "_write"), "npy": (shutil, "copyfileobj")}.get(kind, (Spool, "write"))
    real, left = getattr(owner, name), [15]

    def full(*arguments):
        left[0] -= 1
        if left[0] < 0 or kind == "npy":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, full)
        with pytest.raises(StoreError, match="The disk is full"):
            oodometer.build(root, out, **options)
    again = oodometer.build(root, out, **options)
    assert again.made <= 40 - 15 if kind != "npy" else again.made == 0
    assert files(out) == files(tmp_path / "whole")


def test_an_older_or_newer_manifest_says_what_to_do(photographs, tmp_path):
    root, out = photographs(2), tmp_path / "out"
    oodometer.build(root, out, **QUICK)
    text = (out / "manifest.json").read_text()
    for old, new, words in (('"format": 1', '"format": 9', "format 9"), ('"seed": 0', '"seed": "x"', "seed")):
        (out / "manifest.json").write_text(text.replace(old, new))
        with pytest.raises(StoreError, match=words):
            BuildFolder(out).read_manifest()
    (out / "manifest.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        verify(out)
    with pytest.raises(StoreError, match="holds no built data set"):
        verify(root)


@pytest.mark.long
def test_memory_does_not_grow_with_the_images(photographs, tmp_path):
    script = (
        "import resource, sys, oodometer\n"
        f"oodometer.build(sys.argv[1], sys.argv[2], **{QUICK!r})\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    peaks = []
    for count in (20, 500):
        arguments = [str(photographs(count, folder=f"of{count}")), str(tmp_path / f"out{count}")]
        done = subprocess.run([sys.executable, "-c", script, *arguments], check=True, capture_output=True, timeout=300)
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 20_000  # kilobytes; the pictures of 480 images have 94,000
