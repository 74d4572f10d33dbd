"""Confusions counted by hand and by a loop."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.errors import MetricError

LABELS = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2, 2])
NAMED = np.array([0, 3, 3, 1, 3, 1, 2, 2, -1, 0])


def test_the_favourite_wrong_classes():
    found = metrics.wrong_classes(NAMED, LABELS)
    assert [(w.predicted, w.n, w.classes) for w in found] == [(3, 3, 2), (0, 1, 1), (1, 1, 1)]
    assert found[0].share == metrics.wilson(3, 6)  # the answer that named no class is an error too


def test_the_most_frequent_pairs():
    found = metrics.confusions(NAMED, LABELS)
    assert [(c.true, c.predicted, c.n) for c in found] == [(0, 3, 2), (0, 1, 1), (1, 3, 1), (2, 0, 1)]
    assert found[0].rate == metrics.wilson(2, 4)


def test_the_pairs_that_the_shift_creates():
    """Class 0 is known when clean; class 1 is not; class 2 has the same confusion when clean, as often."""
    clean_labels = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2])
    clean = np.array([0, 0, 0, 1, 3, 3, 1, 2, 2, 2, 0])
    (found, *rest) = metrics.created_confusions(NAMED, LABELS, clean, clean_labels)
    assert not rest
    assert (found.true, found.predicted, found.n) == (0, 3, 2)
    assert found.rate == metrics.wilson(2, 4)
    assert found.clean_rate == metrics.wilson(0, 4)
    assert found.difference == metrics.independent_difference(metrics.wilson(2, 4), metrics.wilson(0, 4))
    assert (0, 1) not in {(c.true, c.predicted) for c in metrics.created_confusions(NAMED, LABELS, clean, clean_labels)}
    known = metrics.created_confusions(NAMED, LABELS, clean, clean_labels, least_clean=0.0)
    assert {(c.true, c.predicted) for c in known} == {(0, 3)}  # class 1 is called 3 more often when clean


def test_many_images_come_before_a_single_one():
    labels, named = np.array([0] + [1] * 100), np.array([5] + [6] * 60 + [1] * 40)
    clean = np.repeat([0, 1], 20)
    found = metrics.created_confusions(named, labels, clean, clean)
    assert [(c.true, c.rate.value) for c in found] == [(1, 0.6), (0, 1.0)]


def test_classes_without_clean_images_do_not_count():
    assert metrics.created_confusions(NAMED, LABELS, np.array([9]), np.array([9])) == ()


@given(st.lists(st.tuples(st.integers(-1, 4), st.integers(0, 4)), min_size=1, max_size=60))
def test_counts_are_those_of_a_loop(rows):
    named, labels = (np.array(column) for column in zip(*rows, strict=True))
    pairs = Counter((true, called) for called, true in rows if called not in (true, -1))
    assert {(c.true, c.predicted): c.n for c in metrics.confusions(named, labels)} == dict(pairs)
    wrong = Counter(called for called, true in rows if called not in (true, -1))
    found = metrics.wrong_classes(named, labels)
    assert {w.predicted: w.n for w in found} == dict(wrong)
    assert [w.n for w in found] == sorted(wrong.values(), reverse=True)
    for w in found:
        assert w.classes == len({true for called, true in rows if called == w.predicted != true})
        assert w.share.n == sum(called != true for called, true in rows)


def test_what_cannot_be_counted_is_refused():
    with pytest.raises(MetricError, match="found 10 and 9"):
        metrics.confusions(NAMED, LABELS[:9])
    with pytest.raises(MetricError, match="one class for each image"):
        metrics.wrong_classes(NAMED.astype(float), LABELS)
    with pytest.raises(MetricError, match="one class for each image"):
        metrics.wrong_classes(NAMED[:0], LABELS[:0])
    with pytest.raises(MetricError, match="least_clean"):
        metrics.created_confusions(NAMED, LABELS, NAMED, LABELS, least_clean=50)
