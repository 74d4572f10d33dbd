"""Candidates from a folder or a CSV file, each file and each row accounted for once. No picture is opened."""

from __future__ import annotations

import csv
import io
import os
import re
import unicodedata
import urllib.parse
import urllib.request
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from oodometer import arguments
from oodometer.datasets.published import style
from oodometer.datasets.recognise import STYLES
from oodometer.datasets.scan import hidden, is_image_name
from oodometer.errors import DatasetError
from oodometer.outfolder import check_apart
from oodometer.renditions.collection import Candidate, Collection
from oodometer.renditions.rows import read_text
from oodometer.renditions.vocabulary import vocabulary

__all__ = ["UNSUPPORTED", "collect"]

UNSUPPORTED = frozenset({".svg", ".avif", ".heic", ".heif", ".jxl", ".eps", ".ai", ".psd", ".xcf", ".ico", ".tga"})
"""Extensions, in lower case, of pictures that are not read."""

_COLUMNS = ("path", "label", "style", "source", "licence")
_OTHER_NAMES = {"wnid": "label", "class": "label", "license": "licence", "file": "path", "url": "path"}


def collect(
    source: str | os.PathLike[str], out: str | os.PathLike[str], classes: str | os.PathLike[str] = "imagenet-r"
) -> Collection:
    """List the candidates of a folder or a CSV file in a table, and say of each row that cannot be taken why.

    Parameters
    ----------
    source
        A CSV file with the columns path, label (or wnid), style, source and licence, and author if known: the paths
        (or ``file:`` addresses) are of files in its own folder, whose other files are listed too. Or a folder
        ``<label>/<style>/<file>`` or ``<label>/<style>_<n>.<ext>``, without source and licence.
    out
        The collection's folder, outside of that of the pictures. A table that is there is replaced, unless a person
        mended it and that would be lost.
    classes
        What ``vocabulary`` takes.

    Returns
    -------
    Collection
        Saved, with its candidates sorted by the bytes of their paths.

    Raises
    ------
    DatasetError, ArgumentError
        If the source cannot be read, lacks columns or holds no picture; if ``out`` lies among the pictures.
    """
    place, folder = arguments.path("The candidates", source), arguments.path("The collection", out)
    known = vocabulary(classes)
    if not place.exists():
        raise DatasetError(f"There is no {place}: give a folder of candidates, or a CSV file that lists them.")
    if place.is_file() and is_image_name(place.name):
        raise DatasetError(
            f"{place} is a picture: give the folder that it lies in, or a CSV file that lists candidates."
        )
    root = place if place.is_dir() else place.parent
    check_apart(folder, root)
    files = _files(root, None if place.is_dir() else place.name)
    found = _by_place(files) if place.is_dir() else _by_table(root, files, _rows(place))
    candidates = sorted(found, key=lambda candidate: candidate.path.encode())
    if all(candidate.problem == "not_an_image" for candidate in candidates):
        raise DatasetError(f"{root} holds no pictures, and no row names one.")
    collection = Collection(folder, root, known, tuple(candidates))
    collection.save()
    return collection


def _files(root: Path, table: str | None) -> dict[str, Candidate]:
    """Return what lies below a folder, by its path in NFC: as if no table knew it."""
    inside, found = os.path.realpath(root), {}
    for parent, folders, names in os.walk(root, onerror=_unreadable):
        folders[:] = sorted(name for name in folders if not hidden(name))
        for name in [*(f for f in folders if Path(parent, f).is_symlink()), *sorted(names)]:
            path = Path(parent, name)
            id_ = path.relative_to(root).as_posix()
            if id_ == table:
                continue
            if id_.encode("utf-8", "replace").decode() != id_:
                raise DatasetError(f"The file {id_!r} in {root} has a name that is not UTF-8. Rename it.")
            found[unicodedata.normalize("NFC", id_)] = _file(path, id_, inside)
    return found


def _unreadable(error: OSError) -> None:
    raise DatasetError(f"Cannot read the folder {error.filename}: {error.strerror}.") from error


