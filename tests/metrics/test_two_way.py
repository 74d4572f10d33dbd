"""The fit of classes and styles equals a general optimiser's, and its intervals hold the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.metrics.two_way import GROUP_SPREAD


def expit(x):
    return 1 / (1 + np.exp(-x))


def draw(rng, classes, groups, images, class_spread=1.2, group_spread=0.7, intercept=-0.6):
    """Draw a benchmark in which each style covers some classes, unequally; return also the true adjusted accuracies."""
    cells = np.argwhere(rng.random((classes, groups)) < 0.6)
    weights = rng.gamma(0.8, size=len(cells)) * np.exp(rng.normal(0, 0.8, groups))[cells[:, 1]]
    labels, columns = cells[rng.choice(len(cells), images, p=weights / weights.sum())].T
    of_class, of_group = rng.normal(0, class_spread, classes), rng.normal(0, group_spread, groups)
    hits = rng.random(images) < expit(intercept + of_class[labels] + of_group[columns])

    def truth(name, among):
        return expit(intercept + of_class[list(among)] + of_group[int(name)]).mean()

    return hits, labels, [f"{k:02d}" for k in columns], truth


def dense(fit, hits, labels, groups):
    """Maximise the same penalised likelihood over one vector of all effects, image by image, by a general optimiser."""
    classes, names = list(fit.class_effects), list(fit.group_effects)
    row = np.array([classes.index(k) for k in labels])
    column = np.array([names.index(g) for g in groups])
    ridge = np.concatenate(
        [[0.0], np.full(len(names), GROUP_SPREAD**-2.0), np.full(len(classes), fit.class_spread**-2.0)]
    )
    design = np.zeros((len(hits), len(ridge)))
    at = np.arange(len(hits))
    design[:, 0] = design[at, 1 + column] = design[at, 1 + len(names) + row] = 1

    def loss(x):
        logits = design @ x
        return np.sum(np.logaddexp(0, logits) - hits * logits) + ridge @ x**2 / 2

    def slope(x):
        return design.T @ (expit(design @ x) - hits) + ridge * x

    found = minimize(loss, np.zeros(len(ridge)), jac=slope, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x
    p = expit(design @ found)
    curvature = design.T @ (design * (p * (1 - p))[:, None]) + np.diag(ridge)
    return found, curvature, names


def test_effects_and_intervals_are_those_of_a_general_optimiser():
    hits, labels, groups, _ = draw(np.random.default_rng(0), 12, 3, 200)
    fit = metrics.two_way(hits, labels, groups)
    found, curvature, names = dense(fit, hits, labels, groups)
    assert fit.intercept == pytest.approx(found[0], abs=1e-5)
    assert list(fit.group_effects.values()) == pytest.approx(found[1 : 1 + len(names)], abs=1e-5)
    assert list(fit.class_effects.values()) == pytest.approx(found[1 + len(names) :], abs=1e-5)

    def adjusted(x, k):
        """Average over what is unknown of the classes, by plain summation."""
        of_class = x[1 + len(names) :]
        sd = 1 / np.sqrt(np.diag(curvature)[1 + len(names) :])
        z = np.linspace(-8, 8, 4001)
        density = np.exp(-(z**2) / 2) / np.exp(-(z**2) / 2).sum()
        return float((expit(x[0] + x[1 + k] + of_class[:, None] + sd[:, None] * z) @ density).mean())

    for k, name in enumerate(names):
        estimate = fit.adjusted[name]
        assert estimate.value == pytest.approx(adjusted(found, k), abs=1e-6)
        steps = np.eye(len(found)) * 1e-5
        slopes = np.array([(adjusted(found + step, k) - adjusted(found - step, k)) / 2e-5 for step in steps])
        assert estimate.se == pytest.approx(np.sqrt(slopes @ np.linalg.solve(curvature, slopes)), rel=1e-3)
        assert 0 < estimate.low < estimate.value < estimate.high < 1
        assert estimate.n == groups.count(name)


def test_effects_add_up_to_nothing():
    hits, labels, groups, _ = draw(np.random.default_rng(1), 60, 8, 900)
    fit = metrics.two_way(hits, labels, groups)
    assert sum(fit.class_effects.values()) == pytest.approx(0, abs=1e-6)
    assert sum(fit.group_effects.values()) == pytest.approx(0, abs=1e-6)


def test_style_is_told_from_class():
    """Styles are alike, but one has the hard classes mostly: its accuracy is low, its adjusted accuracy is not."""
    rng = np.random.default_rng(2)
    labels = np.concatenate([rng.integers(0, 10, 2000), rng.integers(5, 20, 2000)])
    groups = ["easy"] * 2000 + ["hard"] * 2000
    hits = rng.random(4000) < np.where(labels < 8, 0.9, 0.3)
    plain, fit = metrics.group_accuracies(hits, groups), metrics.two_way(hits, labels, groups)
    assert plain["easy"].value - plain["hard"].value > 0.25
    assert abs(fit.adjusted["easy"].value - fit.adjusted["hard"].value) < 0.05
    assert fit.class_spread > 1


def test_where_classes_are_alike_little_is_adjusted():
    rng = np.random.default_rng(3)
    hits, labels, groups, _ = draw(rng, 40, 4, 4000, class_spread=0.0)
    fit, plain = metrics.two_way(hits, labels, groups), metrics.group_accuracies(hits, groups)
    assert fit.class_spread < 0.3
    for name, estimate in fit.adjusted.items():
        assert estimate.value == pytest.approx(plain[name].value, abs=0.01)


def test_groups_that_hang_together_by_nothing_are_left_out():
    hits = np.array([True, False, True, False, True, True])
    labels = np.array([0, 0, 1, 1, 7, 8])
    fit = metrics.two_way(hits, labels, ["a", "b", "b", "a", "alone", "alone"])
    assert fit.left_out == ("alone",)
    assert list(fit.adjusted) == ["a", "b"]
    assert list(fit.class_effects) == [0, 1]


@pytest.mark.parametrize("right", [True, False])
def test_a_style_that_is_all_right_or_all_wrong_has_an_interval(right):
    labels, groups = np.tile(np.arange(10), 4), ["a"] * 30 + ["b"] * 10
    hits = np.concatenate([np.arange(30) % 3 == 0, np.full(10, right)])
    found = metrics.two_way(hits, labels, groups).adjusted["b"]
    assert 0 < found.low < found.high < 1
    assert found.high - found.low > 0.1
    assert (found.value > 0.5) == right


def test_what_cannot_be_fitted_is_refused():
    right, labels = np.array([True, False, True]), np.array([0, 0, 1])
    for groups in (["a", "a", "a"], ["a", "a", "b"]):
        with pytest.raises(MetricError, match="at least two groups"):
            metrics.two_way(right, labels, groups)
    for same in (True, False):
        with pytest.raises(MetricError, match="all wrong"):
            metrics.two_way(np.full(3, same), labels, ["a", "b", "a"])
    with pytest.raises(MetricError, match="one group per image"):
        metrics.two_way(right, labels, ["a"])
    with pytest.raises(MetricError, match="one class per image"):
        metrics.two_way(right, labels[:2], ["a", "b", "a"])


WORLDS = [
    (200, 15, 3000, {}),
    (200, 15, 300, {}),
    (200, 15, 60, {}),
    (50, 4, 500, {"intercept": 0.6}),
    (50, 4, 500, {"class_spread": 0.3}),
    (20, 2, 60, {}),
    (50, 8, 2000, {"class_spread": 2.0, "group_spread": 1.5}),
]


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS)
def test_the_intervals_hold_the_truth(world):
    """Outcomes of one draw depend on each other through the classes, so that the share varies by 1 to 2 points."""
    *sizes, wishes = world
    rng, held = np.random.default_rng(0), []
    while len(held) < 500:
        hits, labels, groups, truth = draw(rng, *sizes, **wishes)
        try:
            fit = metrics.two_way(hits, labels, groups)
        except MetricError:
            continue
        held += [e.low <= truth(name, fit.class_effects) <= e.high for name, e in fit.adjusted.items()]
    assert np.mean(held) >= 0.91
