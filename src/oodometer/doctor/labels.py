"""Labels in an array: what they may be, and that they fit the images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from oodometer.doctor.diagnosis import Findings
from oodometer.families import SEVERITIES

__all__ = ["check_labels", "check_repeated"]

_FILE = ["labels.npy"]
_PUBLISHED = 10_000
"""The test images of CIFAR-10 and CIFAR-100, which each severity of their corrupted sets holds."""


def check_labels(labels: NDArray[Any], images: int, classes: int | None, findings: Findings) -> None:
    """Check that there is one class index for each image.

    Parameters
    ----------
    labels
        As they were found: any dtype and shape.
    images
        How many there are.
    classes
        How many there are, if that is known.
    findings
        Where to add what is wrong.
    """
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        found = f"{labels.dtype} of shape {labels.shape}"
        findings.fault(
            "labels-shape",
            f"labels.npy is {found}; it should be one whole number for each image.",
            "Make it again, as class indices from 0 up.",
            _FILE,
        )
        return
    if len(labels) != images:
        fifth = len(labels) * len(SEVERITIES) == images
        findings.fault(
            "labels-length",
            f"There are {len(labels):,} labels for {images:,} images.",
            "Repeat them for each severity: numpy.tile(labels, 5)." if fifth else "Copy or make labels.npy again.",
            _FILE,
        )
    if len(labels) and (labels.min() < 0 or (classes and labels.max() >= classes)):
        allowed = f"0 to {classes - 1}" if classes else "0 upward"
        findings.fault(
            "labels-range",
            f"Labels go from {labels.min()} to {labels.max()}; they must be from {allowed}.",
            "Make labels.npy again, as class indices from 0 up.",
            _FILE,
        )


def check_repeated(labels: NDArray[Any], images: int, findings: Findings) -> None:
    """Check that the labels of the five severities are the same, and balanced if the set has its published size.

    Parameters
    ----------
    labels, images, findings
        As for ``check_labels``.
    """
    part = images // len(SEVERITIES)
    if not part or labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) != part * len(SEVERITIES):
        return
    blocks = labels.reshape(len(SEVERITIES), part)
    if (blocks != blocks[0]).any():
        findings.fault(
            "labels-order",
            f"The labels are not the same {part:,} for each of the five severities.",
            "Severity s is the s-th fifth of the rows: repeat the labels of one severity, numpy.tile(labels, 5).",
            _FILE,
        )
    counts = np.unique(blocks[0], return_counts=True)[1]
    if part == _PUBLISHED and counts.min() != counts.max():
        findings.fault(
            "labels-balance",
            f"Classes have from {counts.min():,} to {counts.max():,} images; in CIFAR all have the same number.",
            "Copy or fetch labels.npy again.",
            _FILE,
        )
    if part != _PUBLISHED:
        findings.note(
            "part",
            f"Each severity has {part:,} images; as published it has {_PUBLISHED:,}.",
            "Nothing to do if that is meant; its scores are not those of the published set.",
        )
