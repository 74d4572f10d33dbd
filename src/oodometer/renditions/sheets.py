"""Contact sheets: one page for each class, with its pictures inside, that notes what a person decides. No network."""

from __future__ import annotations

import base64
import functools
import hashlib
import io
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2
import PIL.Image
from markupsafe import Markup

from oodometer.errors import DatasetError
from oodometer.outfolder import write_atomically
from oodometer.progress import Observer, Silent
from oodometer.renditions.collection import Collection
from oodometer.renditions.decisions import FORMAT
from oodometer.renditions.pictures import look
from oodometer.renditions.reasons import REASONS
from oodometer.renditions.screened import Screened
from oodometer.report.words import printable
from oodometer.threads import ahead, threads

__all__ = ["FOLDER", "page", "write_sheets"]

FOLDER = "review"
"""Where the contact sheets lie in the folder of a collection."""

_UNLABELLED = "_no_label"
_SIDE, _RELATED_SIDE = 320, 128
_QUALITY = 85


@dataclass(frozen=True, slots=True)
class _Card:
    """One picture on a sheet; ``key`` is what a decision is about, ``picture`` and ``related`` are JPEG files."""

    row: Screened
    key: dict[str, str]
    reasons: tuple[str, ...]
    picture: bytes
    related: bytes


@dataclass(frozen=True, slots=True)
class _Sheet:
    label: str
    words: str
    cards: tuple[_Card, ...]


@dataclass(frozen=True, slots=True)
class _Entry:
    file: str
    words: str
    pictures: int
    waiting: int


def write_sheets(
    collection: Collection,
    screened: Sequence[Screened],
    *,
    workers: int | None = None,
    observer: Observer | None = None,
) -> Path:
    """Write a contact sheet for each class that has pictures to look at, and a page that lists them.

    Parameters
    ----------
    collection, screened
        The collection and its screening.
    workers
        Threads; one for each processor unless given.
    observer
        Told of the progress.

    Returns
    -------
    Path
        The page that lists the sheets.

    Raises
    ------
    DatasetError
        If there is nothing to look at, or a picture has changed since the screening.
    """
    shown = defaultdict[str, list[Screened]](list)
    for row in screened:
        if row.shown:
            shown[row.label].append(row)
    if not shown:
        raise DatasetError(f"{collection.path} has no picture that a person could look at: all were dropped.")
    known, count, watcher = {row.path: row for row in screened if row.shown}, threads(workers), observer or Silent()
    watcher.begin("Pictures", len(known), 0)
    entries = []
    with ThreadPoolExecutor(count) as pool:
        for label in sorted(shown):
            # Those that wait for a person first; sorting is stable.
            rows = sorted(shown[label], key=lambda row: row.decision != "review")
            cards = []
            for card in ahead(pool, functools.partial(_card, collection.root, known=known), rows, 4 * count):
                cards.append(card)
                watcher.advance(1)
            words = collection.classes.called(label) if label else "no label"
            file = f"{label or _UNLABELLED}.html"
            write_atomically(collection.path / FOLDER / file, page(_Sheet(label, words, tuple(cards))).encode())
            entries.append(_Entry(file, words, len(rows), sum(row.decision == "review" for row in rows)))
    index = collection.path / FOLDER / "index.html"
    listing = _environment().get_template("index.html").render(sheets=entries, collection=str(collection.path))
    write_atomically(index, listing.encode())
    return index


def page(sheet: _Sheet) -> str:
    """Write one sheet; whatever the table says is text in it."""
    script = resources.files("oodometer.renditions").joinpath("templates", "sheet.js").read_text(encoding="utf-8")
    return (
        _environment()
        .get_template("sheet.html")
        .render(
            sheet=sheet,
            format=FORMAT,
            script=Markup(script),  # our own file, not to be escaped
            script_digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        )
    )


def _card(root: Path, row: Screened, known: dict[str, Screened]) -> _Card:
    key = {name: getattr(row, name) for name in ("path", "sha256", "label", "style")}
    reasons = tuple(REASONS[reason][1] for reason in (row.reason, *row.also.split()) if reason)
    related = known.get(row.related)
    small = _thumbnail(root, related, _RELATED_SIDE) if related else b""
    return _Card(row, key, reasons, _thumbnail(root, row, _SIDE), small)


def _thumbnail(root: Path, row: Screened, side: int) -> bytes:
    picture = look(root / row.path, row.path)
    if picture.sha256 != row.sha256:
        raise DatasetError(f"{root / row.path} has changed since the screening. Screen the collection again.")
    picture.image.thumbnail((side, side), PIL.Image.Resampling.LANCZOS)
    written = io.BytesIO()
    picture.image.save(written, "JPEG", quality=_QUALITY)
    return written.getvalue()


def _visible(value: object) -> object:
    """Make characters that turn the direction of a text, or control it, visible, so that they can do nothing."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@functools.cache
def _environment() -> jinja2.Environment:
    # Every name and licence comes from outside: autoescape makes them text, and the page's own policy runs no script
    # but the one of this package.
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("oodometer.renditions"),
        autoescape=True,
        finalize=_visible,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["base64"] = lambda content: base64.b64encode(content).decode("ascii")
    return environment
