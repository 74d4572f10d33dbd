"""A fit that separates how hard a style is from how hard its classes are, so that styles can be compared.

The chance that an image of class c in style s is classified rightly is taken to be

    logit P(right) = intercept + class_c + style_s,

so that a style is as much harder for one class as for any other, on the scale of log odds. The fit maximises the
likelihood of all outcomes less a penalty, sum class_c^2 / (2 v^2) + sum style_s^2 / (2 t^2): a logistic regression with
two ridges. The penalties also identify it: nothing in the likelihood changes if all classes go up and all styles down,
and at the maximum either kind of effects adds up to 0 of itself. They keep effects finite where all images of a class
or style are right, or all wrong, and draw the classes with few images towards the others. v, the spread of the classes,
is what makes the outcomes likeliest with the class effects integrated out (by Laplace's approximation), between 0.1 and
5. t is 2.5, so weak that it matters for styles of few images only (A. Gelman et al., "A weakly informative default
prior distribution for logistic and other regression models", Annals of Applied Statistics 2 (2008), use this scale).
The intercept has no penalty.

The adjusted accuracy of a style is the mean, over all classes of the fit, of the P(right) that it would have with each
of them, those it has no images of included. What the images leave unknown of a class is averaged over, rather than
taken to be at its likeliest, since that would push all accuracies away from one half. The interval is by the delta
method from the curvature of the penalised likelihood, on the logit scale. It takes the classes as given and the model
as right: where a style is hard for some classes alone, the adjusted accuracy is only its mean as the model sees it.

In simulations of benchmarks like ImageNet-R, whole and in parts (``tests/metrics/test_two_way.py``), these intervals
hold the truth in 94 to 98 %.

Newton's method on the counts of each class and style; nothing is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.metrics.balanced import Labels, check_labels
from oodometer.metrics.intervals import Estimate, student

__all__ = ["TwoWayFit", "two_way"]

GROUP_SPREAD = 2.5
"""The spread that the penalty takes the effects of groups to have."""

CLASS_SPREADS = 0.1, 5.0
"""The least and the greatest spread of the classes that is considered."""

_STEPS = 100
"""More steps than Newton's method ever took here."""

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TwoWayFit:
    """The fit: effects are log odds, and add up to 0 over the classes and over the groups.

    ``adjusted`` is the mean P(right) of each group over all ``class_effects``, ``class_spread`` the spread that the
    classes were found to have. ``left_out`` are the groups that share no class, even by way of other groups, with most
    images: nothing tells their difficulty from that of their classes.
    """

    adjusted: dict[str, Estimate]
    group_effects: dict[str, float]
    class_effects: dict[int, float]
    intercept: float
    class_spread: float
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Mode:
    """The most likely effects at one spread of the classes, and the curvature there.

    ``fixed`` holds the intercept, then the groups. The curvature has the blocks ``diagonal`` (of the classes),
    ``cross`` (classes x fixed) and ``schur``, that of ``fixed`` with the classes at their best. ``badness`` is the
    negative log of the likelihood with the class effects integrated out.
    """

    classes: _Floats
    fixed: _Floats
    diagonal: _Floats
    cross: _Floats
    schur: _Floats
    badness: float


def two_way(hits: NDArray[np.bool_], labels: Labels, groups: Sequence[str]) -> TwoWayFit:
    """Fit the difficulty of classes and of groups of images, such as styles, to the outcomes.

    Parameters
    ----------
    hits
        bool, shape (N,): was the prediction of image i right?
    labels
        Integers, shape (N,): the class of each image.
    groups
        The group of each image.

    Raises
    ------
    MetricError
        If the arrays do not match, there are fewer than two groups that share classes, or all predictions are right, or
        all wrong.
    """
    check_labels(hits, labels)
    if len(groups) != len(hits):
        raise MetricError(f"Expected one group per image, {len(hits)}; found {len(groups)}.")
    classes, row = np.unique(labels, return_inverse=True)
    names, column = np.unique(np.asarray(groups, dtype=np.str_), return_inverse=True)
    n, right = (_counts(row[which], column[which], len(classes), len(names)) for which in (slice(None), hits))
    in_fit, columns = _connected(n)
    n, right = n[np.ix_(in_fit, columns)], right[np.ix_(in_fit, columns)]
    mode, spread = _fit(n, right)
    return TwoWayFit(
        adjusted=dict(zip(names[columns].tolist(), _adjusted(mode, n), strict=True)),
        group_effects=dict(zip(names[columns].tolist(), mode.fixed[1:].tolist(), strict=True)),
        class_effects=dict(zip(classes[in_fit].tolist(), mode.classes.tolist(), strict=True)),
        intercept=float(mode.fixed[0]),
        class_spread=spread,
        left_out=tuple(names[~columns].tolist()),
    )


def _counts(row: NDArray[np.intp], column: NDArray[np.intp], rows: int, columns: int) -> _Floats:
    """Count the images of each class and group."""
    return np.bincount(row * columns + column, minlength=rows * columns).reshape(rows, columns).astype(np.float64)


