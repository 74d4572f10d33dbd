"""The table fits, names its baseline, and does no harm to a terminal."""

import io

import pytest
from rich.console import Console

from oodometer.families import EXTRA, IMAGENET_C, SEVERITIES
from oodometer.report import ResultTable, summarize
from oodometer.report.headlines import headlines
from oodometer.report.words import interval, percent
from oodometer.store import Skipped
from oodometer.types import CLEAN, Condition

NINETEEN = (CLEAN, *(Condition(name, s) for name in (*IMAGENET_C, *EXTRA) for s in SEVERITIES))


def test_the_text_says_the_numbers_of_the_summary(make_run):
    summary = summarize(make_run(images=60, masked=20, renditions=40, conditions=NINETEEN))
    lines = str(ResultTable(summary)).splitlines()
    for row in (*summary.corruptions.rows, *summary.corruptions.extra):
        (line,) = [line for line in lines if line.startswith(row.name)]
        assert line.split()[1:6] == [percent(e.value) for e in row.errors]
        assert interval(row.mean) in line
    for found in headlines(summary):
        assert any(found.title in line and percent(found.estimate.value) in line for line in lines)
    assert any(line.startswith("in no mean") for line in lines)


@pytest.mark.parametrize("images", [1, 20, 400])
def test_the_text_fits_a_hundred_columns(make_run, images):
    skipped = tuple(Skipped(f"n{'0' * 90}/{k}.jpg", "x" * 200) for k in range(9))
    store = make_run(images=images, skipped=skipped, renditions=8, model="m" * 300, conditions=NINETEEN, error=1.0)
    text = str(ResultTable(summarize(store)))
    assert max(map(len, text.splitlines())) <= 100
    assert "alexnet" in text
    assert text.isascii()


def test_print_repr_and_notebook(make_run):
    table = ResultTable(summarize(make_run()))
    assert repr(table) == str(table)
    assert "<table" in table._repr_html_()


def test_names_cannot_drive_the_terminal(make_run):
    text = str(ResultTable(summarize(make_run(model="\x1b[2Jevil\x07\u202e [bold]m[/bold]"))))
    assert "\\x1b[2Jevil\\x07\\u202e [bold]m[/bold]" in text
    assert "\x1b" not in text


def test_heat_on_a_terminal_only(make_run):
    table = ResultTable(summarize(make_run()))

    def shown(**options):
        console = Console(file=io.StringIO(), width=100, **options)
        console.print(table)
        return console.file.getvalue()

    assert "\x1b[" in shown(force_terminal=True, color_system="truecolor")
    assert "\x1b[" not in shown(force_terminal=False)


def test_without_a_baseline_the_text_says_so(make_run):
    text = str(ResultTable(summarize(make_run(baseline=None))))
    assert "Baseline" in text
    assert "no baseline" in text
    assert any(line.split() == ["mCE", "n/a", "lower"] for line in text.splitlines())
