"""What trackers are told of a run; the trackers themselves are tested in ``frameworks``."""

import errno
import os
import sys
from pathlib import Path

import PIL.Image
import pytest

import oodometer
from oodometer import cli
from oodometer.datasets import imagenet1k
from oodometer.errors import ArgumentError, MissingDataError, StoreError
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.metrics import Estimate
from oodometer.run import Run
from oodometer.tracking import TRACKERS, quantities, record, scalars
from oodometer.tracking.quantities import named
from oodometer.types import CLEAN, Condition
from synthetic_runs import write_run


@pytest.fixture
def run(tmp_path):
    return Run(write_run(tmp_path / "ours", images=120, masked=20, renditions=40).path)


def test_the_names_stay(run):
    """They are in people's dashboards: a change is a decision."""
    found = quantities(run.summary())
    cells = {f"error/{name}/{s}" for name in IMAGENET_C for s in (*SEVERITIES, "mean")}
    relative = {f"{kind}/{name}" for name in IMAGENET_C for kind in ("CE", "relative_CE")}
    confidence = {"ECE", "RMS_calibration_error", "AURRA"}
    losses = {"top5_error", "nll", "brier"}
    clean = {f"clean/{name}" for name in confidence | losses}
    accuracies = {"accuracy", "accuracy_all_classes", "clean_accuracy", "gap", *losses}
    shifted = {f"shifted/imagenet-r/{name}" for name in accuracies}
    whole = {"clean_error", "mean_error", "mCE", "relative_mCE", "changed_predictions"}
    assert set(found) == {f"oodometer/{name}" for name in cells | relative | clean | shifted | whole}


def test_a_mean_over_fewer_corruptions_is_called_partial(tmp_path):
    some = (CLEAN, *(Condition(name, s) for name in IMAGENET_C[:3] for s in SEVERITIES))
    found = quantities(Run(write_run(tmp_path / "run", conditions=some, images=9).path).summary())
    assert {"oodometer/partial/mean_error", "oodometer/partial/mean_CE"} <= set(found)
    assert not {"oodometer/mean_error", "oodometer/mCE", "oodometer/relative_mCE"} & set(found)


def test_no_name_is_the_folder_of_another(run):
    """MLflow's file store keeps each number and each setting in a file of its name."""
    told = record(run)
    for names in (scalars(told.estimates), told.settings):
        for name in names:
            parts = name.split("/")
            assert not {"/".join(parts[:k]) for k in range(1, len(parts))} & set(names)


def test_scalars_have_the_ends_of_the_interval_and_nothing_infinite():
    found = scalars({"a": Estimate(0.5, 0.25, float("inf"), 0.1, 9), "b": Estimate(float("nan"), 0, 1, 0, 9)})
    assert found == {"a": 0.5, "a_low": 0.25, "b_low": 0.0, "b_high": 1.0}


def test_names_have_no_character_that_a_tracker_refuses():
    assert named("error/näss:<b>/3") == "oodometer/error/n_ss__b_/3"


def test_the_record_says_how_the_numbers_were_made(run):
    told = record(run)
    assert told.plan == told.settings["plan"] == run.store.plan_digest()
    assert told.settings["data/imagenet-c/protocol"] == "256->224, memory"
    assert told.settings["data/imagenet-c/images"] == told.settings["data/imagenet-c/measured"] == "120"
    assert told.settings["baseline"] == "alexnet"
    assert told.files["report.html"].startswith(b"<!doctype html>")
    assert sorted(path.name for path in run.path.iterdir() if path.suffix in (".html", ".json")) == ["manifest.json"]


def test_a_setting_is_one_line(tmp_path):
    told = record(Run(write_run(tmp_path / "run", images=5, model="a\n| b |\x1b[2J").path))
    assert told.settings["model/name"] == "a | b | [2J"


