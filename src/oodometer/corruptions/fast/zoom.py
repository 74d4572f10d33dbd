"""Fast kernel of zoom_blur; see ``corruptions.blur`` for its meaning and ``fast.blur`` for the strips and rings."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions import blur
from oodometer.corruptions.fast.taps import (
    STRIP,
    Bytes,
    Row,
    blend,
    compiled,
    strip_bounds,
    to_bytes,
    weigh_each,
)
from oodometer.corruptions.fast.vectors import explicit
from oodometer.types import Image

__all__ = ["zoom_blur"]

MOST_ZOOMS = 64
"""The most zooms whose rounding errors add up to less than a level."""


def zoom_blur(image: Image, key: NDArray[np.uint32], step: float, count: int) -> Image:
    """``blur.zoom_blur``, which draws nothing."""
    if count > MOST_ZOOMS:
        return blur.zoom_blur(image, np.random.RandomState(key), step, count)
    out = np.empty_like(image)
    height, width = image.shape[:2]
    _zoom(explicit(), image.reshape(-1), height, width, (1 + step) - 1, count, out.reshape(height, 3 * width))
    return out


@compiled
def zoom_axis(side: int, zoom: float, start: int, firsts: NDArray[np.int64], weights: Row) -> int:
    """Write, for the samples of one axis from ``start`` on, the first of two neighbours and the second's weight.

    Returns the last sample of the crop; for the meaning see ``rendering.central_zoom``.
    """
    crop = math.ceil(side / zoom)
    enlarged = round(crop * zoom)
    skipped, offset = (enlarged - side) // 2, (side - crop) // 2
    for i in range(firsts.size):
        position = (start + i + skipped) * ((crop - 1) / (enlarged - 1))
        first = min(int(position), crop - 1)
        firsts[i] = first + offset
        weights[i] = min(round((position - first) * 65536), 65535)
    return offset + crop - 1


@compiled
def _zoom(explicit: bool | None, pixels: Bytes, height: int, width: int, step: float, count: int, out: Image) -> None:
    """Write the mean of all zooms, which share the vertical pass; the first zoom, by 1, is the image once more."""
    above, ratios = np.empty((count, height), np.int64), np.empty((count, height), np.uint16)
    bottom = np.empty(count, np.int64)
    for i in range(1, count):
        bottom[i] = zoom_axis(height, 1 + i * step, 0, above[i], ratios[i])
    strips = (width + STRIP - 1) // STRIP
    for strip in range(strips):
        first, last = strip_bounds(width, strip, strips)
        _zoom_strip(explicit, pixels, width, step, first, last, above, ratios, bottom, out)


@compiled
def _zoom_strip(
    explicit: bool | None,
    pixels: Bytes,
    width: int,
    step: float,
    first: int,
    last: int,
    above: NDArray[np.int64],
    ratios: NDArray[np.uint16],
    bottom: NDArray[np.int64],
    out: Image,
) -> None:
    count, height = above.shape
    n, pitch = 3 * (last - first), 3 * (last - first) + 32
    ends, moves, weights = _runs(width, step, first, last, count)
    tail = np.zeros(3 * width + 64, np.uint8)  # the last row once more, where vectors may read on
    tail[: 3 * width] = pixels[pixels.size - 3 * width :]
    # Two rows of each zoom, the latest of even and of odd number; then the row of the image itself.
    ring, sums = np.zeros((2 * count + 1) * pitch, np.uint16), np.empty(n, np.uint16)
    places, shares = np.empty(2 * count - 1, np.uint32), np.empty(2 * count - 1, np.uint16)
    places[0], shares[0] = 2 * count * pitch, min(2 * 65536 // (count + 1), 65535)
    done = above[:, 0].copy()
    for y in range(height):
        image_row = out[y, 3 * first : 3 * last]
        for j in range(n):
            ring[2 * count * pitch + j] = np.uint16(pixels[3 * (y * width + first) + j]) << np.uint16(8)
        for i in range(1, count):
            upper = above[i, y]
            lower = min(upper + 1, bottom[i])
            while done[i] <= lower:
                place = (2 * i + done[i] % 2) * pitch
                in_tail = done[i] + 1 == height
                source, start = (tail, 0) if in_tail else (pixels, 3 * done[i] * width)
                _zoom_row(explicit, source, start, ends[i], moves[i], weights[i], ring, place)
                done[i] += 1
            places[2 * i - 1], places[2 * i] = (2 * i + upper % 2) * pitch, (2 * i + lower % 2) * pitch
            share = 65536 / (count + 1)
            shares[2 * i] = round(share * ratios[i, y] / 65536)
            shares[2 * i - 1] = round(share) - shares[2 * i]
        weigh_each(explicit, ring, places, shares, count, sums, 0, n)
        to_bytes(sums, 8, image_row)


@compiled
def _runs(
    width: int, step: float, first: int, last: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint16]]:
    """Return, by zoom, the runs of columns that read from one distance, and each value's weight of the right neighbour.

    A run is its end and its distance, in values of the strip; a zoom's last run ends with the strip.
    """
    columns = last - first
    ends, moves = np.empty((count, columns), np.int64), np.empty((count, columns), np.int64)
    weights = np.zeros((count, 3 * columns + 32), np.uint16)
    firsts, ratios = np.empty(columns, np.int64), np.empty(columns, np.uint16)
    for i in range(1, count):
        zoom_axis(width, 1 + i * step, first, firsts, ratios)
        run = -1
        for column in range(columns):
            if column == 0 or firsts[column] - firsts[column - 1] != 1:
                run += 1
                moves[i, run] = 3 * (firsts[column] - column)
            ends[i, run] = 3 * column + 3
            for channel in range(3):
                weights[i, 3 * column + channel] = ratios[column]
    return ends, moves, weights


@compiled
def _zoom_row(
    explicit: bool | None,
    pixels: Bytes,
    start: int,
    ends: NDArray[np.int64],
    moves: NDArray[np.int64],
    weights: Row,
    ring: Row,
    place: int,
) -> None:
    """Enlarge the part of a row that the strip shows."""
    begin, run = 0, 0
    while begin < weights.size - 32:
        blend(explicit, pixels, start + moves[run], begin, ends[run], weights, ring, place)
        begin = ends[run]
        run += 1
