"""Fast kernels of the blurs; see ``oodometer.corruptions.blur`` for their meaning.

All work on strips of columns, from top to bottom, and keep the few rows that are needed at a time in a ring: row ``y``
of the image is in slot ``y % slots``. So the memory in use stays in the cache at any size of the image. All sums are
made of 16-bit integers (``fast.taps``); strengths beyond what those hold go the way of the plain kernels.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from oodometer.corruptions import blur
from oodometer.corruptions.fast.streams import fill_words
from oodometer.corruptions.fast.taps import (
    Places,
    Row,
    blend,
    clip_to_bytes,
    compiled,
    fetch,
    fetch_mirrored,
    sum_rows,
    to_bytes,
    weigh_each,
    weigh_pairs,
)
from oodometer.corruptions.fast.vectors import explicit
from oodometer.corruptions.rendering import gaussian, streak, to_uint8, unit
from oodometer.types import Image

__all__ = ["defocus_blur", "gaussian_blur", "glass_blur", "motion_blur", "zoom_blur"]

STRIP = 256
"""Columns of a strip, at most."""

WIDEST = 48
"""The most taps to each side of a Gaussian whose rounding errors add up to less than a level."""

LONGEST = 100
"""The most taps of a streak whose rounding errors add up to less than a level."""


@compiled
def strip_bounds(width: int, i: int, strips: int) -> tuple[int, int]:
    """Return the first column of strip ``i`` and the one after its last: all strips have about the same width."""
    return width * i // strips, width * (i + 1) // strips


@functools.lru_cache(maxsize=64)
def pair_weights(sigma: float) -> Row | None:
    """Return a Gaussian's weights as integers, or ``None`` for one that is too wide for integers."""
    reach = int(4 * sigma + 0.5)
    return _in_pairs(_bell(sigma, reach)) if reach <= WIDEST else None


def _bell(sigma: float, reach: int) -> NDArray[np.float64]:
    """Return the weights of a Gaussian's centre and of the taps to one side; with the other side they add up to 1."""
    bell = np.exp(-(np.arange(reach + 1.0) ** 2) / (2 * sigma**2))
    bell /= 2 * bell.sum() - bell[0]
    return bell


def _in_pairs(bell: NDArray[np.float64]) -> Row:
    """Return weights as integers: of half the centre, then of each pair of taps; they add up to 2^15."""
    whole = np.rint(bell * 2**16).astype(np.int64)
    whole[0] = 2**15 - whole[1:].sum()
    return np.trim_zeros(whole, "b").astype(np.uint16)


def gaussian_blur(image: Image, key: NDArray[np.uint32], sigma: float) -> Image:
    """``blur.gaussian_blur``, which draws nothing."""
    return smooth(image, sigma)


def smooth(image: Image, sigma: float, lean: int = 0) -> Image:
    """Blur with a Gaussian bell and truncate to 8 bits, after adding ``lean`` / 128 of a level."""
    weights = pair_weights(sigma)
    if weights is None:
        return to_uint8(gaussian(unit(image), sigma))
    out = np.empty_like(image)
    height, width = image.shape[:2]
    flat = (height, 3 * width)
    _smooth(explicit(), image.reshape(flat), weights, lean, out.reshape(flat))
    return out


