"""Accuracies by class: what they are by hand, and whether their intervals hold the truth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.errors import MetricError


def brute_force(hits, labels, weights):
    """Loop over classes: the value and its variance, as the docstring of the module defines them."""
    total = sum(weights.values())
    value, found, singles, within, each, several = 0.0, 0.0, [], 0.0, 0.0, 0
    for k, weight in weights.items():
        mine = [bool(h) for h, label in zip(hits, labels, strict=True) if label == k]
        w, n, p = weight / total, len(mine), sum(mine) / len(mine)
        value += w * p
        each += w**2 / n
        if n == 1:
            singles.append((w, p))
        else:
            variance = sum((h - p) ** 2 for h in mine) / (n - 1)
            found += w**2 * variance / n
            within += n * variance
            several += n
    if singles:
        share = (sum(p for _, p in singles) + 1) / (len(singles) + 2)
        among = min(share * (1 - share) * (len(singles) + 2) / (len(singles) + 1), 0.25)
        found += sum(w**2 for w, _ in singles) * among
    return value, max(found, within / several * each if several else 0.0)


@st.composite
def outcomes(draw):
    labels = draw(st.lists(st.integers(0, 5), min_size=1, max_size=40))
    hits = draw(st.lists(st.booleans(), min_size=len(labels), max_size=len(labels)))
    return np.array(hits), np.array(labels)


@given(outcomes(), st.lists(st.floats(0.1, 10), min_size=6, max_size=6))
def test_it_is_what_a_loop_over_classes_gives(drawn, numbers):
    hits, labels = drawn
    weights = {k: numbers[k] for k in set(labels.tolist())}
    found = metrics.weighted_accuracy(hits, labels, weights)
    value, variance = brute_force(hits, labels, weights)
    assert found.value == pytest.approx(value, abs=1e-12)
    assert found.se == pytest.approx(variance**0.5, abs=1e-9)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert found.high - found.low > 0.01
    assert found.n == len(hits)


@given(outcomes())
def test_balanced_is_the_mean_of_the_classes(drawn):
    hits, labels = drawn
    by_class = [hits[labels == k].mean() for k in set(labels.tolist())]
    assert metrics.class_balanced_accuracy(hits, labels).value == pytest.approx(np.mean(by_class), abs=1e-12)


def test_by_hand():
    hits = np.array([True, False, True, True, True, True, False, True])
    labels = np.array([0, 0, 1, 1, 1, 1, 1, 9])
    found = metrics.class_balanced_accuracy(hits, labels)
    assert found.value == pytest.approx((1 / 2 + 4 / 5 + 1) / 3)
    # Class 0: 1/2 of an outcome's variance for each of 2; class 1: 0.2 for 5; class 9, alone: 1/4.
    own = (0.5 / 2 + 0.2 / 5 + 0.25) / 9
    alike = (2 * 0.5 + 5 * 0.2) / 7 * (1 / 2 + 1 / 5 + 1) / 9
    assert found.se == pytest.approx(max(own, alike) ** 0.5)
    assert metrics.accuracy(hits).value == 0.75


def test_equal_classes_give_the_plain_accuracy():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(50), 10)
    hits = rng.random(500) < 0.7
    assert metrics.class_balanced_accuracy(hits, labels).value == pytest.approx(metrics.accuracy(hits).value)


def test_the_gap_is_over_the_classes_that_both_have():
    clean, clean_labels = np.array([True, True, False, True]), np.array([1, 1, 2, 3])
    hits, labels = np.array([False, True, False, False]), np.array([2, 2, 1, 4])
    found = metrics.class_balanced_gap(clean, clean_labels, hits, labels)
    assert found.value == pytest.approx((1 + 0) / 2 - (0 + 1 / 2) / 2)
    assert found.n == 3 + 3
    with pytest.raises(MetricError, match="no class in common"):
        metrics.class_balanced_gap(clean, clean_labels, hits, labels + 10)


def test_a_gap_of_the_mix_of_classes_alone_vanishes():
    """The classes are as hard in both sets, but hold other numbers of images."""
    p = {0: 0.9, 1: 0.5}
    sets = []
    for sizes in ((1000, 10), (10, 1000)):
        labels = np.repeat([0, 1], sizes)
        hits = np.concatenate([np.arange(n) < round(p[k] * n) for k, n in enumerate(sizes)])
        sets += [hits, labels]
    assert metrics.class_balanced_gap(*sets).value == pytest.approx(0)
    assert metrics.accuracy_gap(sets[0], sets[2]).value > 0.35


SIZES = [[1] * 20, [2] * 20, [1] * 10 + [2] * 10 + [5] * 5, [2, 40, 40, 40], [1, 1, 30], [1, 40, 40, 40], [5, 21] * 60]


@pytest.mark.parametrize("sizes", SIZES, ids=lambda sizes: f"{len(sizes)} classes")
@pytest.mark.parametrize("shape", [(2, 2), (8, 1), (0.5, 0.5)])
def test_the_intervals_hold_the_truth(sizes, shape):
    """The standard deviation of the share of 400 draws is about 1 point."""
    rng, labels, held = np.random.default_rng(0), np.repeat(np.arange(len(sizes)), sizes), 0
    for _ in range(400):
        p = rng.beta(*shape, len(sizes))
        found = metrics.class_balanced_accuracy(rng.random(len(labels)) < p[labels], labels)
        held += found.low <= p.mean() <= found.high
    assert held / 400 >= 0.915


@pytest.mark.parametrize(
    ("hits", "labels", "weights", "said"),
    [
        (np.array([1, 0]), np.array([0, 1]), {0: 1}, "Expected one bool"),
        (np.array([], dtype=bool), np.array([], dtype=int), {0: 1}, "at least one image"),
        (np.array([True]), np.array([0, 1]), {0: 1}, "one class per image, 1"),
        (np.array([True]), np.array([0.0]), {0: 1}, "one class per image"),
        (np.array([True]), np.array([0]), {}, "positive weight"),
        (np.array([True]), np.array([0]), {0: 0.0}, "positive weight"),
        (np.array([True]), np.array([0]), {0: 1.0, 7: 1.0}, "No image is of class 7"),
    ],
)
def test_what_is_no_such_accuracy_is_refused(hits, labels, weights, said):
    with pytest.raises(MetricError, match=said):
        metrics.weighted_accuracy(hits, labels, weights)
