"""The charts of a report as files for papers: PNG at 300 dots an inch, and SVG."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import altair as alt

from oodometer.outfolder import write_atomically
from oodometer.report.charts import Style, bar_chart, curve_chart, diagram_chart, heat_chart, title_of
from oodometer.report.differences import Numbers
from oodometer.report.page import lettered
from oodometer.report.panels import OfRun, Panel, bars, curves, diagrams, shares
from oodometer.report.summary import Summary
from oodometer.report.words import spaced

__all__ = ["PAPER", "write_figures"]

DOTS = 300
"""Dots an inch of the PNG files."""

COLUMNS = 5
"""How many curves stand beside each other: the 15 corruptions make three rows."""

PAPER = Style(
    # The colours of M. Okabe & K. Ito, which people of all kinds of colour vision can tell apart; without the yellow,
    # which is too pale for a line on paper.
    series=("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F"),
    ink="#000000",
    soft="#555555",
    line="#dddddd",
    # The first two are what papers are set with in figures, the third has their widths and is drawn where they lack.
    font="Helvetica, Arial, Liberation Sans, sans-serif",
    font_size=10,  # pixels of 1/96 inch: 7.5 points at the size in which the figure is made
    width=98,
    height=72,
    background="white",
    alone=True,
)
"""Five panels beside each other are as wide as the text of a page of two columns, 6.75 inches."""


def write_figures(
    summaries: Sequence[Summary], folder: str | os.PathLike[str], compared: Numbers | None = None
) -> list[Path]:
    """Write the charts of one or several runs, each as ``.svg`` and ``.png``; return the files.

    Parameters
    ----------
    summaries
        What the runs say.
    folder
        Where the files go.
    compared
        How several runs differ.

    Raises
    ------
    StoreError
        If a file cannot be written.
    """
    written = []
    for name, chart in _charts(lettered(summaries, compared), compared):
        finished = PAPER.finished(chart)
        text, picture = io.StringIO(), io.BytesIO()
        finished.save(text, format="svg")
        # The pixels of SVG are 1/96 inch, those of this drawing 1/72, and both files are to have one size on paper.
        finished.save(picture, format="png", ppi=DOTS, scale_factor=72 / 96)
        for ending, content in (("svg", text.getvalue().encode()), ("png", picture.getvalue())):
            written.append(Path(folder) / f"{name}.{ending}")
            write_atomically(written[-1], content)
    return written


def _charts(runs: Sequence[OfRun], compared: Numbers | None) -> Iterator[tuple[str, Any]]:
    """Make each chart, with the name of its files; those of a single run are named by its letter, if it has one."""
    panels = curves(runs)
    labelled = runs[0].summary.corruptions is not None
    if panels:
        yield "curves", _grid(panels, "error, %" if labelled else "changes, %")
    for run in runs:
        ending = f"-{run.letter}" if run.letter else ""
        if rows := shares(run):
            yield f"heat{ending}", heat_chart(rows, PAPER)
        panel = diagrams(run)
        if panel.series:
            yield f"reliability{ending}", diagram_chart(panel, PAPER)
    for pair in () if compared is None else compared.pairs:
        if pair.corruptions:
            quantity = f"error of {pair.second} less that of {pair.first}, points"
            yield f"differences-{pair.first}-{pair.second}", bar_chart(bars(pair), PAPER, quantity)


def _grid(panels: Sequence[Panel], quantity: str) -> alt.ConcatChart:
    """Put curves beside each other; only those at the edge name their axes."""
    below = len(panels) - COLUMNS
    charts = [
        curve_chart(
            panel, PAPER, "severity" if k >= below else None, quantity if k % COLUMNS == 0 else None
        ).properties(title=title_of(spaced(panel.name)))
        for k, panel in enumerate(panels)
    ]
    return alt.concat(*charts, columns=COLUMNS, spacing=10)
