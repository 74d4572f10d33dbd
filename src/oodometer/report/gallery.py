"""Which of the kept pictures a page shows: the worst and the best conditions beside the clean image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from oodometer.report.panels import Cell, OfRun
from oodometer.report.summary import Picture, Strip
from oodometer.types import CLEAN, Condition

__all__ = ["Shown", "ShownImage", "extremes", "shown_images", "shown_strips"]

EACH = 3
"""How many of the worst and of the best conditions are shown."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One picture, and what each run said of it, by the letter of the run."""

    label: str
    condition: Condition
    jpeg: bytes
    said: tuple[tuple[str, Picture], ...]


@dataclass(frozen=True, slots=True)
class ShownImage:
    """One image: clean if it was kept so, under the worst conditions and under the best; ``None`` was not kept."""

    label: str
    clean: Shown | None
    worst: tuple[Shown | None, ...]
    best: tuple[Shown | None, ...]


def extremes(cells: Sequence[Cell]) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
    """Pick the worst and the best conditions, each of another corruption.

    Parameters
    ----------
    cells
        All, the worst first.
    """
    return _of_other_corruptions(cells), _of_other_corruptions(cells[::-1])


def _of_other_corruptions(cells: Iterable[Cell]) -> tuple[Cell, ...]:
    first: dict[str, Cell] = {}
    for cell in cells:
        first.setdefault(cell.corruption, cell)
    return tuple(first.values())[:EACH]


def shown_images(runs: Sequence[OfRun], worst: Sequence[Cell], best: Sequence[Cell]) -> tuple[ShownImage, ...]:
    """Show each image that was kept under corruptions, with what all runs said.

    Parameters
    ----------
    runs
        One or several; the pictures are those of the first one.
    worst, best
        The conditions to show.
    """
    strips = [run.summary.corruption_strips for run in runs]
    return tuple(
        ShownImage(
            strip.label,
            _shown(runs, strips, strip, CLEAN),
            *(
                tuple(_shown(runs, strips, strip, Condition(cell.corruption, cell.severity)) for cell in part)
                for part in (worst, best)
            ),
        )
        for strip in strips[0]
    )


def shown_strips(runs: Sequence[OfRun], strips: Sequence[Sequence[Strip]]) -> tuple[Shown, ...]:
    """Show the uncorrupted pictures that were kept, such as of renditions, with what all runs said.

    Parameters
    ----------
    runs
        One or several.
    strips
        What each run has kept; the pictures are those of the first one.
    """
    found = (_shown(runs, strips, strip, CLEAN) for strip in strips[0])
    return tuple(shown for shown in found if shown is not None)


def _shown(
    runs: Sequence[OfRun], strips: Sequence[Sequence[Strip]], strip: Strip, condition: Condition
) -> Shown | None:
    """Collect what the runs said of one picture; those that saw other pixels are left out."""
    said = [
        (run.letter, picture)
        for run, kept in zip(runs, strips, strict=True)
        for one in kept
        if one.image == strip.image
        for picture in one.pictures
        if picture.condition == condition
    ]
    if not said:
        return None
    jpeg = said[0][1].jpeg
    return Shown(strip.label, condition, jpeg, tuple(one for one in said if one[1].jpeg == jpeg))
