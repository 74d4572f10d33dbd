"""Whether the severities of a corruption are in order, by their distance to the clean images."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from oodometer.doctor.cells import Cell, Look
from oodometer.doctor.diagnosis import Findings

__all__ = ["check_order"]

_GROWING = (
    *("gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "defocus_blur", "gaussian_blur", "zoom_blur"),
    *("contrast", "pixelate", "jpeg_compression"),
)
"""The corruptions whose squared distance to the clean image grows with the severity. Others, such as snow and
elastic_transform, do not: their published strengths are not in order."""

_LOOKED_AT = 32
_ENOUGH = 8
_SURE = 0.9
"""The share of the images looked at that must be nearer at the higher severity; on photographs none should be."""


def check_order(clean: Cell, cells: Sequence[Cell], look: Look, findings: Findings) -> None:
    """Check, on some images, that a higher severity is further from the clean image.

    Parameters
    ----------
    clean
        The clean set. Where its images are not of the size of the corrupted ones, nothing is compared.
    cells
        The corrupted ones, those of one corruption in the order of their severities.
    look
        Gives the pixels of an image.
    findings
        Where to add what is wrong.
    """
    for corruption in _GROWING:
        there = [cell for cell in cells if cell.corruption == corruption]
        rows = _comparable([clean, *there])
        if len(there) < 2 or len(rows) < _ENOUGH:
            continue
        originals = [_at(clean, row, look) for row in rows]
        distances = [[_distance(_at(c, row, look), o) for row, o in zip(rows, originals, strict=True)] for c in there]
        turned = [
            (weak.name, strong.name)
            for (weak, near), (strong, far) in pairwise(zip(there, distances, strict=True))
            if (np.array(near) > far).sum() >= _SURE * len(rows)
        ]
        if turned:
            found = ", and ".join(f"{strong} than {weak}" for weak, strong in turned)
            findings.fault(
                "severity-order",
                f"Nearer to the clean images, at a higher severity: {found}; in nearly all of {len(rows)} images.",
                "Severities are interchanged: copy, unpack or make this corruption again.",
                dict.fromkeys(name for pair in turned for name in pair),
            )


def _comparable(cells: Sequence[Cell]) -> list[int]:
    """Return some images that all cells hold in one size, spread over the set."""
    common = functools.reduce(np.intersect1d, (cell.rows for cell in cells))
    sizes = np.stack([cell.sizes[np.searchsorted(cell.rows, common)] for cell in cells])
    rows = common[((sizes == sizes[0]) & (sizes > 0)).all(axis=(0, 2))]
    return [int(rows[at]) for at in np.linspace(0, len(rows) - 1, min(len(rows), _LOOKED_AT)).astype(int)]


def _at(cell: Cell, row: int, look: Look) -> NDArray[np.float32]:
    return look(cell, int(np.searchsorted(cell.rows, row))).astype(np.float32)


def _distance(image: NDArray[np.float32], other: NDArray[np.float32]) -> float:
    return float(((image - other) ** 2).mean())
