"""Numbers of ImageNet-P with their 95 % intervals, from one score per video.

``scores`` holds, by perturbation, one bounded number for each of N source images: the flip rate, or the top-5 distance,
of the video that was made of it; masked (``numpy.ma``) where there is none. Row i is the same image everywhere.

All frames of a video count as one outcome, and so do all videos of one image: what makes a classifier flicker on an
image does so under every perturbation. So the image is the sampling unit, as for ImageNet-C, and the estimators are the
same: ``bounded_mean`` where every image has every video, else ``incomplete.spread``; relative to a baseline that was
measured itself, ``measured.ratio_estimate``, the delta method.

In simulations in which a few images flicker under everything and most never do (``tests/sequences``) these intervals
hold the truth in 94 to 98 % of benchmarks of 100 images and more, and in 90 to 97 % of 20, where flips are rare.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.baselines import Sample
from oodometer.metrics.incomplete import spread
from oodometer.metrics.intervals import Estimate, bounded_mean
from oodometer.metrics.measured import ratio_estimate

__all__ = ["Scores", "mean_score_estimate", "relative_score_estimate", "score_estimate"]

Scores: typing.TypeAlias = Mapping[str, NDArray[np.float64]]
"""By perturbation: float, shape (N images,), masked where there is no video."""


def score_estimate(scores: NDArray[np.float64], greatest: float, outcomes: float = math.inf) -> Estimate:
    """Estimate the mean score of one perturbation.

    Parameters
    ----------
    scores
        One for each video, from 0 to ``greatest``; what is masked does not count.
    greatest
        The greatest possible score.
    outcomes
        Of how many yes/no outcomes a score is the mean; see ``bounded_mean``.

    Raises
    ------
    MetricError
        If there is no video.
    """
    return bounded_mean(np.ma.compressed(scores), 0, greatest, outcomes)


def mean_score_estimate(scores: Scores, greatest: float) -> Estimate:
    """Estimate the mean over perturbations of their mean scores.

    Raises
    ------
    MetricError
        If there is no perturbation, or a video is missing somewhere and a perturbation has fewer than two.
    """
    return _weighted(scores, dict.fromkeys(scores, 1.0), greatest)


def relative_score_estimate(
    scores: Scores,
    divisors: Mapping[str, float],
    greatest: float,
    images: Sequence[str] | None = None,
    sample: Sample | None = None,
) -> Estimate:
    """Estimate the mean over perturbations of the mean score as a multiple of a baseline's.

    Parameters
    ----------
    scores
        The scores; a mean flip rate (mFR) is the mean over exactly ten perturbations.
    divisors
        The mean scores of the baseline; others than those in ``scores`` are left out.
    greatest
        The greatest possible score.
    images, sample
        The ids of the N images, and the scores that the divisors are means of, as (M, 1) arrays from 0 to 1 (divided by
        ``greatest``): then the error of the baseline is in the interval. Without them it is taken as exact.

    Returns
    -------
    Estimate
        A fraction: 0.58 for what papers print as 58.

    Raises
    ------
    MetricError
        If a divisor is missing or not above 0, or there are too few videos for an interval.
    """
    lacking = [name for name in scores if name not in divisors]
    if lacking or not scores:
        raise MetricError(f"The baseline has no number for {', '.join(lacking) or 'no perturbation'}.")
    if unmoved := [name for name in scores if not divisors[name] > 0]:
        raise MetricError(f"The baseline's number is 0 for {', '.join(unmoved)}, and nothing can be divided by that.")
    if sample is None:
        return _weighted(scores, divisors, greatest)
    shares = {name: (array / greatest)[:, None] for name, array in scores.items()}
    return ratio_estimate(shares, {name: divisors[name] / greatest for name in scores}, None, images, sample)


def _weighted(scores: Scores, divisors: Mapping[str, float], greatest: float) -> Estimate:
    """Estimate the mean over perturbations of mean score / divisor, the divisors being exact."""
    if not scores:
        raise MetricError("A mean needs at least one perturbation.")
    weights = np.array([1 / (divisors[name] * len(scores)) for name in scores])
    columns = np.ma.stack([*scores.values()], axis=1)
    most = greatest * float(weights.sum())
    if np.ma.is_masked(columns):
        return spread(columns, weights, 0, most).estimate
    return bounded_mean(np.ma.getdata(columns) @ weights, 0, most)
