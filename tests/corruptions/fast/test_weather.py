"""Fast snow, frost and fog: renderings against the plain kernels' after the same draws, and the laws of the draws."""

import math

import numpy as np
import pytest
from pictures import textured
from scipy import stats

from oodometer.corruptions import EDITIONS, registry
from oodometer.corruptions import weather as plain
from oodometer.corruptions.fast import streams, weather

KEYS = np.random.RandomState(0).randint(0, 2**32, (400, 4), dtype=np.uint32)
SIZES = [(224, 224), (16, 16), (33, 130), (40, 530)]
SEVERITIES = [1e-9, 0.5, 1, 2, 3.3, 5]


def pictures(size):
    return [textured(*size), *(np.full((*size, 3), level, np.uint8) for level in (0, 130))]


def difference(first, second):
    return np.max(np.abs(first.astype(int) - second.astype(int)))


def cases(name):
    for size in SIZES:
        for edition in EDITIONS:
            for seed, severity in enumerate(SEVERITIES):
                yield size, seed, registry.find(name).table.row(edition, severity)


# Snow


def test_snow_equals_the_plain_kernel_within_a_level_after_the_same_draws():
    for size, seed, constants in cases("snow"):
        rng = np.random.RandomState(seed)
        field, degrees = rng.normal(*constants[:2], size), rng.uniform(-135, -45)
        crop = [math.ceil(side / constants[2]) for side in size]
        top, left = ((side - kept) // 2 for side, kept in zip(size, crop, strict=True))
        kept = np.ascontiguousarray(field[top : top + crop[0], left : left + crop[1]])
        for image in pictures(size):
            expected = plain.snow(image, np.random.RandomState(seed), *constants)
            assert difference(weather.render_snow(image, kept, degrees, *constants[2:]), expected) <= 1


def test_snow_draws_the_field_that_the_zoom_keeps_and_a_direction():
    fields, angles = zip(*(weather.draw_snow(key, (50, 61), 0.55, 0.3, 2.5) for key in KEYS), strict=True)
    assert fields[0].shape == (20, 25)
    assert stats.kstest(np.ravel(fields), "norm", (0.55, 0.3)).pvalue > 0.001
    assert stats.kstest(angles, "uniform", (-135, 90)).pvalue > 0.001


# Frost


def drawn_ice(seed, size, scale):
    """Draw as the plain kernel does."""
    rng = np.random.RandomState(seed)
    texture = plain.scaled_texture(rng.randint(5), scale)
    factor = plain.enlargement(texture, *size)
    rows, columns = (round(side * factor) for side in texture.shape[:2])
    return weather.Ice(texture, factor, rng.randint(0, rows - size[0]), rng.randint(0, columns - size[1]))


@pytest.mark.parametrize("sizes", [SIZES, [(700, 60), (40, 1500)]], ids=["published", "larger than the textures"])
def test_frost_equals_the_plain_kernel_within_a_level_after_the_same_draws(sizes, frost):
    for size in sizes:
        for edition in EDITIONS:
            for seed, severity in enumerate([0.5, 1, 5]):
                weight, texture_weight, scale = registry.find("frost").table.row(edition, severity)
                ice = drawn_ice(seed, size, scale)
                for image in pictures(size):
                    expected = plain.frost(image, np.random.RandomState(seed), weight, texture_weight, scale)
                    assert difference(weather.render_frost(image, ice, weight, texture_weight), expected) <= 1


def free_places(ice, size):
    return [round(side * ice.factor) - kept for side, kept in zip(ice.texture.shape[:2], size, strict=True)]


def test_frost_draws_each_texture_and_place_alike(frost):
    size = 224, 224
    drawn = [weather.draw_frost(key, size, 1) for key in KEYS]
    textures = [plain.scaled_texture(number, 1) for number in range(5)]
    numbers = [next(i for i in range(5) if textures[i] is ice.texture) for ice in drawn]
    assert stats.chisquare(np.bincount(numbers, minlength=5)).pvalue > 0.001
    for axis in range(2):
        shares = [(ice.top, ice.left)[axis] / free_places(ice, size)[axis] for ice in drawn]
        assert stats.kstest(shares, "uniform").pvalue > 0.001


@pytest.mark.parametrize("size", [(1000, 40), (40, 1500), (3000, 4000)])
def test_frost_stays_inside_an_enlarged_texture(size, frost):
    for key in KEYS[:50]:
        ice = weather.draw_frost(key, size, 1)
        rows, columns = free_places(ice, size)
        assert 0 <= ice.top < rows
        assert 0 <= ice.left < columns


def test_frost_may_start_at_each_of_few_places(frost):
    texture = plain.scaled_texture(0, 1)
    size = texture.shape[0] - 3, 40
    tops = {ice.top for ice in (weather.draw_frost(key, size, 1) for key in KEYS) if ice.texture is texture}
    assert tops == {0, 1, 2}


# Fog


class Replayed:
    """A ``RandomState`` whose uniform draws are the words that the fast plasma takes."""

    def __init__(self, key):
        self.key, self.start, self.draws = key, 0, 0

    def uniform(self, low, high, shape):
        words = np.empty(shape, np.uint32)
        streams.fill_words(self.key, self.start, words.reshape(-1))
        kind = self.draws % 3  # centres; then the middles of two kinds of sides, which share words
        self.draws += 1
        if kind != 1:
            self.start += words.size
        if kind == 0:
            return high * (words.view(np.int32) / 2**31)
        half = (words >> 16 if kind == 2 else words & 0xFFFF).astype(np.uint16)
        return high * ((half.view(np.int16) + 0.5) / 2**15)


def test_fog_equals_the_plain_kernel_within_a_level_after_the_same_draws():
    for size, seed, constants in cases("fog"):
        for image in pictures(size):
            expected = plain.fog(image, Replayed(KEYS[seed]), *constants)
            assert difference(weather.fog(image, KEYS[seed], *constants), expected) <= 1


@pytest.mark.parametrize("decay", [3, 2, 1.4])
def test_the_plasma_is_as_rough_as_the_plain_one_at_every_scale(decay):
    def roughness(plasma):
        return [
            np.mean(np.abs(np.roll(plasma, step, axis=axis) - plasma)) for step in (1, 2, 4, 8, 16) for axis in (0, 1)
        ]

    def scaled(heights, low, high):
        return (heights[:64, :64] - low) / (high - low)

    fast = np.array([roughness(scaled(*weather.draw_fog(key, (64, 64), decay))) for key in KEYS])
    slow = np.array([roughness(plain._plasma(np.random.RandomState(seed), 64, decay)) for seed in range(400)])
    assert all(stats.ks_2samp(fast[:, i], slow[:, i]).pvalue > 0.0005 for i in range(fast.shape[1]))


@pytest.mark.parametrize("size", [(64, 64), (20, 50), (33, 16)])
def test_the_extremes_are_those_of_the_whole_map(size):
    seen, low, high = weather.draw_fog(KEYS[0], size, 1.7)
    whole, *extremes = weather.draw_fog(KEYS[0], (64, 64), 1.7)
    assert (low, high) == (whole[:64, :64].min(), whole[:64, :64].max())
    assert [low, high] == extremes
    assert np.array_equal(seen[: size[0], : size[1]], whole[: size[0], : size[1]])


def test_where_no_value_is_above_0_fog_has_nothing_to_scale_to():
    # As the plain kernel: it scales its result to the image's brightest value.
    assert not weather.fog(np.zeros((32, 32, 3), np.uint8), KEYS[0], 3.0, 1.4).any()
