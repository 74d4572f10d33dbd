"""AUROC and AUPR of outliers against the definition by pairs and by thresholds, and what they refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import MetricError
from oodometer.metrics import aupr_estimate, auroc_estimate

confidences = st.lists(st.sampled_from([0.1, 0.2, 0.25, 0.5, 0.75, 0.9, 1.0]), min_size=2, max_size=25)


@given(confidences, confidences)
def test_auroc_is_the_share_of_pairs_told_apart(known, outliers):
    pairs = [(k > o) + 0.5 * (k == o) for k in known for o in outliers]
    assert auroc_estimate(np.array(known), np.array(outliers)).value == pytest.approx(np.mean(pairs))


@given(confidences, confidences)
def test_aupr_is_the_precision_where_recall_grows(known, outliers):
    area, before = 0.0, 0
    for threshold in sorted({*known, *outliers}):
        found = sum(o <= threshold for o in outliers)
        flagged = found + sum(k <= threshold for k in known)
        area += (found - before) / len(outliers) * (found / flagged if flagged else 0)
        before = found
    assert aupr_estimate(np.array(known), np.array(outliers)).value == pytest.approx(area)


def test_perfect_and_reversed():
    low, high = np.linspace(0.1, 0.3, 20), np.linspace(0.5, 0.9, 30)
    assert auroc_estimate(high, low).value == aupr_estimate(high, low).value == 1
    assert auroc_estimate(low, high).value == 0


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    """Two normal distributions a unit apart: the AUROC is that of the normal difference, 0.7602."""
    rng, held = np.random.default_rng(0), 0
    for k in range(200):
        known, outliers = (1 / (1 + np.exp(-(rng.standard_normal(80) + shift))) for shift in (1, 0))
        found = auroc_estimate(known, outliers, seed=k)
        held += found.low <= 0.76025 <= found.high
    assert 0.90 <= held / 200 <= 0.99


@pytest.mark.parametrize("wrong", [np.array([0.5]), np.array([0.5, 1.5]), np.array([0.5, np.nan]), np.ones((2, 2))])
def test_refusals(wrong):
    fine = np.array([0.2, 0.4])
    for pair in ((wrong, fine), (fine, wrong)):
        with pytest.raises(MetricError):
            auroc_estimate(*pair)
        with pytest.raises(MetricError):
            aupr_estimate(*pair)
