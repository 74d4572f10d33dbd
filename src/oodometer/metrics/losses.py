"""Losses of the whole distribution of probabilities: negative log-likelihood and Brier score, each a mean over images.

The Brier score of an image is the squared distance of its probabilities from those that are 1 for the label and 0 for
all other classes, 0..2: G. W. Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather
Review 78 (1950). The negative log-likelihood is in nats.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.incomplete import spread
from oodometer.metrics.intervals import Estimate, bounded_mean, student

__all__ = ["brier_estimate", "nll_estimate"]


def brier_estimate(scores: NDArray[np.floating]) -> Estimate:
    """Mean Brier score; of several conditions, the mean of theirs.

    Parameters
    ----------
    scores
        float, shape (N,) or (N, conditions), in [0, 2]; masked where an image did not go through a condition.

    Raises
    ------
    MetricError
        If there are no images, or a score is NaN (the run is of a format that did not keep it) or out of [0, 2].
    """
    checked = _checked("Brier scores", scores)
    if np.ma.is_masked(checked):
        return spread(checked, _equal(checked), 0, 2).estimate
    return bounded_mean(checked.mean(axis=1), 0, 2)


def nll_estimate(losses: NDArray[np.floating]) -> Estimate:
    """Mean negative log-likelihood, with Student's interval, since it has no upper bound.

    Parameters
    ----------
    losses
        As for the Brier score, but from 0 up.

    Raises
    ------
    MetricError
        If there are fewer than two images, or a loss is negative or not finite: then a label was given no probability.
    """
    checked = _checked("negative log-likelihoods", losses)
    n = len(checked)
    if n < 2:
        raise MetricError(f"The interval of a mean without an upper bound needs at least two images, found {n}.")
    if np.ma.is_masked(checked):
        found = spread(checked, _equal(checked), 0, 1)  # of which only what has no bounds is used
        value, variance, n = found.value, found.variance, found.images
    else:
        scores = checked.mean(axis=1)
        value, variance = float(scores.mean()), float(scores.var(ddof=1)) / n
    half = student(n - 1) * math.sqrt(variance)
    return Estimate(value, max(value - half, 0.0), value + half, math.sqrt(variance), n)


def _equal(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.full(scores.shape[1], 1 / scores.shape[1])


def _checked(what: str, scores: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the scores as images x conditions."""
    array: NDArray[np.float64] = scores.astype(np.float64)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or not array.size:
        raise MetricError(f"Expected {what} as images, or images x conditions; found shape {scores.shape}.")
    values = np.ma.compressed(array)
    if np.isnan(values).any():
        raise MetricError(f"The {what} were not kept for all images: the run was begun by an older version.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise MetricError(f"Expected finite {what} of at least 0.")
    return array
