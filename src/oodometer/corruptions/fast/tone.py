"""Fast kernels of brightness, contrast and saturate; see ``weather`` and ``digital`` for their meaning.

None needs a hue. The hue is where a pixel's middle channel lies between its smallest and its largest one, and neither
brightness nor saturation moves it: so each channel follows from the largest one, V, and the spread, D, directly.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.views import read_only
from oodometer.types import Image

__all__ = ["brightness", "contrast", "saturate"]

F32 = np.float32
U8 = np.uint8


def brightness(image: Image, key: NDArray[np.uint32], added: float) -> Image:
    """Multiply each pixel so that its largest channel grows by ``added``."""
    out = np.empty_like(image)
    _brighten(read_only(image).reshape(-1), F32(255 * added), out.reshape(-1))
    return out


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _brighten(pixels: NDArray[np.uint8], added: F32, out: NDArray[np.uint8]) -> None:
    for i in range(pixels.size // 3):
        red, green, blue = F32(pixels[3 * i]), F32(pixels[3 * i + 1]), F32(pixels[3 * i + 2])
        value = max(red, green, blue)
        # Black has no ratio to multiply by: it counts as (1, 1, 1) of value 1 and no brightness.
        black = F32(1) if value == F32(0) else F32(0)
        factor = min(value + added, F32(255)) / (value + black)
        out[3 * i] = U8((red + black) * factor)
        out[3 * i + 1] = U8((green + black) * factor)
        out[3 * i + 2] = U8((blue + black) * factor)


def saturate(image: Image, key: NDArray[np.uint32], factor: float, added: float) -> Image:
    """Multiply each pixel's distances to its largest channel so that its saturation becomes what is asked for."""
    out = np.empty_like(image)
    _saturate(read_only(image).reshape(-1), F32(factor), F32(added), out.reshape(-1))
    return out


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _saturate(pixels: NDArray[np.uint8], factor: F32, added: F32, out: NDArray[np.uint8]) -> None:
    for i in range(pixels.size // 3):
        red, green, blue = F32(pixels[3 * i]), F32(pixels[3 * i + 1]), F32(pixels[3 * i + 2])
        value = max(red, green, blue)
        spread = value - min(red, green, blue)
        # Gray counts as red of no saturation, so its green and blue are counted as 1 under its value.
        gray = F32(1) if spread == F32(0) else F32(0)
        largest = value / (spread + gray)  # the factor at which the saturation is 1
        gain = min((F32(0) if spread == F32(0) else factor) + added * largest, largest)
        out[3 * i] = U8(value - (value - red) * gain)
        out[3 * i + 1] = U8(value - (value - green + gray) * gain)
        out[3 * i + 2] = U8(value - (value - blue + gray) * gain)


def contrast(image: Image, key: NDArray[np.uint32], factor: float) -> Image:
    """Draw all values towards the mean of their channel: one multiplication and one addition each."""
    out = np.empty_like(image)
    _contrast(read_only(image).reshape(-1), factor, out.reshape(-1))
    return out


STRIPE = 3 * 256
"""Values that are handled as a row: whole pixels, and few enough for sums and offsets to stay in the nearest cache."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _contrast(pixels: NDArray[np.uint8], factor: float, out: NDArray[np.uint8]) -> None:
    sums = np.zeros(STRIPE, np.uint32)
    for start in range(0, pixels.size, STRIPE):
        _add(pixels[start : start + STRIPE], sums)
    offsets = np.empty(STRIPE, np.float32)
    for channel in range(3):
        mean = sums[channel::3].sum() / (pixels.size // 3)
        offsets[channel::3] = F32(mean * (1 - factor))
    for start in range(0, pixels.size, STRIPE):
        _scale(pixels[start : start + STRIPE], F32(factor), offsets, out[start : start + STRIPE])


@numba.njit(cache=True, nogil=True)
def _add(row: NDArray[np.uint8], sums: NDArray[np.uint32]) -> None:
    for x in range(row.size):
        sums[x] += np.uint32(row[x])


@numba.njit(cache=True, nogil=True)
def _scale(row: NDArray[np.uint8], factor: F32, offsets: NDArray[np.float32], out: NDArray[np.uint8]) -> None:
    for x in range(row.size):
        out[x] = U8(F32(row[x]) * factor + offsets[x])
