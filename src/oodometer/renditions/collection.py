"""A collection of candidates: a folder with one table of them, beside what says where they are and of which classes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from oodometer import arguments
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
    """What ``collection.json`` holds: ``root`` is relative to its own folder, so that both can be moved together."""

    format: int
    root: str
    vocabulary: str
    own: list[str] = []


@dataclass(frozen=True, slots=True)
class Collection:
    """The folder ``path`` of a collection, the folder ``root`` of its pictures, its classes and its candidates."""

    path: Path
    root: Path
    classes: Vocabulary
    candidates: tuple[Candidate, ...]

    def save(self) -> None:
        """Write the table and what is said about it, in place of an earlier one."""
        with mapped_errors(f"making {self.path}"):
            self.path.mkdir(parents=True, exist_ok=True)
        own = list(self.classes.classes) if self.classes.name == "own" else []
        about = _About(1, os.path.relpath(self.root.resolve(), self.path.resolve()), self.classes.name, own)
        write_rows(self.path / CANDIDATES, Candidate, self.candidates)
        write_atomically(self.path / _ABOUT, msgspec.json.format(msgspec.json.encode(about), indent=1) + b"\n")


def open_collection(path: str | os.PathLike[str]) -> Collection:
    """Open what ``collect`` made.

    Raises
    ------
    DatasetError
        If the folder holds no collection, or its pictures are gone; the message says what to do.
    """
    folder = arguments.path("The collection", path)
    about = folder / _ABOUT
    if not about.is_file():
        raise DatasetError(f"{folder} holds no collection of candidates. Make one with `{_MADE_BY} SOURCE -o DIR`.")
    try:
        said = msgspec.json.decode(read_text(about), type=_About)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise DatasetError(f"{about} cannot be read: {error}. Make it again with `{_MADE_BY}`.") from error
    if said.format != 1:
        raise DatasetError(f"{about} is of format {said.format}, and this version knows 1. Update Oodometer.")
    root = Path(os.path.normpath(folder.resolve() / said.root))
    if not root.is_dir():
        raise DatasetError(f"The pictures of {folder} are not in {root} any more. Move them back, or collect again.")
    classes = own_classes(said.own, str(about)) if said.vocabulary == "own" else vocabulary(said.vocabulary)
    candidates = read_rows(folder / CANDIDATES, Candidate, _MADE_BY)
    return Collection(folder, root, classes, tuple(candidates))
