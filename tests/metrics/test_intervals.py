"""Intervals against hand-computed cases, SciPy and plain loops; their coverage is in ``test_coverage.py``."""

import math
import statistics

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import MetricError
from oodometer.metrics import Estimate, bounded_mean, proportion, wilson


def test_wilson_by_hand():
    z2 = 1.959963984540054**2
    assert wilson(0, 20) == Estimate(0.0, 0.0, pytest.approx(z2 / (20 + z2)), 0.0, 20)
    assert wilson(20, 20) == Estimate(1.0, pytest.approx(20 / (20 + z2)), 1.0, 0.0, 20)
    half = wilson(5, 10)
    assert (half.low, half.high) == (pytest.approx(0.2366, abs=5e-5), pytest.approx(0.7634, abs=5e-5))
    assert half.se == pytest.approx(math.sqrt(0.025))


@given(st.integers(1, 60_000), st.floats(0, 1))
def test_wilson_equals_scipy(n, share):
    successes = round(share * n)
    interval = scipy.stats.binomtest(successes, n).proportion_ci(method="wilson")
    mine = wilson(successes, n)
    assert (mine.low, mine.high) == (pytest.approx(interval.low, abs=1e-9), pytest.approx(interval.high, abs=1e-9))
    assert 0 <= mine.low <= mine.value <= mine.high <= 1


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_impossible_counts(successes, n):
    with pytest.raises(MetricError, match=f"{successes} of {n}"):
        wilson(successes, n)


def test_proportion_counts():
    assert proportion(np.array([True, False, True, True])) == wilson(3, 4)


@pytest.mark.parametrize("bad", [np.array([0, 1]), np.array([0.5]), np.zeros((2, 2), bool), np.zeros(0, bool), []])
def test_proportion_takes_one_bool_per_image(bad):
    with pytest.raises(MetricError):
        proportion(bad)


def test_estimates_print_in_percent_and_are_numbers():
    estimate = Estimate(0.613, 0.52, 0.7012, 0.05, 20)
    assert estimate.percent() == "61.3 [52.0, 70.1]"
    assert estimate.percent(2) == "61.30 [52.00, 70.12]"
    assert float(estimate) == 0.613


def bounded_mean_by_loops(scores, low, high, outcomes):
    """Follow the docstring of ``bounded_mean`` in plain Python and with another library's quantiles."""
    n = len(scores)
    scaled = [(score - low) / (high - low) for score in scores]
    p = sum(scaled) / n
    n_eff = n
    if max(scaled) - min(scaled) > 1e-9:
        variance = statistics.variance(scaled) / n
        z, t = scipy.stats.norm.ppf(0.975), scipy.stats.t.ppf(0.975, n - 1)
        n_eff = p * (1 - p) / variance * z**2 / t**2
        n_eff = max(n, min(n * outcomes, n_eff))
    z2 = scipy.stats.norm.ppf(0.975) ** 2
    # The roots of (p - x)^2 = z^2 x (1 - x) / n_eff, which define Wilson's interval.
    roots = np.roots([1 + z2 / n_eff, -(2 * p + z2 / n_eff), p * p])
    return tuple(low + (high - low) * root for root in sorted(roots.real))


@given(
    st.lists(st.integers(0, 75), min_size=1, max_size=40),
    st.floats(-5, 0),
    st.floats(0.1, 5),
    st.randoms(use_true_random=False),
)
def test_bounded_mean_equals_loops_and_stays_in_bounds(counts, low, high, random):
    scores = np.array([low + (high - low) * count / 75 for count in counts])
    mine = bounded_mean(scores, low, high, 75)
    slow_low, slow_high = bounded_mean_by_loops(scores.tolist(), low, high, 75)
    assert mine.value == pytest.approx(statistics.fmean(scores), abs=1e-12)
    # Double roots of the polynomial cost the twin half its digits.
    assert (mine.low, mine.high) == (pytest.approx(slow_low, abs=1e-6), pytest.approx(slow_high, abs=1e-6))
    assert low - 1e-12 <= mine.low <= mine.value <= mine.high <= high + 1e-12
    assert mine.low < mine.high
    random.shuffle(counts)
    shuffled = bounded_mean(np.array([low + (high - low) * count / 75 for count in counts]), low, high, 75)
    assert shuffled.low == pytest.approx(mine.low, abs=1e-9)
    assert shuffled.high == pytest.approx(mine.high, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 20])
@pytest.mark.parametrize(("score", "successes"), [(0.0, 0.0), (1.0, 1.0), (0.4, 0.4)])
def test_when_all_images_agree_each_counts_once(n, score, successes):
    same = bounded_mean(np.full(n, score), 0, 1, 75)
    slow_low, slow_high = bounded_mean_by_loops([score] * n, 0, 1, 75)
    assert (same.low, same.high) == (pytest.approx(slow_low, abs=1e-6), pytest.approx(slow_high, abs=1e-6))
    assert same.high - same.low > 0.1
    assert same.value == pytest.approx(score)


def test_scores_equal_but_for_rounding_count_as_equal():
    assert bounded_mean(np.array([0.3, 0.1 + 0.2] * 10), 0, 1, 75).low == pytest.approx(
        bounded_mean(np.full(20, 0.3), 0, 1, 75).low
    )


@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(1, 75))
def test_of_yes_no_scores_it_is_wilsons_interval(outcomes, cells):
    """However often an outcome is repeated in other cells: perfect dependence adds nothing."""
    mine = bounded_mean(np.array(outcomes, dtype=float), 0, 1, cells)
    plain = proportion(np.array(outcomes))
    assert (mine.low, mine.high, mine.n) == (pytest.approx(plain.low), pytest.approx(plain.high), plain.n)


def test_an_image_counts_for_no_more_than_its_outcomes():
    nearly_equal = np.array([0.4] * 19 + [0.6])
    mine = bounded_mean(nearly_equal, 0, 1, 5)
    most = wilson(41, 100)
    assert (mine.low, mine.high) == (pytest.approx(most.low), pytest.approx(most.high))


def test_standard_error_is_that_of_a_mean():
    scores = np.array([0.2, 0.4, 0.9, 0.1])
    assert bounded_mean(scores, 0, 2, 10).se == pytest.approx(statistics.stdev(scores) / 2)
    assert bounded_mean(np.array([0.5]), 0, 2, 10).se == pytest.approx(2 * math.sqrt(0.25 * 0.75))


@pytest.mark.parametrize("bad", [[], [0.5, math.nan], [0.5, 1.1], [-0.1, 0.5]])
def test_scores_out_of_bounds_are_refused(bad):
    with pytest.raises(MetricError, match=r"in \[0, 1\]"):
        bounded_mean(np.array(bad), 0, 1, 5)
