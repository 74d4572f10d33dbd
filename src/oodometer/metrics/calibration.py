"""Does a classifier's confidence say how often it is right? The two numbers published with ImageNet-R.

Source: D. Hendrycks et al., "The Many Faces of Robustness", ICCV 2021, and its public evaluation code. Confidence is
the greatest softmax probability, for ImageNet-R among its 200 classes. Everywhere images of equal confidence keep the
order in which they are given.
"""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError

__all__ = ["BIN_SIZE", "aurra", "rms_calibration_error", "rms_calibration_error_published"]

BIN_SIZE = 100
"""Images in a bin of the RMS calibration error; the last bin takes the rest too."""

_Floats: typing.TypeAlias = NDArray[np.float64]


def rms_calibration_error(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> float:
    """Root mean square, over images, of the difference between confidence and accuracy in their bin.

    Images are sorted by confidence into bins of 100; the rest joins the last bin, and fewer than 200 are one bin. With
    n_b images in bin b: sqrt(sum over b of n_b / N * (mean confidence - share of hits)^2).

    Parameters
    ----------
    confidences
        float, shape (N,), probabilities in [0, 1], both ends included.
    hits
        bool, shape (N,): was the prediction right?

    Returns
    -------
    float
        In [0, 1]; 0 is perfect.

    Raises
    ------
    MetricError
        If the arrays are empty or do not match, or a confidence is NaN or outside [0, 1].
    """
    sizes, gaps = _bins(*_checked(confidences, hits))
    return _root_mean_square(sizes, gaps, int(sizes.sum()))


def rms_calibration_error_published(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> float:
    """RMS calibration error as the published ImageNet-R code computes it, to compare with figures made by that code.

    That code leaves the last bin out of the sum: the most confident 100 to 199 images never count, while N still counts
    them. Use ``rms_calibration_error`` for anything else. Parameters and errors as there; below 200 images, where all
    images would be in the bin left out, the number is refused rather than called 0.
    """
    sizes, gaps = _bins(*_checked(confidences, hits))
    if len(sizes) < 2:
        raise MetricError(
            f"The published RMS calibration error leaves out the last bin of {BIN_SIZE} or more images, so it needs at "
            f"least {2 * BIN_SIZE}; found {sizes.sum()}. Use rms_calibration_error."
        )
    return _root_mean_square(sizes[:-1], gaps[:-1], int(sizes.sum()))


def aurra(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> float:
    """Area under the response rate accuracy curve: how right the classifier is when it only answers if confident.

    The mean over k = 1..N of the accuracy among the k most confident images. Parameters and errors as for
    ``rms_calibration_error``; the result is in [0, 1], and 1 is perfect.
    """
    confidence, hit = _checked(confidences, hits)
    order = np.argsort(-confidence, kind="stable")
    return float(np.mean(np.cumsum(hit[order]) / np.arange(1, len(hit) + 1)))


def _bins(confidence: _Floats, hit: _Floats) -> tuple[_Floats, _Floats]:
    """Size of each bin, and its mean confidence less its share of hits."""
    order = np.argsort(confidence, kind="stable")
    starts = np.arange(max(len(order) // BIN_SIZE, 1)) * BIN_SIZE
    sizes = np.diff(starts, append=len(order)).astype(np.float64)
    return sizes, np.add.reduceat((confidence - hit)[order], starts) / sizes


def _root_mean_square(sizes: _Floats, gaps: _Floats, total: int) -> float:
    return float(np.sqrt(np.sum(sizes / total * gaps**2)))


def _checked(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> tuple[_Floats, _Floats]:
    """Check the two arrays against each other and give both as float64."""
    confidence, hit = np.asarray(confidences), np.asarray(hits)
    if hit.dtype != np.bool_ or hit.ndim != 1 or confidence.shape != hit.shape or not hit.size:
        raise MetricError(
            "Expected one confidence and one bool hit per image, found "
            f"{confidence.dtype} of shape {confidence.shape} and {hit.dtype} of shape {hit.shape}."
        )
    bad = np.flatnonzero(~((confidence >= 0) & (confidence <= 1)))
    if bad.size:
        raise MetricError(
            f"Confidences must be probabilities in [0, 1], not logits; found {confidence[bad[0]]} at position {bad[0]} "
            f"({bad.size} of {len(hit)} are out of range)."
        )
    return confidence.astype(np.float64), hit.astype(np.float64)
