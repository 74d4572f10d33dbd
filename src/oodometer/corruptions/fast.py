"""The fast kernels: the same meaning and parameters as the plain ones of the same name.

A corruption that has none here uses its plain kernel.
"""

from __future__ import annotations

import numpy as np

from oodometer.corruptions import blur
from oodometer.types import Image

__all__ = ["glass_blur"]


def glass_blur(image: Image, rng: np.random.RandomState, sigma: float, delta: int, iterations: float) -> Image:
    """``blur.glass_blur`` with its inner loop compiled: the same pixels from the same draws."""
    from oodometer.corruptions._kernels import copy_pixels  # imports Numba

    return blur.glass_blur(image, rng, sigma, delta, iterations, copy=copy_pixels)
