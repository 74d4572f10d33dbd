"""Numbers with their uncertainty: 95 % intervals for proportions and for means of one bounded score per image."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError

__all__ = [
    "LEVEL",
    "Estimate",
    "bounded_mean",
    "complement",
    "interval",
    "paired_mean",
    "proportion",
    "student",
    "wilson",
]

LEVEL = 0.95
"""The confidence level of every interval."""

_QUANTILE = (1 + LEVEL) / 2
_Z = NormalDist().inv_cdf(_QUANTILE)

_NOTHING = 1e-24
"""A variance that is rounding: a single outcome of millions has a greater one, on the scale from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number, its 95 % interval and its standard error, from ``n`` images.

    The interval is not ``value`` plus and minus a multiple of ``se``: it stays within the possible values, and does not
    shrink to a point when all images agree (while ``se`` is then 0).
    """

    value: float
    low: float
    high: float
    se: float
    n: int

    def __float__(self) -> float:
        return self.value

    def percent(self, digits: int = 1) -> str:
        """Write value and interval in percent, such as ``61.3 [52.0, 70.1]``."""
        value, low, high = (f"{100 * number:.{digits}f}" for number in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


def complement(estimate: Estimate) -> Estimate:
    """Turn an estimate of a share into that of the rest, such as an accuracy into an error."""
    return Estimate(1 - estimate.value, 1 - estimate.high, 1 - estimate.low, estimate.se, estimate.n)


def wilson(successes: int, n: int) -> Estimate:
    """Estimate a probability from independent yes/no outcomes, with Wilson's score interval.

    Parameters
    ----------
    successes
        How many of the outcomes were yes.
    n
        How many outcomes there are.

    Raises
    ------
    MetricError
        If there are no outcomes, or more (or fewer) successes than possible.

    Notes
    -----
    E. B. Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).
    """
    if n < 1 or not 0 <= successes <= n:
        raise MetricError(f"A proportion needs at least one outcome and 0 <= successes <= n; found {successes} of {n}.")
    p = successes / n
    low, high = _wilson_bounds(p, n)
    return Estimate(p, low, high, math.sqrt(p * (1 - p) / n), n)


def proportion(outcomes: NDArray[np.bool_]) -> Estimate:
    """Estimate how often the outcome is ``True``, with Wilson's interval; one independent outcome per image.

    Parameters
    ----------
    outcomes
        bool, shape (N,), N at least 1; images that are masked do not count.

    Raises
    ------
    MetricError
        If the array has another dtype or shape, or is empty.
    """
    array = np.asarray(outcomes)
    if array.dtype != np.bool_ or array.ndim != 1:
        raise MetricError(f"Expected one bool per image, found {array.dtype} of shape {array.shape}.")
    if np.ma.is_masked(outcomes):
        array = np.ma.compressed(outcomes)
    return wilson(int(np.count_nonzero(array)), len(array))


def bounded_mean(scores: NDArray[np.floating], low: float, high: float, outcomes: float = math.inf) -> Estimate:
    """Estimate the mean over images of one bounded score per image, images being drawn independently.

    The outcomes of one image under different corruptions depend on each other strongly, so 75 outcomes of one image
    tell far less than those of 75 images. The image is therefore the unit: all its outcomes go into one score.

    Parameters
    ----------
    scores
        float, shape (N,), between ``low`` and ``high``.
    low, high
        The least and the greatest possible score.
    outcomes
        Of how many yes/no outcomes a score is the mean. Left out for other scores, such as differences, which may tell
        more than any number of yes/no outcomes.

    Returns
    -------
    Estimate
        Its ``se`` is the sample standard deviation over the root of N; for one image, the greatest that the score
        allows.

    Raises
    ------
    MetricError
        If there are no scores, or one is NaN or out of its bounds.

    Notes
    -----
    Wilson's interval with an effective sample size, after E. L. Korn & B. I. Graubard, "Confidence intervals for
    proportions with small expected number of positive counts estimated from survey data", Survey Methodology 24 (1998).
    With scores scaled to [0, 1], mean p and V the estimated variance of that mean,

        n_eff = p (1 - p) / V * (z / t)^2,    kept within N <= n_eff <= N * outcomes,

    with the quantiles z of the normal and t of Student's distribution with N - 1 degrees of freedom, since V itself is
    an estimate. The lower limit is a theorem: no score in [0, 1] with mean p varies more than a yes/no outcome, whose
    variance is p (1 - p). N also serves where V says nothing: for one image, or when all scores are equal. The upper
    limit is Korn & Graubard's, the number of outcomes observed; it only ever widens the interval. Without it, and for
    large N, this is Student's interval, but for never shrinking to a point.
    """
    n = len(scores)
    width = high - low
    scaled = (np.asarray(scores, dtype=np.float64) - low) / width
    if not n or not np.all((scaled > -1e-9) & (scaled < 1 + 1e-9)):
        raise MetricError(f"Expected at least one score, all in [{low:g}, {high:g}]; found {scores}.")
    value = float(np.mean(scores))
    # Rounding puts scores past their bounds by parts in 1e16.
    p = float(np.clip(scaled.mean(), 0, 1))
    variance = float(scaled.var(ddof=1)) / n if n > 1 else p * (1 - p)
    return interval(value, width**2 * variance, n, low, high, least=n, most=n * outcomes)


def paired_mean(differences: NDArray[np.floating], greatest: float) -> Estimate:
    """Estimate a mean of one difference per image.

    Parameters
    ----------
    differences
        float, shape (N,), between -``greatest`` and ``greatest``.
    greatest
        The greatest possible difference.

    Raises
    ------
    MetricError
        If there are no differences, or one is NaN or out of its bounds.

    Notes
    -----
    Student's interval, with two images made up: one with a difference above 0, one below, as great as those that are
    not 0 (their root mean square; the greatest possible one, if all are 0). Where few images differ the plain interval
    is too short, and none at all where none do. For yes/no outcomes this is the interval of D. G. Bonett & R. M. Price,
    "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data", Journal of
    Educational and Behavioral Statistics 37 (2012), but for Student's quantile.
    """
    scores = np.asarray(differences, dtype=np.float64)
    n = len(scores)
    if not n or not np.all(np.abs(scores) <= greatest * (1 + 1e-9)):
        raise MetricError(f"Expected at least one difference, all within {greatest:g} of 0; found {differences}.")
    value = float(scores.mean())
    different = scores[np.abs(scores) > greatest * 1e-9]
    size = math.sqrt(float(np.mean(different**2))) if len(different) else greatest
    centre = float(scores.sum()) / (n + 2)
    variance = (float(np.sum(scores**2)) + 2 * size**2) / (n + 2) - centre**2
    half = student(max(n - 1, 1)) * math.sqrt(variance / (n + 2))
    se = math.sqrt(float(scores.var(ddof=1)) / n) if n > 1 else greatest
    low, high = max(centre - half, -greatest), min(centre + half, greatest)
    return Estimate(value, min(low, value), max(high, value), se, n)


def interval(
    value: float, variance: float, n: int, low: float, high: float, *, least: float = 1, most: float = math.inf
) -> Estimate:
    """Put the interval of ``bounded_mean`` around a value between ``low`` and ``high``, of known estimated variance.

    Parameters
    ----------
    value, variance
        The estimate and its variance.
    n
        From how many images; the effective sample size where the variance says nothing.
    low, high
        The least and the greatest possible value.
    least, most
        Bounds on the effective sample size.
    """
    width = high - low
    p, scaled = min(max((value - low) / width, 0.0), 1.0), variance / width**2
    # What is equal may differ in its last digits, and would seem to have a tiny variance.
    says_nothing = n == 1 or scaled < _NOTHING
    n_eff = n if says_nothing else min(max(p * (1 - p) / scaled * (_Z / student(n - 1)) ** 2, least), most)
    ends = [low + width * end for end in _wilson_bounds(p, n_eff)]
    return Estimate(value, min(ends[0], value), max(ends[1], value), math.sqrt(variance), n)


def _wilson_bounds(p: float, n: float) -> tuple[float, float]:
    """Compute Wilson's interval; ``n`` need not be whole. Rounding is kept from pushing an end past 0, 1 or ``p``."""
    centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n**2))
    return min(max(centre - half, 0.0), p), max(min(centre + half, 1.0), p)


def student(degrees: int) -> float:
    """Return the quantile of Student's distribution that belongs to the level."""
    # SciPy takes longer to import than all else here, and only these intervals need it.
    from scipy.special import stdtrit

    return float(stdtrit(degrees, _QUANTILE))
