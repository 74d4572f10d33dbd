"""Mean errors by family, by severity and by class, from the same outcomes as all other numbers; see ``outcomes.py``."""

from __future__ import annotations

import contextlib
import typing

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.families import FAMILIES, IMAGENET_C, SEVERITIES
from oodometer.metrics.intervals import Estimate
from oodometer.metrics.outcomes import Misses, error_estimates

__all__ = ["class_error_estimates", "family_error_estimates", "severity_error_estimates"]

Key = typing.TypeVar("Key")


def family_error_estimates(misses: Misses) -> dict[str, Estimate]:
    """Mean top-1 error over the corruptions and severities of each family of the 15, where it was measured whole."""
    whole = {f: names for f, names in FAMILIES.items() if all(name in misses for name in names)}
    return error_estimates({family: _joined([misses[name] for name in names]) for family, names in whole.items()})


def severity_error_estimates(misses: Misses) -> tuple[Estimate, ...]:
    """Mean top-1 error at each severity from 1 up, over those of the 15 corruptions that were measured.

    Raises
    ------
    MetricError
        If none of the 15 was measured, or one not at all 5 severities.
    """
    counted = [misses[name] for name in IMAGENET_C if name in misses]
    if not counted or any(array.shape[1] != len(SEVERITIES) for array in counted):
        raise MetricError(f"Errors by severity need corruptions of ImageNet-C at all {len(SEVERITIES)} severities.")
    by_severity = {str(s): _joined([array[:, [k]] for array in counted]) for k, s in enumerate(SEVERITIES)}
    return tuple(error_estimates(by_severity).values())


def class_error_estimates(misses: Misses, labels: NDArray[np.integer[typing.Any]]) -> dict[int, Estimate]:
    """Mean top-1 error of the images of each class, over all corruptions in ``misses`` and their severities.

    Parameters
    ----------
    misses
        As everywhere; give those corruptions that are to count.
    labels
        Integers, shape (N,): the class of each image.

    Returns
    -------
    dict
        By class, in rising order. ``n`` is the number of its images. Where images went through some conditions only,
        classes are left out of which a condition saw fewer than two.
    """
    everything = _joined(list(misses.values()))
    if labels.shape != (len(everything),):
        raise MetricError(f"Expected one label per image, {len(everything)}; found shape {labels.shape}.")
    order = np.argsort(labels, kind="stable")
    classes, starts = np.unique(labels[order], return_index=True)
    stops = [*starts[1:], len(labels)]
    everything = everything[order]
    found = {}
    for k, start, stop in zip(classes.tolist(), starts, stops, strict=True):
        with contextlib.suppress(MetricError):
            found[k] = error_estimates({str(k): everything[start:stop]})[str(k)]
    return found


def _joined(arrays: list[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Put arrays of the same images side by side."""
    if not arrays:
        raise MetricError("There are no outcomes to take a mean of.")
    if any(np.ma.is_masked(array) for array in arrays):
        return np.ma.concatenate(arrays, axis=1)  # type: ignore[no-untyped-call,no-any-return]
    return np.concatenate(arrays, axis=1)
