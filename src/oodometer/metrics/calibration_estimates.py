"""Calibration with its 95 % interval, by the bootstrap over images.

The mean confidence and the accuracy of a bin differ by chance too, and ECE and RMS calibration error add up the size of
these differences: on few images they are too great, and drawn again from the same images they are greater still, so
that neither the plain nor the reversed quantiles of the bootstrap hold the truth (of a perfectly calibrated classifier:
never, and half the time). The interval here asks instead which true differences would give what was found. With g_b
the difference found in bin b and e_b what the bootstrap adds to it by chance, it holds the calibration error of k t_b
for every factor k for which that of k t_b + e_b is neither above nor below the one found in more than 97.5 % of the
draws. The shape t_b is g_b without its part of chance: drawn towards the common difference of all bins, as far as
chance explains how the bins differ. The interval is extended to the number itself. In simulations
(``tests/metrics/test_calibration_coverage.py``) it holds the truth in 93 to 98 %, of a perfect classifier too.
"""

from __future__ import annotations

import typing
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.calibration import (
    BIN_SIZE,
    BINS,
    Binning,
    aurra,
    bin_numbers,
    checked,
    rms_bin_numbers,
    rms_calibration_error_published,
)
from oodometer.metrics.intervals import LEVEL, Estimate, complement, interval, wilson
from oodometer.metrics.resampling import resampled

__all__ = [
    "LEAST",
    "aurc_estimate",
    "aurra_estimate",
    "expected_calibration_error_estimate",
    "rms_calibration_error_estimate",
    "rms_calibration_error_published_estimate",
]

LEAST = BIN_SIZE
"""How many images the bootstrap needs here to be believed."""

_Floats: typing.TypeAlias = NDArray[np.float64]
_Error: typing.TypeAlias = Callable[[_Floats], _Floats]
"""From what was found in each bin (draws x conditions x bins) to the calibration error."""


def expected_calibration_error_estimate(
    confidences: NDArray[np.floating],
    hits: NDArray[np.bool_],
    bins: int = BINS,
    binning: Binning = "width",
    seed: int = 0,
) -> Estimate:
    """ECE; of several conditions, the mean of their ECEs, images being drawn with all their conditions.

    Parameters
    ----------
    confidences
        float, shape (N,) or (N, conditions), probabilities in [0, 1].
    hits
        bool, of the same shape: was the prediction right?
    bins, binning
        As for ``reliability``.
    seed
        Of the bootstrap.

    Raises
    ------
    ArgumentError
        If ``bins`` is not a positive number, or the binning is unknown.
    MetricError
        If there are fewer than 100 images, the arrays do not match, or a confidence is NaN or outside [0, 1].
    """
    rows = [checked(*condition) for condition in zip(*_by_condition(confidences, hits), strict=True)]
    _check_number(len(rows[0][1]))
    gaps = np.stack([confidence - hit for confidence, hit in rows], axis=1)
    numbers = np.stack([bin_numbers(confidence, bins, binning) for confidence, _ in rows], axis=1)
    unseen = float(np.mean([_unseen(hit) for _, hit in rows]))
    return _binned(gaps, numbers, lambda found: np.abs(found).sum(axis=-1).mean(axis=-1), unseen, seed)


def rms_calibration_error_estimate(
    confidences: NDArray[np.floating], hits: NDArray[np.bool_], seed: int = 0
) -> Estimate:
    """RMS calibration error of one condition; parameters and errors as for ``expected_calibration_error_estimate``."""
    return _rms(confidences, hits, seed, left_out=0)


def rms_calibration_error_published_estimate(
    confidences: NDArray[np.floating], hits: NDArray[np.bool_], seed: int = 0
) -> Estimate:
    """RMS calibration error as the published code has it, without its last bin; needs 200 images."""
    rms_calibration_error_published(confidences, hits)  # refuses what has no number
    return _rms(confidences, hits, seed, left_out=1)


def aurra_estimate(confidences: NDArray[np.floating], hits: NDArray[np.bool_], seed: int = 0) -> Estimate:
    """AURRA of one condition; parameters and errors as for ``expected_calibration_error_estimate``."""
    confidence, hit = checked(confidences, hits)
    _check_number(len(hit))
    right = hit[np.argsort(-confidence, kind="stable")]
    drawn = np.concatenate([_drawn_aurra(right, weights) for weights in resampled(len(hit), seed)])
    return interval(aurra(confidences, hits), float(drawn.var(ddof=1)), len(hit), 0, 1)


def aurc_estimate(confidences: NDArray[np.floating], hits: NDArray[np.bool_], seed: int = 0) -> Estimate:
    """AURC of one condition, 1 less the AURRA; parameters and errors as there."""
    return complement(aurra_estimate(confidences, hits, seed))


