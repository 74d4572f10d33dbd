"""A fit that separates how hard a style is from how hard its classes are, so that styles can be compared.

The chance that an image of class c in style s is classified rightly is taken to be

    logit P(right) = intercept + class_c + style_s,

so that a style is as much harder for one class as for any other, on the scale of log odds. The classes are taken as
drawn from a normal distribution around 0 of spread v, between 0.1 and 5, and the fit makes the outcomes likeliest with
the class effects integrated out, less a penalty, sum style_s^2 / (2 t^2): a mixed logistic regression with a ridge. t
is 2.5, so weak that it matters for styles of few images only (A. Gelman et al., "A weakly informative default prior
distribution for logistic and other regression models", Annals of Applied Statistics 2 (2008), use this scale). The
intercept has no penalty. All this identifies the fit: nothing in the likelihood changes if all classes go up and all
styles down, and at the maximum the effects of the styles, and what is expected of the classes, add up to 0. It keeps
effects finite where all images of a class or style are right, or all wrong, and draws the classes with few images
towards the others.

The integrals are sums over fine grids, one a class. The normal approximation that is usual (Laplace's) would not do:
what a few images leave unknown of a class that is nearly always wrong lies to one side, and all accuracies would be
pushed towards one half, from 0.3 % to 9 % in the extreme. As it is, the expected number of right images is their
number, whatever the accuracy.

The adjusted accuracy of a style is the mean, over all classes of the fit, of the P(right) that it would have with each
of them, those it has no images of included. What the images leave unknown of a class is averaged over. The interval is
by the delta method from the curvature of the penalised likelihood, on the logit scale, and holds what is unknown of the
classes, too. It takes the classes as given and the model as right: where a style is hard for some classes alone, the
adjusted accuracy is only its mean as the model sees it.

In simulations of benchmarks like ImageNet-R, whole and in parts (``tests/metrics/test_two_way.py``), these intervals
hold the truth in 94 to 99 %, also where but a few predictions are right, or wrong.

L-BFGS on the counts of each class and style; nothing is drawn at random.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
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

_STEPS = 1000
"""More steps than the search ever took here."""

_TOP, _ENDS = 24, 12
"""How often the place of a class's top, and of the ends of its integral, are halved in: neither need be exact."""

_NODES, _DROP = 61, 20.0
"""How many points a class's integral is a sum over, and at what fall of the log density from its top it may end."""

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
class _Cells:
    """How many images of class ``row`` and group ``column`` there are, ``n``, and how many of them right.

    Empty ones are left out, the others sorted by class, of which each has some.
    """

    row: NDArray[np.intp]
    column: NDArray[np.intp]
    n: _Floats
    right: _Floats
    rows: int
    columns: int

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where the cells of each class begin, and where the last ones end."""
        return np.searchsorted(self.row, np.arange(self.rows + 1))

    def by_row(self, values: _Floats) -> _Floats:
        """Add up values of the cells, on their first axis, by class."""
        return np.add.reduceat(values, self.starts[:-1])

    def by_column(self, values: _Floats) -> _Floats:
        """Add up values of the cells by group, the sum of all, which is the intercept's, before them."""
        return np.append(values.sum(), np.bincount(self.column, values, self.columns))