@compiled
def _smooth(explicit: bool | None, image: Image, weights: Row, lean: int, out: Image) -> None:
    height, width = image.shape[0], image.shape[1] // 3
    reach = weights.size - 1
    slots, pitch = 2 * reach + 1, 3 * STRIP
    line, ring, sums = (
        np.empty(pitch + 6 * reach, np.uint16),
        np.empty(slots * pitch, np.uint16),
        np.empty(pitch, np.uint16),
    )
    left, right = np.empty(reach + 1, np.uint32), np.empty(reach + 1, np.uint32)
    start = weights.size // 2  # makes up for the truncation of each product
    strips = (width + STRIP - 1) // STRIP
    for strip in range(strips):
        first, last = strip_bounds(width, strip, strips)
        n = 3 * (last - first)
        done = 0
        for y in range(height):
            for k in range(reach + 1):
                left[k], right[k] = 3 * (reach - k), 3 * (reach + k)
            while done < min(y + reach + 1, height):
                fetch(image, done, first - reach, last + reach, 7, line, 0)
                weigh_pairs(explicit, line, left, right, weights, start, ring, (done % slots) * pitch, n)
                done += 1
            for k in range(reach + 1):
                left[k] = max(y - k, 0) % slots * pitch
                right[k] = min(y + k, height - 1) % slots * pitch
            weigh_pairs(explicit, ring, left, right, weights, start + lean, sums, 0, n)
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
            for k in range(taps):
                row = min(max(y + rows[k], 0), height - 1)
                places[k] = row % slots * pitch + 3 * (columns[k] - before)
            weigh_each(explicit, ring, places, weights, start, sums, 0, 3 * (last - first))
            to_bytes(sums, 8, out[y, 3 * first : 3 * last])


LEAN = 4
"""What glass_blur adds to its first Gaussian and takes from its second, in 1/128 level.

Both truncate, and flat areas lie on whole levels, where a hair decides: together they could be two levels off.
"""


def glass_blur(image: Image, key: NDArray[np.uint32], sigma: float, delta: int, iterations: float) -> Image:
    """Blur, let each pixel take the colour of one nearby, and blur again."""
    shifts = draw_glass_blur(key, image.shape[0], image.shape[1], delta, iterations)
    return render_glass_blur(image, shifts, sigma, delta)


def draw_glass_blur(
    key: NDArray[np.uint32], height: int, width: int, delta: int, iterations: float
) -> NDArray[np.uint8]:
    """Draw the shifts of all passes, in the order in which pixels are copied.

    Returns
    -------
    numpy.ndarray
        uint8, passes x pixels: ``(dy + delta) * 2 * delta + (dx + delta)``, from 0 to ``4 * delta**2 - 1``. Where the
        number of passes is a fraction, the last one leaves a share of the pixels where they are.
    """
    passes, pixels = math.ceil(iterations), max(height - 2 * delta, 0) * max(width - 2 * delta, 0)
    shifts = np.empty((passes, pixels), np.uint8)
    words = np.empty(min(pixels, 2**14), np.uint32)
    _draw_shifts(key, delta, iterations, words, shifts)
    return shifts


@compiled
def _draw_shifts(key: Places, delta: int, iterations: float, words: Places, shifts: NDArray[np.uint8]) -> None:
    passes, pixels = shifts.shape
    count, stay = np.uint32(4 * delta * delta), np.uint8(2 * delta * delta + delta)
    moved = np.uint32((iterations - math.floor(iterations)) * 2**32)
    for i in range(passes):
        for start in range(0, pixels, words.size):
            row = shifts[i, start : start + words.size]
            fill_words(key, i * pixels + start, words)
            for j in range(row.size):
                row[j] = ((words[j] >> np.uint32(8)) * count) >> np.uint32(24)
            if i + 1 > iterations:
                fill_words(key, passes * pixels + start, words)
                for j in range(row.size):
                    row[j] = row[j] if words[j] < moved else stay


