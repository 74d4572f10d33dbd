"""Multiples of a baseline's errors where these were measured too, on images that are known: both have their error.

A CE divides the mean error E of a classifier by that of the baseline, B. With the baseline's errors from a sample of
images, its change with either is, to first order, dE / B - CE dB / B (the delta method), so its variance is that of

    mean over images of e[i] / B   -   mean over images of CE b[i] / B,

the images being the sampling unit. An image that both saw enters both means, and what the two have in common cancels:
mostly a baseline on the same images makes an interval shorter than one on as many others. An mCE, and the relative
numbers, are means of such terms. In simulations (``tests/metrics/test_coverage.py``) these intervals hold the truth as
often as those of a baseline without error, whether the images are the same or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.baselines import Sample
from oodometer.metrics.incomplete import spread
from oodometer.metrics.intervals import Estimate, interval

__all__ = ["ratio_estimate"]

_Columns = list[NDArray[np.generic]]


def ratio_estimate(
    misses: Mapping[str, NDArray[np.generic]],
    divisors: Mapping[str, float],
    clean_misses: NDArray[np.bool_] | None,
    images: Sequence[str] | None,
    sample: Sample,
) -> Estimate:
    """Estimate the mean over corruptions of (mean error, less the clean error if given) / divisor, both measured.

    Parameters
    ----------
    misses, clean_misses
        The classifier's outcomes, as in ``outcomes.py``; numbers from 0 to 1 will do, too.
    divisors
        By corruption, the same of the baseline.
    images
        The ids of the classifier's images; without them all are taken for others than the baseline's.
    sample
        The baseline's outcomes.

    Raises
    ------
    MetricError
        If the baseline has no outcomes for a corruption, or there are fewer than two images.
    """
    lacking = [name for name in misses if name not in sample.misses]
    if lacking or (clean_misses is not None and sample.clean_misses is None):
        raise MetricError(f"The baseline has no outcomes for {', '.join(lacking) or 'clean images'}.")
    count = len(next(iter(misses.values())))
    if min(count, len(sample.images)) < 2:
        raise MetricError(
            "The error of a ratio needs at least two images of the classifier and of the baseline; found "
            f"{count} and {len(sample.images)}."
        )
    share = {name: 1 / (divisors[name] * len(misses)) for name in misses}
    clean_error = 0.0 if clean_misses is None else _mean(clean_misses)
    ratios = {name: (_mean(array) - clean_error) / divisors[name] for name, array in misses.items()}
    own = _columns(misses, clean_misses, share)
    theirs = _columns(
        {name: sample.misses[name] for name in misses},
        None if clean_misses is None else sample.clean_misses,
        {name: -ratios[name] * share[name] for name in misses},
    )
    observed, weights = _beside(own, theirs, _rows(images, sample.images, count))
    greatest = sum(share.values())
    found = spread(observed, weights, -greatest, greatest)
    n = min(count, len(sample.images))
    low = 0.0 if clean_misses is None else -greatest
    return interval(sum(ratios.values()) / len(ratios), found.variance, n, low, greatest)


def _mean(array: NDArray[np.generic]) -> float:
    """Mean over conditions of the mean over the images that went through them."""
    return float(np.mean(np.mean(array, axis=0)))  # type: ignore[arg-type]  # of bool or of numbers


def _columns(
    misses: Mapping[str, NDArray[np.generic]], clean: NDArray[np.bool_] | None, share: Mapping[str, float]
) -> tuple[_Columns, list[float]]:
    """Lay out outcomes as columns with weights; where nothing is masked they add up to one score per image."""
    arrays = [*misses.values()] + ([] if clean is None else [clean[:, None]])
    weights = [np.full(array.shape[1], share[name] / array.shape[1]) for name, array in misses.items()]
    weights += [] if clean is None else [np.array([-sum(share.values())])]
    if any(np.ma.is_masked(array) for array in arrays):
        return [column for array in arrays for column in array.T], np.concatenate(weights).tolist()
    return [np.sum([array @ weight for array, weight in zip(arrays, weights, strict=True)], axis=0)], [1.0]


def _rows(images: Sequence[str] | None, theirs: Sequence[str], count: int) -> NDArray[np.intp]:
    """Place the baseline's images: those that the classifier saw too in their rows, the others below."""
    known = {image: row for row, image in enumerate(images or ())}
    rows = np.array([known.get(image, -1) for image in theirs])
    others = rows < 0
    rows[others] = count + np.arange(np.count_nonzero(others))
    return rows


def _beside(
    own: tuple[_Columns, list[float]], theirs: tuple[_Columns, list[float]], rows: NDArray[np.intp]
) -> tuple[NDArray[np.generic], NDArray[np.float64]]:
    """Put both kinds of columns beside each other, masked where an image was not seen."""
    columns = own[0] + theirs[0]
    count = len(own[0][0])
    shape = max(count, int(rows.max()) + 1), len(columns)
    observed = np.ma.array(np.zeros(shape), mask=True)
    for k, column in enumerate(columns):
        observed[(rows if k >= len(own[0]) else slice(count)), k] = column
    return observed, np.array(own[1] + theirs[1])