def _file(path: Path, id_: str, inside: str) -> Candidate:
    if not _within(os.path.realpath(path), inside):
        return Candidate(id_, problem="path_outside_root", detail=f"a link leads to {os.path.realpath(path)}")
    if path.is_dir():
        return Candidate(id_, problem="linked_folder", detail=f"it leads to {os.path.realpath(path)}")
    picture = is_image_name(path.name) or path.suffix.lower() in UNSUPPORTED
    if hidden(path.name) or not path.is_file() or not picture:
        return Candidate(id_, problem="not_an_image")
    return Candidate(id_, problem="no_label", detail="the table has no row for this file")


def _within(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(folder)


def _by_place(files: dict[str, Candidate]) -> Iterator[Candidate]:
    """Take labels and styles from where the files lie."""
    for file in files.values():
        label, *between, name = ["", *file.path.split("/")] if "/" not in file.path else file.path.split("/")
        if file.problem != "no_label":
            yield file
        elif not label:
            yield replace(file, detail="lies beside the folders of classes")
        else:
            prefix = style(name) if style(name) in STYLES else ""
            yield Candidate(file.path, label, between[0] if between else prefix)


def _by_table(root: Path, files: dict[str, Candidate], rows: Iterable[Candidate]) -> Iterator[Candidate]:
    """Put the rows of a table and the files together: each row once, then the files that no row names."""
    known: dict[str, Candidate] = {}
    for row in rows:
        placed = _placed(root, files, row)
        before = known.setdefault(placed.path, placed)
        if before != placed and not (before.problem or placed.problem):
            said = [f"{one.label}, {one.style}, {one.source}, {one.licence}" for one in (before, placed)]
            known[placed.path] = replace(before, problem="conflicting_rows", detail=" or ".join(map(repr, said)))
    yield from known.values()
    yield from (file for file in files.values() if file.path not in known)


def _placed(root: Path, files: dict[str, Candidate], row: Candidate) -> Candidate:
    """Return a row with the path of its file below the root, or with the problem that keeps it from one."""
    text = row.path
    address = urllib.parse.urlsplit(text) if re.match(r"[A-Za-z][\w+.-]+:/", text) else None
    if address and (address.scheme.lower() != "file" or address.netloc not in {"", "localhost"}):
        return replace(row, problem="not_local", detail="fetch it yourself, and name the file")
    path = urllib.request.url2pathname(address.path) if address else text
    base = os.path.realpath(root)
    for form in (path, path.replace("\\", "/")):
        full = os.path.normpath(Path(base, form))
        if not _within(full, base):
            full = os.path.realpath(full)  # the root itself may have been named through a link
        if not _within(full, base):
            return replace(row, problem="path_outside_root", detail="its file must lie in the folder of the table")
        id_ = Path(full).relative_to(base).as_posix()
        file = files.get(unicodedata.normalize("NFC", id_)) or _file(Path(full), id_, base)
        if Path(root, file.path).is_file():
            own = "" if file.problem in {"no_label", "not_an_image"} else file.problem
            return replace(row, path=file.path, problem=own, detail=file.detail if own else "")
    return replace(row, path=id_, problem="missing_file", detail="mend the path in the table, or add the file")


def _rows(table: Path) -> Iterator[Candidate]:
    rows = csv.DictReader(io.StringIO(read_text(table), newline=""), strict=True)
    try:
        header = [(name or "").strip().lower() for name in rows.fieldnames or ()]
        rows.fieldnames = names = [_OTHER_NAMES.get(name, name) for name in header]
        missing = [column for column in _COLUMNS if column not in names]
        if missing or len({*names}) < len(names):
            what = f"lacks the columns {', '.join(missing)}" if missing else "has two columns of one meaning"
            raise DatasetError(f"{table} {what}; its header is {', '.join(header)}. Needed: {', '.join(_COLUMNS)}.")
        for row in rows:
            cells = {name: (row[name] or "").strip() for name in (*_COLUMNS, "author") if name in names}
            cells["path"] = row["path"] or ""  # a file's name may begin with a space
            if None in row or "\0" in "".join(cells.values()):
                raise DatasetError(f"{table}, line {rows.line_num}: more cells than columns, or a NUL. Quote commas.")
            if not cells["path"].strip():
                raise DatasetError(f"{table}, line {rows.line_num}: the path is empty.")
            yield Candidate(**cells)
    except csv.Error as error:
        raise DatasetError(f"{table}, line {rows.line_num}, is not CSV: {error}.") from error
