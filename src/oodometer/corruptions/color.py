"""Hue, saturation and value, in the formulas whose last bits the published results have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["hsv_to_rgb", "rgb_to_hsv"]

Channel = NDArray[np.float64]


def rgb_to_hsv(x: NDArray[np.float64]) -> tuple[Channel, Channel, Channel]:
    """Split an H x W x 3 array in 0..1 into hue, saturation and value, each H x W in 0..1; gray has hue 0."""
    red, green, blue = (x[..., channel] for channel in range(3))
    value = x.max(axis=-1)
    spread = value - x.min(axis=-1)
    colored = spread != 0
    divisor = np.where(colored, spread, 1)
    sector = np.where(red == value, (green - blue) / divisor, 0)
    sector = np.where(green == value, 2 + (blue - red) / divisor, sector)
    sector = np.where(blue == value, 4 + (red - green) / divisor, sector)
    hue = np.where(colored, (sector / 6) % 1, 0)
    saturation = np.where(colored, spread / np.where(colored, value, 1), 0)
    return hue, saturation, value


def hsv_to_rgb(hue: Channel, saturation: Channel, value: Channel) -> NDArray[np.float64]:
    """Join hue, saturation and value, each H x W in 0..1, to an H x W x 3 array in 0..1."""
    sector = np.floor(6 * hue)
    f = 6 * hue - sector
    p = value * (1 - saturation)
    q = value * (1 - f * saturation)
    t = value * (1 - (1 - f) * saturation)
    number = sector.astype(np.intp) % 6
    red = np.choose(number, [value, q, p, p, t, value])
    green = np.choose(number, [t, value, value, q, p, p])
    blue = np.choose(number, [p, p, t, value, value, q])
    return np.stack([red, green, blue], axis=-1)
