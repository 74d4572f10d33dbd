"""Partial runs become what an unbroken run would have been, or are refused by what differs."""

import shutil

import numpy as np
import PIL.Image
import pytest
from click.testing import CliRunner

import oodometer
from oodometer import Run, merge
from oodometer.cli import cli
from oodometer.datasets import imagenet1k
from oodometer.errors import ArgumentError, StoreError
from oodometer.scoring import Scores
from oodometer.store import Block, RunStore, Skipped, Step
from oodometer.types import CLEAN
from synthetic_runs import write_run

OPTIONS = {
    "preprocess": "none",
    "edition": "tiny64",
    "corruptions": "fog,gaussian_noise",
    "progress": False,
    "workers": 2,
}


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Write 14 pictures of noise of 7 classes."""
    root = tmp_path_factory.mktemp("data") / "val"
    rng = np.random.default_rng(0)
    for i in range(14):
        place = root / imagenet1k().classes[i // 2 * 7]
        place.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(rng.integers(0, 256, (32, 32, 3)).astype(np.uint8)).save(place / f"{i:04d}.png")
    return root


@pytest.fixture(scope="module")
def unbroken(pictures, tmp_path_factory):
    """Evaluate all of it, in blocks of two images."""
    return oodometer.evaluate("fake", pictures, tmp_path_factory.mktemp("run") / "whole", batch_size=2, **OPTIONS)


def interrupted(pictures, out, after, **options):
    """Evaluate until the model was asked so often."""
    fake = oodometer.FakeModel()
    predict, asked = fake.predict, []

    def counted(images):
        asked.append(len(images))
        if len(asked) > after:
            raise KeyboardInterrupt
        return predict(images)

    fake.predict = counted
    with pytest.raises(KeyboardInterrupt):
        oodometer.evaluate(fake, pictures, out, **(OPTIONS | options))
    return out


def some_blocks(run, out, chosen):
    """Copy a run with some of its files of predictions."""
    shutil.copytree(run.path, out)
    for k, path in enumerate(sorted(out.glob("predictions/imagenet-c/*.parquet"))):
        if k not in chosen:
            path.unlink()
    return out


def check_same(one, other):
    a, b = (run.store.table("imagenet-c", "imagenet-1k") for run in (one, other))
    assert (a.images, a.conditions) == (b.images, b.conditions)
    for field in ("labels", "top", "confidence", "nll", "brier"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    assert str(one.table()) == str(other.table())


def test_the_union_is_the_unbroken_run(unbroken, tmp_path):
    """Three parts in any order, one block in two of them."""
    a = some_blocks(unbroken, tmp_path / "a", {0, 1, 2})
    b = some_blocks(unbroken, tmp_path / "b", {2, 5})
    c = some_blocks(unbroken, tmp_path / "c", {3, 4, 6})
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.parquet")}
    merged = merge([c, a, Run(b)], tmp_path / "merged")
    check_same(merged, unbroken)
    assert {path: path.read_bytes() for path in before} == before
    assert len(merged.store.done("imagenet-c")) == 14
    assert merged.store.examples("imagenet-c") == unbroken.store.examples("imagenet-c")


def test_blocks_that_overlap_in_part_give_each_image_once(pictures, unbroken, tmp_path):
    """One process took blocks of 3, another blocks of 4: 6 and 8 images of one order, in runs that go on."""
    a = interrupted(pictures, tmp_path / "a", after=2 * 11 + 1, batch_size=3)
    b = interrupted(pictures, tmp_path / "b", after=2 * 11 + 1, batch_size=4)
    merged = merge([a, b], tmp_path / "merged")
    assert len(merged.store.table("imagenet-c", "imagenet-1k").images) == 8
    continued = oodometer.evaluate("fake", pictures, merged.path, batch_size=3, **OPTIONS)
    check_same(continued, unbroken)


def test_other_plans_are_refused_by_what_differs(pictures, unbroken, tmp_path):
    other = interrupted(pictures, tmp_path / "other", after=12, batch_size=2, seed=7)
    with pytest.raises(StoreError, match=r"different plans\. .*protocol\.seed: there 0, now 7"):
        merge([unbroken, other], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_other_versions_are_refused(unbroken, tmp_path):
    from dataclasses import replace

    other = RunStore(some_blocks(unbroken, tmp_path / "other", {0}))
    manifest = other.read_manifest()
    other.write_manifest(replace(manifest, environment=manifest.environment | {"numpy": "1.0"}))
    with pytest.raises(StoreError, match=r"other versions.*numpy"):
        merge([unbroken, other.path], tmp_path / "merged")


def altered(tmp_path, change, **wishes):
    """Write two runs of 5 images that differ in what ``change`` does to one prediction's scores."""
    one = write_run(tmp_path / "one", images=5, confidence=[0.3] * 5, **wishes)
    other = write_run(tmp_path / "other", images=5, confidence=[0.3] * 5, **wishes)
    table = other.table("imagenet-c", "imagenet-1k")
    entries = []
    for k, condition in enumerate(table.conditions):
        top, confidence = table.top[:, k].copy(), table.confidence[:, k].copy()
        if condition == table.conditions[3]:
            change(top[2], confidence[2:3])
        scores = Scores(top, confidence, table.nll[:, k], table.brier[:, k])
        entries.append((condition, "imagenet-1k", scores, None))
    (path,) = (other.path / "predictions" / "imagenet-c").glob("*.parquet")
    path.unlink()
    other.write_block("imagenet-c", 0, Block(table.images, table.labels, tuple(entries)))
    return one.path, other.path


