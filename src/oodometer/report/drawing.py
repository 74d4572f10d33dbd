"""Charts as the text of a picture within a page, in its colours by light and dark."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from oodometer.report.charts import Style, bar_chart, curve_chart, diagram_chart
from oodometer.report.differences import Numbers, Pair
from oodometer.report.panels import OfRun, Panel, bars, curves, diagrams
from oodometer.report.words import in_order, spaced

__all__ = ["PAGE", "PageCharts", "page_charts"]

PAGE = Style(
    series=tuple(f"var(--series-{k})" for k in range(8)),
    ink="var(--ink)",
    soft="var(--soft)",
    line="var(--line)",
    font="sans-serif",
    font_size=11,
    width=200,
    height=130,
    background="transparent",
    alone=False,
)
"""The colours are names that the page's style sheet gives a meaning to, another one in the dark."""


def _drawn(chart: Any, style: Style, label: str) -> Markup:  # noqa: ANN401 - a chart of any kind
    """Draw a chart as SVG that stands in HTML, with a label for those who do not see it.

    Parameters
    ----------
    chart
        A chart of ``charts``.
    style
        How it looks.
    label
        What the chart shows; the numbers stand in a table beside it.
    """
    sink = io.StringIO()
    style.finished(chart).save(sink, format="svg")
    # Vega escapes every text in its pictures, so this is markup; the tests try it with hostile names.
    start = Markup('<svg role="img" aria-label="{}" ').format(in_order(label))
    return start + Markup(sink.getvalue().removeprefix("<svg "))


@dataclass(frozen=True, slots=True)
class PageCharts:
    """The charts of a page: the curves by corruption, a reliability diagram a run, the differences from the first run.

    Each with what it is of; the panel of a diagram has the titles for its legend.
    """

    curves: tuple[tuple[str, Markup], ...]
    diagrams: tuple[tuple[Panel, Markup], ...]
    differences: tuple[tuple[Pair, Markup], ...]


def page_charts(runs: Sequence[OfRun], compared: Numbers | None) -> PageCharts:
    """Draw the charts of a page.

    Parameters
    ----------
    runs
        One or several.
    compared
        How several differ.
    """
    whole = ", ".join(run.letter for run in runs) if len(runs) > 1 else "the model"
    by_corruption = [
        (panel.name, _drawn(curve_chart(panel, PAGE), PAGE, f"{spaced(panel.name)} by severity, of {whole}"))
        for panel in curves(runs)
    ]
    reliability = [
        (panel, _drawn(diagram_chart(panel, PAGE), PAGE, f"accuracy by confidence of {panel.name}"))
        for panel in map(diagrams, runs)
        if panel.series
    ]
    differences = [
        (pair, _drawn(bar_chart(bars(pair), PAGE, "points"), PAGE, f"{pair.second} less {pair.first} by corruption"))
        for pair in (() if compared is None else compared.pairs)
        if pair.corruptions
    ]
    return PageCharts(tuple(by_corruption), tuple(reliability), tuple(differences))
