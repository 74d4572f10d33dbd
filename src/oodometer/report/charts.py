"""Charts of panels, as Vega-Lite charts: for the page, in its colours, and for papers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

from oodometer.families import SEVERITIES
from oodometer.metrics import Estimate
from oodometer.report import heat
from oodometer.report.panels import Bar, Panel, Point, Series
from oodometer.report.words import in_order, percent, spaced

__all__ = ["SHAPES", "Style", "bar_chart", "curve_chart", "diagram_chart", "heat_chart", "title_of"]

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left")
"""Of the points of a series, so that colour is never the only thing that tells series apart."""

_TEXT_WIDTH = 6.75 * 96
"""Of a page of two columns, 6.75 inches, in pixels of SVG; a legend that is wider begins another line."""

_BARE = {"grid": False, "ticks": False, "domain": False}
"""Of an axis of names, which needs no lines."""


@dataclass(frozen=True, slots=True)
class Style:
    """How charts look: the colours of series, text, lines and ground, the font, and the size of a panel in pixels.

    A chart that stands ``alone`` names its series itself.
    """

    series: tuple[str, ...]
    ink: str
    soft: str
    line: str
    font: str
    font_size: float
    width: float
    height: float
    background: str
    alone: bool

    def finished(self, chart: Any) -> Any:  # noqa: ANN401 - a chart of any kind, and the same kind back
        """Give a whole chart the colours and fonts."""
        text = {"font": self.font, "fontSize": self.font_size, "fontWeight": "normal", "color": self.ink}
        labels = {"labelFont": self.font, "labelFontSize": self.font_size, "labelColor": self.ink}
        titles = {"titleFont": self.font, "titleFontSize": self.font_size, "titleFontWeight": "normal"}
        return (
            chart.configure(background=self.background)
            .configure_view(stroke=None)
            .configure_axis(
                **labels, **titles, titleColor=self.ink, gridColor=self.line, domainColor=self.soft, tickColor=self.soft
            )
            .configure_legend(**labels, **titles, titleColor=self.ink, labelLimit=600, symbolStrokeWidth=1.5)
            .configure_title(**text)
            .configure_text(font=self.font, fontSize=self.font_size)
        )


def curve_chart(panel: Panel, style: Style, across: str | None = None, up: str | None = None) -> alt.LayerChart:
    """Draw lines over severities, each with the band of its 95 % intervals.

    Parameters
    ----------
    panel
        The series, of fractions.
    style
        How it looks.
    across, up
        What the axes are called, such as ``"severity"`` and ``"error, %"``.
    """
    base = _base(panel.series, style).encode(
        x=alt.X("x:Q", title=across, axis=alt.Axis(values=[0, *SEVERITIES], format="d", grid=False))
    )
    y = alt.Y("value:Q", title=up, scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(values=[0, 25, 50, 75, 100]))
    band = base.mark_area(opacity=0.16, aria=False).encode(y=alt.Y("low:Q", title=up), y2="high:Q")
    lines = base.mark_line(strokeWidth=1.75, aria=False).encode(y=y)
    return _sized(alt.layer(band, lines, _points(base, y, panel.series)), style)


def diagram_chart(panel: Panel, style: Style) -> alt.LayerChart:
    """Draw a reliability diagram: accuracy over confidence, and the diagonal on which both are equal.

    Parameters
    ----------
    panel
        The series, of fractions.
    style
        How it looks.
    """
    axis = alt.Axis(values=[0, 25, 50, 75, 100])
    whole = alt.Scale(domain=[0, 100])
    x = alt.X("x:Q", title="confidence, %", scale=whole, axis=axis)
    y = alt.Y("value:Q", title="accuracy, %", scale=whole, axis=axis)
    ends = alt.Data(values=[{"x": 0, "value": 0}, {"x": 100, "value": 100}])
    diagonal = alt.Chart(ends).mark_line(color=style.soft, strokeDash=[4, 3], strokeWidth=1, aria=False)
    base = _base(panel.series, style, percent_x=True).encode(x=x)
    rules = base.mark_rule(strokeWidth=1, opacity=0.6, aria=False).encode(y="low:Q", y2="high:Q")
    lines = base.mark_line(strokeWidth=1.75, aria=False).encode(y=y)
    layers = alt.layer(diagonal.encode(x=x, y=y), rules, lines, _points(base, y, panel.series))
    return _sized(layers, style).properties(height=style.width)


def heat_chart(rows: Sequence[tuple[str, Sequence[Estimate]]], style: Style) -> alt.LayerChart:
    """Draw shares by corruption and severity as a map of colours with the numbers in percent.

    Parameters
    ----------
    rows
        The corruptions from top to bottom, each with its shares, fractions, at the severities from 1 up.
    style
        How it looks.
    """
    values = [
        {"row": str(row), "severity": severity, "words": percent(e.value), "step": heat.step(e.value)}
        for row, (_, estimates) in enumerate(rows)
        for severity, e in zip(SEVERITIES, estimates, strict=True)
    ]
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X("severity:O", title="severity", axis=alt.Axis(**_BARE, labelAngle=0, orient="top")),
        y=_by_row([spaced(name) for name, _ in rows]),
    )
    steps = list(range(len(heat.LIGHT)))
    colours = (alt.Scale(domain=steps, range=[pair[k] for pair in heat.LIGHT]) for k in (0, 1))
    fill, ink = (alt.Color("step:O", scale=scale, legend=None) for scale in colours)
    cells, numbers = base.mark_rect().encode(color=fill), base.mark_text().encode(text="words:N", color=ink)
    layers = alt.layer(cells, numbers).resolve_scale(color="independent")
    return layers.properties(width=alt.Step(3.4 * style.font_size), height=alt.Step(1.7 * style.font_size))


def bar_chart(bars: Sequence[Bar], style: Style, quantity: str) -> alt.LayerChart:
    """Draw intervals below each other, with a line at 0.

    Parameters
    ----------
    bars
        The intervals, of fractions, from top to bottom.
    style
        How it looks.
    quantity
        What the axis is called.
    """
    rows = [_row(Point(0, bar.estimate, bar.words)) | {"row": str(row)} for row, bar in enumerate(bars)]
    base = alt.Chart(alt.Data(values=rows)).encode(y=_by_row([bar.name for bar in bars]))
    colour = style.series[0]
    x = alt.X("value:Q", title=quantity, scale=alt.Scale(zero=True))
    zero = alt.Chart(alt.Data(values=[{"value": 0}])).mark_rule(color=style.soft, aria=False).encode(x=x)
    ranges = base.mark_rule(color=colour, opacity=0.5, strokeWidth=4, aria=False).encode(x="low:Q", x2="high:Q")
    points = base.mark_point(color=colour, fill=colour, size=40).encode(x=x, description="words:N")
    return alt.layer(zero, ranges, points).properties(width=1.4 * style.width, height=alt.Step(1.7 * style.font_size))


def title_of(name: str) -> alt.TitleParams:
    """Make a name from outside the title of a chart.

    Vega fails at a text in the description of a chart that all objects of JavaScript have a property of, such as
    ``toString``. So there it has a sign before it, which an expression cuts off.

    Parameters
    ----------
    name
        The name.
    """
    return alt.TitleParams(text=alt.expr(f"substring({json.dumps(f'={in_order(name)}')}, 1)"))


def _base(series: Sequence[Series], style: Style, *, percent_x: bool = False) -> alt.Chart:
    """Begin a chart over the points of all series, each in its colour."""
    scale = 100 if percent_x else 1
    rows = [_row(point, scale) | {"series": str(k)} for k, one in enumerate(series) for point in one.points]
    colours = [style.series[one.place % len(style.series)] for one in series]
    return alt.Chart(alt.Data(values=rows)).encode(
        color=alt.Color("series:N", scale=_by_series(series, colours), legend=_legend(series, style))
    )


def _by_row(names: Sequence[str]) -> alt.Y:
    """Put rows below each other; they are known by their numbers, as series are, and shown by their names."""
    axis = alt.Axis(**_BARE, labelLimit=200, labelExpr=_named(names))
    return alt.Y("row:N", sort=[str(row) for row in range(len(names))], title=None, axis=axis)


def _named(titles: Sequence[str]) -> str:
    """Write the expression of Vega by which a number is shown as the title that has that place."""
    return f"substring({json.dumps([f'={in_order(title)}' for title in titles])}[toNumber(datum.value)], 1)"


def _by_series(series: Sequence[Series], values: Sequence[str]) -> alt.Scale:
    """Give each series a value; they are known by their numbers, since titles come from outside and may be equal."""
    return alt.Scale(domain=[str(k) for k in range(len(series))], range=list(values))


def _legend(series: Sequence[Series], style: Style) -> alt.Legend | None:
    """Write the titles of the series beside the chart, if the style wants them there."""
    if not style.alone or len(series) < 2:
        return None
    titles = [one.title[:60] for one in series]
    # Letters of such fonts are 0.6 of their size wide or less, most of them; a symbol with the room about it is as 4.
    widest = style.font_size * (0.6 * max(map(len, titles)) + 4)
    columns = max(1, int(_TEXT_WIDTH / widest))
    return alt.Legend(title=None, orient="bottom", columns=columns, symbolOpacity=1, labelExpr=_named(titles))


def _row(point: Point, scale: float = 1) -> dict[str, object]:
    values = {"value": point.estimate.value, "low": point.estimate.low, "high": point.estimate.high}
    in_percent = {name: round(100 * value, 4) for name, value in values.items()}
    return {"x": round(scale * point.x, 4), **in_percent, "words": in_order(point.words)}


def _points(base: alt.Chart, y: alt.Y, series: Sequence[Series]) -> alt.Chart:
    # Colours begin again after as many series as there are shapes; the shapes then move on by one, so that both differ.
    shapes = [SHAPES[(one.place + one.place // len(SHAPES)) % len(SHAPES)] for one in series]
    return base.mark_point(filled=True, size=28, opacity=1).encode(
        y=y, shape=alt.Shape("series:N", scale=_by_series(series, shapes), legend=None), description="words:N"
    )


def _sized(chart: alt.LayerChart, style: Style) -> alt.LayerChart:
    return chart.properties(width=style.width, height=style.height)
