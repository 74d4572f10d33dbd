"""Mean losses against SciPy's Student interval and the closed forms of a uniform guess."""

import math

import numpy as np
import pytest
import scipy.stats

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.scoring import score
from oodometer.types import LabelSpace

RNG = np.random.default_rng(0)


def test_a_uniform_guess_among_k_has_losses_known_in_closed_form():
    """NLL log k, Brier 1 - 1 / k, from logits to estimates."""
    names = tuple("abcdefgh")
    scores = score(np.zeros((12, 8)), np.arange(12, dtype=np.int32) % 8, LabelSpace("eight", names, names))
    assert metrics.nll_estimate(scores.nll).value == pytest.approx(math.log(8))
    assert metrics.brier_estimate(scores.brier).value == pytest.approx(1 - 1 / 8)


def test_nll_has_students_interval():
    losses = RNG.exponential(1, 40)
    found = metrics.nll_estimate(losses)
    interval = scipy.stats.ttest_1samp(losses, 0).confidence_interval()
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.se == pytest.approx(scipy.stats.sem(losses))
    assert metrics.nll_estimate(np.array([0.0, 0.0, 9.0])).low == 0  # no likelihood is above 1


def test_brier_is_a_mean_of_bounded_scores():
    scores = RNG.random(30) * 2
    assert metrics.brier_estimate(scores) == metrics.bounded_mean(scores, 0, 2)


@pytest.mark.parametrize("estimate", [metrics.brier_estimate, metrics.nll_estimate])
def test_several_conditions_of_an_image_are_one_score(estimate):
    scores = RNG.random((25, 6))
    found, flat = estimate(scores), estimate(scores.mean(axis=1))
    assert (found.value, found.low, found.high, found.n) == pytest.approx((flat.value, flat.low, flat.high, 25))


@pytest.mark.parametrize("estimate", [metrics.brier_estimate, metrics.nll_estimate])
def test_what_was_not_predicted_does_not_count(estimate):
    scores, mask = RNG.random((60, 4)), RNG.random((60, 4)) < 0.4
    found = estimate(np.ma.array(scores, mask=mask))
    assert found == estimate(np.ma.array(np.where(mask, 1.7, scores), mask=mask))
    assert found.value == pytest.approx(np.mean([scores[~mask[:, c], c].mean() for c in range(4)]))
    assert found.low < found.value < found.high


@pytest.mark.parametrize("estimate", [metrics.brier_estimate, metrics.nll_estimate])
@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.1, math.nan], "older version"),
        ([0.1, math.inf], "finite"),
        ([0.1, -0.1], "at least 0"),
        ([], "found shape"),
        ([[[0.1]]], "found shape"),
    ],
)
def test_losses_that_are_none_are_refused(estimate, scores, message):
    with pytest.raises(MetricError, match=message):
        estimate(np.array(scores))


def test_one_image_has_a_brier_score_and_no_interval_without_bounds():
    assert metrics.brier_estimate(np.array([0.5])).n == 1
    with pytest.raises(MetricError, match="two images, found 1"):
        metrics.nll_estimate(np.array([0.5]))
    with pytest.raises(MetricError, match=r"\[0, 2\]"):
        metrics.brier_estimate(np.array([2.5, 0.1]))
