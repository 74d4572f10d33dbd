"""Styles against clean images of their own classes, and against each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.errors import MetricError


def test_accuracy_by_group():
    hits = np.array([True, False, True, True])
    found = metrics.group_accuracies(hits, ["toy", "art", "toy", "art"])
    assert list(found) == ["art", "toy"]
    assert found["toy"] == metrics.wilson(2, 2)
    assert found["art"] == metrics.wilson(1, 2)
    with pytest.raises(MetricError, match="one group per image, 4; found 3"):
        metrics.group_accuracies(hits, ["a", "b", "c"])


def test_the_clean_reference_is_weighted_like_the_style():
    """Three images of class 0, one of class 1, one of class 5, which has no clean image."""
    hits, labels = np.array([True, False, False, True, True]), np.array([0, 0, 0, 1, 5])
    clean, clean_labels = np.array([True, True, False, True, False, True]), np.array([0, 0, 1, 1, 1, 8])
    found = metrics.compare_with_clean(hits, labels, clean, clean_labels)
    assert found.classes == 2
    assert found.accuracy == metrics.wilson(2, 4)
    assert found.clean.value == pytest.approx(3 / 4 * 1 + 1 / 4 * (1 / 3))
    assert found.clean.n == 5
    assert found.gap.value == pytest.approx(found.clean.value - 1 / 2)
    with pytest.raises(MetricError, match="No class of these images"):
        metrics.compare_with_clean(hits, labels, clean, clean_labels + 10)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_a_set_that_is_as_hard_as_the_clean_one_has_no_gap(rows):
    """However often the images of each class are repeated in the style: the clean side is weighted alike."""
    labels, hits, _ = (np.array(column) for column in zip(*rows, strict=True))
    many = np.repeat(np.arange(len(labels)), 1 + 3 * labels)
    found = metrics.compare_with_clean(hits[many], labels[many], hits, labels)
    assert found.gap.value == pytest.approx(0, abs=1e-12)
