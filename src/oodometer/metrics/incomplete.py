"""Numbers of a benchmark whose images went through only some of its conditions, with intervals clustered by image.

A number of ImageNet-C is a weighted sum of the errors of the conditions (for an mCE the weight of a cell is 1 / (15 x
the baseline's summed error of its corruption)). Where an image went through a few conditions only, the error of a
condition is the mean over the images that went through it, and the number is the same weighted sum of these means:

    estimate = sum over conditions c of w[c] * mean of y[i, c] over the n[c] images i seen under c.

It has no bias if which images are seen under which condition does not depend on the outcomes, as in the balanced
incomplete blocks of ``oodometer.sampling``. Images are independent and the outcomes of one image are not, so its
variance is, with n[c, d] images seen under both c and d, and cov[c, d] the covariance of an image's two outcomes,

    V = sum over c and d of w[c] w[d] n[c, d] / (n[c] n[d]) * cov[c, d].

A covariance is estimated from the images seen under both, about the means of all that were seen under either:

    cov[c, d] = sum over these images of r[i, c] r[i, d] / (n[c, d] (1 - 1 / n[c] - 1 / n[d] + n[c, d] / (n[c] n[d]))),
    r[i, c] = y[i, c] - mean of c,

whose divisor makes it unbiased: the expectation of r[i, c] r[i, d] follows by writing out the two means. With all
images under all conditions it is N - 1, and V the sample variance of one score per image, over N. Without the divisor
it is the cluster-robust variance (K.-Y. Liang & S. L. Zeger, "Longitudinal data analysis using generalized linear
models", Biometrika 73 (1986)), which is too small by a tenth where a condition has four images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.metrics.baselines import BaselineSpec, load_baseline
from oodometer.metrics.intervals import Estimate, interval

__all__ = ["Spread", "mce_spread", "spread"]


@dataclass(frozen=True, slots=True)
class Spread:
    """An estimate from incomplete blocks, and where its variance comes from.

    ``images`` images went through ``passes`` of their ``conditions`` in all; ``pairs`` counts the ordered pairs of
    conditions of one image. ``alone`` and ``shared`` are the variance of a single outcome and the covariance of two
    outcomes of one image, in units in which

        variance = alone / passes + shared * pairs / passes^2.

    ``low`` and ``high`` are the least and the greatest possible ``value``.
    """

    value: float
    variance: float
    alone: float
    shared: float
    images: int
    passes: int
    pairs: int
    conditions: int
    low: float
    high: float

    @property
    def estimate(self) -> Estimate:
        """The estimate with its 95 % interval, images being drawn independently.

        The interval is that of ``bounded_mean``, Wilson's with an effective sample size, but for the bounds on that
        size: they do not hold here, where a sum of several means may vary more or less than one proportion.
        """
        return interval(self.value, self.variance, self.images, self.low, self.high)

    @property
    def between(self) -> float:
        """The variance between images of the score that an image would have under all conditions."""
        return (self.alone + max(self.shared, 0) * (self.conditions - 1)) / self.conditions

    def of_all(self, images: int) -> Estimate:
        """Estimate what ``images`` images, of which these are some, would give under all conditions.

        The images are no sample then, and what varies between them counts only as far as they were not seen: the error
        has the variance of the estimate less ``between / images``.
        """
        rest = max(self.variance - self.between / images, 0)
        return interval(self.value, rest, self.images, self.low, self.high)


def spread(outcomes: NDArray[np.generic], weights: NDArray[np.floating], low: float, high: float) -> Spread:
    """Estimate a weighted sum of the conditions' means, and its variance with images as the sampling unit.

    Parameters
    ----------
    outcomes
        Images x conditions: bool, or numbers for differences; masked where an image did not go through a condition.
    weights
        One for each condition.
    low, high
        The least and the greatest possible value of the sum.

    Raises
    ------
    MetricError
        If a condition has fewer than two images: nothing is known of its variance then.
    """
    counted = weights != 0
    seen = ~np.ma.getmaskarray(outcomes)
    each = np.count_nonzero(seen, axis=1)
    passes, pairs = int(each.sum()), int((each * (each - 1)).sum())
    seen = seen[:, counted]
    n = np.count_nonzero(seen, axis=0)
    if n.min() < 2:
        raise MetricError(
            f"An estimate from incomplete blocks needs at least 2 images under each condition; one has {n.min()}."
        )
    y = np.where(seen, np.ma.getdata(outcomes)[:, counted], 0).astype(np.float64)
    means = y.sum(axis=0) / n
    terms = _variance_terms(np.where(seen, y - means, 0), seen, weights[counted] / n, 1 / n)
    diagonal, variance = float(np.trace(terms)), float(terms.sum())
    return Spread(
        value=float(weights[counted] @ means),
        variance=variance,
        alone=diagonal * passes,
        shared=(variance - diagonal) * passes**2 / pairs if pairs else 0.0,
        images=int(np.count_nonzero(seen.any(axis=1))),
        passes=passes,
        pairs=pairs,
        conditions=len(weights),
        low=low,
        high=high,
    )


def mce_spread(outcomes: NDArray[np.generic], corruptions: Sequence[str], baseline: BaselineSpec = "alexnet") -> Spread:
    """Estimate the mCE and the parts of its variance.

    Parameters
    ----------
    outcomes
        Images x conditions: bool, ``True`` where the prediction is wrong, or numbers from -1 to 1 for the differences
        of two classifiers; masked where an image did not go through a condition.
    corruptions
        Of each condition the name of its corruption; what is none of the 15 only counts among the passes.
    baseline
        What the mCE is divided by. Without one, or if it lacks one of the 15, the mean corruption error is estimated.

    Raises
    ------
    MetricError
        If the 15 x 5 are not all there, or one of them has fewer than 2 images.
    """
    cells = [name for name in corruptions if name in IMAGENET_C]
    if len(cells) != len(IMAGENET_C) * len(SEVERITIES) or set(cells) != set(IMAGENET_C):
        raise MetricError(f"An mCE needs {len(SEVERITIES)} severities of each of the {len(IMAGENET_C)} corruptions.")
    found = load_baseline(baseline)
    if found is None or not set(IMAGENET_C) <= set(found.errors):
        errors = dict.fromkeys(IMAGENET_C, 1.0)
    else:
        errors = {name: found.mean_error(name) for name in IMAGENET_C}
    weights = np.array([1 / (len(cells) * errors[name]) if name in errors else 0.0 for name in corruptions])
    total = float(weights.sum())
    return spread(outcomes, weights, 0.0 if outcomes.dtype == np.bool_ else -total, total)


def _variance_terms(
    residuals: NDArray[np.float64], seen: NDArray[np.bool_], weights: NDArray[np.float64], share: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute what each pair of conditions adds to the variance; the sum is not negative.

    ``weights`` are w[c] / n[c], ``share`` are 1 / n[c].
    """
    both = seen.astype(np.float64).T @ seen
    plain = np.outer(weights, weights) * (residuals.T @ residuals)
    divisor = 1 - share[:, None] - share + both * np.outer(share, share)
    terms = np.divide(plain, divisor, out=np.zeros_like(plain), where=both > 0)
    # Unbiased covariances need not fit together where there are few images; the plain ones always do.
    return np.asarray(terms if terms.sum() > 0 else plain)
