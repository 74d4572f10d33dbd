"""Paired differences and tests against SciPy, enumeration and published intervals."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.families import IMAGENET_C
from oodometer.metrics import BASELINES
from oodometer.metrics.paired import SMALLEST_P

small_differences = st.lists(st.integers(-5, 5), min_size=1, max_size=9).map(np.array)


@given(small_differences)
def test_the_sign_flip_test_counts_all_ways(differences):
    found = abs(differences.sum())
    ways = [abs(np.dot(signs, differences)) >= found for signs in itertools.product([-1, 1], repeat=len(differences))]
    assert metrics.sign_flip_test(differences) == pytest.approx(np.mean(ways), abs=1e-12)


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 5))
def test_mcnemar_is_the_binomial_test_of_those_who_differ(only_first, only_second, both):
    first = np.array([True] * only_first + [False] * only_second + [True] * both + [False])
    second = np.array([False] * only_first + [True] * only_second + [True] * both + [False])
    differ = only_first + only_second
    expected = scipy.stats.binomtest(only_first, differ).pvalue if differ else 1
    assert metrics.mcnemar_test(first, second) == pytest.approx(max(expected, SMALLEST_P), rel=1e-9)
    assert metrics.mcnemar_test(second, first) == metrics.mcnemar_test(first, second)


def test_many_images_agree_with_the_normal_limit():
    rng = np.random.default_rng(0)
    differences = rng.integers(-5, 6, 20_000) + (rng.random(20_000) < 0.05)
    score = differences.sum() / math.sqrt((differences**2).sum())
    assert metrics.sign_flip_test(differences) == pytest.approx(2 * scipy.stats.norm.sf(abs(score)), rel=0.02)


def test_values_that_rounding_swallows_are_not_called_zero():
    assert metrics.sign_flip_test(np.full(500, 3)) == SMALLEST_P
    assert metrics.mcnemar_test(np.zeros(500, bool), np.ones(500, bool)) == SMALLEST_P


def test_holm_by_hand():
    """Three tests: .01 x 3, .03 x 2 and .04 x 1, none below one before it."""
    assert metrics.holm({"a": 0.01, "b": 0.04, "c": 0.03}) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06})
    assert metrics.holm({"a": 0.6, "b": 0.7}) == {"a": 1.0, "b": 1.0}
    assert metrics.holm({}) == {}


@given(st.lists(st.floats(1e-6, 1), min_size=1, max_size=8))
def test_holm_equals_the_definition(values):
    named = {str(k): value for k, value in enumerate(values)}
    ranked = sorted(values)
    m = len(values)
    for name, value in named.items():
        expected = max(min((m - j) * ranked[j], 1) for j in range(m) if ranked[j] <= value)
        assert metrics.holm(named)[name] == pytest.approx(expected)


@pytest.mark.parametrize(("b", "c", "n"), [(0, 0, 50), (3, 9, 40), (1, 0, 1000), (30, 4, 34)])
def test_the_interval_of_yes_or_no_is_that_of_bonett_and_price(b, c, n):
    """Their formula, with Student's quantile in place of the normal one."""
    differences = np.array([1.0] * b + [-1.0] * c + [0.0] * (n - b - c))
    found = metrics.paired_mean(differences, 1)
    p, q = (b + 1) / (n + 2), (c + 1) / (n + 2)
    half = scipy.stats.t.ppf(0.975, n - 1) * math.sqrt((p + q - (p - q) ** 2) / (n + 2))
    assert found.value == pytest.approx((b - c) / n)
    assert found.low == pytest.approx(min(max(p - q - half, -1), found.value))
    assert found.high == pytest.approx(max(min(p - q + half, 1), found.value))
    assert found.n == n


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0.1, 10))
def test_paired_means_are_in_order_in_bounds_and_scale(differences, factor):
    scores = np.array(differences)
    found, scaled = metrics.paired_mean(scores, 1), metrics.paired_mean(factor * scores, factor)
    assert -1 <= found.low <= found.value <= found.high <= 1
    assert found.low < found.high
    for field in ("value", "low", "high", "se"):
        assert getattr(scaled, field) == pytest.approx(factor * getattr(found, field), abs=1e-9)
    mirrored = metrics.paired_mean(-scores, 1)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


