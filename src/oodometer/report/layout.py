"""Pieces of tables for terminals, logs and mail: the same in every output of text."""

from __future__ import annotations

import io
from collections.abc import Iterable

import rich.box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from oodometer.metrics import Estimate
from oodometer.report.words import UNDEFINED, interval, percent, printable

__all__ = ["WIDTH", "notes_grid", "pairs_grid", "plain_text", "safe_text", "table_grid", "with_ends"]

WIDTH = 100
"""Columns of the plain text."""

# Horizontal rules only, in characters that every terminal, log and mail can show.
_RULES = rich.box.Box("    \n    \n -- \n    \n -- \n -- \n    \n    \n", ascii=True)
_LONGEST = 600
"""How many characters of a text from outside are shown."""


def plain_text(parts: Iterable[RenderableType]) -> str:
    """Lay out parts below each other as plain text of at most 100 columns."""
    # A width of its own: text that goes to a file must not depend on the window it was made in. Nor may it be shown
    # besides, which is what a console does in a notebook.
    console = Console(file=io.StringIO(), width=WIDTH, color_system=None, legacy_windows=False, force_jupyter=False)
    with console.capture() as capture:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def table_grid(title: str | None = None, caption: str | None = None) -> Table:
    """Begin a table of numbers."""
    table = Table(box=_RULES, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, collapse_padding=True)
    table.title, table.title_justify, table.title_style = title, "left", "bold"
    table.caption, table.caption_justify = caption, "left"
    return table


def pairs_grid(pairs: Iterable[tuple[str, str]]) -> RenderableType:
    """List names with their values."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in pairs:
        grid.add_row(name, safe_text(value))
    return grid


def notes_grid(notes: Iterable[str]) -> RenderableType:
    """List sentences."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    grid.add_column(overflow="fold")
    for note in notes:
        grid.add_row("-", safe_text(note))
    return grid


def safe_text(text: str, longest: int = _LONGEST) -> Text:
    """Make text of what may hold names from outside: no markup, nothing that a terminal obeys, no endless name."""
    shown = printable(text)
    return Text(shown if len(shown) <= longest else f"{shown[: longest - 3]}...")


def with_ends(estimate: Estimate | None) -> str:
    """Write value and interval so that they stand under each other in a column."""
    return UNDEFINED if estimate is None else f"{percent(estimate.value):>5} {interval(estimate)}"
