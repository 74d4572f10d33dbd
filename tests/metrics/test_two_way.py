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


class Dense:
    """The same penalised likelihood and its averages, image by image, the classes integrated on one plain grid."""

    def __init__(self, fit, hits, labels, groups):
        self.names, self.spread, self.hits = list(fit.group_effects), fit.class_spread, hits
        classes = list(fit.class_effects)
        self.row = np.array([classes.index(k) for k in labels])
        self.column = np.array([self.names.index(g) for g in groups])
        self.rows, self.grid = len(classes), np.linspace(-25, 25, 1001)

    def density(self, x, spread):
        """Log density of outcomes and class effects, classes x grid, normalised in the effects' prior."""
        at = (x[0] + x[1 + self.column])[:, None] + self.grid
        each = np.where(self.hits[:, None], -np.logaddexp(0, -at), -np.logaddexp(0, at))
        prior = -((self.grid / spread) ** 2) / 2
        prior -= np.log(np.exp(prior).sum())
        return np.stack([each[self.row == k].sum(axis=0) for k in range(self.rows)]) + prior

    def badness(self, x, spread=None):
        found = self.density(x, spread or self.spread)
        top = found.max(axis=1)
        likelihood = np.sum(np.log(np.exp(found - top[:, None]).sum(axis=1)) + top)
        return np.sum(x[1:] ** 2) / (2 * GROUP_SPREAD**2) - likelihood

    def chances(self, x):
        found = self.density(x, self.spread)
        found = np.exp(found - found.max(axis=1)[:, None])
        return found / found.sum(axis=1)[:, None]

    def adjusted(self, x, k):
        """Mean P(right) of a group over the classes, and the variance that comes of not knowing these."""
        p, chances = expit(x[0] + x[1 + k] + self.grid), self.chances(x)
        mean = chances @ p
        return mean.mean(), np.sum(chances @ p**2 - mean**2) / self.rows**2


def curvature(f, x, step=1e-3):
    """Second derivatives by differences."""
    steps = np.eye(len(x)) * step
    return np.array([[f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b) for a in steps] for b in steps]) / (
        4 * step**2
    )


def test_effects_and_intervals_are_those_of_a_general_optimiser():
    hits, labels, groups, _ = draw(np.random.default_rng(4), 12, 3, 200)
    fit = metrics.two_way(hits, labels, groups)
    twin = Dense(fit, hits, labels, groups)
    assert 0.2 < fit.class_spread < 4
    x = minimize(twin.badness, np.zeros(4), method="BFGS", options={"gtol": 1e-5}).x
    assert [fit.intercept, *fit.group_effects.values()] == pytest.approx(x, abs=1e-3)
    assert list(fit.class_effects.values()) == pytest.approx(twin.chances(x) @ twin.grid, abs=1e-3)
    for other in (0.98, 1.02):
        assert twin.badness(x) < twin.badness(x, fit.class_spread * other)
    bend = curvature(twin.badness, x)
    for k, name in enumerate(twin.names):
        estimate, (value, unknown) = fit.adjusted[name], twin.adjusted(x, k)
        assert estimate.value == pytest.approx(value, abs=1e-4)
        slopes = np.array([(twin.adjusted(x + s, k)[0] - twin.adjusted(x - s, k)[0]) / 2e-4 for s in np.eye(4) * 1e-4])
        assert estimate.se == pytest.approx(np.sqrt(slopes @ np.linalg.solve(bend, slopes) + unknown), rel=1e-3)
        assert 0 < estimate.low < estimate.value < estimate.high < 1
        assert estimate.n == groups.count(name)


@pytest.mark.parametrize("spread", [0.3, 1.2, 3.0])
@pytest.mark.parametrize("intercept", [-5.0, -3.0, 0.0, 4.0])
def test_the_accuracy_that_the_fit_expects_of_the_images_is_theirs(intercept, spread):
    """However rare right, or wrong, predictions are: nothing pulls them towards one half."""
    rng = np.random.default_rng(1)
    labels, columns = np.repeat(np.arange(100), 30), np.tile(np.arange(3), 1000)
    logits = intercept + rng.normal(0, spread, 100)[labels] + np.array([-0.5, 0, 0.5])[columns]
    hits = rng.random(3000) < expit(logits)
    found = metrics.two_way(hits, labels, [str(k) for k in columns]).adjusted
    for k in range(3):  # every style has every class, in like numbers
        assert found[str(k)].value == pytest.approx(hits[columns == k].mean(), rel=0.12, abs=1e-3)
    assert np.mean([one.value for one in found.values()]) == pytest.approx(hits.mean(), rel=1e-3)


def test_effects_add_up_to_nothing():
    hits, labels, groups, _ = draw(np.random.default_rng(1), 60, 8, 900)
    fit = metrics.two_way(hits, labels, groups)
    assert sum(fit.class_effects.values()) == pytest.approx(0, abs=1e-3)
    assert sum(fit.group_effects.values()) == pytest.approx(0, abs=1e-3)


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
    (200, 15, 3000, {"intercept": -5.5}),
    (200, 15, 300, {"intercept": -5.5}),
    (200, 15, 300, {"intercept": -3.0}),
    (200, 15, 3000, {"intercept": 4.0}),
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