@pytest.mark.parametrize("bad", [[], [1.5], [math.nan]])
def test_paired_means_refuse_what_is_no_difference(bad):
    with pytest.raises(MetricError, match="at least one difference"):
        metrics.paired_mean(np.array(bad), 1)


def outcomes(seed, n):
    rng = np.random.default_rng(seed)
    ability = rng.random((n, 1))
    return {name: rng.random((n, 5)) > ability for name in IMAGENET_C}


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_differences_are_those_of_the_numbers_themselves(seed, n):
    first, second = outcomes(seed, n), outcomes(seed + 1, n)
    plain = metrics.mean_corruption_error_estimate(second).value - metrics.mean_corruption_error_estimate(first).value
    assert metrics.mean_corruption_error_difference(first, second).value == pytest.approx(plain, abs=1e-12)
    of_mce = metrics.mce_estimate(second).value - metrics.mce_estimate(first).value
    assert metrics.mce_difference(first, second).value == pytest.approx(of_mce, abs=1e-12)
    back = metrics.mce_difference(second, first)
    assert (back.low, back.high) == pytest.approx(
        [-e for e in (lambda d: (d.high, d.low))(metrics.mce_difference(first, second))]
    )
    errors = metrics.error_differences(first, second)
    assert list(errors) == list(IMAGENET_C)
    assert errors["fog"].value == pytest.approx(second["fog"].mean() - first["fog"].mean())
    clean = metrics.clean_error_difference(first["fog"][:, 0], second["fog"][:, 0])
    assert clean.value == pytest.approx(second["fog"][:, 0].mean() - first["fog"][:, 0].mean())


def test_a_difference_is_known_better_than_either_number():
    """Two classifiers that mostly err on the same images."""
    first = outcomes(0, 400)
    rng = np.random.default_rng(1)
    second = {name: array ^ (rng.random(array.shape) < 0.05) for name, array in first.items()}
    width = lambda e: e.high - e.low  # noqa: E731
    assert width(metrics.mce_difference(first, second)) < 0.3 * width(metrics.mce_estimate(first))


def test_outcomes_that_are_not_there_are_left_out():
    """With everything there, masked arrays of no masked entry say the same; and a masked entry changes nothing else."""
    first, second = outcomes(2, 60), outcomes(3, 60)
    mask = np.random.default_rng(0).random((60, 5)) < 0.3
    masked = {name: np.ma.array(array, mask=mask) for name, array in first.items()}
    other = {name: np.ma.array(array ^ mask, mask=mask) for name, array in first.items()}
    one, same = (metrics.mce_difference(m, second) for m in (masked, other))
    assert one == same
    expected = sum(
        (second[c][~mask[:, s], s].mean() - first[c][~mask[:, s], s].mean()) / (75 * BASELINES["alexnet"].mean_error(c))
        for c in IMAGENET_C
        for s in range(5)
    )
    assert one.value == pytest.approx(expected)


def test_the_gap_of_two_sets_adds_their_differences():
    clean, shifted = metrics.Estimate(-0.02, -0.05, 0.01, 0.015, 50), metrics.Estimate(-0.10, -0.14, -0.06, 0.02, 80)
    found = metrics.gap_difference(clean, shifted)
    assert found.value == pytest.approx(-0.08)
    assert (found.low, found.high) == pytest.approx((-0.08 - 0.05, -0.08 + 0.05))  # 3-4-5 on both sides
    assert found.n == 130


def test_what_does_not_match_is_refused():
    first = outcomes(0, 5)
    for other in (
        outcomes(0, 4),
        {name: array[:, :3] for name, array in first.items()},
        {n: a * 1 for n, a in first.items()},
    ):
        with pytest.raises(MetricError, match="same images x severities"):
            metrics.mean_corruption_error_difference(first, other)
    with pytest.raises(MetricError, match="missing: fog"):
        metrics.mce_difference(first, {name: a for name, a in first.items() if name != "fog"})
    with pytest.raises(MetricError, match="no baseline"):
        metrics.mce_difference(first, first, None)
