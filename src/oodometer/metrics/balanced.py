"""Accuracy with every class counted alike, or with weights of one's own: what the mix of classes does not decide.

The classes of ImageNet-R hold 51 to 430 images, those of the clean set 50 each, so a plain accuracy weighs a class
eight times as much as another in the one set and alike in the other. Here the accuracy of each class is weighed first.

The classes are those that are there: the interval tells of other images of these classes, not of other classes. Images
are the sampling unit within their class (a stratified sample: W. G. Cochran, "Sampling Techniques", 3rd ed., 1977,
ch. 5). With weights w_k that add up to 1, accuracies p_k and n_k images, the variance is

    sum over k of w_k^2 p_k (1 - p_k) / (n_k - 1).

One image tells nothing of how the images of its class vary. Classes with a single image are therefore taken together
(Cochran's collapsed strata, 5A.12): the variance of their outcomes among each other stands for each of them, which also
holds how the classes differ and so makes the interval too wide rather than too short. One right and one wrong outcome
are added, since a few may agree by chance, and the variance is at most 1/4, the greatest that an outcome can have; a
lone such class gets that. The interval is Wilson's with the effective sample size of ``interval`` and stays within
[0, 1]; where all outcomes are equal, that size is Kish's 1 / (sum over images of weight^2), the number of equally
weighted images that are worth as much. Nor may the variance be less than if images varied alike in all classes, since
the few images of a small class often agree by chance. In simulations (``tests/metrics/test_balanced.py``) the interval
holds the truth in 93 to 100 %.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.accuracy import independent_difference
from oodometer.metrics.intervals import Estimate, interval

__all__ = ["check_labels", "class_balanced_accuracy", "class_balanced_gap", "weighted_accuracy"]

Labels: typing.TypeAlias = NDArray[np.integer[typing.Any]]


def class_balanced_accuracy(hits: NDArray[np.bool_], labels: Labels) -> Estimate:
    """Mean over the classes of the accuracy of each.

    Parameters
    ----------
    hits
        bool, shape (N,), N at least 1: was the prediction of image i right?
    labels
        Integers, shape (N,): the class of each image. Classes without images do not count.

    Returns
    -------
    Estimate
        In [0, 1]; ``n`` counts the images.

    Raises
    ------
    MetricError
        If the arrays do not match or are empty.
    """
    check_labels(hits, labels)
    return weighted_accuracy(hits, labels, dict.fromkeys(np.unique(labels).tolist(), 1.0))


def class_balanced_gap(
    reference_hits: NDArray[np.bool_],
    reference_labels: Labels,
    shifted_hits: NDArray[np.bool_],
    shifted_labels: Labels,
) -> Estimate:
    """Class-balanced accuracy on a reference set less that on a shifted one, over the classes that both have.

    Parameters
    ----------
    reference_hits, reference_labels, shifted_hits, shifted_labels
        As for ``class_balanced_accuracy``, of different images.

    Returns
    -------
    Estimate
        In [-1, 1], positive if the shifted set is harder; ``n`` counts the images of the common classes in both.

    Raises
    ------
    MetricError
        If arrays do not match or are empty, or no class is in both.
    """
    check_labels(reference_hits, reference_labels)
    check_labels(shifted_hits, shifted_labels)
    common = np.intersect1d(reference_labels, shifted_labels).tolist()
    if not common:
        raise MetricError("The two sets have no class in common, so there is no gap between them.")
    alike = dict.fromkeys(common, 1.0)
    return independent_difference(
        weighted_accuracy(reference_hits, reference_labels, alike),
        weighted_accuracy(shifted_hits, shifted_labels, alike),
    )


def weighted_accuracy(hits: NDArray[np.bool_], labels: Labels, weights: Mapping[int, float]) -> Estimate:
    """Mean over classes of the accuracy of each, weighted; images of other classes do not count.

    Parameters
    ----------
    hits, labels
        As for ``class_balanced_accuracy``.
    weights
        By class, positive; they are divided by their sum. Taken as exact.

    Raises
    ------
    MetricError
        If the arrays do not match or are empty, there are no weights, one is not positive, or a class has no image.
    """
    check_labels(hits, labels)
    classes = np.array(sorted(weights), dtype=np.int64)
    weight = np.array([weights[k] for k in classes.tolist()], dtype=np.float64)
    if not len(classes) or not np.all((weight > 0) & np.isfinite(weight)):
        raise MetricError(f"Expected a positive weight for at least one class, found {dict(weights)}.")
    weight /= weight.sum()
    place = np.searchsorted(classes, labels).clip(0, len(classes) - 1)
    counted = classes[place] == labels
    place, right = place[counted], hits[counted].astype(np.float64)
    n = np.bincount(place, minlength=len(classes))
    if not n.all():
        raise MetricError(f"No image is of class {classes[n == 0][0]}, which has a weight.")
    accuracies = np.bincount(place, right, minlength=len(classes)) / n
    variance = _variance(weight, accuracies, n)
    worth = max(int(1 / float(np.sum(weight**2 / n)) + 1e-9), 1)
    value = min(max(float(weight @ accuracies), 0.0), 1.0)
    return replace(interval(value, variance, worth, 0, 1), n=int(n.sum()))


def _variance(weights: NDArray[np.float64], accuracies: NDArray[np.float64], n: NDArray[np.intp]) -> float:
    """Estimate the variance of the weighted mean, classes with a single image taken together."""
    several, single = n > 1, n == 1
    each, found = weights**2 / n, 0.0
    if several.any():
        count = n[several]
        within = accuracies[several] * (1 - accuracies[several]) * count / (count - 1)
        found = float(within @ each[several])
        alike = float(within @ count) / float(count.sum())
    else:
        alike = 0.0
    if single.any():
        m = int(single.sum())
        share = (float(accuracies[single].sum()) + 1) / (m + 2)
        found += min(share * (1 - share) * (m + 2) / (m + 1), 0.25) * float(each[single].sum())
    return max(found, alike * float(each.sum()))


def check_labels(hits: NDArray[np.bool_], labels: Labels) -> None:
    """Check that there is one bool and one class for each image, and at least one image."""
    if np.ma.is_masked(hits) or hits.dtype != np.bool_ or hits.ndim != 1 or not hits.size:
        raise MetricError(f"Expected one bool for each of at least one image, found {hits.dtype} of {hits.shape}.")
    if labels.shape != hits.shape or not np.issubdtype(labels.dtype, np.integer):
        raise MetricError(f"Expected one class per image, {len(hits)}; found {labels.dtype} of shape {labels.shape}.")
