"""Calibration against hand-computed cases and plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import MetricError
from oodometer.metrics import aurra, rms_calibration_error, rms_calibration_error_published


def rms_by_loops(confidences, hits, leave_out_last):
    order = sorted(range(len(hits)), key=lambda i: confidences[i])
    bins = []
    for place, i in enumerate(order):
        if place % 100 == 0 and (len(order) - place >= 100 or not bins):
            bins.append([])
        bins[-1].append(i)
    total = 0.0
    for members in bins[:-1] if leave_out_last else bins:
        gap = sum(confidences[i] - hits[i] for i in members) / len(members)
        total += len(members) / len(order) * gap**2
    return math.sqrt(total)


def aurra_by_loops(confidences, hits):
    order = sorted(range(len(hits)), key=lambda i: -confidences[i])
    accuracies = [sum(hits[i] for i in order[:k]) / k for k in range(1, len(order) + 1)]
    return sum(accuracies) / len(accuracies)


def sample(seed, n, decimals):
    """Few decimals make many ties."""
    rng = np.random.default_rng(seed)
    confidences = np.round(rng.random(n), decimals)
    return confidences, rng.random(n) < confidences**2


samples = st.builds(sample, st.integers(0, 2**32 - 1), st.integers(1, 450), st.sampled_from([1, 2, 15]))


@given(samples)
def test_rms_calibration_error_equals_plain_loops(given_sample):
    confidences, hits = given_sample
    mine = rms_calibration_error(confidences, hits)
    assert mine == pytest.approx(rms_by_loops(confidences.tolist(), hits.tolist(), leave_out_last=False), abs=1e-12)
    assert 0 <= mine <= 1
    if len(hits) >= 200:
        published = rms_calibration_error_published(confidences, hits)
        slow = rms_by_loops(confidences.tolist(), hits.tolist(), leave_out_last=True)
        assert published == pytest.approx(slow, abs=1e-12)
        assert published <= mine + 1e-12


@given(samples)
def test_aurra_equals_plain_loops(given_sample):
    confidences, hits = given_sample
    assert aurra(confidences, hits) == pytest.approx(aurra_by_loops(confidences.tolist(), hits.tolist()), abs=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 450))
def test_the_order_of_images_does_not_matter_without_ties(seed, n):
    confidences, hits = sample(seed, n, 15)
    order = np.random.default_rng(seed).permutation(n)
    for metric in (rms_calibration_error, aurra):
        assert metric(confidences[order], hits[order]) == pytest.approx(metric(confidences, hits), abs=1e-12)


def test_rms_by_hand_with_the_rest_in_the_last_bin():
    """100 images at 0.5, half of them right, then 150 at 0.9, all wrong: gaps of 0 and 0.9."""
    confidences = np.array([0.9] * 150 + [0.5] * 100)
    hits = np.array([False] * 150 + [True] * 50 + [False] * 50)
    assert rms_calibration_error(confidences, hits) == pytest.approx(math.sqrt(150 / 250 * 0.81))
    assert rms_calibration_error_published(confidences, hits) == pytest.approx(0, abs=1e-12)


def test_published_variant_still_divides_by_all_images():
    """100 images at 0.1, all right, then 100 at 0.9, all right: only the first bin counts, with half the weight."""
    confidences, hits = np.repeat([0.1, 0.9], 100), np.ones(200, bool)
    assert rms_calibration_error_published(confidences, hits) == pytest.approx(0.9 * math.sqrt(0.5))
    assert rms_calibration_error(confidences, hits) == pytest.approx(math.sqrt(0.5 * 0.81 + 0.5 * 0.01))


def test_aurra_by_hand():
    """Right, wrong, right by falling confidence: accuracies of 1, 1/2 and 2/3."""
    assert aurra(np.array([0.2, 0.9, 0.6]), np.array([True, True, False])) == pytest.approx((1 + 1 / 2 + 2 / 3) / 3)


def test_ties_keep_the_order_given():
    assert aurra(np.array([0.5, 0.5]), np.array([True, False])) == 0.75
    assert aurra(np.array([0.5, 0.5]), np.array([False, True])) == 0.25


def test_both_ends_of_the_unit_interval_work():
    confidences, hits = np.array([0.0, 1.0]), np.array([False, True])
    assert rms_calibration_error(confidences, hits) == 0.0
    assert rms_calibration_error(confidences, ~hits) == 0.0  # one bin: right half the time, sure half the time
    assert rms_calibration_error(np.array([0.95, 1.0]), hits) == pytest.approx(0.475)
    assert aurra(confidences, hits) == 0.75


@pytest.mark.parametrize("n", [1, 99, 100, 199])
def test_below_two_bins_there_is_one_bin_and_no_published_number(n):
    confidences, hits = sample(0, n, 15)
    assert rms_calibration_error(confidences, hits) == pytest.approx(abs(confidences.mean() - hits.mean()))
    with pytest.raises(MetricError, match=f"at least 200; found {n}"):
        rms_calibration_error_published(confidences, hits)


def test_single_precision_is_computed_in_double():
    confidences, hits = sample(0, 450, 15)
    single = confidences.astype(np.float32)
    assert rms_calibration_error(single, hits) == rms_calibration_error(single.astype(np.float64), hits)


@pytest.mark.parametrize("bad", [-0.1, 1.0001, 7.3, math.nan, math.inf])
@pytest.mark.parametrize("metric", [rms_calibration_error, rms_calibration_error_published, aurra])
def test_logits_and_nan_are_refused(metric, bad):
    confidences = np.full(300, 0.5)
    confidences[17] = bad
    with pytest.raises(MetricError, match=r"probabilities in \[0, 1\], not logits.*position 17"):
        metric(confidences, np.ones(300, bool))


@pytest.mark.parametrize(
    ("confidences", "hits"),
    [([], []), ([0.5], [True, False]), ([0.5], [1]), ([[0.5]], [[True]])],
)
def test_arrays_that_do_not_match_are_refused(confidences, hits):
    for metric in (rms_calibration_error, rms_calibration_error_published, aurra):
        with pytest.raises(MetricError, match="one confidence and one bool"):
            metric(np.array(confidences), np.array(hits))
