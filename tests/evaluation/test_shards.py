"""Shards of an evaluation: each takes every n-th block, and together they are the run of one process, file by file."""

import itertools
import json
import signal
import subprocess
import sys
import time

import hypothesis.strategies as st
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from probes import FAST, Probe

import oodometer
from oodometer import plan
from oodometer.cli import cli
from oodometer.datasets import demo_photographs, imagenet_r
from oodometer.errors import ArgumentError, StoreError
from oodometer.evaluation import evaluate_benchmarks
from oodometer.merging import missing_shards
from oodometer.report.results import results as all_results
from oodometer.road import Execution
from oodometer.sharding import Cut, Shard
from oodometer.store import RunStore

QUICK = FAST | {"corruptions": "fog,gaussian_noise", "batch_size": 2, "workers": 2}
OF_ITS_TIME = {"created", "command", "environment"}


def linear(seed=0):
    """Return a model that multiplies the pixels by fixed weights."""
    weights = np.random.default_rng(seed).normal(size=(64 * 64 * 3, 1000)).astype(np.float32)
    return Probe(lambda images: images.reshape(len(images), -1).astype(np.float32) @ weights / 1e4)


def shards(count, root, out, model="fake", **options):
    """Evaluate all shards, the last one first."""
    return [
        oodometer.evaluate(model, root, out, **(QUICK | options), shard=(k, count)).path for k in reversed(range(count))
    ]


def results(run):
    """Return what ``results.json`` says, but for when and where it was made."""
    return {name: value for name, value in all_results(run.summary()).items() if name not in OF_ITS_TIME}


def check_same_run(merged, single):
    """Compare each file of predictions and of pictures byte by byte, and the numbers."""
    kept = [
        {path.relative_to(run.path).as_posix(): path.read_bytes() for path in run.path.glob("*/**/*.parquet")}
        for run in (merged, single)
    ]
    assert kept[0].keys() == kept[1].keys()
    assert [name for name in kept[0] if kept[0][name] != kept[1][name]] == []
    assert results(merged) == results(single)
    said = [json.loads((run.path / "manifest.json").read_text()) for run in (merged, single)]
    for manifest in said:
        del manifest["created"], manifest["command"]
    assert said[0] == said[1]


@given(st.integers(1, 400), st.integers(1, 70), st.integers(1, 12))
def test_shards_partition_the_blocks(images, size, count):
    taken = [[place for place in range(images) if Cut(k, count, size).takes(place)] for k in range(count)]
    assert sorted(itertools.chain.from_iterable(taken)) == list(range(images))
    blocks = [list(range(start, min(start + size, images))) for start in range(0, images, size)]
    for k, own in enumerate(taken):
        assert own == list(itertools.chain.from_iterable(blocks[k::count]))


@pytest.mark.parametrize(("images", "size", "count"), [(14, 2, 4), (13, 3, 2), (9, 4, 3), (6, 1, 6), (5, 8, 1)])
@pytest.mark.parametrize("model", ["fake", "linear"])
def test_merged_shards_are_the_run_of_one_process(photographs, tmp_path, images, size, count, model):
    root = photographs(images)
    make = linear if model == "linear" else oodometer.FakeModel
    single = oodometer.evaluate(make(), root, tmp_path / "single", **(QUICK | {"batch_size": size}))
    parts = shards(count, root, tmp_path / "shards", make(), batch_size=size)
    assert sorted(path.name for path in parts) == [f"shard-{k:04d}-of-{count:04d}" for k in range(count)]
    if count > 1:
        check_same_run(oodometer.merge(parts, tmp_path / "merged"), single)
    else:
        assert results(oodometer.Run(parts[0])) == results(single)


