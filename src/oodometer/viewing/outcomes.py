"""What a model said of one image under one condition, found by class, corruption, severity and outcome."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.arguments import choice
from oodometer.errors import ArgumentError
from oodometer.store import BenchmarkRecord, Example, Table
from oodometer.types import CLEAN, UNMAPPED, Condition

__all__ = ["OUTCOMES", "Outcome", "Outcomes", "Wanted"]

OUTCOMES: dict[str, str] = {
    "right": "right",
    "wrong": "wrong",
    "broken": "wrong, though the clean image was right",
    "mended": "right, though the clean image was wrong",
    "changed": "another class than for the clean image",
}
"""The outcomes that can be asked for, in words."""

_UNLABELLED = ("changed",)
"""Those of them that need no labels."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which outcomes to find; ``None`` is any. ``label`` is a class by its position, ``image`` one by its token."""

    label: int | None = None
    corruption: str | None = None
    severity: int | None = None
    outcome: str | None = None
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was said of an image, known by ``token``, under one condition.

    ``label`` and ``right`` are ``None`` without labels, ``confidence`` if the model named a class and no more.
    ``example`` says whether the run keeps a picture of it.
    """

    token: str
    image: str
    label: str | None
    condition: Condition
    prediction: str
    confidence: float | None
    right: bool | None
    example: bool


class Outcomes:
    """The outcomes of one set of images: all that its images went through.

    Parameters
    ----------
    record
        What the run says of the set.
    table
        The predictions, in the label space of the set.
    examples
        The pictures that the run keeps.
    """

    def __init__(self, record: BenchmarkRecord, table: Table, examples: Sequence[Example]) -> None:
        self.record, self._table = record, table
        self._examples = {(example.image, example.condition): example for example in examples}

    @property
    def images(self) -> tuple[str, ...]:
        """The ids of the images, sorted."""
        return self._table.images

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """What images went through."""
        return self._table.conditions

    @property
    def corruptions(self) -> tuple[str, ...]:
        """The names of the conditions, clean included."""
        return tuple(dict.fromkeys(condition.corruption for condition in self.conditions))

    @property
    def severities(self) -> tuple[int, ...]:
        """The severities of the conditions, without that of clean images."""
        return tuple(sorted({condition.severity for condition in self.conditions if condition != CLEAN}))

    @functools.cached_property
    def classes(self) -> tuple[tuple[int, str, int], ...]:
        """The classes of the images in the order of their names: position, name, and how many images."""
        if not self.record.labelled:
            return ()
        found = zip(*(part.tolist() for part in np.unique(self._table.labels, return_counts=True)), strict=True)
        return tuple(sorted(((k, self.record.class_names[k], n) for k, n in found), key=lambda entry: entry[1]))

    @property
    def outcomes(self) -> dict[str, str]:
        """The outcomes that can be asked for here, with words for each."""
        known = OUTCOMES if self.record.labelled else {name: OUTCOMES[name] for name in _UNLABELLED}
        compared = CLEAN in self.conditions and len(self.conditions) > 1
        return {name: words for name, words in known.items() if compared or name in ("right", "wrong")}

    @functools.cached_property
    def _rows(self) -> dict[str, int]:
        return {hashlib.sha256(_bytes(image)).hexdigest()[:16]: row for row, image in enumerate(self.images)}

    @functools.cached_property
    def _tokens(self) -> tuple[str, ...]:
        return tuple(self._rows)

    def image(self, token: str) -> str | None:
        """Return the id of the image that a token names, if there is one."""
        row = self._rows.get(token)
        return None if row is None else self.images[row]

    def example(self, token: str, condition: Condition) -> bytes | None:
        """Return the picture (JPEG) that the run keeps of an image under a condition, if it does."""
        found = self._examples.get((self.image(token) or "", condition))
        return None if found is None else found.jpeg

    def find(self, wanted: Wanted) -> NDArray[np.intp]:
        """Find outcomes: their rows and columns in the table, K x 2, by condition and then by image.

        Raises
        ------
        ArgumentError
            If something is asked for that there is not.
        """
        if wanted.corruption is not None:
            choice("corruption", wanted.corruption, self.corruptions)
        if wanted.severity is not None and wanted.severity not in self.severities:
            raise ArgumentError(f"Nothing here went through a severity {wanted.severity}.")
        kept = self._table.seen.copy()
        kept[:, ~np.array([_is_asked(condition, wanted) for condition in self.conditions], dtype=bool)] = False
        if wanted.label is not None:
            if wanted.label not in {label for label, _, _ in self.classes}:
                raise ArgumentError(f"No image here is of the class number {wanted.label}.")
            kept[self._table.labels != wanted.label] = False
        if wanted.image is not None:
            if wanted.image not in self._rows:
                raise ArgumentError("There is no such image here.")
            kept[np.arange(len(kept)) != self._rows[wanted.image]] = False
        if wanted.outcome is not None:
            kept &= self._with_outcome(choice("outcome", wanted.outcome, self.outcomes))
        return np.argwhere(kept.T)[:, ::-1]

    def _with_outcome(self, outcome: str) -> NDArray[np.bool_]:
        best = self._table.top[:, :, 0]
        right = best == self._table.labels[:, None]
        if outcome in ("right", "wrong"):
            return np.asarray(right if outcome == "right" else ~right)
        clean = self.conditions.index(CLEAN)
        compared = self._table.seen[:, [clean]]
        if outcome == "changed":
            return np.asarray(compared & (best != best[:, [clean]]))
        was = right[:, [clean]]
        return np.asarray(compared & (was & ~right if outcome == "broken" else ~was & right))

    def at(self, row: int, column: int) -> Outcome:
        """Return one outcome by its place in the table."""
        table, names, labelled = self._table, self.record.class_names, self.record.labelled
        best, label = int(table.top[row, column, 0]), int(table.labels[row])
        confidence = float(table.confidence[row, column])
        return Outcome(
            token=self._tokens[row],
            image=self.images[row],
            label=names[label] if labelled else None,
            condition=self.conditions[column],
            prediction="no class" if best == UNMAPPED else names[best],
            confidence=None if math.isnan(confidence) else confidence,
            right=best == label if labelled else None,
            example=(self.images[row], self.conditions[column]) in self._examples,
        )


def _bytes(text: str) -> bytes:
    """Encode a name whatever is in it, as that of a file may be no text."""
    return text.encode("utf-8", "surrogatepass")


def _is_asked(condition: Condition, wanted: Wanted) -> bool:
    if wanted.corruption not in (None, condition.corruption):
        return False
    # Clean images have no severity that could be asked for.
    return wanted.severity in (None, condition.severity) or wanted.corruption == CLEAN.corruption
