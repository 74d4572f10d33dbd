"""The severity that costs half: closed forms, an independent isotonic regression, and coverage."""

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import MetricError
from oodometer.metrics.strength import NARROW, bisected, half_strength, monotone


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_monotone_is_isotonic_regression(curve):
    assert monotone(np.array(curve)) == pytest.approx(scipy.optimize.isotonic_regression(curve).x, abs=1e-9)


def outcomes(errors, n=100):
    """Make outcomes whose errors are exactly these."""
    return np.array([np.arange(n) < round(n * e) for e in errors]).T


def test_between_two_severities_the_crossing_is_read_off_the_line():
    """Clean accuracy .8, so half is .4: errors of .5 and .7 at 2 and 3 cross .6 in the middle."""
    found = half_strength([0, 1, 2, 3, 5], outcomes([0.2, 0.3, 0.5, 0.7, 0.9]))
    assert found.value == pytest.approx(2.5)
    assert 2 < found.low < 2.5 < found.high < 3
    assert found.n == 100


def test_a_curve_that_falls_by_chance_is_flattened_first():
    """Errors of .5 and .3 at 1 and 2 count as .4 each, so .6 is halfway from 2 to 3."""
    found = half_strength([0, 1, 2, 3], outcomes([0.2, 0.5, 0.3, 0.8]))
    assert found.value == pytest.approx(2 + (0.6 - 0.4) / (0.8 - 0.4))


def test_an_accuracy_that_does_not_fall_to_half_has_no_such_severity():
    with pytest.raises(MetricError, match="does not fall to half of the clean one up to severity 5"):
        half_strength([0, 1, 5], outcomes([0.1, 0.2, 0.5]))
    with pytest.raises(MetricError, match="No clean image"):
        half_strength([0, 1], outcomes([1.0, 1.0]))


def test_images_that_cannot_tell_leave_the_upper_end_open():
    """At the strongest severity the error is just what is wanted, on 20 images."""
    found = half_strength([0, 1, 10], outcomes([0.0, 0.1, 0.5], n=20))
    assert (found.value, found.high) == (10, 10)
    assert found.low < 8


@pytest.mark.parametrize(
    ("severities", "misses"),
    [
        ([0, 1], np.zeros((5, 3), bool)),
        ([1, 2], np.zeros((5, 2), bool)),
        ([0, 2, 1], np.zeros((5, 3), bool)),
        ([0, 1], np.zeros((5, 2))),
        ([0, 1], np.zeros((0, 2), bool)),
        ([], np.zeros((5, 0), bool)),
    ],
)
def test_what_is_no_curve_is_refused(severities, misses):
    with pytest.raises(MetricError, match="rising from 0"):
        half_strength(severities, misses)


class Threshold:
    """Images that a model gets wrong from a severity of their own on, normally distributed, and some always."""

    def __init__(self, seed, n, centre, width=1.5, clean_error=0.2, noise=0.0):
        self.rng = np.random.default_rng(seed)
        self.thresholds = centre + width * self.rng.standard_normal(n)
        self.always = self.rng.random(n) < clean_error
        self.noise, self.asked = noise, []

    def __call__(self, severities):
        self.asked += list(severities)
        columns = [
            self.always | ((s > 0) & (self.thresholds + self.noise * self.rng.standard_normal(len(self.always)) < s))
            for s in severities
        ]
        return np.stack(columns, axis=1)


def test_bisection_closes_in_on_the_crossing():
    model = Threshold(0, 4000, centre=2.7)
    known, misses = bisected(model, (1, 2, 3, 4, 5), highest=10)
    assert known[:2] == (0, 1)
    assert list(known) == sorted(model.asked)
    assert len(model.asked) == len(set(model.asked))  # nothing is measured twice
    found = half_strength(known, misses)
    after = next(s for s in known if s >= found.value)
    before = max(s for s in known if s < found.value)
    assert after - before <= max(NARROW, (found.high - found.low) / 4)
    assert found.value == pytest.approx(2.7, abs=0.1)


def test_few_images_are_not_bisected_for_nothing():
    many, few = Threshold(0, 4000, centre=2.7), Threshold(0, 30, centre=2.7)
    for model in (many, few):
        bisected(model, (1, 2, 3, 4, 5), highest=10)
    assert len(few.asked) < len(many.asked)


def test_beyond_the_severities_given_the_strongest_is_tried():
    model = Threshold(1, 500, centre=7.0)
    known, misses = bisected(model, (1, 2), highest=10)
    assert half_strength(known, misses).value == pytest.approx(7, abs=0.5)
    hopeless = Threshold(1, 500, centre=40.0)
    known, _ = bisected(hopeless, (1, 2), highest=10)
    assert known == (0, 1, 2, 10)


def test_a_model_that_is_never_right_is_measured_once():
    known, misses = bisected(Threshold(0, 50, centre=3, clean_error=1.0), (1, 2), highest=10)
    assert known == (0, 1, 2)
    assert misses.all()


def share_held(n, draws):
    """Count how often the interval holds the truth, each draw bisected anew.

    An image has a threshold of its own, and a little chance at each severity. The accuracy falls to half of the clean
    one where half of the thresholds are below the severity.
    """
    centre, held = 3.2, 0
    for seed in range(draws):
        found = half_strength(*bisected(Threshold(seed, n, centre, width=1.2, noise=0.6), (1, 2, 3, 4, 5), 10))
        held += found.low <= centre <= found.high
    return held / draws


def test_its_interval_covers():
    """In 100 draws the share held has a standard deviation of 2 points."""
    assert share_held(100, draws=100) >= 0.9


@pytest.mark.long
@pytest.mark.parametrize("n", [50, 100, 400])
def test_its_interval_covers_in_500_draws(n):
    assert 0.93 <= share_held(n, draws=500) <= 0.985