def another_class(top, confidence):
    top[0] = 999


def surer(top, confidence):
    confidence *= 1.01


@pytest.mark.parametrize("change", [another_class, surer])
def test_different_predictions_of_one_image_are_refused_by_name(tmp_path, change):
    runs = altered(tmp_path, change)
    for order in (runs, runs[::-1]):
        with pytest.raises(
            StoreError, match=r"different predictions of 'n00000000/0002\.jpg' under .*and of 1 of the 5"
        ):
            merge(order, tmp_path / "merged")


def swapped(top, confidence):
    top[:2] = top[1::-1].copy()


def slightly_surer(top, confidence):
    confidence *= 1.0001


@pytest.mark.parametrize("change", [swapped, slightly_surer])
def test_float_noise_is_no_difference_and_the_first_run_counts(tmp_path, change):
    runs = altered(tmp_path, change)
    merged = merge(runs, tmp_path / "merged")
    np.testing.assert_array_equal(
        merged.store.table("imagenet-c", "imagenet-1k").top, RunStore(runs[0]).table("imagenet-c", "imagenet-1k").top
    )


def test_images_that_could_not_be_read_are_merged_too(tmp_path):
    one = write_run(tmp_path / "one", images=4, planned=9, skipped=(Skipped("x.jpg", "cut"),))
    other = write_run(tmp_path / "other", images=4, first=4, planned=9, skipped=(Skipped("x.jpg", "cut"),))
    merged = merge([one.path, other.path], tmp_path / "merged")
    assert [s.image for s in merged.skipped] == ["x.jpg"]
    assert len(merged.store.table("imagenet-c", "imagenet-1k").images) == 8


def test_an_image_that_only_one_could_read_is_refused(tmp_path):
    one = write_run(tmp_path / "one", images=4, planned=9, skipped=(Skipped("n00000000/0005.jpg", "cut"),))
    other = write_run(tmp_path / "other", images=4, first=4, planned=9)
    for order in ([one.path, other.path], [other.path, one.path]):
        with pytest.raises(StoreError, match=r"'n00000000/0005\.jpg' could not be read in .*one, and was predicted"):
            merge(order, tmp_path / "merged")


def test_renditions_and_masked_scores_come_along(tmp_path):
    one = write_run(tmp_path / "one", images=6, planned=12, masked=6, renditions=8)
    other = write_run(tmp_path / "other", images=6, first=6, planned=12, masked=6, renditions=8)
    merged = merge([one.path, other.path], tmp_path / "merged")
    assert len(merged.store.table("imagenet-c", "imagenet-r").images) == 12
    assert len(merged.store.table("imagenet-r", "imagenet-r").images) == 8
    assert merged.summary().renditions.counts.measured == 8


def test_places_that_are_taken_are_refused(unbroken, tmp_path):
    part = some_blocks(unbroken, tmp_path / "part", {0})
    with pytest.raises(StoreError, match="already holds a run"):
        merge([unbroken, part], part)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    with pytest.raises(StoreError, match="not empty"):
        merge([unbroken, part], tmp_path / "full")
    with pytest.raises(StoreError, match="given twice"):
        merge([part, part], tmp_path / "merged")
    for runs in ([part], [], str(part)):
        with pytest.raises(ArgumentError, match="at least two"):
            merge(runs, tmp_path / "merged")


def test_from_the_command_line(unbroken, tmp_path):
    a, b = (some_blocks(unbroken, tmp_path / name, chosen) for name, chosen in (("a", {0, 1}), ("b", {4})))
    result = CliRunner().invoke(cli, ["merge", str(a), str(b), "-o", str(tmp_path / "merged")])
    assert result.exit_code == 0, result.output
    assert "imagenet-c: 6 of 14 images" in result.output
    assert CLEAN in Run(tmp_path / "merged").store.table("imagenet-c", "imagenet-1k").conditions


def test_runs_to_a_precision_are_merged_only_by_the_same_steps(tmp_path):
    one = write_run(tmp_path / "one", images=4, planned=12)
    other = write_run(tmp_path / "other", images=4, first=4, planned=12)
    one.write_steps("imagenet-c", [Step(0, 4, 3)])
    other.write_steps("imagenet-c", [Step(0, 4, 3, decoding=0.1), Step(4, 8, 2)])
    assert merge([one.path, other.path], tmp_path / "merged").store.steps("imagenet-c") == other.steps("imagenet-c")
    one.write_steps("imagenet-c", [Step(0, 4, 5)])
    with pytest.raises(StoreError, match="other steps to its precision"):
        merge([one.path, other.path], tmp_path / "again")


def test_a_merger_that_is_killed_leaves_no_run_and_is_made_again(unbroken, tmp_path, monkeypatch):
    a, b = (some_blocks(unbroken, tmp_path / name, chosen) for name, chosen in (("a", {0, 1, 2}), ("b", {3, 4, 5, 6})))
    for after in (1, 3, 5):
        left = [after]

        def write_part(self, *arguments, left=left, write_part=RunStore.write_part):
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt
            write_part(self, *arguments)

        with monkeypatch.context() as patch:
            patch.setattr(RunStore, "write_part", write_part)
            with pytest.raises(KeyboardInterrupt):
                merge([a, b], tmp_path / "merged")
        assert not RunStore(tmp_path / "merged").exists()
    merged = merge([a, b], tmp_path / "merged")
    check_same(merged, unbroken)
    assert not list(merged.path.rglob("*oodometer-tmp*"))
