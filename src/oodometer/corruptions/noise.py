"""The noises: each 8-bit value is changed independently of all others (channels too).

Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations", ICLR 2019.
Each kernel maps an image (uint8, H x W x 3, RGB) to a new one and draws from ``rng`` in the published order.
"""

from __future__ import annotations

import math

import numpy as np

from oodometer.corruptions.rendering import to_uint8, unit
from oodometer.corruptions.severity import Row, Table, column, mix
from oodometer.types import Image

__all__ = [
    "GAUSSIAN_NOISE",
    "IMPULSE_NOISE",
    "SHOT_NOISE",
    "SPECKLE_NOISE",
    "gaussian_noise",
    "impulse_noise",
    "shot_noise",
    "speckle_noise",
]

# Constant: standard deviation, on the scale 0..1.
GAUSSIAN_NOISE = Table(
    clean=(0,),
    imagenet224=column(0.08, 0.12, 0.18, 0.26, 0.38),
    inception299=column(0.09, 0.13, 0.19, 0.27, 0.4),
    tiny64=column(0.04, 0.08, 0.12, 0.15, 0.18),
    cifar32=column(0.04, 0.06, 0.08, 0.09, 0.1),
)


def gaussian_noise(image: Image, rng: np.random.RandomState, deviation: float) -> Image:
    """Add normal noise to each value: sensor noise in low light."""
    return to_uint8(unit(image) + rng.normal(0, deviation, image.shape))


def _mix_deviations(low: Row, high: Row, t: float) -> Row:
    """Mix ``1 / sqrt(photons)`` linearly, which the standard deviation of shot noise is proportional to."""
    deviation = mix(1 / math.sqrt(low[0]), 1 / math.sqrt(high[0]), t)
    return (1 / deviation**2,)


def _more_deviation(fourth: Row, fifth: Row, t: float) -> Row:
    return _mix_deviations(fourth, fifth, 1 + t)


# Constant: photons that make a value of 1; fewer photons, more noise.
SHOT_NOISE = Table(
    clean=(math.inf,),
    imagenet224=column(60, 25, 12, 5, 3),
    inception299=column(50, 20, 10, 5, 3),
    tiny64=column(250, 100, 50, 30, 15),
    cifar32=column(500, 250, 100, 75, 50),
    between=_mix_deviations,
    beyond=_more_deviation,
)


def shot_noise(image: Image, rng: np.random.RandomState, photons: float) -> Image:
    """Draw each value as a count of photons: the noise of light itself. Bright values saturate."""
    return to_uint8(rng.poisson(unit(image) * photons) / photons)


# Constant: share of values replaced.
IMPULSE_NOISE = Table(
    clean=(0,),
    imagenet224=column(0.03, 0.06, 0.09, 0.17, 0.27),
    inception299=column(0.04, 0.07, 0.1, 0.18, 0.28),
    tiny64=column(0.01, 0.02, 0.05, 0.08, 0.14),
    cifar32=column(0.01, 0.02, 0.03, 0.05, 0.07),
)


def impulse_noise(image: Image, rng: np.random.RandomState, share: float) -> Image:
    """Replace values by 0 or 255: salt and pepper, per channel rather than per pixel."""
    replaced = rng.random_sample(image.shape) < share
    salt = rng.random_sample(image.shape) < 0.5
    return np.where(replaced, np.where(salt, np.uint8(255), np.uint8(0)), image)


# Constant: standard deviation, as a share of the value.
SPECKLE_NOISE = Table(
    clean=(0,),
    imagenet224=column(0.15, 0.2, 0.35, 0.45, 0.6),
    inception299=column(0.16, 0.21, 0.36, 0.46, 0.61),
    tiny64=column(0.15, 0.2, 0.25, 0.3, 0.35),
    cifar32=column(0.06, 0.1, 0.12, 0.16, 0.2),
)


def speckle_noise(image: Image, rng: np.random.RandomState, deviation: float) -> Image:
    """Add normal noise in proportion to each value; black stays black."""
    x = unit(image)
    return to_uint8(x + x * rng.normal(0, deviation, image.shape))
