"""Strength curves through the road: the same images at every severity, in the numbers that corrupt() makes."""

import json

import numpy as np
import pytest
from click.testing import CliRunner
from probes import Probe

import oodometer
from oodometer.cli import cli
from oodometer.datasets import Unlabelled, imagenet1k, open_folder
from oodometer.errors import ArgumentError, DatasetError

FAST = {"preprocess": "none", "edition": "tiny64"}


def one_hot(classes, width=1000):
    return np.eye(width, dtype=np.float32)[classes]


@pytest.fixture
def twenty_four(tmp_path):
    """Write 24 pictures of noise, each of a class of its own."""
    import PIL.Image

    rng = np.random.default_rng(0)
    root = tmp_path / "val"
    for k in range(24):
        wnid = imagenet1k().classes[k]
        picture = rng.integers(60, 196, (64, 64, 3)).astype(np.uint8)
        (root / wnid).mkdir(parents=True)
        PIL.Image.fromarray(picture).save(root / wnid / f"{k:02d}.png")
    return root


def noisy_classifier(root):
    """Make a model that knows each clean picture, and errs once a picture is some distance from it.

    The distance that it bears grows with the class, so that stronger corruptions cost more of the pictures.
    """
    import PIL.Image

    known = [np.asarray(PIL.Image.open(path)).astype(float) for path in sorted(root.rglob("*.png"))]

    def logits(images):
        answers = []
        for image in images:
            away = [np.abs(image - picture).mean() for picture in known]
            nearest = int(np.argmin(away))
            answers.append(nearest if away[nearest] < 4 + 2.2 * nearest else 999)
        return one_hot(answers)

    return Probe(logits)


def test_the_points_are_those_of_corrupt(twenty_four):
    """At 2.5 too: corrupt the pictures here and ask the model without any of the package's road."""
    import PIL.Image

    root = twenty_four
    model = noisy_classifier(root)
    curve = oodometer.strength_curve(model, root, "gaussian_noise", (1, 2.5, 5), **FAST)
    measured = {point.severity: point.error for point in curve.points}
    assert {0, 1, 2.5, 5} <= set(measured)
    paths = sorted(root.rglob("*.png"))
    pictures = np.stack([np.asarray(PIL.Image.open(path)) for path in paths])
    names = [path.relative_to(root).as_posix() for path in paths]
    for severity, error in measured.items():
        made = oodometer.corrupt(pictures, "gaussian_noise", severity, edition="tiny64", image_id=names)
        wrong = model.predict(made).argmax(axis=1) != np.arange(24)
        assert error.value == pytest.approx(wrong.mean())
        assert error.n == 24
    assert curve.images == 24


def test_half_lies_between_its_neighbours(twenty_four):
    curve = oodometer.strength_curve(noisy_classifier(twenty_four), twenty_four, "gaussian_noise", batch_size=7, **FAST)
    clean = 1 - curve.points[0].error.value
    above = [p.severity for p in curve.points if 1 - p.error.value > clean / 2]
    below = [p.severity for p in curve.points if 1 - p.error.value <= clean / 2]
    assert max(above) <= curve.half.value <= min(below)
    assert curve.half.low <= curve.half.value <= curve.half.high
    assert f"at severity {curve.half.value:.2f}" in str(curve)
    same = oodometer.strength_curve(noisy_classifier(twenty_four), twenty_four, "gaussian_noise", batch_size=24, **FAST)
    assert same == curve


def test_a_model_that_nothing_disturbs_has_no_half(photographs):
    root = photographs(4)
    dataset = oodometer.open_folder(root)
    label = dataset.samples[0].label
    probe = Probe(lambda images: one_hot([label] * len(images)))
    curve = oodometer.strength_curve(probe, root, "contrast", (1, 3), **FAST)
    assert curve.half is None
    assert "does not fall to half of the clean one up to severity 10" in curve.half_unavailable
    assert curve.points[-1].severity == 10
    assert "does not fall" in str(curve)


