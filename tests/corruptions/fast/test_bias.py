"""The fast kernels round as the plain ones do: neither brighter nor darker on the mean, and seldom another level.

A level more or less at a pixel is allowed elsewhere; here a rounding that leans to one side shows. The bounds are about
twice what is measured.
"""

import math

import numpy as np
import pytest
from pictures import textured
from scipy import ndimage

from oodometer.corruptions import registry
from oodometer.corruptions import weather as plain_weather
from oodometer.corruptions.fast import blur, defocus, weather
from oodometer.corruptions.rendering import streak

KEY = np.array([1, 2, 3, 4], np.uint32)
SIZE = 160, 224


def constants_of(name, severity):
    return registry.find(name).table.row("imagenet224", severity)


def compare(fast, expected):
    """Return the mean difference and the share of values that differ."""
    difference = fast.astype(int) - expected
    return float(difference.mean()), float(np.mean(difference != 0))


def blurred(name, constants):
    image = textured(*SIZE)
    if name == "motion_blur":
        degrees = blur.draw_motion_blur(KEY)
        return compare(blur.render_motion_blur(image, degrees, *constants), streak(image, *constants, degrees))
    chosen = registry.find(name)
    return compare(chosen.fast_kernel()(image, KEY, *constants), chosen.reference(image, None, *constants))


def snowed(image, field, constants):
    """Let the same flakes fall by both kernels."""
    zoom = constants[2]

    class Drawn:
        def normal(self, mean, deviation, size):
            return field

        def uniform(self, low, high):
            return -100.0

    crop = [math.ceil(side / zoom) for side in field.shape]
    top, left = ((side - kept) // 2 for side, kept in zip(field.shape, crop, strict=True))
    kept = np.ascontiguousarray(field[top : top + crop[0], left : left + crop[1]])
    expected = plain_weather.snow(image, Drawn(), *constants)
    return compare(weather.render_snow(image, kept, -100.0, *constants[2:]), expected)


def frozen(size, severity, seed=0):
    """Add the same ice by both kernels."""
    weight, texture_weight, scale = constants_of("frost", severity)
    rng = np.random.RandomState(seed)
    texture = plain_weather.scaled_texture(rng.randint(5), scale)
    factor = plain_weather.enlargement(texture, *size)
    rows, columns = (round(side * factor) for side in texture.shape[:2])
    ice = weather.Ice(texture, factor, rng.randint(0, rows - size[0]), rng.randint(0, columns - size[1]))
    image = textured(*size)
    expected = plain_weather.frost(image, np.random.RandomState(seed), weight, texture_weight, scale)
    return compare(weather.render_frost(image, ice, weight, texture_weight), expected)


@pytest.mark.parametrize("severity", range(1, 6))
@pytest.mark.parametrize(
    ("name", "bias", "share"),
    [("gaussian_blur", 0.01, 0.02), ("motion_blur", 0.006, 0.012), ("zoom_blur", 0.01, 0.012)],
)
def test_blurs_lean_to_no_side(name, severity, bias, share):
    mean, differing = blurred(name, constants_of(name, severity))
    assert abs(mean) < bias
    assert differing < share


@pytest.mark.parametrize("count", [7, 12, 16, 21, 26])
def test_any_published_number_of_zooms_leans_to_no_side(count):
    # Each zoom has the same share, whose rounding adds up: to 18 times 1/65536 if 65536 / 22 were cut off.
    mean, differing = blurred("zoom_blur", (0.005, count))
    assert abs(mean) < 0.02
    assert differing < 0.03


@pytest.mark.parametrize(("severity", "bias"), [(2, 0.008), (3, 0.008), (4, 0.008), (5, 0.03)])
def test_defocus_leans_to_no_side(severity, bias):
    mean, differing = blurred("defocus_blur", constants_of("defocus_blur", severity))
    assert abs(mean) < bias
    assert differing < max(bias, 0.01)


@pytest.mark.parametrize("radius", [1, 1.5, 2, 2.5, 3, 4, 5, 6])
def test_a_disk_with_a_hard_edge_gives_the_whole_part_of_each_mean(radius):
    # The plain kernel's rounding errors put some means that are whole numbers a level lower.
    grid = np.arange(-6, 7)
    disk = (grid**2 + grid[:, np.newaxis] ** 2 <= radius**2).astype(np.int64)
    image = textured(*SIZE)
    sums = np.stack([ndimage.correlate(image[..., c].astype(np.int64), disk, mode="mirror") for c in range(3)], axis=-1)
    assert np.array_equal(defocus.defocus_blur(image, KEY, radius, 0.01), sums // disk.sum())


@pytest.mark.parametrize("severity", range(1, 6))
def test_snow_leans_to_no_side(severity):
    constants = constants_of("snow", severity)
    field = np.random.RandomState(severity).normal(*constants[:2], SIZE)
    mean, differing = snowed(textured(*SIZE), field, constants)
    assert abs(mean) < 0.001
    assert differing < 0.001


@pytest.mark.parametrize("severity", range(1, 6))
def test_snow_of_one_level_keeps_it(severity):
    mean, deviation, zoom, _, radius, sigma, _ = constants_of("snow", severity)
    black = np.zeros((32, 40, 3), np.uint8)
    for level in range(1, 128, 3):
        field = np.full(black.shape[:2], (level + 0.5) / 255)
        assert snowed(black, field, (mean, deviation, zoom, 0, radius, sigma, 1)) == (0, 0)


@pytest.mark.parametrize("severity", range(1, 6))
def test_frost_leans_to_no_side(severity, frost):
    mean, differing = frozen(SIZE, severity)
    assert abs(mean) < 0.012
    assert differing < 0.015


@pytest.mark.parametrize("severity", [1, 5])
def test_frost_of_an_enlarged_texture_is_nearly_always_the_same(severity, frost):
    mean, differing = frozen((700, 1000), severity)
    assert abs(mean) < 0.001
    assert differing < 0.001
