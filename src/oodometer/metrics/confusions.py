"""What a classifier says instead of the truth: its favourite wrong classes, its pairs, and those that a shift creates.

Predictions below 0 name no class (an answer in words that could not be mapped): they are errors, but no confusion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.accuracy import independent_difference
from oodometer.metrics.balanced import Labels
from oodometer.metrics.intervals import Estimate, wilson

__all__ = ["Confusion", "CreatedConfusion", "WrongClass", "confusions", "created_confusions", "wrong_classes"]

LEAST_CLEAN = 0.5
"""The clean accuracy from which on a class counts as one that the classifier knows."""


@dataclass(frozen=True, slots=True)
class WrongClass:
    """A class that was named wrongly ``n`` times, for images of ``classes`` others; ``share`` is of all errors."""

    predicted: int
    n: int
    share: Estimate
    classes: int


@dataclass(frozen=True, slots=True)
class Confusion:
    """Images of class ``true`` of which ``n`` were called ``predicted``; ``rate`` is their share of that class."""

    true: int
    predicted: int
    n: int
    rate: Estimate


@dataclass(frozen=True, slots=True)
class CreatedConfusion:
    """A confusion that a shift creates: its ``rate`` in the shifted class, in the clean one, and their difference."""

    true: int
    predicted: int
    n: int
    rate: Estimate
    clean_rate: Estimate
    difference: Estimate


def wrong_classes(predictions: Labels, labels: Labels) -> tuple[WrongClass, ...]:
    """List the classes that were named wrongly, the most frequent first.

    Parameters
    ----------
    predictions, labels
        Integers, shape (N,): the class named for each image, and its own.

    Returns
    -------
    tuple of WrongClass
        Classes of one count by number. Empty if there is no error that names a class.

    Raises
    ------
    MetricError
        If the arrays do not match or are empty.
    """
    _check(predictions, labels)
    wrong = predictions != labels
    named = wrong & (predictions >= 0)
    pairs = np.unique(np.stack([predictions[named], labels[named]]), axis=1)
    counts = np.bincount(predictions[named])
    sources = np.bincount(pairs[0], minlength=len(counts))
    errors = int(np.count_nonzero(wrong))
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda k: (-int(counts[k]), k))
    return tuple(WrongClass(k, int(counts[k]), wilson(int(counts[k]), errors), int(sources[k])) for k in order)


def confusions(predictions: Labels, labels: Labels) -> tuple[Confusion, ...]:
    """List the pairs of a class and a wrong prediction, the most frequent first; parameters as ``wrong_classes``."""
    _check(predictions, labels)
    sizes = _sizes(labels)
    found = [
        Confusion(true, predicted, n, wilson(n, sizes[true]))
        for (true, predicted), n in _pairs(predictions, labels).items()
    ]
    return tuple(sorted(found, key=lambda c: (-c.n, c.true, c.predicted)))


def created_confusions(
    predictions: Labels,
    labels: Labels,
    clean_predictions: Labels,
    clean_labels: Labels,
    least_clean: float = LEAST_CLEAN,
) -> tuple[CreatedConfusion, ...]:
    """List the confusions that are more frequent under shift than on clean images, the surest first.

    Clean and shifted images are different ones, so this goes by class: for each pair of a class and a wrong prediction,
    its rate among the shifted images of the class less that among the clean ones, with Newcombe's interval. Only
    classes count of which the clean images are mostly right; what the classifier does not know, no shift took from it.

    Parameters
    ----------
    predictions, labels
        Integers, shape (N,), of the shifted images: the class named for each, and its own.
    clean_predictions, clean_labels
        The same of clean images.
    least_clean
        The clean accuracy, in [0, 1], that a class needs to count.

    Returns
    -------
    tuple of CreatedConfusion
        Those of a difference above 0, by the lower end of its interval, so that 1 image of 1 does not come before 50
        of 100. The first ones are chosen from many pairs for being great: their intervals do not know that.

    Raises
    ------
    MetricError
        If the arrays do not match or are empty, or ``least_clean`` is not in [0, 1].
    """
    _check(predictions, labels)
    _check(clean_predictions, clean_labels)
    if not 0 <= least_clean <= 1:
        raise MetricError(f"least_clean must be an accuracy in [0, 1], not {least_clean}.")
    sizes, clean_sizes = _sizes(labels), _sizes(clean_labels)
    right = _sizes(clean_labels[clean_predictions == clean_labels])
    clean_pairs = _pairs(clean_predictions, clean_labels)
    found = []
    for (true, predicted), n in _pairs(predictions, labels).items():
        if right.get(true, 0) < max(least_clean * clean_sizes.get(true, 0), 1):
            continue
        rate, clean = wilson(n, sizes[true]), wilson(clean_pairs.get((true, predicted), 0), clean_sizes[true])
        difference = independent_difference(rate, clean)
        if difference.value > 0:
            found.append(CreatedConfusion(true, predicted, n, rate, clean, difference))
    return tuple(sorted(found, key=lambda c: (-c.difference.low, -c.n, c.true, c.predicted)))


def _check(predictions: Labels, labels: Labels) -> None:
    for array in (predictions, labels):
        if not np.issubdtype(array.dtype, np.integer) or array.ndim != 1 or not array.size:
            raise MetricError(f"Expected one class for each image, found {array.dtype} of shape {array.shape}.")
    if predictions.shape != labels.shape:
        raise MetricError(f"Expected a prediction and a label per image, found {len(predictions)} and {len(labels)}.")


def _sizes(labels: Labels) -> dict[int, int]:
    """Count the images of each class."""
    classes, counts = np.unique(labels, return_counts=True)
    return dict(zip(classes.tolist(), counts.tolist(), strict=True))


def _pairs(predictions: Labels, labels: Labels) -> dict[tuple[int, int], int]:
    """Count the pairs of a class and a wrong one that was named for it."""
    wrong: NDArray[np.bool_] = (predictions != labels) & (predictions >= 0)
    pairs, counts = np.unique(np.stack([labels[wrong], predictions[wrong]]), axis=1, return_counts=True)
    return {(int(true), int(predicted)): int(n) for (true, predicted), n in zip(pairs.T, counts, strict=True)}
