"""The cells of a corruption set side by side: whether all of them hold the same images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.reading import Digests
from oodometer.report.words import count, listed

__all__ = ["Cell", "Look", "check_same_images", "most_common"]


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
    """Return a cell whose images most cells hold, if it has any; of equally common ones the largest, then the first."""
    common = Counter(cell.rows.tobytes() for cell in cells)
    return max(cells, key=lambda cell: (len(cell.rows) > 0, common[cell.rows.tobytes()], len(cell.rows)))


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
        ("cell-lacks-images", "lack images which the others hold", "Copy, unpack or make these again", lacking),
        ("cell-has-extra-images", "hold images which the others lack", "Remove these, or make the others", extra),
    ):
        names = [name for name, rows in differing.items() if len(rows)]
        if names:
            places = [f"{name}/{ids[row]}" for name in names for row in differing[name]]
            files = count(len(places), "file")
            findings.fault(
                code,
                f"Cells that {title}: {len(names):,} of {len(cells):,}, {listed(names)} ({files}).",
                f"{fix}: errors of different images cannot be compared.",
                places,
            )
