"""Differences between two classifiers on the same images, with intervals and exact tests.

What one classifier gets wrong the other mostly gets wrong too, so the difference on the same images is known far better
than either number. Everything here is the second less the first: a positive difference of errors says that the second
errs more often.

The tests need no distribution: if the classifiers were alike, each image's difference could as well have the other sign
(R. A. Fisher, "The Design of Experiments", 1935). For one outcome per image that is McNemar's exact test
(Q. McNemar, Psychometrika 12 (1947)).
"""

from __future__ import annotations

import typing
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.accuracy import independent_difference
from oodometer.metrics.baselines import BaselineSpec
from oodometer.metrics.corruption_error import only_imagenet_c, required_baseline
from oodometer.metrics.incomplete import spread
from oodometer.metrics.intervals import Estimate, paired_mean
from oodometer.metrics.outcomes import Misses

__all__ = [
    "SMALLEST_P",
    "clean_error_difference",
    "error_differences",
    "gap_difference",
    "holm",
    "mce_difference",
    "mcnemar_test",
    "mean_corruption_error_difference",
    "mean_error_difference",
    "sign_flip_test",
]

SMALLEST_P = 1e-12
"""The least value of a test: what is smaller is lost in rounding, and means no more."""

_Integers: typing.TypeAlias = NDArray[np.integer[typing.Any]]


def clean_error_difference(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Estimate:
    """Estimate the difference of two errors, from bool of shape (N,) of the same images, ``True`` where it is wrong."""
    return paired_mean(_differences("clean", first[:, None], second[:, None])[:, 0].astype(np.float64), 1)


def error_differences(first: Misses, second: Misses) -> dict[str, Estimate]:
    """Estimate the difference of the mean errors of each corruption that both have."""
    return {name: _mean_difference({name: first[name]}, {name: second[name]}) for name in first if name in second}


def mean_corruption_error_difference(first: Misses, second: Misses) -> Estimate:
    """Estimate the difference of the mean errors over the 15 corruptions, no baseline."""
    return mean_error_difference(only_imagenet_c(first), only_imagenet_c(second))


def mean_error_difference(first: Misses, second: Misses) -> Estimate:
    """Estimate the difference of the mean errors over all corruptions given, the same for both."""
    if list(first) != list(second) or not first:
        raise MetricError("A difference of mean errors needs the same corruptions for both, and at least one.")
    return _mean_difference(first, second)


def mce_difference(first: Misses, second: Misses, baseline: BaselineSpec = "alexnet") -> Estimate:
    """Estimate the difference of the mCEs, the baseline taken as exact."""
    reference = required_baseline(baseline)
    one, other = only_imagenet_c(first), only_imagenet_c(second)
    return _mean_difference(one, other, {name: reference.mean_error(name) for name in one})


def gap_difference(clean: Estimate, shifted: Estimate) -> Estimate:
    """Estimate the difference of two gaps (accuracy on clean images less that on shifted ones).

    Parameters
    ----------
    clean, shifted
        The differences of the errors on either set of images.
    """
    return independent_difference(shifted, clean)


def mcnemar_test(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """Test whether two classifiers err equally often on the same images: McNemar's exact test, two-sided.

    Parameters
    ----------
    first, second
        bool, shape (N,): was the prediction wrong?

    Returns
    -------
    float
        How often chance alone would give so unequal a number of images that only one of the two gets wrong.
    """
    return sign_flip_test(_differences("clean", first[:, None], second[:, None])[:, 0])


def sign_flip_test(differences: _Integers) -> float:
    """Test whether the differences of images lean to one side: the exact sign-flip (permutation) test, two-sided.

    Parameters
    ----------
    differences
        Integers, shape (N,): how many more of an image's outcomes are wrong for the second classifier.

    Returns
    -------
    float
        The share of all 2^N ways to set the signs whose sum is as far from 0 as the one found, or farther; at least
        ``SMALLEST_P``, since sums of such shares are not exact below.

    Notes
    -----
    All ways are counted, none are drawn: the sum's characteristic function is the product of cos(k t) over the images,
    k being the size of an image's difference, and a Fourier transform gives the shares.
    """
    sizes = np.bincount(np.abs(differences)).astype(np.float64)
    found = abs(int(differences.sum()))
    if len(sizes) < 3:
        return _binomial(int(sizes[1]) if len(sizes) > 1 else 0, found)
    longest = int(np.arange(len(sizes)) @ sizes)
    points = 2 ** (2 * longest + 1).bit_length()
    angles = 2 * np.pi * np.arange(points // 2 + 1) / points
    transform = np.ones(len(angles))
    with np.errstate(under="ignore"):  # a product of many cosines may vanish
        for size in np.flatnonzero(sizes[1:]) + 1:
            transform *= np.cos(size * angles) ** sizes[size]
    shares = np.fft.irfft(transform, points)[: longest + 1]  # of the sums 0, 1, 2 ...; those below 0 mirror them
    tail = 2 * float(shares[found:].sum()) if found else 1.0
    return min(max(tail, SMALLEST_P), 1.0)


def _binomial(n: int, found: int) -> float:
    """Share of the ways to set ``n`` signs whose sum is ``found`` or farther from 0."""
    from scipy.special import bdtr

    return min(max(2 * float(bdtr((n - found) // 2, n, 0.5)), SMALLEST_P), 1.0) if found else 1.0


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """Adjust the values of several tests, so that 5 % is the chance of any false alarm among them.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
    """
    adjusted, least = {}, 0.0
    for rank, name in enumerate(sorted(values, key=values.__getitem__)):
        least = max(least, min((len(values) - rank) * values[name], 1.0))
        adjusted[name] = least
    return {name: adjusted[name] for name in values}


def _mean_difference(first: Misses, second: Misses, divisors: Mapping[str, float] | None = None) -> Estimate:
    """Estimate the difference of the means over corruptions of mean error / divisor."""
    columns, weights = [], []
    for name in first:
        columns.append(_differences(name, first[name], second[name]))
        cells = columns[-1].shape[1]
        weights.append(np.full(cells, 1 / ((divisors or {}).get(name, 1.0) * cells * len(first))))
    if len({len(column) for column in columns}) != 1:
        raise MetricError("Differences need the same images under every corruption.")
    differences, weight = np.ma.concatenate(columns, axis=1), np.concatenate(weights)  # type: ignore[no-untyped-call]
    greatest = float(weight.sum())
    if np.ma.is_masked(differences):
        return spread(differences, weight, -greatest, greatest).estimate
    return paired_mean(np.ma.getdata(differences) @ weight, greatest)


def _differences(name: str, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Subtract outcomes, images x severities, of the same images; masked where either is."""
    if first.dtype != np.bool_ or second.dtype != np.bool_ or first.shape != second.shape or not first.size:
        raise MetricError(
            f"misses of {name!r}: expected bool of the same images x severities for both classifiers; found "
            f"{first.dtype} of shape {first.shape} and {second.dtype} of shape {second.shape}."
        )
    return second.astype(np.int8) - first.astype(np.int8)
