"""Images without labels: how often the prediction changes, and nothing that would need a label."""

import json
import shutil

import numpy as np
import PIL.Image
import pytest
from click.testing import CliRunner
from probes import FAST, Probe

import oodometer
from oodometer.cli import cli
from oodometer.datasets import Unlabelled, open_folder
from oodometer.errors import ArgumentError, DatasetError, MetricError, OodometerError
from oodometer.families import IMAGENET_C
from oodometer.report.text import ResultTable


@pytest.fixture
def flat(tmp_path, textured):
    """Write pictures into one folder without classes."""
    root = tmp_path / "flat"
    root.mkdir()
    for i in range(12):
        PIL.Image.fromarray(textured(i)).save(root / f"{i:02d}.png")
    return root


def _by_hand(run):
    """Count the changes from the rows of the store, one picture after the other."""
    table = run.store.table("imagenet-c", "imagenet-1k")
    answers = {
        (image, str(condition)): int(table.top[i, k, 0])
        for i, image in enumerate(table.images)
        for k, condition in enumerate(table.conditions)
    }
    return {
        name: tuple(
            sum(answers[image, f"{name}/{s}"] != answers[image, "clean"] for image in table.images) / len(table.images)
            for s in range(1, 6)
        )
        for name in IMAGENET_C
    }


def test_changes_are_those_of_the_same_images_with_labels(photographs):
    root = photographs(10)
    labelled = oodometer.evaluate("fake", root, **FAST)
    run = oodometer.evaluate("fake", root, unlabelled=True, **FAST)
    expected = _by_hand(labelled)
    assert np.mean(list(expected.values())) > 0
    for found in (run.changes, labelled.changes):
        assert found.keys() == expected.keys()
        for name in IMAGENET_C:
            assert found[name] == pytest.approx(expected[name])
    part = run.summary().unlabelled
    assert part.changed.value == pytest.approx(np.mean(list(expected.values())))
    assert part.changed.value == pytest.approx(labelled.summary().corruptions.changed.value)
    assert (part.changed.low, part.changed.high) == pytest.approx(
        (labelled.summary().corruptions.changed.low, labelled.summary().corruptions.changed.high)
    )


@pytest.mark.parametrize(("changed", "rate"), [(False, 0.0), (True, 1.0)])
def test_a_model_that_always_or_never_changes_its_mind(flat, textured, changed, rate):
    clean = {textured(i).tobytes() for i in range(12)}

    def logits(images):
        answers = [int(changed and image.tobytes() not in clean) for image in images]
        return np.eye(7, dtype=np.float32)[answers]

    run = oodometer.evaluate(
        Probe(logits), flat, unlabelled=True, classes=7, corruptions="gaussian_noise,saturate", **FAST
    )
    assert run.changes == {"gaussian_noise": (rate,) * 5, "saturate": (rate,) * 5}
    part = run.summary().unlabelled
    assert ([row.name for row in part.rows], [row.name for row in part.extra]) == (["gaussian_noise"], ["saturate"])
    assert part.changed.value == rate
    assert part.changed_title == "Changed predictions (1 of 15 corruptions)"


def test_nothing_is_said_of_errors(flat, tmp_path):
    run = oodometer.evaluate("fake", flat, tmp_path / "run", unlabelled=True, corruptions="fog", **FAST)
    for number in (
        lambda: run.errors,
        lambda: run.clean_error,
        run.mce,
        run.relative_mce,
        run.top5_error,
        run.nll,
        run.brier,
        run.ece,
        run.reliability,
        run.selective_risk,
        lambda: run.under().hits,
        lambda: run.under().misses,
        lambda: oodometer.compare([run, run]),
        lambda: oodometer.compare([tmp_path / "run", tmp_path / "run"]),
    ):
        with pytest.raises(OodometerError):
            number()
    with pytest.raises(MetricError, match="no labels"):
        run.errors  # noqa: B018
    with pytest.raises(MetricError, match="a baseline could divide"):
        run.table("alexnet")
    results = json.loads((run.report().parent / "results.json").read_text())
    assert (results["corruptions"], results["renditions"]) == (None, None)
    assert results["unlabelled"]["counts"]["classes"] == 0
    page, text = run.report().read_text(), str(ResultTable(run.summary()))
    for told in (page, text):
        assert "Changed predictions" in told
        assert "no labels" in told
        assert "right" not in told.replace("rightly", "").split("<style>")[0]
        assert "Clean error" not in told
        assert "mCE" not in told
    table = run.store.table("imagenet-c", "imagenet-1k")
    assert np.isnan(table.nll).all()
    assert np.isnan(table.brier).all()
    assert np.isfinite(table.confidence).all()


