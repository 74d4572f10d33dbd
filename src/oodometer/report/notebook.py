"""What is printed as plain text, as a piece of HTML for a notebook: the same tables, facts and notes."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import jinja2
from rich.console import RenderableType
from rich.table import Column, Table
from rich.text import Text

from oodometer.report.words import UNDEFINED, printable

__all__ = ["notebook_html"]


@dataclass(frozen=True, slots=True)
class _Cell:
    text: str
    bold: bool
    number: bool


@dataclass(frozen=True, slots=True)
class _Table:
    """A table, or (without ``headings``) a list of names with values, or of notes."""

    title: str
    note: str
    headings: tuple[_Cell, ...]
    rows: tuple[tuple[_Cell, ...], ...]


def notebook_html(parts: Iterable[RenderableType]) -> str:
    """Write what ``layout.plain_text`` lays out as HTML; all text is escaped, and names can turn no direction.

    Parameters
    ----------
    parts
        Tables, grids and lines of text, as the modules ``text`` make them.
    """
    template = _environment().get_template("notebook.html")
    return template.render(parts=[part for given in parts for part in _read(given)])


def _read(part: RenderableType) -> Iterator[_Table | _Cell]:
    if isinstance(part, Table):
        columns = [[_cell(entry) for entry in column.cells] for column in part.columns]
        heads = tuple(map(_heading, part.columns, columns)) if part.show_header else ()
        yield _Table(_plain(part.title), _plain(part.caption), heads, tuple(zip(*columns, strict=True)))
    elif _plain(part):
        yield _cell(part)


def _heading(column: Column, cells: Sequence[_Cell]) -> _Cell:
    """Stand over numbers to the right, and over words to the left."""
    return replace(_cell(column.header), number=any(cell.number for cell in cells))


def _cell(entry: RenderableType) -> _Cell:
    text = _plain(entry)
    return _Cell(text, _bold(entry), number=re.match(r"[-<[]?\d", text) is not None or text == UNDEFINED)


def _plain(entry: RenderableType | None) -> str:
    return "" if entry is None else str(entry).strip()  # of a Text the characters alone


def _bold(entry: RenderableType) -> bool:
    return isinstance(entry, Text) and entry.style == "bold"


def _printable(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("oodometer.report"),
        autoescape=True,
        finalize=_printable,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
