"""A collection of candidates: a folder with one table of them, beside what says where they are and of which classes."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oodometer import arguments
from oodometer.datasets.layout import some
from oodometer.errors import DatasetError
from oodometer.outfolder import mapped_errors, write_atomically
from oodometer.renditions.rows import read_rows, read_text, write_rows
from oodometer.renditions.vocabulary import Vocabulary, own_classes, vocabulary

__all__ = ["CANDIDATES", "Candidate", "Collection", "open_collection"]

CANDIDATES = "candidates.csv"
"""The table of candidates in the folder of a collection; people may mend it."""

_ABOUT = "collection.json"
_MADE_BY = "oodometer renditions collect"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One picture that may become part of the set, or one row of the source that names none.

    ``path`` is relative to the root of the pictures, with ``/``. ``problem`` is empty, or why the row cannot be taken
    as it is: one of the first in ``oodometer.renditions.reasons.REASONS``; ``detail`` says it in words.
    """

    path: str
    label: str = ""
    style: str = ""
    source: str = ""
    licence: str = ""
    author: str = ""
    problem: str = ""
    detail: str = ""


class _About(msgspec.Struct):
    """What ``collection.json`` holds: ``root`` is relative to its own folder, so that both can be moved together.

    ``table`` is the SHA-256 of the table as it was written, by which one that a person has mended is known.
    """

    format: int
    root: str
    vocabulary: str
    table: str
    own: list[str] = []


@dataclass(frozen=True, slots=True)
class Collection:
    """The folder ``path`` of a collection, the folder ``root`` of its pictures, its classes and its candidates."""

    path: Path
    root: Path
    classes: Vocabulary
    candidates: tuple[Candidate, ...]

    def save(self) -> None:
        """Write the table and what is said about it, in place of an earlier one.

        Raises
        ------
        DatasetError
            If a person mended the earlier table, and that would be lost.
        """
        with mapped_errors(f"making {self.path}"):
            self.path.mkdir(parents=True, exist_ok=True)
        self._check_nothing_is_lost()
        own = list(self.classes.classes) if self.classes.name == "own" else []
        write_rows(self.path / CANDIDATES, Candidate, self.candidates)
        root = os.path.relpath(self.root.resolve(), self.path.resolve())
        about = _About(1, root, self.classes.name, _digest(self.path / CANDIDATES), own)
        write_atomically(self.path / _ABOUT, msgspec.json.format(msgspec.json.encode(about), indent=1) + b"\n")

    def _check_nothing_is_lost(self) -> None:
        table = self.path / CANDIDATES
        if not table.exists() or ((self.path / _ABOUT).is_file() and _about(self.path).table == _digest(table)):
            return
        here = {_said(candidate) for candidate in self.candidates}
        lost = [row.path for row in read_rows(table, Candidate, _MADE_BY) if _said(row) not in here]
        if lost:
            raise DatasetError(
                f"{table} was mended by hand, and collecting again would lose what it says of {some(lost)}. Copy it "
                f"into {self.root} and collect from the copy, or collect into another folder."
            )


def _said(candidate: Candidate) -> tuple[str, ...]:
    return (*(getattr(candidate, name) for name in ("path", "label", "style", "source", "licence", "author")),)


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def open_collection(path: str | os.PathLike[str]) -> Collection:
    """Open what ``collect`` made.

    Raises
    ------
    DatasetError
        If the folder holds no collection, or its pictures are gone; the message says what to do.
    """
    folder = arguments.path("The collection", path)
    said = _about(folder)
    root = Path(os.path.normpath(folder.resolve() / said.root))
    if not root.is_dir():
        raise DatasetError(f"The pictures of {folder} are not in {root} any more. Move them back, or collect again.")
    classes = own_classes(said.own, str(folder / _ABOUT)) if said.vocabulary == "own" else vocabulary(said.vocabulary)
    candidates = read_rows(folder / CANDIDATES, Candidate, _MADE_BY)
    return Collection(folder, root, classes, tuple(candidates))


def _about(folder: Path) -> _About:
    about = folder / _ABOUT
    if not about.is_file():
        raise DatasetError(f"{folder} holds no collection of candidates. Make one with `{_MADE_BY} SOURCE -o DIR`.")
    try:
        said = msgspec.json.decode(read_text(about), type=_About)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise DatasetError(f"{about} cannot be read: {error}. Make it again with `{_MADE_BY}`.") from error
    if said.format != 1:
        raise DatasetError(f"{about} is of format {said.format}, and this version knows 1. Update Oodometer.")
    return said
