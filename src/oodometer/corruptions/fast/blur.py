"""Fast kernels of most blurs; see ``oodometer.corruptions.blur`` for their meaning.

All work on strips of columns, from top to bottom, and keep the few rows that are needed at a time in a ring: row ``y``
of the image is in slot ``y % slots``. So the memory in use stays in the cache at any size of the image. All sums are
made of 16-bit integers (``fast.taps``); strengths beyond what those hold go the way of the plain kernels.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.streams import fill_words
from oodometer.corruptions.fast.taps import (
    STRIP,
    Bytes,
    Row,
    after,
    bell_weights,
    clip_to_bytes,
    compiled,
    extend,
    fetch,
    in_pairs,
    strip_bounds,
    to_bytes,
    weigh_each,
    weigh_pairs,
)
from oodometer.corruptions.fast.vectors import explicit
from oodometer.corruptions.rendering import gaussian, streak, to_uint8, unit
from oodometer.types import Image

__all__ = ["draw_motion_blur", "gaussian_blur", "motion_blur", "pair_weights", "render_motion_blur"]

WIDEST = 70
"""The most taps to each side of a Gaussian in integers: beyond, rounding errors could add up to a level."""

LONGEST = 100
"""The most taps of a streak in integers: beyond, rounding errors could add up to a level."""


@functools.lru_cache(maxsize=64)
def pair_weights(sigma: float) -> Row | None:
    """Return a Gaussian's weights as integers, or ``None`` for one that is too wide for integers."""
    reach = int(4 * sigma + 0.5)
    return in_pairs(bell_weights(sigma, reach)) if reach <= WIDEST else None


def gaussian_blur(image: Image, key: NDArray[np.uint32], sigma: float) -> Image:
    """``blur.gaussian_blur``, which draws nothing."""
    weights = pair_weights(sigma)
    if weights is None:
        return to_uint8(gaussian(unit(image), sigma))
    out = np.empty_like(image)
    height, width = image.shape[:2]
    _smooth(explicit(), image.reshape(-1), weights, out.reshape(height, 3 * width))
    return out


@compiled
def _smooth(explicit: bool | None, pixels: Bytes, weights: Row, out: Image) -> None:
    """Blur upright, straight from the image, then along the rows."""
    height, width = out.shape[0], out.shape[1] // 3
    reach = weights.size - 1
    line, sums = np.empty(3 * (STRIP + 2 * reach), np.uint16), np.empty(3 * STRIP, np.uint16)
    above, below = np.empty(reach + 1, np.uint32), np.empty(reach + 1, np.uint32)
    left, right = np.empty(reach + 1, np.uint32), np.empty(reach + 1, np.uint32)
    for k in range(reach + 1):
        left[k], right[k] = 3 * (reach - k), 3 * (reach + k)
    start = weights.size // 2  # makes up for the truncation of each product
    strips = (width + STRIP - 1) // STRIP
    for strip in range(strips):
        first, last = strip_bounds(width, strip, strips)
        inner, outer = max(first - reach, 0), min(last + reach, width)
        at, n = 3 * (inner - first + reach), 3 * (outer - inner)
        for y in range(height):
            for k in range(reach + 1):
                above[k] = 3 * (max(y - k, 0) * width + inner)
                below[k] = 3 * (min(y + k, height - 1) * width + inner)
            weigh_pairs(explicit, pixels, 7, above, below, weights, start, line, at, n)
            extend(line, at, at + n, 3 * (last - first + 2 * reach))
            weigh_pairs(explicit, line, None, left, right, weights, start, sums, 0, 3 * (last - first))
            clip_to_bytes(sums, out[y, 3 * first : 3 * last])


def motion_blur(image: Image, key: NDArray[np.uint32], radius: float, sigma: float) -> Image:
    """Smear the image along a line at a random angle."""
    return render_motion_blur(image, draw_motion_blur(key), radius, sigma)


def draw_motion_blur(key: NDArray[np.uint32]) -> float:
    """Draw an angle from -45 to 45 degrees."""
    words = np.empty(1, np.uint32)
    fill_words(key, 0, words)
    return -45 + 90 * (float(words[0]) + 0.5) / 2**32


def render_motion_blur(image: Image, degrees: float, radius: float, sigma: float) -> Image:
    """Smear the image along a line."""
    weights = streak_weights(radius, sigma)
    if weights is None:
        return streak(image, radius, sigma, degrees)
    angle = math.radians(degrees)
    out = np.empty_like(image)
    height, width = image.shape[:2]
    flat = (height, 3 * width)
    _smear(explicit(), image.reshape(flat), weights, math.sin(angle), math.cos(angle), out.reshape(flat))
    return out


@functools.lru_cache(maxsize=64)
def streak_weights(radius: float, sigma: float) -> Row | None:
    """Return a streak's weights as integers, which add up to 2^16 - 1; ``None`` where integers are not exact enough.

    The taps far out, which round to 0, are left out.
    """
    bell = np.exp(-(np.arange(2.0 * math.ceil(radius) + 1) ** 2) / (2 * sigma**2))
    whole = np.rint(bell / bell.sum() * (2**16 - 1)).astype(np.int64)
    whole[0] += 2**16 - 1 - whole.sum()
    whole = np.trim_zeros(whole, "b")
    return whole.astype(np.uint16) if len(whole) <= LONGEST else None


@compiled
def _smear(explicit: bool | None, image: Image, weights: Row, sine: float, cosine: float, out: Image) -> None:
    height, width = image.shape[0], image.shape[1] // 3
    taps = weights.size
    rows, columns = np.empty(taps, np.int64), np.empty(taps, np.int64)
    for k in range(taps):
        rows[k], columns[k] = math.ceil(k * sine - 0.5), math.ceil(k * cosine - 0.5)
    above, below = rows.min(), rows.max()
    before, behind = columns.min(), columns.max()
    slots, pitch = below - above + 1, 3 * (STRIP + behind - before)
    ring, sums, places = np.empty(slots * pitch, np.uint16), np.empty(3 * STRIP, np.uint16), np.empty(taps, np.uint32)
    start = (taps + 1) // 2  # makes up for the truncation of each product
    strips = (width + STRIP - 1) // STRIP
    for strip in range(strips):
        first, last = strip_bounds(width, strip, strips)
        done = 0
        for y in range(height):
            while done < min(y + below + 1, height):
                fetch(image, done, first + before, last + behind, 8, ring, done % slots * pitch)
                done += 1
            top = max(y + above, 0)
            for k in range(taps):
                row = min(max(y + rows[k], 0), height - 1)
                places[k] = after(top % slots, row - top, slots) * pitch + 3 * (columns[k] - before)
            weigh_each(explicit, ring, places, weights, start, sums, 0, 3 * (last - first))
            to_bytes(sums, 8, out[y, 3 * first : 3 * last])
