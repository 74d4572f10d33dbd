"""How strong a corruption must be to cost a classifier half its accuracy: a severity of its own for every corruption.

The published severities are not comparable between corruptions: one costs a few points at severity 5, another half the
accuracy at 1. What they cost at real-valued severities, on the same images, is a curve; where it crosses half of the
clean accuracy is a strength with a meaning (the threshold of a psychometric function, in the words of that field).

The curve is measured at some severities, and then bisected where it crosses. Chance may make it go down: it is made
monotone by isotonic regression (R. E. Barlow et al., "Statistical Inference under Order Restrictions", 1972), and the
crossing is read off between the two severities next to it. The bootstrap over images, each with its outcomes at all
severities, gives the interval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.intervals import LEVEL, Estimate
from oodometer.metrics.resampling import resampled

__all__ = ["HALF", "bisected", "half_strength", "monotone"]

HALF = 0.5
"""The share of the clean accuracy that is left."""

NARROW = 0.05
"""The distance of two severities from which on bisection goes no further."""

_Floats = NDArray[np.float64]
Measure = Callable[[Sequence[float]], NDArray[np.bool_]]
"""Measures the same images at some severities: bool, images x severities, ``True`` where the prediction is wrong."""


def bisected(
    measure: Measure, severities: Sequence[float], highest: float
) -> tuple[tuple[float, ...], NDArray[np.bool_]]:
    """Measure a curve, then more and more closely around the severity at which half of the clean accuracy is left.

    Parameters
    ----------
    measure
        Is called with severities that were not measured before.
    severities
        Where to measure first; 0, the clean images, is added.
    highest
        How far to look beyond them, should the accuracy still be above half.

    Returns
    -------
    tuple
        The severities in rising order, the first being 0, and the outcomes: bool, images x severities. Bisection ends
        where the two severities next to the crossing are 0.05 apart, or a quarter of the interval's length: closer, the
        images cannot tell them apart.
    """
    known = tuple(sorted({0.0, *map(float, severities)}))
    misses = measure(known)
    if _crossing(misses) == len(known) and known[-1] < highest:
        known, misses = _with(known, misses, highest, measure)
    while 0 < (after := _crossing(misses)) < len(known):
        low, high = known[after - 1 : after + 1]
        found = half_strength(known, misses)
        if high - low <= max(NARROW, (found.high - found.low) / 4):
            break
        known, misses = _with(known, misses, (low + high) / 2, measure)
    return known, misses


def half_strength(severities: Sequence[float], misses: NDArray[np.bool_], seed: int = 0) -> Estimate:
    """Estimate the severity at which half of the clean accuracy is left.

    Parameters
    ----------
    severities
        In rising order, the first being 0: the clean images.
    misses
        Bool, images x severities.
    seed
        Of the bootstrap.

    Returns
    -------
    Estimate
        ``high`` is the greatest severity measured where the images cannot say that the accuracy falls to half by then.

    Raises
    ------
    MetricError
        If the arrays do not match, no clean image is predicted rightly, or the accuracy does not fall to half.
    """
    where = np.asarray(severities, dtype=np.float64)
    rising = len(where) > 1 and where[0] == 0 and bool(np.all(np.diff(where) > 0))
    if misses.dtype != np.bool_ or misses.ndim != 2 or misses.shape[1] != len(where) or not len(misses) or not rising:
        raise MetricError(
            f"Expected bool, images x severities, and severities rising from 0; found {misses.dtype} of shape "
            f"{misses.shape} and {list(severities)}."
        )
    if misses[:, 0].all():
        raise MetricError("No clean image is predicted rightly, so there is no accuracy to lose.")
    value = _half(where, misses.mean(axis=0)[None])[0]
    if not np.isfinite(value):
        raise MetricError(f"The accuracy does not fall to half of the clean one up to severity {where[-1]:g}.")
    drawn = np.concatenate([_half(where, weights @ misses / len(misses)) for weights in resampled(len(misses), seed)])
    tails = np.quantile(np.minimum(drawn, where[-1]), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    low, high = min(tails[0], value), max(tails[1], value)
    return Estimate(float(value), float(low), float(high), float(np.std(np.minimum(drawn, where[-1]))), len(misses))


def monotone(errors: _Floats) -> _Floats:
    """Make curves of errors rise: the nearest ones (least squares) that never fall, curves x severities."""
    count = errors.shape[1]
    sums = np.concatenate([np.zeros((len(errors), 1)), np.cumsum(errors, axis=1)], axis=1)
    first, last = np.arange(count)[:, None], np.arange(count)[None, :]
    lengths = np.where(last >= first, last - first + 1, 1)
    means = np.where(last >= first, (sums[:, None, 1:] - sums[:, :-1, None]) / lengths, np.nan)
    # The fit at i is the greatest, over all beginnings up to i, of the least mean from there to an end from i on.
    least = np.stack([np.nanmin(means[:, : i + 1, i:], axis=2).max(axis=1) for i in range(count)], axis=1)
    return np.asarray(least)


def _half(severities: _Floats, errors: _Floats) -> _Floats:
    """Read off where each curve of errors leaves half of its clean accuracy; infinite if it does nowhere."""
    wanted = 1 - HALF * (1 - errors[:, 0])
    fitted = monotone(errors)
    reached = fitted >= wanted[:, None] - 1e-12
    after = np.where(reached.any(axis=1), np.argmax(reached, axis=1), 0)
    before = np.maximum(after - 1, 0)
    rows = np.arange(len(errors))
    step = fitted[rows, after] - fitted[rows, before]
    share = (wanted - fitted[rows, before]) / np.where(step > 0, step, 1)
    found = severities[before] + np.clip(share, 0, 1) * (severities[after] - severities[before])
    return np.where(reached.any(axis=1), np.where(after > 0, found, 0.0), np.inf)


def _crossing(misses: NDArray[np.bool_]) -> int:
    """Return the place of the first severity at which half of the clean accuracy is left, or how many there are."""
    errors = misses.mean(axis=0)[None]
    reached = monotone(errors)[0] >= 1 - HALF * (1 - errors[0, 0]) - 1e-12
    return int(np.argmax(reached)) if reached.any() else misses.shape[1]


def _with(
    known: tuple[float, ...], misses: NDArray[np.bool_], severity: float, measure: Measure
) -> tuple[tuple[float, ...], NDArray[np.bool_]]:
    """Measure at one more severity."""
    place = int(np.searchsorted(known, severity))
    return (*known[:place], severity, *known[place:]), np.insert(misses, place, measure([severity])[:, 0], axis=1)
