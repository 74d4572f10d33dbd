"""A folder of exported results as a sortable page and a CSV file."""

from __future__ import annotations

import csv
import io
import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from rich.console import RenderableType
from rich.text import Text

from oodometer import arguments
from oodometer.errors import StoreError
from oodometer.leaderboard.entry import Entry, read_entry
from oodometer.outfolder import write_atomically
from oodometer.published_results import PUBLISHED
from oodometer.report.layout import notes_grid, safe_text, table_grid, with_ends
from oodometer.report.notebook import notebook_html
from oodometer.report.words import count, interval, percent, printable, spreadsheet_cell

__all__ = ["Board", "Group", "collect", "write_board"]


@dataclass(frozen=True, slots=True)
class Group:
    """Results that may be ranked together: of the same images, protocol and baseline.

    ``titles`` are the numbers that any of them has, in their order; ``entries`` are named by their files, best first.
    """

    heading: str
    titles: tuple[str, ...]
    entries: tuple[tuple[str, Entry], ...]


@dataclass(frozen=True, slots=True)
class Board:
    """The groups of a leaderboard, and why files were left out."""

    groups: tuple[Group, ...]
    left_out: tuple[str, ...]

    def _repr_html_(self) -> str:
        return notebook_html(_parts(self))


def _parts(board: Board) -> Iterator[RenderableType]:
    for group in board.groups:
        table = table_grid(printable(group.heading), "Measured, in percent, with 95 % intervals.")
        for heading in ("Model", *group.titles, "Images"):
            table.add_column(safe_text(heading))
        for _, entry in group.entries:
            name = f"{entry.model.name} (partial)" if entry.partial else entry.model.name
            numbers = [with_ends(entry.numbers.get(title)) for title in group.titles]
            table.add_row(safe_text(name), *numbers, f"{entry.parts[0].measured:,}")
        yield table
    table = table_grid(
        "Published by others: mCE relative to AlexNet",
        "As the sources print it: not to be ranked with the results above.",
    )
    for heading in ("Model", "mCE", "Source"):
        table.add_column(heading)
    for result in PUBLISHED:
        table.add_row(result.model, f"{result.mce:g}", result.source)
    yield table
    if board.left_out:
        yield Text("Left out", style="bold")
        yield notes_grid(board.left_out)


def collect(folder: str | os.PathLike[str]) -> Board:
    """Read the exported results in a folder, and put those together that may be ranked together.

    Parameters
    ----------
    folder
        Holds ``*.json``. Files that are no results are left out, with the reason.

    Raises
    ------
    StoreError
        If it holds no result.
    """
    root = arguments.path("The folder of results", folder)
    found, left_out = [], []
    for path in sorted(root.glob("*.json")):
        try:
            found.append((path.name, read_entry(path)))
        except StoreError as error:
            left_out.append(str(error))
    if not found:
        reason = f" {left_out[0]}" if left_out else " Make some with oodometer export."
        raise StoreError(f"{root} holds no exported result.{reason}")
    found.sort(key=lambda item: _alike(item[1]))
    groups = [_group(list(members)) for _, members in itertools.groupby(found, key=lambda item: _alike(item[1]))]
    return Board(tuple(groups), tuple(left_out))


def write_board(board: Board, folder: str | os.PathLike[str]) -> tuple[Path, Path]:
    """Write ``index.html``, one page that needs no network, and ``leaderboard.csv``; return the two.

    Raises
    ------
    StoreError
        If a file cannot be written.
    """
    root = arguments.path("The folder of the leaderboard", folder)
    page, table = root / "index.html", root / "leaderboard.csv"
    write_atomically(page, _page(board).encode())
    write_atomically(table, _csv(board).encode())
    return page, table


def _alike(entry: Entry) -> tuple[str, ...]:
    """Return what must be the same for two results to be ranked together."""
    baseline = entry.baseline.get("name", "") if isinstance(entry.baseline, dict) else entry.baseline or ""
    parts = (f"{part.name} {part.digest} {part.protocol.label} {part.protocol.edition}" for part in entry.parts)
    return (*parts, str(baseline), str(entry.parts[0].images))


def _group(members: Sequence[tuple[str, Entry]]) -> Group:
    titles = tuple(dict.fromkeys(title for _, entry in members for title in entry.numbers))
    first = members[0][1]
    sets = "; ".join(f"{part.dataset}, {count(part.images, 'image')}, {part.protocol.label}" for part in first.parts)
    baseline = _alike(first)[-2]
    heading = f"{sets}; baseline {baseline}" if baseline else sets

    def rank(item: tuple[str, Entry]) -> tuple[float, str]:
        number = item[1].numbers.get(titles[0]) if titles else None
        return (float("inf") if number is None else number.value, item[1].model.name)

    return Group(heading, titles, tuple(sorted(members, key=rank)))


def _page(board: Board) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("oodometer.leaderboard"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"percent": percent, "interval": interval}
    return environment.get_template("board.html").render(board=board, published=PUBLISHED)


def _csv(board: Board) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["group", "kind", "file", "model", "number", "value", "low", "high", "images", "partial"])
    for number, group in enumerate(board.groups, start=1):
        for file, entry in group.entries:
            for title, e in entry.numbers.items():
                values = [f"{100 * value:.4f}" for value in (e.value, e.low, e.high)]
                partial = "yes" if entry.partial else "no"
                writer.writerow(
                    [
                        number,
                        "measured",
                        spreadsheet_cell(file),
                        spreadsheet_cell(entry.model.name),
                        title,
                        *values,
                        e.n,
                        partial,
                    ]
                )
    for result in PUBLISHED:
        writer.writerow(["", "published", result.source, result.model, "mCE", f"{result.mce:g}", "", "", "", ""])
    return buffer.getvalue()
