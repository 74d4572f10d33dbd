"""The cells of a corruption set side by side: the same images in each, and no picture that another cell has too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.reading import Digests
from oodometer.report.words import count, listed
from oodometer.types import CLEAN

__all__ = ["Cell", "check_copies", "check_same_images", "most_common"]

_FEW = 0.1
"""Up to this share of images may be equal in two cells without being a fault: a drawing of flat colours can come out
of two strengths of one corruption as the same file."""

_LOOKED_AT = 8
"""How many of the equal images of two cells are looked at, to tell copies from pictures that nothing changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One condition of a corruption set.

    ``rows`` are the images in it, ascending numbers that mean the same image in all cells, int32, N; ``digests`` and
    ``sizes`` (int32, N x 2) are of its files, in that order. ``corruption`` is ``clean`` for the clean set.
    """

    corruption: str
    name: str
    rows: NDArray[np.int32]
    digests: Digests
    sizes: NDArray[np.int32]


Look = Callable[[Cell, int], NDArray[np.uint8]]
"""Gives the pixels of one image of a cell, by its position there: uint8, height x width x 3."""


def most_common(cells: Sequence[Cell]) -> Cell:
    """Return a cell whose images most cells hold; of equally common ones the largest, then the first."""
    common = Counter(cell.rows.tobytes() for cell in cells)
    return max(cells, key=lambda cell: (common[cell.rows.tobytes()], len(cell.rows)))


def check_same_images(cells: Sequence[Cell], ids: Sequence[str], findings: Findings) -> None:
    """Check that all cells hold the same images.

    Parameters
    ----------
    cells
        At least one.
    ids
        The id of each row.
    findings
        Where to add what is wrong.
    """
    whole = most_common(cells).rows
    lacking = {cell.name: np.setdiff1d(whole, cell.rows, assume_unique=True) for cell in cells}
    extra = {cell.name: np.setdiff1d(cell.rows, whole, assume_unique=True) for cell in cells}
    for code, title, fix, differing in (
        ("cell-lacks-images", "lack images that the other cells hold", "Copy, unpack or make these again", lacking),
        ("cell-has-extra-images", "hold images that the other cells lack", "Remove these, or make the others", extra),
    ):
        names = [name for name, rows in differing.items() if len(rows)]
        if names:
            places = [f"{name}/{ids[row]}" for name in names for row in differing[name]]
            files = count(len(places), "file")
            findings.fault(
                code,
                f"{len(names):,} of {count(len(cells), 'cell')} {title}: {listed(names)} ({files}).",
                f"{fix}: errors of different images cannot be compared.",
                places,
            )


def check_copies(cells: Sequence[Cell], ids: Sequence[str], look: Look, findings: Findings) -> None:
    """Check that no cell holds the pictures of another, or of the clean set.

    Files are compared by their digests. A corruption may leave a picture as it is (``saturate`` a gray one, most a
    blank one), so some of the equal ones are looked at, and only those count that the corruption would have changed.

    Parameters
    ----------
    cells
        With the clean set, if there is one.
    ids, findings
        As for ``check_same_images``.
    look
        Gives the pixels of an image.
    """
    groups: dict[str, list[str]] = {}
    parts: list[tuple[Cell, Cell, NDArray[np.intp]]] = []
    for first, second in combinations(cells, 2):
        here, there = _equal(first, second)
        colour = {first.corruption, second.corruption} <= {"saturate", CLEAN.corruption}
        # Some photographs have no colour for saturate to change, others none that is not at its limit already.
        if len(here) <= (_FEW * len(first.rows) if colour else 0) or not _telling(first, here, look, colour):
            continue
        if len(here) == len(first.rows) == len(second.rows):
            head = next((name for name, group in groups.items() if first.name in group), first.name)
            group = groups.setdefault(head, [head])
            group.extend({second.name} - set(group))
        else:
            parts.append((first, second, there))
    for group in groups.values():
        _report_group(group, findings)
    for first, second, there in parts:
        _report_part(first, second, [f"{second.name}/{ids[second.rows[row]]}" for row in there], findings)


def _equal(first: Cell, second: Cell) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the positions in two cells of the same images that are equal files."""
    if np.array_equal(first.rows, second.rows):
        here = there = np.arange(len(first.rows))
    else:
        _, here, there = np.intersect1d(first.rows, second.rows, assume_unique=True, return_indices=True)
    a, b = first.digests[here], second.digests[there]
    same = (a[:, 0] == b[:, 0]) & (a[:, 1] == b[:, 1]) & (first.sizes[here, 0] > 0)
    return here[same], there[same]


def _telling(cell: Cell, positions: NDArray[np.intp], look: Look, colour: bool) -> bool:
    """Return whether most of the equal pictures are such that corruptions would have made them different.

    With ``colour`` these are pictures with colour, and else those with any structure.
    """
    spread = np.linspace(0, len(positions) - 1, min(len(positions), _LOOKED_AT)).astype(int)
    told = [_has_content(look(cell, int(position)), colour) for position in positions[spread]]
    return 2 * sum(told) > len(told)


def _has_content(pixels: NDArray[np.uint8], colour: bool) -> bool:
    """Return whether the levels of a picture differ, between channels or between pixels, by more than rounding."""
    if colour:
        return bool(np.ptp(pixels.astype(np.int16), axis=2).mean() > 1.5)
    return bool(pixels.std(axis=(0, 1)).max() > 1.5)


def _report_group(names: Sequence[str], findings: Findings) -> None:
    clean = CLEAN.corruption in names
    others = [name for name in names if name != CLEAN.corruption]
    findings.fault(
        "cell-equals-clean" if clean else "cells-equal",
        f"{listed(others, most=6)} {'holds' if len(others) == 1 else 'hold'} "
        f"{'the clean images themselves, not corrupted' if clean else 'the same files: at most one of them is right'}.",
        "Unpack or make these cells again: a folder was copied over another one.",
        others,
    )


def _report_part(first: Cell, second: Cell, places: Sequence[str], findings: Findings) -> None:
    many = len(places) > _FEW * min(len(first.rows), len(second.rows))
    clean = CLEAN.corruption in {first.corruption, second.corruption}
    findings.add(
        "fault" if many else "note",
        "images-equal-clean" if clean else "images-copied",
        f"{count(len(places), 'image')} of {second.name} {'is' if len(places) == 1 else 'are'} the same "
        f"{'file' if len(places) == 1 else 'files'} as in {first.name}.",
        "Unpack or make them again."
        if many
        else "Look at some of them: a flat drawing may come out the same, a photograph may not.",
        places,
    )
