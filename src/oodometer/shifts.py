"""The published sets of shifted images that a suite may name, beside ImageNet-C: their names and sizes."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["OWN_NAME", "SHIFTED_SETS", "ShiftedSet", "name_of", "title_of"]


@dataclass(frozen=True, slots=True)
class ShiftedSet:
    """A published set: ``benchmark`` is its name in a run, ``title`` what people call it, with its published size."""

    benchmark: str
    title: str
    images: int
    classes: int


SHIFTED_SETS: dict[str, ShiftedSet] = {
    "r": ShiftedSet("imagenet-r", "ImageNet-R", 30_000, 200),
    "a": ShiftedSet("imagenet-a", "ImageNet-A", 7_500, 200),
    "v2": ShiftedSet("imagenet-v2", "ImageNet-V2", 10_000, 1_000),
    "sketch": ShiftedSet("imagenet-sketch", "ImageNet-Sketch", 50_889, 1_000),
    "o": ShiftedSet("imagenet-o", "ImageNet-O", 2_000, 200),
}
"""By the names that a suite knows them by; any other name is a set of the user's own."""

OWN_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
"""What a set of one's own may be called: it names a folder of the run."""


def title_of(benchmark: str) -> str:
    """Return what people call a set, by its name in a run; one of the user's own keeps its name."""
    return next((known.title for known in SHIFTED_SETS.values() if known.benchmark == benchmark), benchmark)


def name_of(key: str) -> str:
    """Return what a set is called in a run, by its name in a suite."""
    return SHIFTED_SETS[key].benchmark if key in SHIFTED_SETS else key