def _drawn_aurra(right: _Floats, weights: _Floats) -> _Floats:
    """AURRA of images by falling confidence, each as often as it was drawn: weights are draws x images."""
    answered = np.cumsum(weights, axis=1)
    accuracy = np.cumsum(weights * right, axis=1) / np.maximum(answered, 1)
    return np.asarray((weights * accuracy).sum(axis=1) / answered[:, -1])


def _rms(confidences: NDArray[np.floating], hits: NDArray[np.bool_], seed: int, left_out: int) -> Estimate:
    """RMS calibration error without so many of the last bins."""
    confidence, hit = checked(confidences, hits)
    _check_number(len(hit))
    numbers = rms_bin_numbers(confidence)
    shares = np.bincount(numbers) / len(hit)
    counted = slice(len(shares) - left_out)

    def error(found: _Floats) -> _Floats:
        return np.asarray(np.sqrt((found[..., 0, counted] ** 2 / shares[counted]).sum(axis=-1)))

    return _binned((confidence - hit)[:, None], numbers[:, None], error, _unseen(hit), seed)


def _by_condition(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> tuple[NDArray[typing.Any], ...]:
    """Arrange both arrays as conditions x images."""
    if np.ma.is_masked(confidences) or np.ma.is_masked(hits):
        raise MetricError("A mean ECE needs all images under all conditions.")
    confidence, hit = np.asarray(confidences), np.asarray(hits)
    if confidence.shape != hit.shape or hit.ndim not in {1, 2} or not hit.size:
        raise MetricError(
            "Expected confidences and hits as images, or images x conditions; found shapes "
            f"{confidence.shape} and {hit.shape}."
        )
    return np.atleast_2d(confidence.T), np.atleast_2d(hit.T)


def _check_number(images: int) -> None:
    if images < LEAST:
        raise MetricError(f"The interval of a calibration error needs at least {LEAST} images, found {images}.")


def _unseen(hit: _Floats) -> float:
    """How far the accuracy may be from the one found where all images agree, and the bootstrap sees no variation."""
    return wilson(0, len(hit)).high if np.ptp(hit) == 0 else 0.0


def _binned(gaps: _Floats, numbers: NDArray[np.intp], error: _Error, unseen: float, seed: int) -> Estimate:
    """Estimate a calibration error of bins; the arrays are images x conditions."""
    images, conditions = gaps.shape
    bins = int(numbers.max()) + 1
    shape = conditions, bins
    sizes = np.stack([np.bincount(column, minlength=bins) for column in numbers.T]) / images
    found = np.stack([np.bincount(n, g, minlength=bins) for n, g in zip(numbers.T, gaps.T, strict=True)]) / images
    noise = _sums(gaps, numbers, bins, seed).reshape(-1, *shape) / images - found
    value = float(error(found))
    low, high = _matching(error, value, _without_chance(found, sizes, noise.var(axis=0)), noise)
    se = float(error(found + noise).std(ddof=1))
    return Estimate(value, min(low, value), min(max(high, value + unseen), 1.0), se, images)


def _sums(gaps: _Floats, numbers: NDArray[np.intp], bins: int, seed: int) -> _Floats:
    """Add up the differences of the images of each bin, each as often as it was drawn: draws x (conditions x bins)."""
    from scipy.sparse import csr_array

    images, conditions = gaps.shape
    columns = (numbers + bins * np.arange(conditions)).ravel()
    each = csr_array((gaps.ravel(), columns, np.arange(images + 1) * conditions), shape=(images, conditions * bins))
    return np.concatenate([weights @ each for weights in resampled(images, seed)])


def _without_chance(found: _Floats, sizes: _Floats, variance: _Floats) -> _Floats:
    """Draw the differences of the bins towards their common one, as far as chance explains how they differ."""
    common = sizes * found.sum(axis=-1, keepdims=True)
    rest = found - common
    spread = (rest**2).sum(axis=-1, keepdims=True)
    chance = variance.sum(axis=-1, keepdims=True) / np.where(spread > 0, spread, 1)
    return np.asarray(common + np.sqrt(np.clip(1 - chance, 0, 1)) * rest)


def _matching(error: _Error, value: float, shape: _Floats, noise: _Floats) -> tuple[float, float]:
    """Find the ends of the true errors that would give ``value``: the shape, scaled, plus chance."""
    unscaled = float(error(shape))
    if unscaled == 0:
        return 0.0, value
    tail = (1 - LEVEL) / 2

    def reached(factor: float) -> float:
        return float(np.mean(error(factor * shape + noise) >= value))

    return _smallest(reached, tail) * unscaled, _smallest(reached, 1 - tail) * unscaled


def _smallest(reached: Callable[[float], float], share: float) -> float:
    """Find the smallest factor under which a share of the draws is reached, by bisection."""
    if reached(0.0) >= share:
        return 0.0
    low, high = 0.0, 1.0
    while reached(high) < share:
        low, high = high, 2 * high
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) >= share else (middle, high)
    return high
