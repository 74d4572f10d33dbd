"""The perturbations that blur: motion_blur, zoom_blur and gaussian_blur, none of which draws.

The steps are those of the public generator of ImageNet-P (Hendrycks & Dietterich, ICLR 2019).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import PIL.Image

from oodometer.perturbations.movements import about_centre, warped
from oodometer.perturbations.window import Keys, Window
from oodometer.types import Image

__all__ = ["gaussian_blur", "motion_blur", "zoom_blur"]


def motion_blur(window: Window, keys: Keys) -> Iterator[Image]:
    """Smear along a line of one strength (radius 10, sigma 3) that turns by 4 degrees a frame, from -120 degrees."""
    from oodometer.corruptions.fast.blur import render_motion_blur

    still = window.still()
    return (render_motion_blur(still, 4 * (i - 30), 10, 3) for i in itertools.count())


def zoom_blur(window: Window, keys: Keys) -> Iterator[Image]:
    """Add one more enlarged copy a frame to the mean, each 0.4 % of the size larger; frame 0 is unchanged."""
    picture, total = PIL.Image.fromarray(window.picture), window.still().astype(np.int32)
    for i in itertools.count():
        if i:
            total += warped(picture, window, about_centre(window, factor=1 + 0.004 * i))
        yield (total // (i + 1)).astype(np.uint8)


def gaussian_blur(window: Window, keys: Keys) -> Iterator[Image]:
    """Widen a Gaussian bell by 0.035 pixels a frame, from 0.25.

    The bell ends at four sigma, as in our corruption; the published one at six, which is less than a level.
    """
    from oodometer.corruptions.fast.blur import gaussian_blur as blurred

    still = window.still()
    return (blurred(still, keys(0), 0.25 + 0.035 * i) for i in itertools.count())
