"""Calibration with its interval: the plain number inside, a seed that repeats, and what it cannot say refused."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.metrics.calibration_estimates import _without_chance

ESTIMATES = {
    metrics.expected_calibration_error: metrics.expected_calibration_error_estimate,
    metrics.rms_calibration_error: metrics.rms_calibration_error_estimate,
    metrics.rms_calibration_error_published: metrics.rms_calibration_error_published_estimate,
    metrics.aurra: metrics.aurra_estimate,
    metrics.aurc: metrics.aurc_estimate,
}


def sample(seed, n, power=1.5):
    rng = np.random.default_rng(seed)
    confidences = rng.beta(3, 1, n)
    return confidences, rng.random(n) < confidences**power


@settings(max_examples=10)
@given(st.integers(0, 2**32 - 1), st.integers(200, 420), st.floats(0.5, 3))
def test_values_are_the_plain_numbers_and_lie_inside(seed, n, power):
    confidences, hits = sample(seed, n, power)
    for plain, estimate in ESTIMATES.items():
        found = estimate(confidences, hits)
        assert found.value == pytest.approx(plain(confidences, hits), abs=1e-12)
        assert 0 <= found.low <= found.value <= found.high <= 1
        assert found.n == n


def test_the_seed_repeats_the_interval_and_another_gives_nearly_the_same():
    confidences, hits = sample(0, 400)
    for estimate in ESTIMATES.values():
        one, same, other = estimate(confidences, hits), estimate(confidences, hits), estimate(confidences, hits, seed=1)
        assert one == same
        assert (one.low, one.high) != (other.low, other.high)
        assert other.high - other.low == pytest.approx(one.high - one.low, rel=0.25)


def test_four_times_the_images_halve_the_interval():
    few, many = (metrics.expected_calibration_error_estimate(*sample(3, n, 3)) for n in (1000, 16_000))
    assert (many.high - many.low) / (few.high - few.low) == pytest.approx(0.25, rel=0.25)
    few, many = (metrics.aurra_estimate(*sample(3, n)) for n in (1000, 16_000))
    assert (many.high - many.low) / (few.high - few.low) == pytest.approx(0.25, rel=0.25)
    assert many.se == pytest.approx((many.high - many.low) / 3.92, rel=0.05)


def test_a_perfect_classifier_may_be_perfect():
    """Its ECE on 500 images is some percent by chance alone; the interval reaches down to 0."""
    confidences, hits = sample(1, 500, 1)
    found = metrics.expected_calibration_error_estimate(confidences, hits)
    assert found.value > 0.02
    assert found.low == 0


def test_over_conditions_it_is_the_mean_of_their_eces():
    columns = [sample(k, 150) for k in range(4)]
    confidences, hits = (np.stack(arrays, axis=1) for arrays in zip(*columns, strict=True))
    for binning in ("width", "mass"):
        found = metrics.expected_calibration_error_estimate(confidences, hits, binning=binning)
        plain = [metrics.expected_calibration_error(c, h, binning=binning) for c, h in columns]
        assert found.value == pytest.approx(np.mean(plain))
        assert found.n == 150


def test_conditions_of_the_same_images_are_not_taken_for_more_images():
    """Ten times the same outcomes tell no more than once."""
    confidences, hits = sample(5, 300, 3)
    once = metrics.expected_calibration_error_estimate(confidences, hits)
    tenfold = metrics.expected_calibration_error_estimate(np.tile(confidences, (10, 1)).T, np.tile(hits, (10, 1)).T)
    assert (tenfold.value, tenfold.low, tenfold.high) == pytest.approx((once.value, once.low, once.high))


def test_chance_is_taken_from_the_shape_of_the_differences():
    """Two bins of half the images each: they stay without chance, and have their mean if all of it is chance."""
    found, sizes = np.array([[0.10, 0.02]]), np.array([[0.5, 0.5]])
    spread = 2 * 0.04**2
    for chance, kept in ((0, 1), (spread / 2, 0.5**0.5), (spread, 0), (9 * spread, 0)):
        shape = _without_chance(found, sizes, np.full((1, 2), chance / 2))
        assert shape == pytest.approx(np.array([[0.06 + 0.04 * kept, 0.06 - 0.04 * kept]]))


def test_images_without_a_prediction_are_refused():
    confidences, hits = (np.ma.array(a, mask=np.arange(200) < 3) for a in sample(0, 200))
    for estimate in (*ESTIMATES, *ESTIMATES.values()):
        with pytest.raises(MetricError, match=r"(images that went through|all images under all)"):
            estimate(confidences, hits)


@pytest.mark.parametrize("right", [True, False])
def test_where_all_images_agree_the_interval_is_no_point(right):
    """The bootstrap sees no variation then; the accuracy may still be as far off as Wilson's interval says."""
    n = 200
    confidences, hits = np.full(n, 1.0 if right else 0.0), np.full(n, right)
    for estimate in (metrics.expected_calibration_error_estimate, metrics.rms_calibration_error_estimate):
        found = estimate(confidences, hits)
        assert (found.value, found.low) == (0, 0)
        assert found.high == pytest.approx(metrics.wilson(0, n).high)
    assert metrics.aurra_estimate(confidences, hits).low < metrics.aurra_estimate(confidences, hits).high


@pytest.mark.parametrize("estimate", ESTIMATES.values())
def test_too_few_images_and_wrong_arrays_are_refused(estimate):
    confidences, hits = sample(0, 99)
    with pytest.raises(MetricError, match=r"at least (100|200)"):
        estimate(confidences, hits)
    confidences, hits = sample(0, 300)
    confidences[7] = 1.5
    with pytest.raises(MetricError, match="not logits"):
        estimate(confidences, hits)
    with pytest.raises(MetricError, match="found"):
        estimate(confidences[:200], hits)
