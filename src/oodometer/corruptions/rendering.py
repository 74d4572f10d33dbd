"""What several corruptions are made of: scale, Gaussian filter, central zoom, streaks.

The order of the float operations is part of the benchmark: results are truncated to 8 bits, so that a value a hair
under a whole number falls to the next lower level, and flat areas lie on whole numbers.

SciPy and OpenCV are imported where they are used, here and in the kernels: that takes 0.2 s, and the fast kernels,
whose constants stand beside the plain ones, do without.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oodometer.types import Image

__all__ = ["Floats", "central_zoom", "gaussian", "streak", "to_uint8", "unit"]

Floats = NDArray[np.floating]


def unit(image: Image) -> NDArray[np.float64]:
    """Map 0..255 to 0..1. A division: times 1/255 would lose a level for 24 of the 256 values."""
    return image / 255


def to_uint8(y: Floats) -> NDArray[np.uint8]:
    """Map 0..1 to 0..255, clipped and truncated (not rounded), in the precision of ``y``."""
    return (np.clip(y, 0, 1) * 255).astype(np.uint8)


def gaussian(x: Floats, sigma: float, mode: str = "nearest", truncate: float = 4.0) -> NDArray[np.float64]:
    """Gaussian filter of the rows and columns of an H x W (x 3) array; channels do not mix."""
    from scipy import ndimage

    sigmas = (sigma, sigma, 0)[: x.ndim]
    filtered: NDArray[np.float64] = ndimage.gaussian_filter(x, sigmas, mode=mode, truncate=truncate)
    return filtered


def central_zoom(x: Floats, zoom: float) -> Floats:
    """Enlarge the centre of an H x W (x 3) array by ``zoom`` >= 1, bilinearly, to the size of the whole.

    As SciPy's ``ndimage.zoom`` of order 1 on the central crop (first and last samples aligned, float64 inside, the
    type of ``x`` outside), but for the samples that remain only.
    """
    above, below, down = _zoom_axis(x.shape[0], zoom)
    left, right, across = _zoom_axis(x.shape[1], zoom)
    across = across.reshape(-1, *[1] * (x.ndim - 2))
    down = down.reshape(-1, *[1] * (x.ndim - 1))
    rows = x[above] * (1 - down) + x[below] * down
    return (rows[:, left] * (1 - across) + rows[:, right] * across).astype(x.dtype)


def _zoom_axis(side: int, zoom: float) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return, for each sample of one axis, its two neighbours and the weight of the second."""
    crop = math.ceil(side / zoom)
    enlarged = round(crop * zoom)  # halves to even: 26 * 1.25 = 32.5 gives 32
    kept = np.arange(side, dtype=np.float64) + (enlarged - side) // 2
    position: NDArray[np.float64] = kept * ((crop - 1) / (enlarged - 1))
    first: NDArray[np.intp] = np.minimum(position.astype(np.intp), crop - 1)
    second: NDArray[np.intp] = np.minimum(first + 1, crop - 1)
    start = (side - crop) // 2
    return first + start, second + start, position - first


def streak(pixels: NDArray[np.uint8], radius: float, sigma: float, degrees: float) -> NDArray[np.uint8]:
    """Blur an 8-bit H x W (x 3) array along a line to one side, as ImageMagick's ``MotionBlurImage`` (Q16, no HDRI).

    Parameters
    ----------
    pixels
        8-bit values.
    radius, sigma
        The line has ``2 * ceil(radius) + 1`` taps, weighted by one half of a Gaussian bell.
    degrees
        Direction from +x (right) towards +y (down); taps outside the image read its nearest pixel.

    Returns
    -------
    numpy.ndarray
        8-bit values, made in 16-bit steps: both the rounding to 16 bits and the truncation after it show.
    """
    taps = np.arange(2 * math.ceil(radius) + 1)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    weights /= weights.sum()
    angle = math.radians(degrees)
    rows = np.ceil(taps * math.sin(angle) - 0.5).astype(int)
    columns = np.ceil(taps * math.cos(angle) - 0.5).astype(int)

    height, width = pixels.shape[:2]
    reach = int(max(np.abs(rows).max(), np.abs(columns).max()))
    borders = ((reach, reach), (reach, reach), (0, 0))[: pixels.ndim]
    wide = np.pad(pixels * 257.0, borders, mode="edge")
    total = np.zeros(pixels.shape)
    for weight, row, column in zip(weights, rows + reach, columns + reach, strict=True):
        total += weight * wide[row : row + height, column : column + width]
    return (np.floor(total + 0.5) // 257).astype(np.uint8)
