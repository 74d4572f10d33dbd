"""What a corruption draws from one stream is drawn from different words of it: one says nothing about another.

Bounds on correlations are five standard deviations wide or more, and all seeds are fixed.
"""

import itertools

import numpy as np
import pytest
from scipy import stats

from oodometer.corruptions import weather as plain
from oodometer.corruptions.fast import elastic, glass, weather

KEYS = np.random.RandomState(5).randint(0, 2**32, (2000, 4), dtype=np.uint32)


def assert_unrelated(firsts, seconds):
    """Expect no rank correlation between any of some quantities (columns; one row a key) and any of others."""
    firsts, seconds = (np.asarray(some).reshape(len(some), -1) for some in (firsts, seconds))
    for first, second in itertools.product(firsts.T, seconds.T):
        assert abs(stats.spearmanr(first, second).statistic) * np.sqrt(len(first)) < 5


def with_sizes(numbers):
    """Append absolute values: the word of a normal's size does not tell its sign."""
    numbers = np.asarray(numbers).reshape(len(numbers), -1)
    return np.hstack([numbers, np.abs(numbers)])


@pytest.mark.parametrize("passes", [2, 2.5])
def test_the_passes_through_glass_are_no_shifted_copies_of_each_other(passes):
    delta, stay = 3, 3 * 6 + 3
    drawn = glass.draw_glass_blur(KEYS[0], 150, 200, delta, passes)  # more pixels than are drawn in one go
    for a, b in itertools.combinations(drawn.astype(int), 2):
        for lag in range(-3, 4):
            first, second = a[3 + lag : len(a) - 3 + lag], b[3:-3]
            assert np.mean(first[second != stay] == second[second != stay]) < 0.05  # 1 in 36
            for left, right in ((first, second), (first, second == stay), (first == stay, second)):
                assert abs(np.corrcoef(left, right)[0, 1]) * np.sqrt(len(first)) < 5


def test_the_direction_of_snow_knows_nothing_of_its_flakes():
    fields, degrees = zip(*(weather.draw_snow(key, (16, 16), 0, 1, 4) for key in KEYS), strict=True)
    assert_unrelated(degrees, with_sizes(fields))


def test_the_texture_of_frost_and_both_places_in_it_know_nothing_of_each_other(frost):
    size = 224, 224
    textures = [plain.scaled_texture(number, 1) for number in range(5)]
    numbers, tops, lefts = [], [], []
    for key in KEYS:
        ice = weather.draw_frost(key, size, 1)
        rows, columns = (side - kept for side, kept in zip(ice.texture.shape[:2], size, strict=True))
        numbers.append(next(i for i in range(5) if textures[i] is ice.texture))
        tops.append(ice.top / rows)
        lefts.append(ice.left / columns)
    assert_unrelated(tops, lefts)
    assert_unrelated(numbers, np.stack([tops, lefts], axis=1))


@pytest.mark.parametrize(("size", "sigma"), [((16, 16), 0), ((16, 16), 48)], ids=["narrow", "wide"])
def test_the_affine_map_of_elastic_knows_nothing_of_the_fields(size, sigma):
    # The narrow fields are their noise here, and each wide one has a single cell.
    inverses, across, down = zip(
        *(elastic.draw_elastic_transform(key, *size, 1, sigma, 1.0) for key in KEYS), strict=True
    )
    points = np.array([[13, 13, 1], [13, 3, 1], [3, 3, 1]])
    shifts = [
        ((np.linalg.inv(np.vstack([inverse, [0, 0, 1]])) @ points.T).T - points)[:, :2].ravel() for inverse in inverses
    ]
    places = 8 if sigma == 0 else 1
    fields = np.stack([np.stack(field)[:, 0, :places] for field in (across, down)], axis=1)
    assert_unrelated(shifts, with_sizes(fields))
    assert_unrelated(fields[:, 0], fields[:, 1])