@dataclass(frozen=True, slots=True)
class _Classes:
    """What the outcomes say of the class effects at one choice of all else.

    ``nodes`` are effects (classes x points), ``weights`` the chances of each (adding up to 1 by class), ``likelihood``
    is the log of that of all outcomes, the classes integrated out.
    """

    nodes: _Floats
    weights: _Floats
    likelihood: float


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
    cells, fixed, spread = _fit(n, right)
    classes_found = _integrated(cells, fixed, spread)
    effects = np.sum(classes_found.weights * classes_found.nodes, axis=1)
    adjusted = _adjusted(cells, fixed, classes_found, n.sum(axis=0))
    return TwoWayFit(
        adjusted=dict(zip(names[columns].tolist(), adjusted, strict=True)),
        group_effects=dict(zip(names[columns].tolist(), fixed[1:].tolist(), strict=True)),
        class_effects=dict(zip(classes[in_fit].tolist(), effects.tolist(), strict=True)),
        intercept=float(fixed[0]),
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


def _fit(n: _Floats, right: _Floats) -> tuple[_Cells, _Floats, float]:
    """Find intercept, group effects (in one array) and spread of the classes under which the outcomes are likeliest."""
    from scipy.optimize import minimize

    if n.shape[1] < 2:
        raise MetricError("A fit of classes and groups needs at least two groups of images that share classes.")
    if not 0 < right.sum() < n.sum():
        raise MetricError("All predictions are right, or all wrong, so that nothing tells groups from classes.")
    row, column = np.nonzero(n)
    cells = _Cells(row, column, n[row, column], right[row, column], *n.shape)
    ridge = _ridge(cells)

    def badness(x: _Floats) -> tuple[float, _Floats]:
        fixed, spread = x[:-1], math.exp(x[-1])
        found = _integrated(cells, fixed, spread)
        chances = _accuracy((fixed[0] + fixed[1 + cells.column])[:, None] + found.nodes[cells.row])
        residual = cells.right - cells.n * np.sum(found.weights[cells.row] * chances, axis=1)
        wider = float(np.sum(found.weights * (found.nodes / spread) ** 2)) - cells.rows
        slopes = np.append(cells.by_column(residual) - ridge * fixed, wider)
        return float(ridge @ fixed**2) / 2 - found.likelihood, -slopes

    share = right.sum() / n.sum()
    start = np.zeros(n.shape[1] + 2)
    start[0] = math.log(share / (1 - share))
    bounds = [(None, None)] * (n.shape[1] + 1) + [(math.log(CLASS_SPREADS[0]), math.log(CLASS_SPREADS[1]))]
    options = {"maxiter": _STEPS, "maxfun": 2 * _STEPS, "ftol": 1e-13, "gtol": 1e-7}
    x = minimize(badness, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
    return cells, x[:-1], math.exp(x[-1])


def _ridge(cells: _Cells) -> _Floats:
    """Return the penalties of the intercept, which is free, and of the groups."""
    return np.append(0.0, np.full(cells.columns, 1 / GROUP_SPREAD**2))


def _integrated(cells: _Cells, fixed: _Floats, spread: float) -> _Classes:
    """Lay a grid over the effects of each class that are likely at all, and weigh them."""
    logits = fixed[0] + fixed[1 + cells.column]

    def density(a: _Floats) -> _Floats:
        """Return the log density of class effects (classes x points), but for a constant."""
        at = logits[:, None] + a[cells.row]
        fitting = cells.right[:, None] * at - cells.n[:, None] * np.logaddexp(0, at)
        return cells.by_row(fitting) - (a / spread) ** 2 / 2

    def slope(a: _Floats) -> _Floats:
        return cells.by_row(cells.right - cells.n * _accuracy(logits + a[cells.row])) - a / spread**2

    # The slope falls throughout, so that the top lies within what all right or all wrong could pull the class to.
    reach = np.full(cells.rows, 1.0) + spread**2 * cells.by_row(cells.n)
    top = _bisected(lambda a: slope(a) > 0, -reach, reach, _TOP)
    height = density(top[:, None])[:, 0]
    far = spread * math.sqrt(2 * _DROP) + 1
    left = _bisected(lambda a: density(a[:, None])[:, 0] < height - _DROP, top - far, top, _ENDS)
    right = _bisected(lambda a: density(a[:, None])[:, 0] > height - _DROP, top, top + far, _ENDS)
    step = (right - left) / (_NODES - 1)
    nodes = left[:, None] + step[:, None] * np.arange(_NODES)
    weights = np.exp(density(nodes) - height[:, None])
    total = weights.sum(axis=1)
    found = np.log(total * step) + height - math.log(spread * math.sqrt(2 * math.pi))
    return _Classes(nodes, weights / total[:, None], float(found.sum()))


def _bisected(below: Callable[[_Floats], NDArray[np.bool_]], low: _Floats, high: _Floats, times: int) -> _Floats:
    """Find where ``below`` ends to hold, of each class by itself."""
    for _ in range(times):
        middle = (low + high) / 2
        more = below(middle)
        low, high = np.where(more, middle, low), np.where(more, high, middle)
    return (low + high) / 2


def _adjusted(cells: _Cells, fixed: _Floats, found: _Classes, images: _Floats) -> list[Estimate]:
    """Average P(right) over all classes for each group, with the delta method's interval on the logit scale."""
    curvature, value, unknown = np.diag(_ridge(cells)), np.zeros(cells.columns), np.zeros(cells.columns)
    slopes = np.zeros((cells.columns + 1, cells.columns))  # of each group's mean, by intercept and groups
    for k, (start, stop) in enumerate(itertools.pairwise(cells.starts.tolist())):
        weights, n, at = found.weights[k], cells.n[start:stop], cells.column[start:stop]
        p = _accuracy(fixed[0] + fixed[1:, None] + found.nodes[k])  # groups x points
        of_each = n * ((p[at] * (1 - p[at])) @ weights)
        complete = np.diag(np.append(of_each.sum(), of_each))
        complete[0, 1:] = complete[1:, 0] = of_each
        # What the class's outcomes ask of intercept and groups depends on its effect, which nobody saw (Louis 1982).
        score = cells.right[start:stop, None] - n[:, None] * p[at]
        score = np.vstack([score.sum(axis=0), score])
        score -= (score @ weights)[:, None]
        places = np.append(0, 1 + at)
        curvature[np.ix_(places, places)] += complete - (score * weights) @ score.T
        apart = p - (p @ weights)[:, None]
        value, unknown = value + p @ weights, unknown + apart**2 @ weights
        bend = (p * (1 - p)) @ weights
        slopes[places] += (score * weights) @ apart.T
        slopes[0] += bend
        slopes[1:] += np.diag(bend)
    value, slopes, unknown = value / cells.rows, slopes / cells.rows, unknown / cells.rows**2
    errors = np.sqrt(np.sum(slopes * np.linalg.solve(curvature, slopes), axis=0) + unknown)
    half = student(max(int(images.sum()) - 1, 1))
    return [_estimate(*one, half) for one in zip(value.tolist(), errors.tolist(), images.tolist(), strict=True)]


def _estimate(value: float, se: float, images: float, half: float) -> Estimate:
    """Make the interval of a share on the logit scale, ``half`` standard errors to each side."""
    logit, wide = math.log(value / (1 - value)), half * se / (value * (1 - value))
    low, high = (float(_accuracy(np.array(logit + way * wide))) for way in (-1, 1))
    return Estimate(value, min(low, value), max(high, value), se, int(images))


def _accuracy(logits: _Floats) -> _Floats:
    """Turn log odds into probabilities, without overflow."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * logits)))