def test_unreadable_images_are_left_out_everywhere(photographs):
    root = photographs(6)
    sorted(root.rglob("*.png"))[2].write_bytes(b"no picture")
    curve = oodometer.strength_curve("fake", root, "fog", (1,), **FAST)
    assert {point.error.n for point in curve.points} == {5}
    assert len(curve.skipped) == 1
    for path in root.rglob("*.png"):
        path.write_bytes(b"no picture")
    with pytest.raises(DatasetError, match="None of the 6 images"):
        oodometer.strength_curve("fake", root, "fog", (1,), **FAST)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("noise",), "'noise' is a group"),
        (("fogg",), "Did you mean 'fog'"),
        (("fog", ()), "at least one"),
        (("fog", "12"), "at least one, not '12'"),
        (("fog", (1, 11)), "from 0 to 10, not 11"),
        (("fog", (1, float("nan"))), "not nan"),
        (("fog", ("1",)), "not '1'"),
        (("fog", 3), "at least one, not 3"),
    ],
)
def test_wrong_arguments_are_refused_before_any_prediction(photographs, arguments, message):
    probe = Probe(lambda images: 1 / 0)
    with pytest.raises(ArgumentError, match=message):
        oodometer.strength_curve(probe, photographs(2), *arguments, **FAST)
    assert probe.seen == []


def test_the_command_prints_and_keeps_what_the_call_returns(twenty_four, tmp_path):
    options = ["--preprocess", "none", "--edition", "tiny64", "-s", "0,2.5,5", "--json", str(tmp_path / "curve.json")]
    done = CliRunner().invoke(cli, ["strength", "fake", "--data", str(twenty_four), "-c", "contrast", *options])
    assert done.exit_code == 0, done.output
    curve = oodometer.strength_curve("fake", twenty_four, "contrast", [0, 2.5, 5], **FAST)
    assert str(curve) in done.output
    kept = json.loads((tmp_path / "curve.json").read_text())
    assert [point["severity"] for point in kept["points"]] == [point.severity for point in curve.points]
    assert kept["points"][1]["error"]["value"] == curve.points[1].error.value
    wrong = CliRunner().invoke(cli, ["strength", "fake", "--data", str(twenty_four), "-c", "fog", "-s", "1,two"])
    assert wrong.exit_code == 2
    assert "no list of numbers" in wrong.output


def test_images_without_labels_have_no_errors(twenty_four):
    with pytest.raises(DatasetError, match="Give their labels"):
        oodometer.strength_curve("fake", Unlabelled(open_folder(twenty_four)), "fog", **FAST)


def test_a_rendition_ends_at_5_and_nothing_that_was_measured_is_lost(twenty_four):
    """Its author gave five severities, and a model that never errs is looked at no further."""
    curve = oodometer.strength_curve(
        Probe(lambda images: one_hot([0] * len(images))), twenty_four, "pencil", [1], **FAST
    )
    assert curve.points[-1].severity == 5
    assert "does not fall to half of the clean one up to severity 5" in str(curve)
    with pytest.raises(ArgumentError, match="no severity above 5, so not 6"):
        oodometer.strength_curve("fake", twenty_four, "pencil", [1, 6], **FAST)


@pytest.mark.parametrize(("images", "is_open"), [(2, True), (24, False)])
def test_an_interval_without_an_upper_end_says_so(twenty_four, images, is_open):
    """A model that is right on clean pictures alone: two of them cannot say that it will go on to be wrong."""
    import PIL.Image

    paths = sorted(twenty_four.rglob("*.png"))
    known = {np.asarray(PIL.Image.open(path)).tobytes(): k for k, path in enumerate(paths)}
    model = Probe(lambda pictures: one_hot([known.get(picture.tobytes(), 999) for picture in pictures]))
    curve = oodometer.strength_curve(model, twenty_four, "pencil", [1, 5], limit=images, **FAST)
    assert curve.half_open is is_open
    assert (curve.half.high == 5) is is_open
    assert ("or beyond" in str(curve)) is is_open


def test_a_model_that_is_never_right_has_no_strength(twenty_four):
    wrong = Probe(lambda images: one_hot([999] * len(images)))
    curve = oodometer.strength_curve(wrong, twenty_four, "fog", [0], **FAST)
    assert "No clean image is predicted rightly" in str(curve)


def test_a_place_where_no_file_can_be_is_refused_before_the_work(twenty_four, tmp_path):
    (tmp_path / "file").write_text("")
    for place in (tmp_path, tmp_path / "file" / "curve.json"):
        command = ["strength", "fake", "--data", str(twenty_four), "-c", "fog", "--json", str(place)]
        done = CliRunner().invoke(cli, command)
        assert isinstance(done.exception, ArgumentError)
        assert str(tmp_path) in str(done.exception)
