"""Estimates from incomplete blocks: unbiased over every design, equal to the full ones where nothing is missing."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.families import IMAGENET_C
from oodometer.metrics.incomplete import spread

WEIGHTS = np.array([0.5, 1.0, 0.2])


def _masked(outcomes, blocks):
    seen = np.zeros(outcomes.shape, bool)
    for row, block in zip(seen, blocks, strict=True):
        row[list(block)] = True
    return np.ma.array(outcomes, mask=~seen)


def _blocks(images, each):
    """Give every cyclic assignment of three conditions to the images, in every order of the conditions."""
    for order in itertools.permutations(range(3)):
        yield [[order[(i + step) % 3] for step in range(each)] for i in range(images)]


@pytest.mark.parametrize("each", [1, 2])
def test_the_value_has_no_bias_over_the_designs(each):
    """By brute force: the mean over all assignments of conditions is what all conditions of all images give."""
    outcomes = np.random.default_rng(each).random((6, 3)) < 0.5
    full = float(outcomes.mean(axis=0) @ WEIGHTS)
    values = [spread(_masked(outcomes, b), WEIGHTS, 0, 1.7).value for b in _blocks(6, each)]
    assert np.ptp(values) > 0
    assert np.mean(values) == pytest.approx(full)


@pytest.mark.parametrize("each", [1, 2, 3])
def test_the_variance_has_no_bias_over_the_images(each):
    """By brute force: all samples of 6 images, with replacement, from a population of 3 with correlated outcomes."""
    population = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 1]], bool)
    blocks = next(_blocks(6, each))
    found = []
    for sample in itertools.product(range(3), repeat=6):
        outcomes = _masked(population[list(sample)], blocks).astype(float)
        seen = ~outcomes.mask
        n, both = seen.sum(axis=0), seen.astype(int).T @ seen
        r = np.where(seen, outcomes.data - outcomes.sum(axis=0).data / n, 0)
        # The variance by plain loops, which unlike the module never falls back on another formula.
        variance = sum(
            WEIGHTS[c] * WEIGHTS[d] / (n[c] * n[d]) * (r[:, c] * r[:, d]).sum()
            / (1 - 1 / n[c] - 1 / n[d] + both[c, d] / (n[c] * n[d]))
            for c in range(3)
            for d in range(3)
            if both[c, d]
        )  # fmt: skip
        mine = spread(outcomes, WEIGHTS, 0, 1.7)
        assert mine.variance == pytest.approx(variance, abs=1e-12) or variance <= 1e-12
        found.append((mine.value, variance))
    values, variances = np.array(found).T
    assert values.mean() == pytest.approx(population.mean(axis=0) @ WEIGHTS)
    assert variances.mean() == pytest.approx(values.var())


def benchmark(seed, images, each):
    """Draw correlated outcomes of the 15 x 5 and of clean images, and in which cells they are seen."""
    rng = np.random.default_rng(seed)
    outcomes = rng.random((images, 76)) + 0.3 * rng.random((images, 1)) > 0.5 + 0.3 * rng.random(76)
    order = np.argsort(rng.random((images, 76)), axis=1)
    blocks = [[(i + k) % 76 for k in range(each)] for i in range(images)] if each < 76 else order
    masked = _masked(outcomes, blocks)
    return {name: masked[:, 1 + 5 * i : 6 + 5 * i] for i, name in enumerate(IMAGENET_C)}, masked[:, 0]


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(20, 30))
def test_where_all_is_seen_nothing_changes(seed, images):
    """The general formula gives the value and the standard error of one score per image."""
    misses, _ = benchmark(seed, images, 76)
    for estimate, arrays, weights in (
        (metrics.mce_estimate(misses), misses, [1 / (75 * metrics.BASELINES["alexnet"].mean_error(c)) for c in misses]),
        (metrics.mean_corruption_error_estimate(misses), misses, [1 / 75] * 15),
    ):
        found = spread(np.concatenate([*arrays.values()], axis=1), np.repeat(weights, 5), 0, 5 * sum(weights))
        assert found.value == pytest.approx(estimate.value)
        assert found.estimate.se == pytest.approx(estimate.se)
        assert found.of_all(images).se == pytest.approx(0, abs=1e-6)
        assert found.between / images == pytest.approx(found.variance)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5))
def test_numbers_are_those_of_the_mean_errors_of_the_cells(seed, each):
    misses, clean = benchmark(seed, 152, each)
    errors = {name: [float(column.compressed().mean()) for column in array.T] for name, array in misses.items()}
    assert metrics.mce_estimate(misses).value == pytest.approx(metrics.mce(errors))
    assert metrics.mean_corruption_error_estimate(misses).value == pytest.approx(metrics.mean_corruption_error(errors))
    clean_error = metrics.clean_error_estimate(clean)
    assert clean_error.n == 2 * each
    assert metrics.relative_mce_estimate(misses, clean).value == pytest.approx(
        metrics.relative_mce(errors, clean_error.value)
    )
    for name, cells in metrics.cell_error_estimates(misses).items():
        assert [cell.value for cell in cells] == errors[name]
        assert [cell.n for cell in cells] == [2 * each] * 5
    ces = metrics.corruption_error_estimates(misses)
    assert {c: e.value for c, e in ces.items()} == pytest.approx(metrics.corruption_errors(errors))
    estimates = [*ces.values(), metrics.mce_estimate(misses), metrics.relative_mce_estimate(misses, clean)]
    assert all(e.low <= e.value <= e.high for e in estimates)


def test_a_cell_of_one_image_has_no_interval():
    outcomes = np.ma.array(np.zeros((3, 3), bool), mask=[[0, 1, 1], [0, 0, 1], [1, 0, 0]])
    with pytest.raises(MetricError, match="at least 2 images under each condition; one has 1"):
        spread(outcomes, WEIGHTS, 0, 1.7)
    assert spread(outcomes, np.array([1.0, 1.0, 0.0]), 0, 2).images == 3


def test_images_that_agree_do_not_give_certainty():
    misses, _ = benchmark(0, 76, 4)
    never = {name: np.ma.array(np.zeros(a.shape, bool), mask=a.mask) for name, a in misses.items()}
    estimate = metrics.mce_estimate(never)
    assert estimate.value == 0
    assert estimate.high > 0.04


def test_the_parts_of_the_variance_add_up():
    """``alone`` and ``shared`` are what they are called: 1/4 and 0 for coins, equal if an image is all or nothing."""
    rng = np.random.default_rng(0)
    weights = np.full(4, 0.25)
    blocks = [[i % 4, (i + 1 + i // 4 % 3) % 4] for i in range(6000)]
    for outcomes, shared in ((rng.random((6000, 4)) < 0.5, 0), (np.tile(rng.random((6000, 1)) < 0.5, 4), 0.25)):
        found = spread(_masked(outcomes, blocks), weights, 0, 1)
        assert found.alone == pytest.approx(0.25, abs=0.002)
        assert found.shared == pytest.approx(shared, abs=0.02)
        assert found.between == pytest.approx((0.25 + 3 * shared) / 4, abs=0.02)
        parts = found.alone / found.passes + found.shared * found.pairs / found.passes**2
        assert found.variance == pytest.approx(parts)
        assert (found.images, found.passes, found.pairs) == (6000, 12000, 12000)
