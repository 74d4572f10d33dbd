"""Calibration against hand-computed cases and plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import ArgumentError, MetricError
from oodometer.metrics import (
    aurc,
    aurra,
    expected_calibration_error,
    pooled_reliability,
    reliability,
    risk_at_coverage,
    rms_calibration_error,
    rms_calibration_error_published,
    selective_risk,
    wilson,
)


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


def ece_by_loops(confidences, hits, bins, binning):
    members = [[] for _ in range(bins)]
    for place, i in enumerate(sorted(range(len(hits)), key=lambda i: confidences[i])):
        if binning == "mass":
            members[place * bins // len(hits)].append(i)
        else:
            members[max(k for k in range(bins) if confidences[i] >= k / bins)].append(i)
    return sum(abs(sum(confidences[i] - hits[i] for i in group)) for group in members) / len(hits)


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


@given(samples, st.integers(1, 20), st.sampled_from(["width", "mass"]))
def test_ece_and_reliability_equal_plain_loops(given_sample, bins, binning):
    confidences, hits = given_sample
    mine = expected_calibration_error(confidences, hits, bins, binning)
    assert mine == pytest.approx(ece_by_loops(confidences.tolist(), hits.tolist(), bins, binning), abs=1e-12)
    rows = reliability(confidences, hits, bins, binning)
    assert len(rows) == bins
    assert sum(row.n for row in rows) == len(hits)
    filled = [row for row in rows if row.n]
    assert sum(row.n * abs(row.confidence - row.accuracy.value) for row in filled) / len(hits) == pytest.approx(mine)
    assert all(row.low - 1e-12 <= row.confidence <= row.high + 1e-12 for row in filled)
    assert all(row.confidence is None and row.accuracy is None for row in rows if not row.n)
    if binning == "mass":
        assert max(row.n for row in rows) - min(row.n for row in rows) <= 1


def test_ece_at_the_edges_of_the_bins():
    """Case L2: sure of .95 and 1, right and wrong: one bin, .975 against .5."""
    confidences, hits = np.array([0.95, 1.0]), np.array([True, False])
    assert expected_calibration_error(confidences, hits, bins=10) == pytest.approx(0.475)
    rows = reliability(confidences, hits, bins=10)
    assert [row.n for row in rows] == [0] * 9 + [2]
    assert rows[9].confidence == pytest.approx(0.975)
    assert rows[9].accuracy == wilson(1, 2)
    assert expected_calibration_error(np.array([0.0]), np.array([False]), bins=10) == 0
    assert expected_calibration_error(np.array([0.0]), np.array([True]), bins=10) == 1


def test_an_inner_edge_belongs_to_the_bin_above():
    """Also where k / bins times bins is rounded down, such as .29 x 100."""
    for bins in (10, 15, 100):
        for k in range(bins):
            numbers = [row.n for row in reliability(np.array([k / bins]), np.array([True]), bins)]
            assert numbers.index(1) == k


@pytest.mark.parametrize("bad", [{"bins": 0}, {"bins": 2.5}, {"binning": "weight"}])
def test_bins_that_do_not_exist_are_refused(bad):
    with pytest.raises(ArgumentError):
        expected_calibration_error(np.array([0.5]), np.array([True]), **bad)


@given(samples)
def test_selective_risk_equals_plain_loops(given_sample):
    confidences, hits = given_sample
    coverages, risks = selective_risk(confidences, hits)
    order = sorted(range(len(hits)), key=lambda i: -confidences[i])
    n = len(hits)
    for k in {1, (n + 1) // 2, n}:
        assert coverages[k - 1] == pytest.approx(k / n)
        assert risks[k - 1] == pytest.approx(sum(not hits[i] for i in order[:k]) / k)
    assert aurc(confidences, hits) == pytest.approx(risks.mean())
    assert aurc(confidences, hits) + aurra(confidences, hits) == pytest.approx(1)
    assert risk_at_coverage(confidences, hits, [1.0])[0] == wilson(int((~hits).sum()), n)


def test_risk_at_coverage_by_hand():
    confidences = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    hits = np.array([True, False, True, True, False])
    found = risk_at_coverage(confidences, hits, [0.01, 0.4, 1])
    assert found == (wilson(0, 1), wilson(1, 2), wilson(2, 5))
    for bad in (0, -0.1, 1.1, math.nan):
        with pytest.raises(MetricError, match="Coverages"):
            risk_at_coverage(confidences, hits, [bad])


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
@pytest.mark.parametrize(
    "metric",
    [rms_calibration_error, rms_calibration_error_published, aurra, expected_calibration_error, selective_risk],
)
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


@given(samples, st.integers(1, 20), st.integers(1, 4))
def test_pooled_bins_equal_those_of_the_outcomes_in_a_row(given_sample, bins, conditions):
    confidences, hits = (np.repeat(values[:, None], conditions, axis=1) for values in given_sample)
    pooled = pooled_reliability(confidences, hits, bins)
    plain = reliability(np.ravel(confidences), np.ravel(hits), bins)
    for one, other in zip(pooled, plain, strict=True):
        assert (one.low, one.high, one.n, one.confidence) == (other.low, other.high, other.n, other.confidence)
        if other.accuracy is not None:
            assert one.accuracy.value == pytest.approx(other.accuracy.value)
            assert one.accuracy.n == other.n // conditions
            # The same outcome again and again tells nothing more, so the interval is never that of so many.
            assert one.accuracy.high - one.accuracy.low >= other.accuracy.high - other.accuracy.low - 1e-12


def test_intervals_of_pooled_bins_hold_the_truth():
    """Images of which half are always right and half right in one condition of four: true accuracy 5/8 in the bin."""
    rng, held = np.random.default_rng(0), 0
    for _ in range(400):
        easy = rng.random(60) < 0.5
        hits = np.where(easy[:, None], True, np.arange(4) == rng.integers(0, 4, (60, 1)))
        (only,) = (row for row in pooled_reliability(np.full((60, 4), 0.7), hits) if row.n)
        held += only.accuracy.low <= 5 / 8 <= only.accuracy.high
    # 95 % of 400 draws, less three standard deviations of the count.
    assert held >= 0.95 * 400 - 3 * math.sqrt(400 * 0.95 * 0.05)
