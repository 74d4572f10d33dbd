"""Accuracy and the gap between two sets."""

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import MetricError
from oodometer.metrics import accuracy, accuracy_gap, wilson


def hits(right, n):
    return np.arange(n) < right


@pytest.mark.parametrize("batch", [1, 3, 4, 7, 10])
def test_accuracy_is_over_images_not_over_batches(batch):
    all_hits = hits(8, 10)
    batches = [all_hits[start : start + batch] for start in range(0, 10, batch)]
    assert accuracy(np.concatenate(batches)) == wilson(8, 10)
    assert accuracy(np.concatenate(batches)).value == 0.8


def test_gap_equals_the_published_examples():
    """Newcombe 1998, table II, method 10."""
    gap = accuracy_gap(hits(56, 70), hits(48, 80))
    assert (gap.value, gap.n) == (pytest.approx(0.2), 150)
    assert (gap.low, gap.high) == (pytest.approx(0.0524, abs=5e-5), pytest.approx(0.3339, abs=5e-5))
    extreme = accuracy_gap(hits(10, 10), hits(0, 20))
    assert (extreme.low, extreme.high) == (pytest.approx(0.6791, abs=5e-5), pytest.approx(1.0))


def test_standard_error_of_a_gap_adds_variances():
    assert accuracy_gap(hits(5, 10), hits(5, 20)).se == pytest.approx((0.25 / 10 + 0.1875 / 20) ** 0.5)


@given(st.lists(st.booleans(), min_size=1, max_size=50), st.lists(st.booleans(), min_size=1, max_size=50))
def test_a_gap_lies_in_its_interval_and_turns_with_its_sets(one, other):
    forth, back = accuracy_gap(np.array(one), np.array(other)), accuracy_gap(np.array(other), np.array(one))
    assert -1 - 1e-12 <= forth.low <= forth.value <= forth.high <= 1 + 1e-12
    assert (back.value, back.low, back.high) == pytest.approx((-forth.value, -forth.high, -forth.low), abs=1e-12)


def test_gap_interval_covers():
    """Sum the exact probability that the interval holds a true gap of 0.56, over all outcomes of 20 and 50 images."""
    p, q, n, m = 0.92, 0.36, 20, 50
    held = 0.0
    for i in range(n + 1):
        for j in range(m + 1):
            gap = accuracy_gap(hits(i, n), hits(j, m))
            weight = scipy.stats.binom.pmf(i, n, p) * scipy.stats.binom.pmf(j, m, q)
            held += weight * (gap.low <= p - q <= gap.high)
    assert 0.93 < held < 0.97


@pytest.mark.parametrize("bad", [np.array([1, 0]), np.zeros(0, bool), np.zeros((2, 2), bool)])
def test_what_is_not_one_bool_per_image_is_refused(bad):
    with pytest.raises(MetricError):
        accuracy(bad)
    with pytest.raises(MetricError):
        accuracy_gap(hits(1, 2), bad)
