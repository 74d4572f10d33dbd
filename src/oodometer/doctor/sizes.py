"""The size in pixels of the images of a corruption set: one image has one size in all cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.doctor.cells import Cell, most_common
from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.norms import Norm

__all__ = ["check_sizes"]

_NEARLY_ALL = 0.9
"""The share of images from which on their common size counts as that of the set."""


def check_sizes(cells: Sequence[Cell], ids: Sequence[str], norm: Norm | None, findings: Findings) -> None:
    """Check that each image has one size in all cells, and that this is the size of the published images.

    Parameters
    ----------
    cells
        At least one; without the clean set, whose images may be uncropped.
    ids
        The id of each row.
    norm
        What the published set holds, if it is known.
    findings
        Where to add what is wrong.
    """
    usual = _usual(cells, len(ids))
    values, counts = np.unique(usual[usual > 0], return_counts=True)
    if not len(values):
        return
    common = int(values[counts.argmax()])
    square = bool(counts.max() >= _NEARLY_ALL * counts.sum()) and norm is not None and _side(common) in norm.sides
    if square and len(cells) == 1:  # there is no other cell to compare with, but natural images are not all square
        usual[usual > 0] = common
    deviating = [
        f"{cell.name}/{ids[cell.rows[at]]}"
        for cell in cells
        for at in np.flatnonzero((_packed(cell) > 0) & (usual[cell.rows] > 0) & (_packed(cell) != usual[cell.rows]))
    ]
    if deviating:
        expected = f"the {_written(common)} of the others" if square else "that of the same images in the other cells"
        findings.fault(
            "size-differs",
            f"Images whose size in pixels is not {expected}: {len(deviating):,}.",
            "Copy, unpack or make them again.",
            deviating,
        )
    _note_unusual(usual, common, square, norm, findings)


def _note_unusual(usual: NDArray[np.int64], common: int, square: bool, norm: Norm | None, findings: Findings) -> None:
    if norm is None or not norm.sides:
        return
    expected = " or ".join(f"{side}x{side}" for side in norm.sides)
    others = int(((usual > 0) & (usual != common)).sum())
    if not square or others:
        findings.note(
            "other-size",
            f"The images of {norm.name} are {expected} pixels; here {_written(common)} is the most common size, and "
            f"{others:,} images have another one.",
            "Nothing to do if they were made so; their errors are not comparable with published ones.",
        )


def _usual(cells: Sequence[Cell], images: int) -> NDArray[np.int64]:
    """Return the packed size that each image has in most of the cells that hold the usual images; 0 if in none."""
    whole = most_common(cells).rows
    sizes = np.sort([_packed(cell) for cell in cells if np.array_equal(cell.rows, whole)], axis=0)
    unread = (sizes == 0).sum(axis=0)
    middle = np.minimum(unread + (len(sizes) - unread) // 2, len(sizes) - 1)  # what more than half have lies there
    usual = np.zeros(images, np.int64)
    usual[whole] = np.take_along_axis(sizes, middle[None], axis=0)[0]
    return usual


def _packed(cell: Cell) -> NDArray[np.int64]:
    """Return width and height of each image in one number, so that they compare as one."""
    return (cell.sizes[:, 0].astype(np.int64) << 32) | cell.sizes[:, 1]


def _side(packed: int) -> int | None:
    return packed & 0xFFFFFFFF if packed >> 32 == packed & 0xFFFFFFFF else None


def _written(packed: int) -> str:
    return f"{packed >> 32}x{packed & 0xFFFFFFFF}"
