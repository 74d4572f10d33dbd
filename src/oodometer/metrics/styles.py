"""Accuracy by style of rendition, and what the model does on clean images of exactly the classes that a style has.

The styles of ImageNet-R cover different classes, so that their accuracies tell of the classes too. The clean reference
of a style is the clean accuracy of its classes, each weighted by its share of the style's images; the style's own
accuracy, the plain share of right predictions, is the mean of its classes' accuracies with the same weights. Both sides
are thus alike in all but the rendition, and their difference is the style's gap. ``two_way`` compares styles among each
other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.accuracy import accuracy, independent_difference
from oodometer.metrics.balanced import Labels, check_labels, weighted_accuracy
from oodometer.metrics.intervals import Estimate

__all__ = ["Comparison", "compare_with_clean", "group_accuracies"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The images of a group against clean images of their classes.

    ``clean`` is over exactly the classes of the group, weighted by the group's images, ``gap`` that less ``accuracy``.
    Where clean images are of some of these classes only, all three are over these; ``classes`` says how many they are.
    """

    accuracy: Estimate
    clean: Estimate
    gap: Estimate
    classes: int


def group_accuracies(hits: NDArray[np.bool_], groups: Sequence[str]) -> dict[str, Estimate]:
    """Share of right predictions in each group of images, with Wilson's interval.

    Parameters
    ----------
    hits
        bool, shape (N,): was the prediction of image i right?
    groups
        The group of each image, such as its style.

    Returns
    -------
    dict
        By group, in the order of the names.

    Raises
    ------
    MetricError
        If there is not one group per image.
    """
    if len(groups) != len(hits):
        raise MetricError(f"Expected one group per image, {len(hits)}; found {len(groups)}.")
    names = np.asarray(groups, dtype=np.str_)
    return {str(name): accuracy(hits[names == name]) for name in np.unique(names)}


def compare_with_clean(
    hits: NDArray[np.bool_], labels: Labels, clean_hits: NDArray[np.bool_], clean_labels: Labels
) -> Comparison:
    """Compare a group of shifted images with clean images of its classes, both weighted by the group's images.

    Parameters
    ----------
    hits, labels
        bool and integers, shape (N,): of the images of the group, was the prediction right, and their classes.
    clean_hits, clean_labels
        The same of clean images, of any classes.

    Raises
    ------
    MetricError
        If arrays do not match or are empty, or no class of the group has a clean image.
    """
    check_labels(hits, labels)
    check_labels(clean_hits, clean_labels)
    common = np.isin(labels, clean_labels)
    if not common.any():
        raise MetricError("No class of these images has a clean image to compare with.")
    classes, counts = np.unique(labels[common], return_counts=True)
    shares = dict(zip(classes.tolist(), counts.astype(float).tolist(), strict=True))
    clean, found = weighted_accuracy(clean_hits, clean_labels, shares), accuracy(hits[common])
    return Comparison(found, clean, independent_difference(clean, found), len(classes))
