"""Fast kernels of the blurs; see ``oodometer.corruptions.blur`` for their meaning."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions import blur
from oodometer.types import Image

__all__ = ["glass_blur"]


def glass_blur(image: Image, key: NDArray[np.uint32], sigma: float, delta: int, iterations: float) -> Image:
    """``blur.glass_blur`` with its inner loop compiled."""
    return blur.glass_blur(image, np.random.RandomState(key), sigma, delta, iterations, copy=copy_pixels)


@numba.njit(cache=True, nogil=True)
def copy_pixels(source: NDArray[np.int64], places: NDArray[np.int64], shifts: NDArray[np.int64]) -> None:
    """Twin of ``blur.copy_pixels``."""
    for iteration in range(shifts.shape[0]):
        for i in range(places.size):
            source[places[i]] = source[places[i] + shifts[iteration, i]]
