"""Top-1 accuracy, and the gap between two sets of images, as ImageNet-R reports them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oodometer.metrics.intervals import Estimate, proportion

__all__ = ["accuracy", "accuracy_gap", "independent_difference"]


def accuracy(hits: NDArray[np.bool_]) -> Estimate:
    """Share of right predictions, with Wilson's interval.

    Parameters
    ----------
    hits
        bool, shape (N,): was the prediction of image i right? All images at once, never a mean over batches.

    Raises
    ------
    MetricError
        If the array has another dtype or shape, or is empty.
    """
    return proportion(hits)


def accuracy_gap(reference_hits: NDArray[np.bool_], shifted_hits: NDArray[np.bool_]) -> Estimate:
    """Accuracy on a reference set less that on a shifted one, such as ImageNet-200 less ImageNet-R.

    Parameters
    ----------
    reference_hits, shifted_hits
        bool, shapes (N,) and (M,), of different images: for the same images under two conditions the interval would be
        too wide. For ImageNet-R both are scored among its 200 classes.

    Returns
    -------
    Estimate
        In [-1, 1], positive if the shifted set is harder; ``n`` counts the images of both sets.

    Raises
    ------
    MetricError
        If an array has another dtype or shape, or is empty.

    Notes
    -----
    As in D. Hendrycks et al., "The Many Faces of Robustness", ICCV 2021.
    """
    return independent_difference(accuracy(reference_hits), accuracy(shifted_hits))


def independent_difference(first: Estimate, second: Estimate) -> Estimate:
    """Estimate the difference of two numbers that were measured on different images.

    Returns
    -------
    Estimate
        First less second; ``n`` counts the images of both.

    Notes
    -----
    The interval is Newcombe's hybrid of the two intervals: R. G. Newcombe, "Interval estimation for the difference
    between independent proportions: comparison of eleven methods", Statistics in Medicine 17 (1998), method 10.
    """
    value = first.value - second.value
    down = math.hypot(first.value - first.low, second.high - second.value)
    up = math.hypot(first.high - first.value, second.value - second.low)
    return Estimate(value, value - down, value + up, math.hypot(first.se, second.se), first.n + second.n)
