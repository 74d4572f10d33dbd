"""The result as a table: in a terminal, as plain text, and in a notebook."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import rich.box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.style import Style
from rich.table import Table
from rich.text import Text

from oodometer.families import SEVERITIES
from oodometer.metrics import Estimate
from oodometer.report.facts import facts
from oodometer.report.headlines import headlines
from oodometer.report.heat import LIGHT, step
from oodometer.report.html import table_html
from oodometer.report.summary import Corruptions, Row, Summary
from oodometer.report.words import UNDEFINED, count, interval, percent, printable

__all__ = ["WIDTH", "ResultTable"]

WIDTH = 100
"""Columns of the plain text."""

# Horizontal rules only, in characters that every terminal, log and mail can show.
_RULES = rich.box.Box("    \n    \n -- \n    \n -- \n -- \n    \n    \n", ascii=True)
_HEAT = tuple(Style(color=text, bgcolor=background) for background, text in LIGHT)
_LONGEST, _CE = 600, 20
"""How many characters of a text from outside are shown, and of the heading of the last column."""


@dataclass(frozen=True, slots=True, repr=False)
class ResultTable:
    """The numbers of a run as a table.

    ``str`` and ``print`` give plain text of at most 100 columns, a notebook shows HTML, and a ``rich`` console colours
    the errors if it is a terminal.
    """

    summary: Summary

    def __str__(self) -> str:
        # A width of its own: text that goes to a file must not depend on the window it was made in.
        console = Console(file=io.StringIO(), width=WIDTH, color_system=None, legacy_windows=False)
        with console.capture() as capture:
            console.print(self)
        return "\n".join(line.rstrip() for line in capture.get().splitlines())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return table_html(self.summary)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from _parts(self.summary)


def _parts(summary: Summary) -> Iterator[RenderableType]:
    """Lay out the whole result from top to bottom."""
    yield _facts(summary)
    yield ""
    if summary.corruptions is not None and (summary.corruptions.rows or summary.corruptions.extra):
        yield _errors(summary.corruptions)
        yield ""
    yield _numbers(summary)
    if summary.notes:
        yield ""
        yield Text("Before you quote these numbers", style="bold")
        yield _notes(summary)


def _grid() -> Table:
    return Table(box=_RULES, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, collapse_padding=True)


def _facts(summary: Summary) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for fact in facts(summary):
        grid.add_row(fact.name, _text(fact.value))
    return grid


def _errors(part: Corruptions) -> Table:
    """Tabulate the error of every corruption at every severity."""
    table = _grid()
    table.title = "Top-1 error in percent, with 95 % intervals"
    table.title_justify, table.title_style = "left", "bold"
    table.caption, table.caption_justify = _width_of_cells(part), "left"
    table.add_column("severity")
    for severity in SEVERITIES:
        table.add_column(str(severity), justify="right", width=5)
    table.add_column(" mean")
    table.add_column(_text(f" CE ({part.baseline.name})" if part.baseline else " CE", _CE))
    for _, rows in part.families:
        _add(table, rows)
    if part.extra:
        table.add_row(Text("in no mean:", style="italic"))
        _add(table, part.extra)
    return table


def _width_of_cells(part: Corruptions) -> str:
    """Say how far the error of a single cell is known, for which the table has no room."""
    cells = [error for row in (*part.rows, *part.extra) for error in row.errors]
    widest = max(max(cell.value - cell.low, cell.high - cell.value) for cell in cells)
    return (
        f"Each cell is the error on {count(part.counts.measured, 'image')}: its own interval reaches up to "
        f"{percent(widest)} points to a side."
    )


def _add(table: Table, rows: Sequence[Row]) -> None:
    for row in rows:
        cells = [Text(f"{percent(error.value):>5}", style=_HEAT[step(error.value)]) for error in row.errors]
        ce = UNDEFINED if row.ce is None else _with_ends(row.ce)
        table.add_row(_text(row.name), *cells, _with_ends(row.mean), ce)
    table.add_section()


def _with_ends(estimate: Estimate) -> str:
    """Write value and interval so that they stand under each other in a column."""
    return f"{percent(estimate.value):>5} {interval(estimate)}"


def _numbers(summary: Summary) -> Table:
    """Tabulate the numbers that a run is quoted by."""
    table = _grid()
    table.add_column("in percent")
    table.add_column("value", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("images", justify="right")
    table.add_column("better", justify="right")
    for line in headlines(summary):
        number = line.estimate
        value, ends = (UNDEFINED, "") if number is None else (percent(number.value), interval(number))
        table.add_row(_text(line.title), Text(value, style="bold"), ends, line.images, line.better)
    return table


def _notes(summary: Summary) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(overflow="fold")
    for note in summary.notes:
        grid.add_row("-", _text(note))
    return grid


def _text(text: str, longest: int = _LONGEST) -> Text:
    """Make text of what may hold names from outside: no markup, nothing that a terminal obeys, no endless name."""
    shown = printable(text)
    return Text(shown if len(shown) <= longest else f"{shown[: longest - 3]}...")
