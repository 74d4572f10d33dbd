"""Pictures that several cells of a corruption set have in common, where every cell should have its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from oodometer.doctor.cells import Cell, Look
from oodometer.doctor.diagnosis import Findings
from oodometer.report.words import count, listed
from oodometer.types import CLEAN

__all__ = ["Copies", "find_copies"]

_FEW = 0.1
"""Up to this share of images may be equal in two cells without being a fault: a drawing of flat colours can come out
of two strengths of one corruption as the same file."""

_LOOKED_AT = 8
"""How many of the equal images of two cells are looked at, to tell copies from pictures that nothing changes."""


@dataclass(frozen=True)
class Copies:
    """Groups of cells that are equal, and pairs of which a part is, with the positions in the second cell."""

    equal: list[list[Cell]] = field(default_factory=list)
    parts: list[tuple[Cell, Cell, NDArray[np.intp]]] = field(default_factory=list)

    def report(self, ids: Sequence[str], findings: Findings) -> None:
        """Turn them into findings; ``ids`` are those of the rows."""
        for group in self.equal:
            _report_equal(group, findings)
        for first, second, there in self.parts:
            _report_part(first, second, [f"{second.name}/{ids[second.rows[row]]}" for row in there], findings)


def find_copies(cells: Sequence[Cell], look: Look) -> Copies:
    """Find the cells that hold pictures of another one, or of the clean set.

    Files are compared by their digests. A corruption may leave a picture as it is (``saturate`` a gray one, most a
    blank one), so some of the equal ones are looked at, and only those count that the corruption would have changed.

    Parameters
    ----------
    cells
        With the clean set, if there is one.
    look
        Gives the pixels of an image.
    """
    found = Copies()
    for first, second in combinations(cells, 2):
        here, there = _equal(first, second)
        colour = {first.corruption, second.corruption} <= {"saturate", CLEAN.corruption}
        # Some photographs have no colour for saturate to change, others none that is not at its limit already.
        if len(here) <= (_FEW * len(first.rows) if colour else 0) or not _telling(first, here, look, colour):
            continue
        if not len(here) == len(first.rows) == len(second.rows):
            found.parts.append((first, second, there))
        elif group := next((cells for cells in found.equal if first in cells), None):
            group += [second] if second not in group else []
        else:
            found.equal.append([first, second])
    return found


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


def _report_equal(cells: Sequence[Cell], findings: Findings) -> None:
    others = [cell.name for cell in cells if cell.corruption != CLEAN.corruption]
    clean = len(others) < len(cells)
    findings.fault(
        "cell-equals-clean" if clean else "cells-equal",
        f"{listed(others, most=6)} {'holds' if len(others) == 1 else 'hold'} "
        f"{'the clean images themselves, not corrupted' if clean else 'the same files: at most one of them is right'}.",
        "Unpack or make them again: one was copied over another.",
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
