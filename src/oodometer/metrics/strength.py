"""How strong a corruption must be to cost a classifier half its accuracy: a severity of its own for every corruption.

The published severities are not comparable between corruptions: one costs a few points at severity 5, another half the
accuracy at 1. What they cost at real-valued severities, on the same images, is a curve; where it crosses half of the
clean accuracy is a strength with a meaning (the threshold of a psychometric function, in the words of that field).

The curve is measured at some severities, and then bisected where it crosses. Chance may make it go down: it is made
monotone by isotonic regression (R. E. Barlow et al., "Statistical Inference under Order Restrictions", 1972), and the
crossing is read off between the two severities next to it.

The interval holds those severities of which the images cannot say whether they cost less or more than half. At one
severity that is a mean over images of one score, (wrong there) - 1 + (right when clean) / 2, which is 0 at the crossing
and whose 95 % interval is that of ``bounded_mean``; between severities its ends are read off a line. (The bootstrap of
the crossing itself is too short by a seventh: where severities lie close it takes the chance of each for the curve.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.intervals import Estimate, bounded_mean, student

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
        How far to look beyond them, should the accuracy still be above half, or the images not say that it is not.

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
        if found.high >= known[-1] < highest:
            known, misses = _with(known, misses, highest, measure)
            continue
        if high - low <= max(NARROW, (found.high - found.low) / 4):
            break
        known, misses = _with(known, misses, (low + high) / 2, measure)
    return known, misses


def half_strength(severities: Sequence[float], misses: NDArray[np.bool_]) -> Estimate:
    """Estimate the severity at which half of the clean accuracy is left.

    Parameters
    ----------
    severities
        In rising order, the first being 0: the clean images.
    misses
        Bool, images x severities.

    Returns
    -------
    Estimate
        Its ``se`` is that of a normal distribution with this interval. ``high`` is the greatest severity measured where
        the images cannot say that the accuracy falls to half by then.

    Raises
    ------
    MetricError
        If the arrays do not match, no clean image is predicted rightly, or the accuracy does not fall to half.
    """
    where = np.asarray(severities, dtype=np.float64)
    rising = len(where) > 0 and where[0] == 0 and bool(np.all(np.diff(where) > 0))
    if misses.dtype != np.bool_ or misses.ndim != 2 or misses.shape[1] != len(where) or not len(misses) or not rising:
        raise MetricError(
            f"Expected bool, images x severities, and severities rising from 0; found {misses.dtype} of shape "
            f"{misses.shape} and {list(severities)}."
        )
    if misses[:, 0].all():
        raise MetricError("No clean image is predicted rightly, so there is no accuracy to lose.")
    value = _half(where, misses.mean(axis=0))
    if value is None:
        raise MetricError(f"The accuracy does not fall to half of the clean one up to severity {where[-1]:g}.")
    scores = misses - 1 + HALF * ~misses[:, :1]
    ends = [bounded_mean(column, -1, HALF) for column in scores.T]
    low = _first_reached(where, np.array([end.high for end in ends]))
    high = -_first_reached(-where[::-1], -np.array([end.low for end in ends])[::-1])
    low, high = min(low, value), max(high, value)
    return Estimate(value, low, high, (high - low) / (2 * student(max(len(misses) - 1, 1))), len(misses))


def _first_reached(where: _Floats, values: _Floats) -> float:
    """Read off where a line through values first reaches 0; the last place if it does nowhere."""
    if not (values >= 0).any():
        return float(where[-1])
    after = int(np.argmax(values >= 0))
    if after == 0:
        return float(where[0])
    share = -values[after - 1] / (values[after] - values[after - 1])
    return float(where[after - 1] + share * (where[after] - where[after - 1]))


def monotone(errors: NDArray[np.floating]) -> _Floats:
    """Make a curve of errors rise: the nearest one (least squares) that never falls."""
    count = len(errors)
    sums = np.concatenate([[0.0], np.cumsum(errors)])
    # The fit at i is the greatest, over all beginnings up to i, of the least mean from there to an end from i on.
    return np.array(
        [
            max(
                min((sums[end + 1] - sums[begin]) / (end + 1 - begin) for end in range(i, count))
                for begin in range(i + 1)
            )
            for i in range(count)
        ]
    )


def _half(severities: _Floats, errors: _Floats) -> float | None:
    """Read off where a curve of errors leaves half of its clean accuracy, if it does."""
    lacking = monotone(errors) - (1 - HALF * (1 - errors[0]))
    lacking[np.abs(lacking) < 1e-12] = 0  # what rounding adds
    return _first_reached(severities, lacking) if lacking[-1] >= 0 else None


def _crossing(misses: NDArray[np.bool_]) -> int:
    """Return the place of the first severity at which half of the clean accuracy is left, or how many there are."""
    errors = misses.mean(axis=0)
    reached = monotone(errors) >= 1 - HALF * (1 - errors[0]) - 1e-12
    return int(np.argmax(reached)) if reached.any() else misses.shape[1]


def _with(
    known: tuple[float, ...], misses: NDArray[np.bool_], severity: float, measure: Measure
) -> tuple[tuple[float, ...], NDArray[np.bool_]]:
    """Measure at one more severity."""
    place = int(np.searchsorted(known, severity))
    return (*known[:place], severity, *known[place:]), np.insert(misses, place, measure([severity])[:, 0], axis=1)
