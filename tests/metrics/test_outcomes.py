"""Estimates from per-image outcomes: equal to the plain numbers, to plain loops, and indifferent to order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.families import EXTRA, IMAGENET_C
from oodometer.metrics import BASELINES, bounded_mean
from oodometer.metrics.intervals import paired_mean

ALEXNET = BASELINES["alexnet"]


def benchmark(seed, n):
    """Draw outcomes of n images: harder and easier images, harder and easier cells, all 19 corruptions."""
    rng = np.random.default_rng(seed)
    ability = rng.random((n, 1))
    misses = {name: rng.random((n, 5)) * rng.random(5) > ability * rng.random() for name in (*IMAGENET_C, *EXTRA)}
    return misses, rng.random(n) < 0.5 * ability[:, 0]


def errors_of(misses):
    return {name: [float(np.mean(array[:, s])) for s in range(5)] for name, array in misses.items()}


benchmarks = st.builds(benchmark, st.integers(0, 2**32 - 1), st.integers(1, 40))


@given(benchmarks)
def test_values_equal_the_plain_numbers_of_the_mean_errors(outcomes):
    misses, clean_misses = outcomes
    errors, clean = errors_of(misses), float(np.mean(clean_misses))
    exactly = {"abs": 1e-12, "rel": 0}
    for estimate, plain in (
        (metrics.mce_estimate(misses), metrics.mce(errors)),
        (metrics.mean_corruption_error_estimate(misses), metrics.mean_corruption_error(errors)),
        (metrics.relative_mce_estimate(misses, clean_misses), metrics.relative_mce(errors, clean)),
        (metrics.clean_error_estimate(clean_misses), clean),
    ):
        assert estimate.value == pytest.approx(plain, **exactly)
        assert estimate.n == len(clean_misses)
    ces = metrics.corruption_error_estimates(misses)
    assert {c: e.value for c, e in ces.items()} == pytest.approx(metrics.corruption_errors(errors), **exactly)
    relative = metrics.relative_corruption_error_estimates(misses, clean_misses)
    plain_relative = metrics.relative_corruption_errors(errors, clean)
    assert {c: e.value for c, e in relative.items()} == pytest.approx(plain_relative, **exactly)
    means = {c: sum(row) / 5 for c, row in errors.items()}
    assert {c: e.value for c, e in metrics.error_estimates(misses).items()} == pytest.approx(means, **exactly)
    cells = metrics.cell_error_estimates(misses)
    assert {c: [e.value for e in row] for c, row in cells.items()} == errors


@given(benchmarks)
def test_scores_per_image_equal_plain_loops(outcomes):
    misses, clean_misses = outcomes
    n = len(clean_misses)
    ce_scores, relative_scores = [0.0] * n, [0.0] * n
    for i in range(n):
        for name in IMAGENET_C:
            table = ALEXNET.errors[name]
            for s in range(5):
                ce_scores[i] += misses[name][i, s] / (15 * sum(table))
                relative_scores[i] += (int(misses[name][i, s]) - int(clean_misses[i])) / (15 * (sum(table) - 5 * 0.435))
    top = sum(5 / sum(ALEXNET.errors[name]) for name in IMAGENET_C) / 15
    relative_top = sum(5 / (sum(ALEXNET.errors[name]) - 5 * 0.435) for name in IMAGENET_C) / 15
    expected = bounded_mean(np.array(ce_scores), 0, top, 75)
    relative = paired_mean(np.array(relative_scores), relative_top)
    for mine, slow in (
        (metrics.mce_estimate(misses), expected),
        (metrics.relative_mce_estimate(misses, clean_misses), relative),
    ):
        for field in ("value", "low", "high", "se"):
            assert getattr(mine, field) == pytest.approx(getattr(slow, field), abs=1e-7)


@given(benchmarks, st.randoms(use_true_random=False))
def test_neither_the_order_of_images_nor_that_of_corruptions_matters(outcomes, random):
    misses, clean_misses = outcomes
    rows = list(range(len(clean_misses)))
    names = list(misses)
    random.shuffle(rows)
    random.shuffle(names)
    shuffled, shuffled_clean = {name: misses[name][rows] for name in names}, clean_misses[rows]
    for before, after in (
        (metrics.mce_estimate(misses), metrics.mce_estimate(shuffled)),
        (
            metrics.relative_mce_estimate(misses, clean_misses),
            metrics.relative_mce_estimate(shuffled, shuffled_clean),
        ),
    ):
        for field in ("value", "low", "high", "se"):
            assert getattr(after, field) == pytest.approx(getattr(before, field), abs=1e-9)


@given(benchmarks)
def test_values_lie_in_their_intervals_and_intervals_in_the_possible(outcomes):
    misses, clean_misses = outcomes
    shares = [
        *metrics.error_estimates(misses).values(),
        *(e for row in metrics.cell_error_estimates(misses).values() for e in row),
        metrics.mean_corruption_error_estimate(misses),
        metrics.clean_error_estimate(clean_misses),
    ]
    assert all(0 <= e.low <= e.value <= e.high <= 1 for e in shares)
    for name, e in metrics.corruption_error_estimates(misses).items():
        assert 0 <= e.low <= e.value <= e.high <= 1 / ALEXNET.mean_error(name) + 1e-12
    for name, e in metrics.relative_corruption_error_estimates(misses, clean_misses).items():
        top = 1 / ALEXNET.mean_rise(name) + 1e-12
        assert -top <= e.low <= e.value <= e.high <= top


@pytest.mark.parametrize("miss", [False, True])
def test_twenty_images_that_agree_do_not_give_certainty(miss):
    misses = {name: np.full((20, 5), miss) for name in IMAGENET_C}
    clean_misses = np.full(20, miss)
    top = sum(1 / ALEXNET.mean_error(name) for name in IMAGENET_C) / 15
    one = metrics.wilson(20 * miss, 20)
    estimate = metrics.mce_estimate(misses)
    assert (estimate.low, estimate.high) == (pytest.approx(top * one.low), pytest.approx(top * one.high))
    unmoved = metrics.relative_mce_estimate(misses, clean_misses)
    assert unmoved.value == pytest.approx(0, abs=1e-12)
    assert unmoved.low < -0.1
    assert unmoved.high > 0.1


def test_other_corruptions_have_no_part_in_the_means():
    misses, clean_misses = benchmark(0, 10)
    only = {name: misses[name] for name in IMAGENET_C}
    assert metrics.mce_estimate(misses) == metrics.mce_estimate(only)
    assert metrics.relative_mce_estimate(misses, clean_misses) == metrics.relative_mce_estimate(only, clean_misses)
    assert metrics.mean_corruption_error_estimate(misses) == metrics.mean_corruption_error_estimate(only)


def test_few_severities_have_errors_but_no_ce():
    misses = {"fog": np.array([[True, False], [True, True]])}
    assert [e.value for e in metrics.cell_error_estimates(misses)["fog"]] == [1.0, 0.5]
    assert metrics.error_estimates(misses)["fog"].value == 0.75
    with pytest.raises(MetricError, match="'fog': expected 5 severities, found 2"):
        metrics.corruption_error_estimates(misses)


def test_a_missing_corruption_and_a_missing_baseline_are_named():
    misses, clean_misses = benchmark(0, 10)
    with pytest.raises(MetricError, match="no baseline"):
        metrics.mce_estimate(misses, None)
    del misses["snow"]
    for call in (
        lambda: metrics.mce_estimate(misses),
        lambda: metrics.relative_mce_estimate(misses, clean_misses),
        lambda: metrics.mean_corruption_error_estimate(misses),
    ):
        with pytest.raises(MetricError, match="missing: snow"):
            call()


@pytest.mark.parametrize(
    ("fog", "message"),
    [
        (np.zeros((10, 5)), "'fog': expected bool.*float64"),
        (np.zeros((10, 5), int), "'fog': expected bool.*int64"),
        (np.zeros(10, bool), r"'fog': expected bool.*\(10,\)"),
        (np.zeros((0, 5), bool), r"'fog': expected bool.*\(0, 5\)"),
        (np.zeros((9, 5), bool), "same images.*gaussian_noise 10.*fog 9"),
    ],
)
def test_outcomes_of_another_form_are_refused(fog, message):
    misses, _ = benchmark(0, 10)
    for metric in (metrics.mce_estimate, metrics.error_estimates, metrics.cell_error_estimates):
        with pytest.raises(MetricError, match=message):
            metric(misses | {"fog": fog})


@pytest.mark.parametrize("clean", [np.zeros(9, bool), np.zeros(10), np.zeros((10, 5), bool)])
def test_clean_outcomes_must_be_of_the_same_images(clean):
    misses, _ = benchmark(0, 10)
    with pytest.raises(MetricError, match=r"clean_misses: expected bool of shape \(10,\)"):
        metrics.relative_mce_estimate(misses, clean)
