"""The nouns of a build: a cell, an item, and the place where its output goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from oodometer.building.encodings import Encoding
from oodometer.building.manifest import BuildFolder, Source
from oodometer.types import Sample

__all__ = ["Cell", "Item", "Place"]


class Cell(NamedTuple):
    """One condition of a build: a corruption at a severity, or ``clean`` at 0."""

    corruption: str
    severity: int | float

    @property
    def folder(self) -> str:
        """Where its pictures are: ``fog/3``, ``fog/2.5`` or ``clean``."""
        return f"{self.corruption}/{float(self.severity)!r}".removesuffix(".0") if self.severity else self.corruption


class Item(NamedTuple):
    """One image of the build: its number in the order, itself, and what its pictures are called within a cell."""

    number: int
    sample: Sample
    name: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where output goes, and what it is; ``shape`` is that of all pictures, where the format needs one."""

    folder: BuildFolder
    source: Source
    cells: tuple[Cell, ...]
    encoding: Encoding
    shape: tuple[int, ...] | None
