"""What a comparison of runs says, as plain data. ``oodometer.comparison`` fills it.

Estimates are fractions. A difference is the second run less the first, so that a positive difference of errors says
that the second errs more often.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from oodometer.metrics import Estimate
from oodometer.types import Protocol

__all__ = ["Compared", "Effective", "EffectiveRow", "Numbers", "OfCorruption", "Pair", "Tested", "letter"]


@dataclass(frozen=True, slots=True)
class Compared:
    """One run: its numbers on the shared images, and how many of its images were dropped because others lack them.

    ``letter`` is what tables call it. ``renditions`` counts the shared renditions; without any, ``accuracy_r`` and
    ``gap`` are ``None``. ``mce`` is ``None`` without a baseline or if one of the 15 corruptions is not shared.
    """

    letter: str
    model: str
    folder: str
    images: int
    dropped: int
    renditions: int
    dropped_renditions: int
    clean_error: Estimate | None
    mean_error: Estimate | None
    mce: Estimate | None
    accuracy_r: Estimate | None
    gap: Estimate | None


@dataclass(frozen=True, slots=True)
class Tested:
    """A difference, and the value ``p`` of an exact test that there is none (McNemar's)."""

    difference: Estimate
    p: float


@dataclass(frozen=True, slots=True)
class OfCorruption:
    """The difference of the mean errors under one corruption.

    ``p`` is of the exact sign-flip test, ``p_holm`` the same, adjusted for all corruptions of the pair.
    """

    name: str
    difference: Estimate
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Pair:
    """The differences of two runs, named by their letters; ``None`` where one has no such number."""

    first: str
    second: str
    clean_error: Tested | None
    mean_error: Estimate | None
    mce: Estimate | None
    accuracy_r: Tested | None
    gap: Estimate | None
    corruptions: tuple[OfCorruption, ...]


@dataclass(frozen=True, slots=True)
class EffectiveRow:
    """One run's accuracies, and how far the second lies above what the first leads to expect."""

    letter: str
    clean_accuracy: Estimate
    accuracy: Estimate
    effective_robustness: Estimate


@dataclass(frozen=True, slots=True)
class Effective:
    """Effective robustness over exactly these runs; ``shift`` says against what: ``corruptions`` or ``renditions``."""

    shift: str
    rows: tuple[EffectiveRow, ...]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Runs compared on the images that all of them saw; the others are compared with the first.

    ``baseline`` is what mCEs are relative to, ``corruptions`` are those that all runs share, ``notes`` what a reader
    must know before quoting a number.
    """

    dataset: str
    label_space: str
    protocol: Protocol
    baseline: str | None
    baseline_source: str | None
    corruptions: tuple[str, ...]
    runs: tuple[Compared, ...]
    pairs: tuple[Pair, ...]
    effective: tuple[Effective, ...]
    notes: tuple[str, ...]


def letter(place: int) -> str:
    """Name a run by its place among several: A, B, ... Z, AA, AB and so on."""
    letters = string.ascii_uppercase
    return letters[place] if place < len(letters) else letter(place // len(letters) - 1) + letters[place % len(letters)]