@pytest.mark.parametrize(
    ("to", "error", "message"),
    [
        ("tensorbord:x", ArgumentError, "Did you mean 'tensorboard'"),
        ("tensorboard", ArgumentError, "behind the colon"),
        ("mlflow:", ArgumentError, "behind the colon"),
    ],
)
def test_a_place_that_is_none_is_refused(run, to, error, message):
    with pytest.raises(error, match=message):
        oodometer.track(run, to)


@pytest.mark.parametrize(
    ("kind", "package"), [("tensorboard", "tensorboardX"), ("wandb", "wandb"), ("mlflow", "mlflow")]
)
def test_a_missing_package_is_named_with_what_to_install(run, monkeypatch, kind, package):
    monkeypatch.delitem(sys.modules, f"oodometer.tracking.{kind}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    name = TRACKERS[kind].partition(":")[0]
    with pytest.raises(MissingDataError, match=rf"{name} needs {package}: pip install 'oodometer\[{kind}\]'"):
        oodometer.track(run, f"{kind}:x")


def test_lightning_that_is_missing_is_named_with_what_to_install(monkeypatch):
    import oodometer.training

    monkeypatch.delitem(sys.modules, "oodometer.training.lightning", raising=False)
    monkeypatch.setitem(sys.modules, "lightning", None)
    with pytest.raises(MissingDataError, match=r"RobustnessCallback needs lightning.*'oodometer\[lightning\]'"):
        _ = oodometer.training.RobustnessCallback


def test_nothing_to_track_is_refused():
    with pytest.raises(ArgumentError, match="give a run"):
        oodometer.track([], "tensorboard:x")


def test_the_command_refuses_in_a_line(run, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["track", str(run.path), "--to", "nowhere:x"])
    assert ended.value.code == 2
    assert "Unknown tracker 'nowhere'" in capsys.readouterr().err


def test_the_command_says_where_each_run_is(tmp_path, capsys):
    paths = [str(write_run(tmp_path / name, images=5).path) for name in ("one", "two")]
    with pytest.raises(SystemExit) as ended:
        cli.main(["track", *paths, "--to", f"tensorboard:{tmp_path / 'board'}"])
    assert ended.value.code == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "board" / name) for name in ("one", "two")]
    assert {len(list((tmp_path / "board" / name).iterdir())) for name in ("one", "two")} == {1}


def test_a_run_over_sequences(tmp_path):
    place = tmp_path / "val" / imagenet1k().classes[0] / "a.png"
    place.parent.mkdir(parents=True)
    PIL.Image.new("RGB", (64, 64), (90, 120, 150)).save(place)
    oodometer.build_sequences(tmp_path / "val", tmp_path / "p", perturbations=["brightness", "tilt"], progress=False)
    run = oodometer.evaluate_sequences("fake", tmp_path / "p", tmp_path / "run", progress=False)
    told = record(run)
    for name, rate in run.flip_rates.items():
        assert told.estimates[f"oodometer/flip_rate/{name}"] == rate
    mean = run.summary().mean_flip_rate.estimate
    assert told.estimates["oodometer/partial/mean_flip_rate"] == mean
    assert not {"oodometer/mean_flip_rate", "oodometer/mFR", "oodometer/mT5D"} & set(told.estimates)
    assert told.settings["data/imagenet-p/tilt/images"] == "1"
    assert list(told.files) == ["sequences.json"]
    places = [oodometer.track(each, f"tensorboard:{tmp_path / 'board'}") for each in (run, run.path)]
    assert places == [(str(tmp_path / "board" / "run"),)] * 2


def test_a_full_disk_leaves_the_earlier_events_and_is_said(tmp_path, monkeypatch):
    run = write_run(tmp_path / "run").path
    (place,) = oodometer.track(run, f"tensorboard:{tmp_path / 'board'}")
    before = {path.name: path.read_bytes() for path in Path(place).iterdir()}

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="The disk is full while writing"):
        oodometer.track(run, f"tensorboard:{tmp_path / 'board'}")
    assert {path.name: path.read_bytes() for path in Path(place).iterdir()} == before
