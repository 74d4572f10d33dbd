"""The perturbations that add noise: frame 0 is the unchanged picture, each later frame a draw of its own.

They have no movement: an evaluation compares each later frame with frame 0, not with the one before. The strengths of
the three difficulties are those of the public generator of ImageNet-P (Hendrycks & Dietterich, ICLR 2019).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from oodometer.perturbations.window import Keys, Window
from oodometer.types import Image

__all__ = ["gaussian_noise", "shot_noise", "speckle_noise"]


def gaussian_noise(window: Window, keys: Keys, deviation: float) -> Iterator[Image]:
    """Add normal noise; the deviation is on the scale 0..1."""
    from oodometer.corruptions.fast import noise

    return _draws(window, keys, noise.gaussian_noise, deviation)


def shot_noise(window: Window, keys: Keys, photons: float) -> Iterator[Image]:
    """Draw each value as a count of photons, of which a value of 1 has so many."""
    from oodometer.corruptions.fast import noise

    return _draws(window, keys, noise.shot_noise, photons)


def speckle_noise(window: Window, keys: Keys, deviation: float) -> Iterator[Image]:
    """Add normal noise in proportion to each value."""
    from oodometer.corruptions.fast import noise

    return _draws(window, keys, noise.speckle_noise, deviation)


def _draws(window: Window, keys: Keys, noise: Callable[..., Image], constant: float) -> Iterator[Image]:
    still = window.still()
    yield still
    for i in itertools.count(1):
        yield noise(still, keys(i), constant)
