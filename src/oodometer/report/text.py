"""The result as a table: in a terminal, as plain text, and in a notebook."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
from oodometer.report.layout import WIDTH, notes_grid, pairs_grid, plain_text, safe_text, table_grid, with_ends
from oodometer.report.shift_text import shift_parts
from oodometer.report.summary import Corruptions, Row, Summary, Unlabelled, Unmapped
from oodometer.report.words import UNDEFINED, count, interval, percent

__all__ = ["WIDTH", "ResultTable"]

_HEAT = tuple(Style(color=text, bgcolor=background) for background, text in LIGHT)
_Shares: typing.TypeAlias = tuple[str, Sequence[Estimate], Estimate]
"""A corruption, a share at each severity, and the mean of these."""

_CE = 20
"""How many characters of the heading of the last column are shown."""


@dataclass(frozen=True, slots=True, repr=False)
class ResultTable:
    """The numbers of a run as a table.

    ``str`` and ``print`` give plain text of at most 100 columns, a notebook shows HTML, and a ``rich`` console colours
    the errors if it is a terminal.
    """

    summary: Summary

    def __str__(self) -> str:
        return plain_text([self])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return table_html(self.summary)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        yield from _parts(self.summary)


def _parts(summary: Summary) -> Iterator[RenderableType]:
    """Lay out the whole result from top to bottom."""
    yield pairs_grid((fact.name, fact.value) for fact in facts(summary))
    yield ""
    if summary.corruptions is not None and (summary.corruptions.rows or summary.corruptions.extra):
        yield _errors(summary.corruptions)
        yield ""
    if summary.corruptions is not None and summary.corruptions.other_cells:
        yield _other_cells(summary.corruptions)
        yield ""
    if summary.unlabelled is not None and (summary.unlabelled.rows or summary.unlabelled.extra):
        yield _changes(summary.unlabelled)
        yield ""
    if summary.unmapped is not None and (summary.unmapped.rows or summary.unmapped.extra):
        yield _unmapped(summary.unmapped)
        yield ""
    yield _numbers(summary)
    for title, part in summary.shifted_parts:
        yield from shift_parts(title, part.details)
    if summary.notes:
        yield ""
        yield Text("Before you quote these numbers", style="bold")
        yield notes_grid(summary.notes)


def _errors(part: Corruptions) -> Table:
    """Tabulate the error of every corruption at every severity."""
    cells = [error for row in (*part.rows, *part.extra) for error in row.errors]
    table = _by_severity("Top-1 error in percent, with 95 % intervals", "the error on", cells)
    table.add_column(safe_text(f" CE ({part.baseline.name})" if part.baseline else " CE", _CE))
    for _, rows in part.families:
        _add(table, rows)
    if part.extra:
        table.add_row(Text("in no mean:", style="italic"))
        _add(table, part.extra)
    return table


def _other_cells(part: Corruptions) -> Table:
    """Tabulate the errors under conditions that are in no mean, by severity."""
    table = table_grid("Top-1 error at other severities, in no mean", "In percent, with 95 % intervals.")
    for heading in ("corruption", "severity", "error"):
        table.add_column(heading, justify="right" if heading == "severity" else "left")
    for cell in part.other_cells:
        table.add_row(safe_text(cell.corruption), str(cell.severity), with_ends(cell.error))
    return table


def _changes(part: Unlabelled) -> Table:
    """Tabulate how often every corruption at every severity changes the prediction."""
    rows, extra = ([(row.name, row.changes, row.changed) for row in rows] for rows in (part.rows, part.extra))
    return _shares("Changed predictions in percent, with 95 % intervals", rows, extra)


def _unmapped(part: Unmapped) -> Table:
    """Tabulate how often answers under every corruption at every severity named no class."""
    rows, extra = ([(row.name, row.shares, row.mean) for row in rows] for rows in (part.rows, part.extra))
    return _shares("Unmapped answers in percent, with 95 % intervals", rows, extra)


def _shares(title: str, counted: Sequence[_Shares], extra: Sequence[_Shares]) -> Table:
    """Tabulate shares under every corruption at every severity."""
    table = _by_severity(title, "of", [cell for _, cells, _ in (*counted, *extra) for cell in cells])
    for rows, heading in ((counted, ""), (extra, "in no mean:")):
        if rows and heading:
            table.add_section()
            table.add_row(Text(heading, style="italic"))
        for name, cells, mean in rows:
            table.add_row(safe_text(name), *map(_heated, cells), with_ends(mean))
    return table


def _by_severity(title: str, what: str, cells: Sequence[Estimate]) -> Table:
    """Begin a table with a row for each corruption and a column for each severity."""
    table = table_grid(title, f"Each cell is {what} {_width_of(cells)}")
    table.add_column("severity")
    for severity in SEVERITIES:
        table.add_column(str(severity), justify="right", width=5)
    table.add_column(" mean")
    return table


def _width_of(cells: Sequence[Estimate]) -> str:
    """Say how far a single cell is known, for which the table has no room."""
    widest = max(max(cell.value - cell.low, cell.high - cell.value) for cell in cells)
    fewest, most = (pick(cell.n for cell in cells) for pick in (min, max))
    images = count(most, "image") if fewest == most else f"{fewest:,} to {count(most, 'image')}"
    return f"{images}: its own interval reaches up to {percent(widest)} points to a side."


def _add(table: Table, rows: Sequence[Row]) -> None:
    for row in rows:
        table.add_row(safe_text(row.name), *map(_heated, row.errors), with_ends(row.mean), with_ends(row.ce))
    table.add_section()


def _heated(error: Estimate) -> Text:
    return Text(f"{percent(error.value):>5}", style=_HEAT[step(error.value)])


def _numbers(summary: Summary) -> Table:
    """Tabulate the numbers that a run is quoted by."""
    table = table_grid()
    table.add_column("in percent")
    table.add_column("value", justify="right")
    table.add_column("95 % interval", justify="right")
    table.add_column("images", justify="right")
    table.add_column("better", justify="right")
    for line in headlines(summary):
        number = line.estimate
        value, ends = (UNDEFINED, "") if number is None else (percent(number.value), interval(number))
        table.add_row(safe_text(line.title), Text(value, style="bold"), ends, line.images, line.better)
    return table
