"""The perturbations of the weather: brightness, snow and spatter.

The steps are those of the public generator of ImageNet-P (Hendrycks & Dietterich, ICLR 2019). Flakes and drops are
drawn once for a video, so that they move and never flicker.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.rendering import gaussian
from oodometer.perturbations.window import Keys, Window
from oodometer.types import Image

__all__ = ["brightness", "snow", "spatter"]


def brightness(window: Window, keys: Keys) -> Iterator[Image]:
    """Raise the value (the V of HSV, 0..1) by 0.02 a frame, from 0.3 below that of the picture; frame 15 equals it."""
    still = window.still()
    largest = still.max(axis=2, keepdims=True)
    return (_brightened(0.02 * (i - 15))[largest, still] for i in itertools.count())


def _brightened(added: float) -> NDArray[np.uint8]:
    """Return what becomes of a channel, uint8, by the pixel's largest channel (rows) and its own value (columns).

    Hue and saturation stay, so all channels are multiplied alike; black, which has no ratio, becomes gray.
    """
    levels = np.arange(256.0)
    value = np.clip(levels + 255 * added, 0, 255)
    factor = value / np.maximum(levels, 1)
    table = factor[:, np.newaxis] * levels + 1e-9  # which are cut off, not rounded, as published
    table[0] = value[0]
    whole: NDArray[np.uint8] = np.minimum(table, 255).astype(np.uint8)
    return whole


def snow(window: Window, keys: Keys) -> Iterator[Image]:
    """Let the same flakes fall over a whitened picture, in a wind that turns by 4 degrees a frame.

    Of the field, normal with mean 0.05 and deviation 0.3, enlarged threefold, flakes are what is above 0.5; they are
    smeared along a line (radius 14, sigma 4) at -150 degrees in frame 0. The picture keeps a share of 0.85.
    """
    from oodometer.corruptions.fast.weather import draw_snow, render_snow

    still = window.still()
    field, _ = draw_snow(keys(0), (window.height, window.width), 0.05, 0.3, 3)
    return (render_snow(still, field, 4 * i - 150, 3, 0.5, 14, 4, 0.85) for i in itertools.count())


def spatter(window: Window, keys: Keys) -> Iterator[Image]:
    """Let drops of water run down the lens, about a pixel and a half a frame.

    The layer is normal with mean 0.65 and deviation 0.27, smoothed with sigma 3.7, and none under 0.69.
    """
    from oodometer.corruptions.fast.spatter import draw_spatter, render_water

    still = window.still()
    layer = gaussian(draw_spatter(keys(0), (window.height, window.width), 0.65, 0.27).astype(np.float64), 3.7)
    layer[layer < 0.69] = 0
    while True:
        yield render_water(still, (layer * 255).astype(np.uint8), 0.6)
        layer = _run_down(layer)


def _run_down(layer: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give each row 70 % of the one two above it, 15 % of the one above, 10 % of its own and 5 % of the one below."""
    wide = np.pad(layer, ((2, 1), (0, 0)))
    return 0.7 * wide[:-3] + 0.15 * wide[1:-2] + 0.1 * wide[2:-1] + 0.05 * wide[3:]
