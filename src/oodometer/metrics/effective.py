"""Effective robustness: the accuracy under shift that the accuracy on clean images does not already explain.

R. Taori et al., "Measuring Robustness to Natural Distribution Shifts in Image Classification", NeurIPS 2020: over many
classifiers the two accuracies lie near a line once both are put on a logit scale, and a classifier's effective
robustness is how far it lies above. Here the line is fitted to the classifiers given, by least squares, so the number
says how each compares with these others, and nothing beyond.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.intervals import Estimate, student
from oodometer.metrics.resampling import resampled

__all__ = ["FEWEST", "effective_robustness"]

FEWEST = 3
"""How many classifiers a line needs for a distance from it to mean anything."""

_Floats = NDArray[np.float64]


def effective_robustness(
    clean: NDArray[np.floating], shifted: NDArray[np.floating], *, same_images: bool, seed: int = 0
) -> tuple[Estimate, ...]:
    """Estimate how far each classifier's accuracy under shift lies above the line through all of them.

    Parameters
    ----------
    clean
        float, images x classifiers, in [0, 1]: was the prediction right?
    shifted
        The same under shift, such as the share of the corruptions under which it was right.
    same_images
        Whether row i is the same image in both, so that it is drawn with both.
    seed
        Of the bootstrap over images, which gives the intervals; the line is fitted again to each draw.

    Returns
    -------
    tuple of Estimate
        A difference of accuracies for each classifier; ``n`` is the number of shifted images.

    Raises
    ------
    MetricError
        If there are fewer than three classifiers, the arrays do not match, or all are equally accurate on the clean
        images.
    """
    if clean.ndim != 2 or shifted.ndim != 2 or clean.shape[1] != shifted.shape[1] or not clean.size or not shifted.size:
        raise MetricError(f"Expected images x classifiers twice, found shapes {clean.shape} and {shifted.shape}.")
    if same_images and len(clean) != len(shifted):
        raise MetricError(f"Expected the same images, found {len(clean)} and {len(shifted)}.")
    if clean.shape[1] < FEWEST:
        raise MetricError(f"Effective robustness needs at least {FEWEST} classifiers, found {clean.shape[1]}.")
    if np.ptp(clean.sum(axis=0)) == 0:
        raise MetricError("All classifiers are equally accurate on the clean images, so there is no line to fit.")
    values = _residuals(_logit(np.ones((1, len(clean))), clean), _logit(np.ones((1, len(shifted))), shifted))[0]
    drawn = [
        _residuals(_logit(one, clean), _logit(one if same_images else other, shifted))
        for one, other in zip(resampled(len(clean), seed), resampled(len(shifted), seed + 1), strict=True)
    ]
    errors = np.concatenate(drawn).std(axis=0, ddof=1)
    n = len(shifted)
    halves = student(max(n - 1, 1)) * errors
    return tuple(
        Estimate(float(v), float(v - half), float(v + half), float(se), n)
        for v, half, se in zip(values, halves, errors, strict=True)
    )


def _logit(weights: _Floats, hits: NDArray[np.floating]) -> _Floats:
    """Put mean accuracies on a logit scale: draws x classifiers; half an image to either side keeps it finite."""
    right = weights @ hits
    return np.asarray(np.log((right + 0.5) / (weights.sum(axis=1, keepdims=True) - right + 0.5)))


def _residuals(clean: _Floats, shifted: _Floats) -> _Floats:
    """Subtract the fitted accuracy from the one found, draws x classifiers."""
    x = clean - clean.mean(axis=1, keepdims=True)
    y = shifted.mean(axis=1, keepdims=True)
    scale = (x**2).sum(axis=1, keepdims=True)
    slope = (x * shifted).sum(axis=1, keepdims=True) / np.where(scale > 0, scale, 1)
    return np.asarray(_accuracy(shifted) - _accuracy(y + slope * x))


def _accuracy(logit: _Floats) -> _Floats:
    return np.asarray(1 / (1 + np.exp(-logit)))