def test_a_run_that_lost_a_block_continues(flat, tmp_path):
    options = {"unlabelled": True, "corruptions": "fog", "batch_size": 4, **FAST}
    whole = oodometer.evaluate("fake", flat, tmp_path / "run", **options)
    before = whole.store.table("imagenet-c", "imagenet-1k")
    (tmp_path / "run" / "predictions" / "imagenet-c").glob("*.parquet").__next__().unlink()
    shutil.rmtree(tmp_path / "run" / "examples")
    after = oodometer.evaluate("fake", flat, tmp_path / "run", **options).store.table("imagenet-c", "imagenet-1k")
    assert before.images == after.images
    np.testing.assert_array_equal(before.top, after.top)
    with pytest.raises(OodometerError, match="holds another run"):
        oodometer.evaluate("fake", flat, tmp_path / "run", **{**options, "corruptions": "snow"})


def test_class_folders_and_images_at_the_top_alike(tmp_path, textured):
    for name in ("a.png", "some/b.png", "n01440764/c.png"):
        (tmp_path / "mixed" / name).parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(textured(ord(name[0]))).save(tmp_path / "mixed" / name)
    run = oodometer.evaluate("fake", tmp_path / "mixed", unlabelled=True, corruptions=(), **FAST)
    assert run.under().images == ("a.png", "n01440764/c.png", "some/b.png")


def test_labels_and_no_labels_do_not_mix(flat, photographs, tmp_path):
    for options, words in (
        ({"labels": {"00.png": 3}}, "unlabelled goes without labels"),
        ({"baseline": "alexnet"}, "no errors"),
        ({"precision": 1.0}, "are about errors"),
        ({"classes": 3, "label_space": "imagenet-1k"}, "not with a label space"),
        ({"label_space": "imagenet-2k"}, "imagenet-1k"),
    ):
        with pytest.raises(ArgumentError, match=words):
            oodometer.evaluate("fake", flat, unlabelled=True, **options, **FAST)
    run = oodometer.evaluate("fake", photographs(4), tmp_path / "run", unlabelled=True, corruptions="fog", **FAST)
    with pytest.raises(OodometerError, match="label"):
        oodometer.evaluate("fake", photographs(4), corruptions="fog", baseline=run.path, **FAST)
    half = Unlabelled(open_folder(photographs(4)))
    half.samples = (*half.samples[:2], *open_folder(photographs(4)).samples[2:])
    with pytest.raises(DatasetError, match="none; so it is for 2 of 4 images"):
        oodometer.evaluate("fake", half, **FAST)


def test_the_live_line_and_the_command(flat, tmp_path):
    options = ["--preprocess", "none", "--edition", "tiny64", "--unlabelled", "-o", str(tmp_path / "run")]
    done = CliRunner().invoke(cli, ["evaluate", "fake", "--data", str(flat), *options])
    assert done.exit_code == 0, done.output
    run = oodometer.Run(tmp_path / "run")
    mean = 100 * np.mean(list(_by_hand(run).values()))
    assert f"{mean:.1f}" in done.output
    assert "Changed predictions" in done.output
    again = CliRunner().invoke(cli, ["report", str(tmp_path / "run")])
    assert again.exit_code == 0
    assert "Changed predictions" in again.output


def test_renditions_beside_images_without_labels(flat, tmp_path, textured):
    place = tmp_path / "renditions" / "n01443537"
    place.mkdir(parents=True)
    PIL.Image.fromarray(textured(99)).save(place / "art_0.png")
    run = oodometer.evaluate(
        "fake", flat, unlabelled=True, imagenet_r=tmp_path / "renditions", corruptions="fog", **FAST
    )
    found = run.summary().renditions
    assert found.accuracy.n == 1
    assert (found.gap, found.clean_accuracy) == (None, None)


@pytest.mark.parametrize("corruptions", ["saturate", ()])
def test_without_a_corruption_that_counts_there_is_no_mean(flat, corruptions):
    given = FAST | {"corruptions": corruptions}
    run = oodometer.evaluate("fake", flat, unlabelled=True, label_space="imagenet-1k", **given)
    assert run.summary().unlabelled.changed is None
    assert "n/a" in str(run.table())
    assert "n/a" in run.report().read_text()