@pytest.mark.long
def test_any_number_of_images_blocks_and_shards(tmp_path_factory, photographs_of):
    """The same for random numbers, on images of which any beginning is a data set."""

    @given(st.integers(2, 24), st.integers(1, 6), st.data())
    def check(images, size, data):
        place = tmp_path_factory.mktemp("any")
        count = data.draw(st.integers(2, max(2, -(-images // size))))
        if -(-images // size) < count:
            return
        options = {"batch_size": size, "limit": images, "corruptions": "contrast"}
        single = oodometer.evaluate("fake", photographs_of, place / "single", **(QUICK | options))
        parts = shards(count, photographs_of, place / "shards", **options)
        check_same_run(oodometer.merge(parts, place / "merged"), single)

    check()


@pytest.fixture
def photographs_of(photographs):
    return photographs(24)


def test_renditions_and_suites_are_shared_too(photographs, tmp_path):
    root, renditions, own = photographs(8), photographs(10, folder="renditions"), photographs(6, folder="own")
    space = imagenet_r()
    for folder, column in zip(sorted(renditions.iterdir(), reverse=True), reversed(space.columns), strict=False):
        folder.rename(renditions / space.classes[column])
    options = {"imagenet_r": renditions, "suite": {"mine": own}, "limit": 7}
    single = oodometer.evaluate("fake", root, tmp_path / "single", **(QUICK | options))
    parts = shards(3, root, tmp_path / "shards", **options)
    merged = oodometer.merge(parts, tmp_path / "merged")
    check_same_run(merged, single)
    assert merged.summary().renditions.counts.measured == 10


def test_images_without_labels_are_shared_too(photographs, tmp_path):
    root = photographs(8)
    single = oodometer.evaluate("fake", root, tmp_path / "single", unlabelled=True, **QUICK)
    check_same_run(oodometer.merge(shards(2, root, tmp_path / "s", unlabelled=True), tmp_path / "m"), single)


@pytest.mark.parametrize("bad", [(0,), (0, 1, 4, 5), tuple(range(4))])
def test_unreadable_images_are_left_out_as_in_one_process(photographs, tmp_path, bad):
    """Also where a shard has no other ones, or the first block brings no pictures for the report."""
    root = photographs(12)
    whole = oodometer.evaluate("fake", root, **QUICK)
    order = [image for part in whole.store.parts("imagenet-c") for image in part.rows["image"].unique().to_pylist()]
    for place in bad:
        (root / order[place]).write_bytes(b"no image")
    # The digest of a data set is of names and sizes, so the files are settled before the plans.
    single = oodometer.evaluate("fake", root, tmp_path / "single", **QUICK)
    names = [s.image for s in single.skipped]
    assert len(names) == len(bad)
    for count in (2, 6):
        parts = shards(count, root, tmp_path / f"shards{count}")
        merged = oodometer.merge(parts, tmp_path / f"merged{count}")
        assert [s.image for s in merged.skipped] == names
        check_same_run(merged, single)


def test_a_shard_says_that_it_is_one(photographs, tmp_path):
    root = photographs(8)
    (second, first) = (oodometer.Run(path) for path in shards(2, root, tmp_path / "shards"))
    counts = first.summary().corruptions.counts
    assert (counts.planned, counts.measured) == (8, 4)
    assert first.summary().notes[0].startswith("This is shard 0/2 of a run: its numbers rest on 4 of the 8 images")
    assert "shard 1/2" in " ".join(str(second.table()).split())
    assert "shard 1/2" in second.report().read_text()
    assert first.store.plan_digest() != second.store.plan_digest()
    own = [set(run.store.done("imagenet-c")) for run in (first, second)]
    assert not own[0] & own[1]


def test_what_is_no_shard_is_refused(photographs, tmp_path):
    for wrong in ("8/8", "9/8", (8, 8), (-1, 4)):
        with pytest.raises(ArgumentError, match="shard"):
            Shard.of(wrong)
    with pytest.raises(ArgumentError, match="counted from 0, so those of 8 are 0/8 to 7/8"):
        Shard.of("8/8")
    for wrong in ("1", "1/2/3", "a/b", "-1/4", "1.0/4", "", (1,), (1, 2, 3), 3, ("0", "4"), (0.0, 4), (True, 4), "0/0"):
        with pytest.raises(ArgumentError):
            Shard.of(wrong)
    root = photographs(4)
    with pytest.raises(ArgumentError, match="say where its run goes"):
        oodometer.evaluate("fake", root, shard=(0, 2), **QUICK)
    with pytest.raises(ArgumentError, match="2 blocks of 2 images cannot be shared by 3 shards"):
        oodometer.evaluate("fake", root, tmp_path / "out", shard=(0, 3), **QUICK)
    more = photographs(78, folder="more")
    with pytest.raises(ArgumentError, match="cannot be shared out to shards"):
        oodometer.evaluate("fake", more, tmp_path / "out", precision=5, shard=(0, 2), **FAST)
    run = oodometer.evaluate("fake", root, tmp_path / "run", **QUICK)
    with pytest.raises(ArgumentError, match="holds a run"):
        oodometer.evaluate("fake", root, run.path, shard=(0, 2), **QUICK)
    assert not (tmp_path / "out").exists()


@given(st.integers(1, 99999), st.data())
def test_each_form_of_a_shard_is_read(count, data):
    index = data.draw(st.integers(0, count - 1))
    torchrun = {"RANK": str(index), "WORLD_SIZE": str(count)}
    slurm = {"SLURM_PROCID": str(index), "SLURM_NTASKS": str(count)}
    forms = [Shard.of((index, count)), Shard.of(f"{index}/{count}"), Shard.of([np.int64(index), count])]
    forms += [Shard.of("auto", torchrun), Shard.of("auto", slurm)]
    forms.append(Shard.of("auto", torchrun | {"SLURM_PROCID": "0", "SLURM_NTASKS": "1"}))
    assert set(forms) == {Shard(index, count)}


def test_auto_needs_a_launcher():
    for environment in ({}, {"RANK": "0"}, {"SLURM_PROCID": "1"}):
        with pytest.raises(ArgumentError, match="neither RANK with WORLD_SIZE nor"):
            Shard.of("auto", environment)
    with pytest.raises(ArgumentError, match="The variables of torchrun, RANK and WORLD_SIZE, say x/2"):
        Shard.of("auto", {"RANK": "x", "WORLD_SIZE": "2"})


def test_missing_shards_are_named(photographs, tmp_path):
    root = photographs(8)
    parts = shards(4, root, tmp_path / "shards")
    assert list(map(str, missing_shards(parts[:2]))) == ["0/4", "1/4"]
    assert missing_shards(parts) == ()
    call = CliRunner().invoke(cli, ["merge", *map(str, parts[:2]), "-o", str(tmp_path / "half")])
    assert call.exit_code == 0
    assert "Not there: shard 0/4 and 1/4." in call.stderr
    assert "imagenet-c: 4 of 8 images" in call.stdout
    assert oodometer.Run(tmp_path / "half").summary().corruptions.counts.partial
    # A partial run like any other: it is continued, or merged with what was missing.
    single = oodometer.evaluate("fake", root, tmp_path / "single", **QUICK)
    rest = oodometer.merge(parts[2:], tmp_path / "rest")
    check_same_run(oodometer.merge([tmp_path / "half", rest], tmp_path / "whole"), single)
    check_same_run(oodometer.evaluate("fake", root, tmp_path / "half", **QUICK), single)


def test_shards_of_other_cuts_are_refused(photographs, tmp_path):
    root = photographs(16)
    (four, *_) = shards(4, root, tmp_path / "four")
    (eight, *_) = shards(8, root, tmp_path / "eight")
    large = oodometer.evaluate("fake", root, tmp_path / "large", shard=(0, 4), **(QUICK | {"batch_size": 4}))
    whole = oodometer.evaluate("fake", root, tmp_path / "whole", **QUICK)
    for other, words in (
        (eight, "is shard 7/8, in blocks of 2"),
        (large, "is shard 0/4, in blocks of 4"),
        (whole, "is no shard"),
    ):
        with pytest.raises(StoreError, match=f"is shard 3/4, in blocks of 2, and .* {words}"):
            oodometer.merge([four, other], tmp_path / "merged")
    other = oodometer.evaluate("fake", root, tmp_path / "other", shard=(0, 4), **(QUICK | {"seed": 1}))
    with pytest.raises(StoreError, match=r"different plans\..*seed: there 0, now 1"):
        oodometer.merge([four, other], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_one_shard_twice_is_taken_once_if_it_is_the_same(photographs, tmp_path):
    root = photographs(8)
    single = oodometer.evaluate(linear(), root, tmp_path / "single", **QUICK)
    parts = shards(2, root, tmp_path / "shards", linear())
    again = shards(2, root, tmp_path / "again", linear())
    check_same_run(oodometer.merge([*parts, *again], tmp_path / "merged"), single)
    other = shards(2, root, tmp_path / "other", linear(seed=1))
    with pytest.raises(StoreError, match="different predictions of"):
        oodometer.merge([*parts, other[0]], tmp_path / "refused")


def test_the_folder_of_one_shard_is_not_continued_as_another(photographs, tmp_path):
    root = photographs(8)
    shards(2, root, tmp_path / "shards")
    (tmp_path / "shards" / "shard-0000-of-0002").rename(tmp_path / "shards" / "shard-0001-of-0004")
    with pytest.raises(StoreError, match=r"another run\. shard.index: there 0, now 1\. shard.count: there 2, now 4"):
        oodometer.evaluate("fake", root, tmp_path / "shards", shard=(1, 4), **QUICK)
    with pytest.raises(StoreError, match=r"shard.images: there 2, now 1"):
        oodometer.evaluate("fake", root, tmp_path / "shards", shard=(1, 2), **(QUICK | {"batch_size": 1}))


def test_the_size_of_blocks_is_settled_by_the_plan(photographs, tmp_path):
    """Not by what fits a machine: shards on several must agree."""
    root = photographs(20)
    options = QUICK | {"batch_size": "auto"}
    cuts = [oodometer.evaluate("fake", root, tmp_path / "s", shard=(k, 2), **options).manifest for k in range(2)]
    assert [(one.shard.images, one.batch_size) for one in cuts] == [(2, 2)] * 2


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGINT"])
def test_a_killed_shard_continues(photographs, tmp_path, signal_name):
    root, out = photographs(16), tmp_path / "shards"
    script = """
import signal, sys, time
import oodometer
signal.signal(signal.SIGINT, signal.default_int_handler)
fake = oodometer.FakeModel()
predict = fake.predict
def slow(images):
    time.sleep(0.02)
    return predict(images)
fake.predict = slow
oodometer.evaluate(fake, sys.argv[1], sys.argv[2], shard=(1, 2), **eval(sys.argv[3]))
"""
    process = subprocess.Popen([sys.executable, "-c", script, str(root), str(out), repr(QUICK)])
    own, deadline = out / "shard-0001-of-0002", time.monotonic() + 120
    while not list(own.glob("predictions/imagenet-c/*.parquet")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(getattr(signal, signal_name))
    assert process.wait(60) != 0
    assert 2 <= len(RunStore(own).done("imagenet-c")) < 8
    single = oodometer.evaluate("fake", root, tmp_path / "single", **QUICK)
    check_same_run(oodometer.merge(shards(2, root, out), tmp_path / "merged"), single)


def test_stored_pictures_are_shared_too(photographs, tmp_path):
    root = photographs(8)
    built = oodometer.build(root, tmp_path / "built", corruptions="fog,contrast", clean=True, **FAST).path
    options = {"progress": False, "batch_size": 2, "corruptions": "fog,contrast"}
    single = oodometer.evaluate("fake", built, tmp_path / "single", **options)
    parts = [oodometer.evaluate("fake", built, tmp_path / "s", shard=(k, 3), **options) for k in range(3)]
    check_same_run(oodometer.merge(parts, tmp_path / "merged"), single)


def test_videos_are_shared_too(photographs, tmp_path):
    root = photographs(6)
    videos = oodometer.build_sequences(
        root, tmp_path / "videos", perturbations="brightness,tilt", frames=3, preprocess="none", progress=False
    ).path
    options = {"batch_size": 1, "progress": False}
    single = oodometer.evaluate_sequences("fake", videos, tmp_path / "single", **options)
    parts = [
        oodometer.evaluate_sequences("fake", videos, tmp_path / "s", shard=f"{k}/2", **options).path for k in range(2)
    ]
    merged = oodometer.sequences.SequenceRun(oodometer.merge(parts, tmp_path / "merged").path)
    one, other = (run.results() for run in (merged, single))
    assert {name: one[name] for name in one if name not in OF_ITS_TIME} == {
        name: other[name] for name in other if name not in OF_ITS_TIME
    }
    assert "shard 0/2" in " ".join(oodometer.SequenceRun(parts[0]).summary().notes)


def test_from_the_command_line(photographs, tmp_path, monkeypatch):
    root, out = photographs(8), tmp_path / "shards"
    (root / "n01440764" / "0000.png").write_bytes(b"no image")
    common = ["evaluate", "fake", "--data", str(root), "--preprocess", "none", "--edition", "tiny64"]
    common += ["--corruptions", "fog", "--batch-size", "2"]
    for k in range(2):
        monkeypatch.setenv("SLURM_PROCID", str(k))
        monkeypatch.setenv("SLURM_NTASKS", "2")
        call = CliRunner().invoke(cli, [*common, "-o", str(out), "--shard", "auto"])
        assert call.exit_code == 0, call.output  # or a launcher would end the others
        assert f"Shard {k}/2 is done" in call.stdout
        assert not (out / f"shard-{k:04d}-of-0002" / "report.html").exists()
    assert CliRunner().invoke(cli, [*common, "-o", str(tmp_path / "single")]).exit_code == 3
    call = CliRunner().invoke(cli, ["merge", *map(str, out.iterdir()), "-o", str(tmp_path / "merged")])
    assert call.exit_code == 0, call.output
    assert "Not there" not in call.output
    assert CliRunner().invoke(cli, ["report", str(tmp_path / "merged")]).exit_code == 3
    check_same_run(oodometer.Run(tmp_path / "merged"), oodometer.Run(tmp_path / "single"))


def test_another_model_is_refused_when_a_shard_continues(photographs, tmp_path):
    root = photographs(8)

    def interrupted(model, after):
        predict = model.predict

        def counted(images):
            counted.left -= 1
            if counted.left < 0:
                raise KeyboardInterrupt
            return predict(images)

        counted.left = after
        model.predict = counted
        return model

    with pytest.raises(KeyboardInterrupt):
        oodometer.evaluate(interrupted(linear(), 15), root, tmp_path / "s", shard=(0, 2), **QUICK)
    with pytest.raises(StoreError, match="begun with another model"):
        oodometer.evaluate(linear(seed=1), root, tmp_path / "s", shard=(0, 2), **QUICK)


@pytest.mark.long
def test_the_demo_model_is_the_same_in_shards(tmp_path):
    """A network of PyTorch on the CPU, to the bit, since the batches are the same."""
    protocol = plan.make_protocol(
        corruptions="fog,jpeg_compression",
        preprocess="imagenet224",
        encoding="memory",
        edition="imagenet224",
        method="fast",
        seed=0,
    )
    planned = [plan.corrupted(demo_photographs(), protocol)]
    options = {"baseline": None, "execution": Execution.of(4, None), "progress": False}
    single = evaluate_benchmarks("demo", planned, tmp_path / "single", **options)
    parts = [evaluate_benchmarks("demo", planned, tmp_path / "s", shard=Shard(k, 3), **options) for k in range(3)]
    check_same_run(oodometer.merge(parts, tmp_path / "merged"), single)
