"""The fast kernels round as the plain ones do: neither brighter nor darker on the mean, and seldom another level.

A level more or less at a pixel is allowed elsewhere; here a rounding that leans to one side shows. The bounds are about
twice what is measured.
"""

import math

import numpy as np
from pictures import textured

from oodometer.corruptions import registry
from oodometer.corruptions import weather as plain_weather
from oodometer.corruptions.fast import blur, weather
from oodometer.corruptions.rendering import streak

KEY = np.array([1, 2, 3, 4], np.uint32)
SIZE = 160, 224


def constants_of(name, severity):
    return registry.find(name).table.row("imagenet224", severity)


def compare(fast, expected):
    """Return the mean difference and the share of values that differ."""
    difference = fast.astype(int) - expected
    return float(difference.mean()), float(np.mean(difference != 0))


def blurred(name, severity):
    image, constants = textured(*SIZE), constants_of(name, severity)
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
    weight, texture_weight, scale = constants_of("frost", severity)
    rng = np.random.RandomState(seed)
    texture = plain_weather.scaled_texture(rng.randint(5), scale)
    factor = plain_weather.enlargement(texture, *size)
    rows, columns = (round(side * factor) for side in texture.shape[:2])
    ice = weather.Ice(texture, factor, rng.randint(0, rows - size[0]), rng.randint(0, columns - size[1]))
    image = textured(*size)
    expected = plain_weather.frost(image, np.random.RandomState(seed), weight, texture_weight, scale)
    return compare(weather.render_frost(image, ice, weight, texture_weight), expected)
