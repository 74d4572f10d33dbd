"""Incomplete blocks: from (seed, place) alone, every condition equally often, every pair about equally often."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer.sampling import taken


def _pairs(blocks, conditions):
    """Count by plain loops how often two conditions meet in an image."""
    met = dict.fromkeys(itertools.combinations(range(conditions), 2), 0)
    for block in blocks:
        for pair in itertools.combinations(sorted(block), 2):
            met[pair] += 1
    return list(met.values())


@pytest.mark.parametrize("conditions", [2, 3, 11, 75, 76])
@pytest.mark.parametrize("each", [1, 2, 3, 7])
def test_every_condition_is_taken_equally_often_in_each_cycle(conditions, each):
    each = min(each, conditions)
    for cycle in (0, 1, 50):
        places = cycle * conditions + np.arange(conditions)
        blocks = taken(3, places, conditions, each)
        assert blocks.shape == (conditions, each)
        assert all(len(set(block)) == each for block in blocks.tolist())
        assert np.bincount(blocks.ravel(), minlength=conditions).tolist() == [each] * conditions


def test_every_pair_meets_once_for_two_of_75_in_a_round():
    assert set(_pairs(taken(0, np.arange(75 * 37), 75, 2).tolist(), 75)) == {1}


@pytest.mark.parametrize(
    ("each", "mean", "least", "most"), [(2, 1, 1, 2), (3, 3, 2, 4), (4, 6, 4, 10), (8, 28, 20, 48)]
)
def test_every_pair_meets_about_equally_often_among_76(each, mean, least, most):
    """By chance alone the counts would scatter like a Poisson variable, from 0 on for up to 4 conditions an image."""
    met = _pairs(taken(1, np.arange(76 * 38), 76, each).tolist(), 76)
    assert np.mean(met) == pytest.approx(mean, rel=0.02)
    assert min(met) >= least
    assert max(met) <= most
    assert np.std(met) < 0.5 * np.sqrt(mean)


@settings(max_examples=40)
@given(st.integers(0, 2**63), st.integers(2, 30), st.lists(st.integers(0, 5000), min_size=1, max_size=30), st.data())
def test_what_an_image_goes_through_depends_on_nothing_but_its_place(seed, conditions, places, data):
    each = data.draw(st.integers(1, conditions))
    together = taken(seed, np.array(places), conditions, each)
    for place, row in zip(places, together, strict=True):
        np.testing.assert_array_equal(taken(seed, np.array([place]), conditions, each)[0], row)
        np.testing.assert_array_equal(taken(seed, np.array([place]), conditions, conditions)[0, :each], row)


def test_a_place_meets_every_condition_equally_often_over_the_seeds():
    """What makes estimates unbiased: chi-squared over 500 seeds, for the first and a later place, at both steps."""
    blocks = np.stack([taken(seed, np.array([0, 17]), 5, 2) for seed in range(500)])
    for place, step in itertools.product(range(2), range(2)):
        counts = np.bincount(blocks[:, place, step], minlength=5)
        assert ((counts - 100) ** 2 / 100).sum() < 18.5  # one in a thousand, for 4 degrees of freedom


def test_other_seeds_give_other_blocks():
    places = np.arange(76)
    assert (taken(0, places, 76, 3) != taken(1, places, 76, 3)).any()
    assert (taken(0, places, 76, 3) != taken(0, places + 76 * 38, 76, 3)).any()