def render_glass_blur(image: Image, shifts: NDArray[np.uint8], sigma: float, delta: int) -> Image:
    """Blur, copy pixels by the shifts drawn, and blur again."""
    lean = LEAN if int(4 * sigma + 0.5) else 0  # without any tap, nothing is added up nor truncated
    blurred = smooth(image, sigma, lean)
    steps = np.arange(4 * delta * delta)
    steps = (steps // (2 * delta) - delta) * image.shape[1] + steps % (2 * delta) - delta
    _copy_pixels(blurred, shifts, steps.astype(np.uint64), delta)
    return smooth(blurred, sigma, -lean)


@compiled
def _copy_pixels(image: Image, shifts: NDArray[np.uint8], steps: NDArray[np.uint64], delta: int) -> None:
    """Copy pixels in place, from the bottom right to the top left; ``steps`` wrap round like unsigned numbers."""
    height, width = image.shape[:2]
    packed = np.empty(height * width, np.uint32)
    values = image.reshape(-1)
    for i in range(packed.size):
        j = np.uint64(3 * i)
        packed[i] = values[j] | (values[j + 1] << 8) | (values[j + 2] << 16)
    for i in range(shifts.shape[0]):
        n = 0
        for y in range(height - delta, delta, -1):
            place = np.uint64(y * width + width - delta)
            for _ in range(width - 2 * delta):
                packed[place] = packed[place + steps[shifts[i, n]]]
                place -= np.uint64(1)
                n += 1
    for i in range(packed.size):
        j = np.uint64(3 * i)
        values[j], values[j + 1], values[j + 2] = packed[i], packed[i] >> 8, packed[i] >> 16


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
def _zoom(
    explicit: bool | None, pixels: NDArray[np.uint8], height: int, width: int, step: float, count: int, out: Image
) -> None:
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
    pixels: NDArray[np.uint8],
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
    places[0], shares[0] = 2 * count * pitch, 2 * 65536 // (count + 1)
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
                if done[i] + 1 < height:
                    _zoom_row(explicit, pixels, 3 * done[i] * width, ends[i], moves[i], weights[i], ring, place)
                else:
                    _zoom_row(explicit, tail, 0, ends[i], moves[i], weights[i], ring, place)
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
    pixels: NDArray[np.uint8],
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


LARGEST_DISK = 30
"""The largest radius for which the sums of defocus_blur are exact enough."""


@dataclass(frozen=True)
class Disk:
    """The published kernel of ``defocus_blur`` taken apart: a disk of ones, its smoothing, and the edges of its grid.

    ``spans`` has the disk's half height at each column, ``scale`` is 2^23 over its number of pixels, ``weights`` are
    those of the smoothing (see ``pair_weights``). The kernel's grid ends at ``half`` pixels, where the smoothing
    mirrors the disk: at each of its four sides a line of ``2 * line + 1`` pixels counts ``gain / 2^23`` more; and where the
    disk touches the side, which ``cut`` says, the pixel that is one further out counts as much less. ``line`` is -1
    where there is no such thing.
    """

    spans: NDArray[np.int64]
    scale: int
    weights: Row
    half: int
    line: int
    gain: int
    cut: bool


@functools.lru_cache(maxsize=64)
def take_apart(radius: float, alias: float) -> Disk | None:
    """Return the parts of a kernel, or ``None`` if they do not add up to it within half a level."""
    half, reach = (8, 1) if radius <= 8 else (math.ceil(radius), 2)
    extent = math.floor(radius)
    if extent > LARGEST_DISK:
        return None
    across = np.arange(-extent, extent + 1)
    spans = np.array([np.count_nonzero(across**2 + x**2 <= radius**2) // 2 for x in across])
    area = int((2 * spans + 1).sum())
    gain = round(_bell(alias, reach)[1] / area * 2**23)
    disk = Disk(
        spans=spans.astype(np.int64),
        scale=round(2**23 / area),
        weights=_in_pairs(_bell(alias, reach)),
        half=half,
        line=int(spans[extent + half - 1]) if gain and extent >= half - 1 else -1,
        gain=gain,
        cut=extent == half,
    )
    difference = _put_together(disk) - np.pad(blur._disk(radius, alias), 2)
    return disk if np.abs(difference).sum() * 255 < 0.5 else None


def _put_together(disk: Disk) -> NDArray[np.float64]:
    """Return the kernel that the parts make, on a grid with 2 more on each side."""
    middle, extent = disk.half + 2, len(disk.spans) // 2
    grid = np.zeros((2 * middle + 1, 2 * middle + 1))
    for x, span in zip(range(-extent, extent + 1), disk.spans, strict=True):
        grid[middle - span : middle + span + 1, middle + x] = disk.scale / 2**23
    pairs = disk.weights / 2**16
    bell = np.concatenate([pairs[:0:-1], [2 * pairs[0]], pairs[1:]])
    upright = ndimage.correlate1d(grid, bell, 0, mode="constant")
    kernel: NDArray[np.float64] = ndimage.correlate1d(upright, bell, 1, mode="constant")
    for side in (-1, 1):
        inside, outside = middle + side * disk.half, middle + side * (disk.half + 1)
        kernel[inside, middle - disk.line : middle + disk.line + 1] += disk.gain / 2**23
        kernel[middle - disk.line : middle + disk.line + 1, inside] += disk.gain / 2**23
        kernel[outside, middle] -= disk.cut * disk.gain / 2**23
        kernel[middle, outside] -= disk.cut * disk.gain / 2**23
    return kernel


def defocus_blur(image: Image, key: NDArray[np.uint32], radius: float, alias: float) -> Image:
    """``blur.defocus_blur``, which draws nothing."""
    disk = take_apart(radius, alias)
    if disk is None:
        return blur.defocus_blur(image, np.random.RandomState(key), radius, alias)
    out = np.empty_like(image)
    height, width = image.shape[:2]
    flat = (height, 3 * width)
    lines = (disk.half, disk.line, disk.gain, disk.cut)
    strips = (width + STRIP - 1) // STRIP
    for strip in range(strips):
        columns = strip_bounds(width, strip, strips)
        _defocus(
            explicit(), image.reshape(flat), columns, disk.spans, disk.scale, disk.weights, lines, out.reshape(flat)
        )
    return out


@compiled
def _defocus(
    explicit: bool | None,
    image: Image,
    columns: tuple[int, int],
    spans: NDArray[np.int64],
    scale: int,
    weights: Row,
    lines: tuple[int, int, int, bool],
    out: Image,
) -> None:
    """Blur one strip: means over the disk, row after row, then their smoothing, then the edges of the kernel's grid."""
    first, last = columns
    height, reach = image.shape[0], weights.size - 1
    margin = spans.size // 2 + 2  # as far as the kernel reaches, or further
    slots, pitch = 2 * margin + 1, 3 * (last - first + 2 * margin)
    # Rows of the image, the boxes of each, and two rows of boxes upright.
    rows = np.empty((2 * slots + 2) * pitch, np.uint16)
    n, wide = 3 * (last - first), 3 * (last - first + 2 * reach)
    total, means = np.zeros(wide, np.int32), np.empty((2 * reach + 1) * wide, np.uint16)
    sums, change = np.empty(n, np.uint16), np.empty(wide, np.uint16)
    extra = np.zeros(n, np.uint16)
    done = -margin
    for y in range(-reach, height + reach):
        while done <= y - reach + margin:
            place = (done + margin) % slots * pitch
            fetch_mirrored(image, done, first - margin, last + margin, rows, place)
            if lines[1] >= 0:
                _box(explicit, rows, place + 3 * margin, lines[1], (slots + (done + margin) % slots) * pitch, n)
            done += 1
        _move_disk(explicit, rows, y, (margin, slots, pitch), spans, reach, total, change)
        _scale(total, scale, means[(y + reach) % (2 * reach + 1) * wide :])
        if y >= reach:
            if reach > 0:
                _smooth_means(explicit, means, y - reach, weights, change, sums)
            if lines[1] >= 0:
                _add_lines(explicit, rows, y - reach, (margin, slots, pitch), lines, extra)
            _finish(sums if reach > 0 else means, extra, lines[2], out[y - reach, 3 * first : 3 * last])


@compiled
def _move_disk(
    explicit: bool | None,
    rows: Row,
    y: int,
    ring: tuple[int, int, int],
    spans: NDArray[np.int64],
    reach: int,
    total: NDArray[np.int32],
    change: Row,
) -> None:
    """Move the disk down to row ``y``: it gains its lower rim and loses the upper one; in row ``-reach`` it starts."""
    margin, slots, pitch = ring
    more, less = np.empty(spans.size, np.uint32), np.empty(spans.size, np.uint32)
    for k in range(spans.size):
        column = 3 * (k - spans.size // 2 + margin - reach)
        more[k] = (y + spans[k] + margin) % slots * pitch + column
        less[k] = (y - 1 - spans[k] + margin) % slots * pitch + column
    if y > -reach:
        sum_rows(explicit, rows, more, less, change, 0, total.size)
        _add_change(change, total)
        return
    for k in range(spans.size):
        upright = np.empty(2 * spans[k] + 1, np.uint32)
        for j in range(upright.size):
            upright[j] = (y - spans[k] + j + margin) % slots * pitch + more[k] % pitch
        sum_rows(explicit, rows, upright, upright[:0], change, 0, total.size)
        _add_change(change, total)


@compiled
def _add_change(change: Row, total: NDArray[np.int32]) -> None:
    for i in range(total.size):
        total[i] += np.int16(change[i])


@compiled
def _scale(total: NDArray[np.int32], scale: int, means: Row) -> None:
    """Turn sums over the disk into means with 7 bits behind the point."""
    for i in range(total.size):
        means[i] = np.uint32(np.uint32(total[i]) * np.uint32(scale) + np.uint32(32768)) >> np.uint32(16)


@compiled
def _smooth_means(explicit: bool | None, means: Row, y: int, weights: Row, upright: Row, out: Row) -> None:
    reach = weights.size - 1
    left, right = np.empty(reach + 1, np.uint32), np.empty(reach + 1, np.uint32)
    for k in range(reach + 1):
        left[k] = (y - k + reach) % (2 * reach + 1) * upright.size
        right[k] = (y + k + reach) % (2 * reach + 1) * upright.size
    weigh_pairs(explicit, means, left, right, weights, weights.size // 2, upright, 0, upright.size)
    for k in range(reach + 1):
        left[k], right[k] = 3 * (reach - k), 3 * (reach + k)
    weigh_pairs(explicit, upright, left, right, weights, weights.size // 2, out, 0, out.size)


@compiled
def _box(explicit: bool | None, rows: Row, place: int, line: int, at: int, n: int) -> None:
    """Write sums over ``2 * line + 1`` columns."""
    places = np.empty(2 * line + 1, np.uint32)
    for k in range(places.size):
        places[k] = place + 3 * (k - line)
    sum_rows(explicit, rows, places, places[:0], rows, at, n)


@compiled
def _add_lines(
    explicit: bool | None,
    rows: Row,
    y: int,
    ring: tuple[int, int, int],
    lines: tuple[int, int, int, bool],
    extra: Row,
) -> None:
    """Sum what the edges of the kernel's grid add to row ``y``: boxes of the rows, boxes upright, and four pixels."""
    margin, slots, pitch = ring
    half, line, _, cut = lines
    upright, before = (2 * slots + y % 2) * pitch, (2 * slots + (y + 1) % 2) * pitch
    if y == 0:
        more, less = np.empty(2 * line + 1, np.uint32), np.empty(0, np.uint32)
        for k in range(more.size):
            more[k] = (k - line + margin) % slots * pitch
    else:
        more, less = np.empty(2, np.uint32), np.empty(1, np.uint32)
        more[0], more[1] = before, (y + line + margin) % slots * pitch
        less[0] = (y - 1 - line + margin) % slots * pitch
    sum_rows(explicit, rows, more, less, rows, upright, pitch)

    more, less = np.empty(4, np.uint32), np.empty(4, np.uint32)
    for k in range(2):
        side = half if k else -half
        outside = half + 1 if k else -half - 1
        more[2 * k] = (slots + (y + side + margin) % slots) * pitch
        more[2 * k + 1] = upright + 3 * (margin + side)
        less[2 * k] = (y + outside + margin) % slots * pitch + 3 * margin
        less[2 * k + 1] = (y + margin) % slots * pitch + 3 * (margin + outside)
    sum_rows(explicit, rows, more, less if cut else less[:0], extra, 0, extra.size)


@compiled
def _finish(sums: Row, extra: Row, gain: int, out: NDArray[np.uint8]) -> None:
    """Add the edges, clip and truncate."""
    for i in range(out.size):
        level = np.int32(sums[i]) + np.int32((np.int32(np.int16(extra[i])) * np.int32(gain)) >> 16)
        out[i] = min(max(level, np.int32(0)), np.int32(32767)) >> np.int32(7)
