"""The report of one or several runs in a folder: what is written, what it says, and what is refused."""

import json
import os
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from click.testing import CliRunner

import oodometer
from oodometer.cli import cli
from oodometer.comparison import compare
from oodometer.errors import ArgumentError, MetricError
from oodometer.report import results
from oodometer.reports import write_reports
from oodometer.run import Run
from oodometer.tracking.record import record
from oodometer.types import CLEAN
from synthetic_runs import write_run


@pytest.fixture
def runs(tmp_path):
    for name, error in (("a", 0.6), ("b", 0.3)):
        write_run(tmp_path / name, model=f"model {name}", error=error, renditions=8)
    return [oodometer.Run(tmp_path / name) for name in "ab"]


def command(*words):
    return CliRunner().invoke(cli, ["report", *map(str, words)])


def test_one_run_is_reported_in_its_own_folder(runs):
    done = command(runs[0].path)
    assert done.exit_code == 0
    assert f"Report: {runs[0].path / 'report.html'}" in done.output
    written = json.loads((runs[0].path / "results.json").read_text())
    assert written == json.loads(json.dumps(results(runs[0].summary())))
    assert not (runs[0].path / "figures").exists()


def test_one_run_is_reported_elsewhere_and_its_own_folder_is_left_alone(runs, tmp_path):
    before = sorted(runs[0].path.rglob("*"))
    done = command(runs[0].path, "-o", tmp_path / "out", "--figures", "--baseline", "none")
    assert done.exit_code == 0
    assert sorted(runs[0].path.rglob("*")) == before
    figures = {f"{name}.{ending}" for name in ("curves", "heat", "reliability") for ending in ("png", "svg")}
    assert {path.name for path in (tmp_path / "out").rglob("*.*")} == {"report.html", "results.json", *figures}
    assert json.loads((tmp_path / "out" / "results.json").read_text())["corruptions"]["mce"] is None


def test_several_runs_are_reported_with_how_they_differ(runs, tmp_path):
    done = command(*(run.path for run in runs), "-o", tmp_path / "out")
    assert done.exit_code == 0
    assert done.output.split() == [str(tmp_path / "out" / name) for name in ("report.html", "comparison.json")]
    written = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert written == json.loads(json.dumps(compare([run.path for run in runs]).results()))
    page = (tmp_path / "out" / "report.html").read_text()
    assert "2 models compared" in page
    assert "B less A, in points" in page


def test_all_runs_have_the_baseline_of_the_first(tmp_path):
    write_run(tmp_path / "a")
    write_run(tmp_path / "b", baseline=None)
    runs = [oodometer.Run(tmp_path / name) for name in "ab"]
    write_reports(runs, tmp_path / "one")
    assert (tmp_path / "one" / "report.html").read_text().count("alexnet: AlexNet of Hendrycks") == 2
    write_reports(runs[::-1], tmp_path / "other")
    assert "AlexNet of Hendrycks" not in (tmp_path / "other" / "report.html").read_text()


def test_runs_that_were_not_measured_alike_are_refused_before_anything_is_written(runs, tmp_path):
    write_run(tmp_path / "c", encoding="jpeg85")
    with pytest.raises(MetricError, match="protocols differ"):
        write_reports([runs[0], oodometer.Run(tmp_path / "c")], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_several_runs_need_a_folder(runs):
    done = command(*(run.path for run in runs))
    assert isinstance(done.exception, ArgumentError)
    assert "-o DIR" in str(done.exception)
    with pytest.raises(ArgumentError, match="a run at least"):
        write_reports([], "nowhere")


def test_difficulty_is_of_sequences_alone(runs):
    done = command(runs[0].path, "--difficulty", "2")
    assert isinstance(done.exception, ArgumentError)


def test_a_run_with_clean_images_alone_has_a_page(tmp_path):
    write_run(tmp_path / "run", conditions=(CLEAN,))
    page, _ = write_reports([oodometer.Run(tmp_path / "run")], tmp_path / "out")
    assert "Clean error" in page.read_text()


def test_a_folder_whose_name_is_no_text_is_reported_and_a_baseline(tmp_path):
    """Bytes that are no text come from other file systems; nothing that is written can hold them as they are."""
    places = [Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)) for name in (b"a\xff", b"b")]
    runs = [Run(write_run(place, error=error).path) for place, error in zip(places, (0.4, 0.6), strict=True)]
    write_reports(runs, tmp_path / "both", baseline=places[0], figures=True)
    assert "a\\xff" in (tmp_path / "both" / "comparison.json").read_text(encoding="utf-8").replace("\\\\", "\\")
    write_reports(runs[1:], tmp_path / "one", baseline=places[0])
    assert "\\xff" in (tmp_path / "one" / "report.html").read_text(encoding="utf-8")
    assert record(runs[0]).name == "a\\xff"


def test_a_report_takes_no_place_of_that_of_another_run(tmp_path):
    """Whoever opens the page in the folder of a run reads of that run, and of no other."""
    runs = [Run(write_run(tmp_path / name).path) for name in "ab"]
    for chosen, folder in ((runs, "a"), (runs, "b"), (runs[:1], "b")):
        with pytest.raises(ArgumentError, match="holds a run"):
            write_reports(chosen, tmp_path / folder)
    assert not list(tmp_path.glob("*/report.html"))
    write_reports(runs[:1], tmp_path / "b" / ".." / "a")
    assert (tmp_path / "a" / "report.html").exists()


def test_other_sets_are_not_put_side_by_side_unless_measured_alike(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("val", "one", "other"):
        for wnid in ("n01440764", "n01443537"):
            place = tmp_path / name / wnid
            place.mkdir(parents=True)
            PIL.Image.fromarray(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(place / f"{name}.png")
    options = {"corruptions": "brightness", "preprocess": "none", "edition": "tiny64", "progress": False}
    runs = [
        oodometer.evaluate("fake", tmp_path / "val", tmp_path / f"run-{k}", suite={"mine": tmp_path / name}, **options)
        for k, name in enumerate(("one", "other", "one"))
    ]
    with pytest.raises(MetricError, match="their images differ"):
        write_reports(runs[:2], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert write_reports(runs[::2], tmp_path / "out")


def test_runs_of_different_counts_say_both(tmp_path):
    write_run(tmp_path / "a", images=40)
    write_run(tmp_path / "b", images=30, planned=40)
    page, _ = write_reports([oodometer.Run(tmp_path / name) for name in "ab"], tmp_path / "out")
    text = page.read_text()
    assert "30 to 40 images under corruption" in text
    assert text.count("<td>40 / 30</td>") == 75