def _connected(n: _Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell which classes and groups hang together with most images, by classes that groups have in common."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    rows, columns = np.nonzero(n)
    size = sum(n.shape)
    links = coo_array((np.ones(len(rows)), (rows, columns + n.shape[0])), shape=(size, size))
    _, part = connected_components(links, directed=False)
    images = np.bincount(part[: n.shape[0]], n.sum(axis=1))
    most = part == np.argmax(images)
    return most[: n.shape[0]], most[n.shape[0] :]


def _fit(n: _Floats, right: _Floats) -> tuple[_Mode, float]:
    """Find the most likely effects at the spread of the classes under which the outcomes are likeliest."""
    from scipy.optimize import minimize_scalar

    if n.shape[1] < 2:
        raise MetricError("A fit of classes and groups needs at least two groups of images that share classes.")
    if not 0 < right.sum() < n.sum():
        raise MetricError("All predictions are right, or all wrong, so that nothing tells groups from classes.")

    def badness(log_spread: float) -> float:
        return _mode(n, right, math.exp(log_spread)).badness

    bounds = tuple(math.log(end) for end in CLASS_SPREADS)
    spread = math.exp(minimize_scalar(badness, bounds=bounds, method="bounded", options={"xatol": 1e-3}).x)
    return _mode(n, right, spread), spread


def _mode(n: _Floats, right: _Floats, spread: float) -> _Mode:
    """Maximise the penalised likelihood by Newton's method, the classes eliminated first since they do not interact."""
    class_ridge, ridge = 1 / spread**2, np.full(n.shape[1] + 1, 1 / GROUP_SPREAD**2)
    ridge[0] = 0
    classes, fixed = np.zeros(n.shape[0]), np.zeros(n.shape[1] + 1)
    share = right.sum() / n.sum()
    fixed[0] = math.log(share / (1 - share))

    def loss(a: _Floats, b: _Floats) -> float:
        logits = b[0] + b[1:] + a[:, None]
        likelihood = float(np.sum(n * np.logaddexp(0, logits) - right * logits))
        return likelihood + (class_ridge * float(a @ a) + float(ridge @ b**2)) / 2

    now = loss(classes, fixed)
    for _ in range(_STEPS):
        residual, diagonal, cross, schur = _curvature(n, right, classes, fixed, class_ridge, ridge)
        down = residual.sum(axis=1) - class_ridge * classes
        along = np.append(residual.sum(), residual.sum(axis=0)) - ridge * fixed
        step = np.linalg.solve(schur, along - cross.T @ (down / diagonal))
        class_step = (down - cross @ step) / diagonal
        gain = float(down @ class_step + along @ step)
        length = 1.0
        while (after := loss(classes + length * class_step, fixed + length * step)) > now and length > 1e-6:
            length /= 2
        classes, fixed, now = classes + length * class_step, fixed + length * step, after
        if gain < 1e-10:
            break
    _, diagonal, cross, schur = _curvature(n, right, classes, fixed, class_ridge, ridge)
    volume = float(np.log(diagonal).sum()) + float(np.linalg.slogdet(schur)[1])
    return _Mode(classes, fixed, diagonal, cross, schur, now + len(classes) * math.log(spread) + volume / 2)


def _curvature(
    n: _Floats, right: _Floats, classes: _Floats, fixed: _Floats, class_ridge: float, ridge: _Floats
) -> tuple[_Floats, _Floats, _Floats, _Floats]:
    """Compute the residuals, and the blocks of the curvature as ``_Mode`` has them."""
    p = _accuracy(fixed[0] + fixed[1:] + classes[:, None])
    weight = n * p * (1 - p)
    diagonal = weight.sum(axis=1) + class_ridge
    cross = np.column_stack([weight.sum(axis=1), weight])
    whole = np.diag(np.append(weight.sum(), weight.sum(axis=0)) + ridge)
    whole[0, 1:] = whole[1:, 0] = weight.sum(axis=0)
    return right - n * p, diagonal, cross, whole - cross.T @ (cross / diagonal[:, None])


def _adjusted(mode: _Mode, n: _Floats) -> list[Estimate]:
    """Average P(right) over all classes for each group, with the delta method's interval on the logit scale."""
    points, weights = np.polynomial.hermite_e.hermegauss(15)
    weights /= weights.sum()
    unknown = points / np.sqrt(mode.diagonal)[:, None]  # classes x points
    half = student(max(int(n.sum()) - 1, 1))
    inverse = np.linalg.inv(mode.schur)
    found = []
    for k, effect in enumerate(mode.fixed[1:]):
        p = _accuracy(mode.fixed[0] + effect + mode.classes[:, None] + unknown)
        value = float((p @ weights).mean())
        slopes = (p * (1 - p)) @ weights / len(p)  # by class
        fixed = np.zeros(len(mode.fixed))
        fixed[[0, k + 1]] = slopes.sum()
        rest = fixed - mode.cross.T @ (slopes / mode.diagonal)
        se = math.sqrt(float(rest @ inverse @ rest) + float(np.sum(slopes**2 / mode.diagonal)))
        logit, wide = math.log(value / (1 - value)), half * se / (value * (1 - value))
        low, high = (float(_accuracy(np.array(logit + way * wide))) for way in (-1, 1))
        found.append(Estimate(value, min(low, value), max(high, value), se, int(n[:, k].sum())))
    return found


def _accuracy(logits: _Floats) -> _Floats:
    """Turn log odds into probabilities, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))
