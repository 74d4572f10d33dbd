"""How well the confidence tells images of unknown classes from those of known ones: AUROC and AUPR.

D. Hendrycks & K. Gimpel, "A Baseline for Detecting Misclassified and Out-of-Distribution Examples", ICLR 2017; with the
outliers as the positive class and the negative greatest softmax probability as the score, as ImageNet-O is reported
(Hendrycks et al., "Natural Adversarial Examples", CVPR 2021). Intervals by the bootstrap, both groups drawn again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.intervals import Estimate, interval
from oodometer.metrics.resampling import resampled

__all__ = ["aupr_estimate", "auroc_estimate"]

_Floats = NDArray[np.float64]
_Area = Callable[[_Floats, _Floats], _Floats]
"""From how many outliers and others are at least so suspicious, by falling suspicion, to an area: one for each draw."""


def auroc_estimate(known: NDArray[np.floating], outliers: NDArray[np.floating], seed: int = 0) -> Estimate:
    """Probability that the model is less confident of an outlier than of an image of a known class; ties count half.

    Parameters
    ----------
    known, outliers
        float, shape (N,) and (M,): the confidence in each image, a probability in [0, 1].
    seed
        Of the bootstrap.

    Returns
    -------
    Estimate
        1 is perfect, 0.5 is chance; ``n`` is the smaller of N and M.

    Raises
    ------
    MetricError
        If there are fewer than two of either, or a confidence is NaN or outside [0, 1].
    """
    return _estimate(_roc, known, outliers, seed)


def aupr_estimate(known: NDArray[np.floating], outliers: NDArray[np.floating], seed: int = 0) -> Estimate:
    """Area under precision by recall of the outliers (average precision, without interpolation).

    Parameters and errors as for ``auroc_estimate``. 1 is perfect; chance is M / (N + M), so that two numbers can only
    be compared if their shares of outliers are alike.
    """
    return _estimate(_precision_recall, known, outliers, seed)


def _estimate(area: _Area, known: NDArray[np.floating], outliers: NDArray[np.floating], seed: int) -> Estimate:
    groups = [_checked(known), _checked(outliers)]
    confidence = np.concatenate(groups)
    order = np.argsort(confidence, kind="stable")
    last = np.append(np.diff(confidence[order]) > 0, True)  # equal ones are told apart by nothing

    def of(weights_known: _Floats, weights_outliers: _Floats) -> _Floats:
        outlying = np.concatenate([np.zeros_like(weights_known), weights_outliers], axis=1)[:, order]
        normal = np.concatenate([weights_known, np.zeros_like(weights_outliers)], axis=1)[:, order]
        return area(outlying.cumsum(axis=1)[:, last], normal.cumsum(axis=1)[:, last])

    value = float(of(*(np.ones((1, len(group))) for group in groups))[0])
    draws = zip(resampled(len(groups[0]), seed), resampled(len(groups[1]), seed + 1), strict=True)
    drawn = np.concatenate([of(*pair) for pair in draws])
    return interval(value, float(drawn.var(ddof=1)), min(map(len, groups)), 0, 1)


def _roc(outliers: _Floats, others: _Floats) -> _Floats:
    found, alarms = (np.diff(counts, axis=1, prepend=0.0) for counts in (outliers, others))
    right = (found * (others[:, -1:] - others + alarms / 2)).sum(axis=1)
    return np.asarray(right / (outliers[:, -1] * others[:, -1]))


def _precision_recall(outliers: _Floats, others: _Floats) -> _Floats:
    found = np.diff(outliers, axis=1, prepend=0.0)
    precision = outliers / np.maximum(outliers + others, 1)
    return np.asarray((found * precision).sum(axis=1) / outliers[:, -1])


def _checked(confidence: NDArray[np.floating]) -> _Floats:
    found = np.asarray(confidence, dtype=np.float64)
    if found.ndim != 1 or len(found) < 2:
        raise MetricError(f"Outliers are told by at least two images of either kind; found shape {found.shape}.")
    if not ((found >= 0) & (found <= 1)).all():
        raise MetricError("A confidence is a probability in [0, 1]; found one outside, or NaN.")
    return found
