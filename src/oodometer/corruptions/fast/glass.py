"""Fast kernel of glass_blur; see ``corruptions.blur`` for its meaning and ``fast.blur`` for its Gaussian."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.blur import pair_weights
from oodometer.corruptions.fast.streams import fill_words
from oodometer.corruptions.fast.taps import Bytes, Places, Row, clip_to_bytes, compiled, extend, weigh_pairs
from oodometer.corruptions.fast.vectors import explicit
from oodometer.corruptions.rendering import gaussian, to_uint8, unit
from oodometer.types import Image

__all__ = ["draw_glass_blur", "glass_blur", "render_glass_blur"]

Shifts = NDArray[np.uint8] | NDArray[np.uint16]


def _lean(weights: Row, sigma: float) -> int:
    """Return what to add to the first Gaussian and to take from the second, in 1/128 level: more than they err by.

    Both truncate, and flat areas lie on whole levels, where a hair decides: together they could be two levels off. So
    the first shall never fall below a whole level, and the second always. A Gaussian without taps does not err.
    """
    return 2 + len(weights) // 2 if int(4 * sigma + 0.5) else 0


def glass_blur(image: Image, key: NDArray[np.uint32], sigma: float, delta: int, iterations: float) -> Image:
    """Blur, let each pixel take the colour of one nearby, and blur again."""
    shifts = draw_glass_blur(key, image.shape[0], image.shape[1], delta, iterations)
    return render_glass_blur(image, shifts, sigma, delta)


def draw_glass_blur(key: NDArray[np.uint32], height: int, width: int, delta: int, iterations: float) -> Shifts:
    """Draw the shifts of all passes, in the order in which pixels are copied.

    Returns
    -------
    numpy.ndarray
        uint8 or uint16, passes x pixels: ``(dy + delta) * 2 * delta + (dx + delta)``, from 0 to ``4 * delta**2 - 1``.
        Where the number of passes is a fraction, the last one leaves a share of the pixels where they are.
    """
    passes, pixels = math.ceil(iterations), max(height - 2 * delta, 0) * max(width - 2 * delta, 0)
    shifts = np.empty((passes, pixels), np.uint8 if delta <= 8 else np.uint16)
    words = np.empty(min(max(pixels, 1), 2**13), np.uint32)
    _draw_shifts(key, delta, iterations, words, shifts)
    return shifts


@compiled
def _draw_shifts(key: Places, delta: int, iterations: float, words: Places, shifts: Shifts) -> None:
    passes, pixels = shifts.shape
    count, stay = np.uint64(4 * delta * delta), 2 * delta * delta + delta
    moved = np.uint32((iterations - math.floor(iterations)) * 2**32)
    for i in range(passes):
        for start in range(0, pixels, words.size):
            row = shifts[i, start : start + words.size]
            fill_words(key, i * pixels + start, words)
            for j in range(row.size):
                row[j] = (np.uint64(words[j]) * count) >> np.uint64(32)
            if i + 1 > iterations:
                fill_words(key, passes * pixels + start, words)
                for j in range(row.size):
                    row[j] = row[j] if words[j] < moved else stay


def render_glass_blur(image: Image, shifts: Shifts, sigma: float, delta: int) -> Image:
    """Blur, copy pixels by the shifts drawn, and blur again."""
    weights = pair_weights(sigma)
    if weights is None:
        untouched = np.array([2**15], np.uint16)
        copied = _render(to_uint8(gaussian(unit(image), sigma)), shifts, untouched, 0, delta)
        return to_uint8(gaussian(unit(copied), sigma))
    return _render(image, shifts, weights, _lean(weights, sigma), delta)


def _render(image: Image, shifts: Shifts, weights: Row, lean: int, delta: int) -> Image:
    out = np.empty_like(image)
    height, width = image.shape[:2]
    _glass(explicit(), image.reshape(-1), weights, lean, shifts, delta, out.reshape(height, 3 * width))
    return out


@compiled
def _glass(
    explicit: bool | None, pixels: Bytes, weights: Row, lean: int, shifts: Shifts, delta: int, out: Image
) -> None:
    """Do all from the bottom up in one go, so that rows stay in the cache.

    When row ``y`` is blurred, the first pass of copies is in row ``y + delta``, since it reads that far up, the next
    one as far behind, and so on; the row that the last pass is in is ready for the second blur. ``packed`` has the rows
    in work, four bytes a pixel, and ``base`` is the row at its beginning. When it is full, the rows that are still
    needed move to its end.
    """
    height, width, reach, passes = out.shape[0], out.shape[1] // 3, weights.size - 1, shifts.shape[0]
    alive, slots = (passes + 1) * delta, 2 * reach + 1
    packed = np.empty(min(height, 2 * alive + 32) * width, np.uint32)
    base, steps = height - packed.size // width, _steps(delta, width)
    line, sums = np.empty(3 * (width + 2 * reach), np.uint16), np.empty(3 * width, np.uint16)
    blurred, copied = np.empty(3 * width, np.uint8), np.empty(slots * 3 * width, np.uint8)
    above, below = np.empty(reach + 1, np.uint32), np.empty(reach + 1, np.uint32)
    left, right = np.empty(reach + 1, np.uint32), np.empty(reach + 1, np.uint32)
    for k in range(reach + 1):
        left[k], right[k] = 3 * (reach - k), 3 * (reach + k)
    start = weights.size // 2  # makes up for the truncation of each product
    ahead, n = height - 1, 3 * width
    for y in range(height - 1, -1 - passes * delta, -1):
        if 0 <= y < base:
            base = _make_room(packed, width, y + 1, min(alive - 1, height - 1 - y))
        if y >= 0:
            for k in range(reach + 1):
                above[k], below[k] = max(y - k, 0) * n, min(y + k, height - 1) * n
            weigh_pairs(explicit, pixels, 7, above, below, weights, start, line, 3 * reach, n)
            extend(line, 3 * reach, 3 * reach + n, n + 6 * reach)
            weigh_pairs(explicit, line, None, left, right, weights, start + lean, sums, 0, n)
            clip_to_bytes(sums, blurred)
            _pack(blurred, packed[(y - base) * width :])
        for i in range(passes):
            row = y + (i + 1) * delta
            if delta < row <= height - delta and width > 2 * delta:
                first, moved = height - delta - row, width - 2 * delta
                drawn = shifts[i, first * moved : (first + 1) * moved]
                _copy_row(packed, (row - base) * width + width - delta, drawn, steps)
        ready = y + passes * delta
        if ready >= height:
            continue
        _unpack(packed[(ready - base) * width :], copied[ready % slots * n : (ready % slots + 1) * n])
        while ahead >= 0 and (ahead >= ready + reach or ready == 0):
            for k in range(reach + 1):
                above[k], below[k] = max(ahead - k, 0) % slots * n, min(ahead + k, height - 1) % slots * n
            weigh_pairs(explicit, copied, 7, above, below, weights, start, line, 3 * reach, n)
            extend(line, 3 * reach, 3 * reach + n, n + 6 * reach)
            weigh_pairs(explicit, line, None, left, right, weights, start - lean, sums, 0, n)
            clip_to_bytes(sums, out[ahead])
            ahead -= 1


@compiled
def _steps(delta: int, width: int) -> NDArray[np.uint64]:
    """Return how far each shift goes; unsigned, so that it wraps round: a sign would cost three times as much."""
    steps = np.empty(4 * delta * delta, np.uint64)
    for i in range(steps.size):
        steps[i] = (i // (2 * delta) - delta) * width + i % (2 * delta) - delta
    return steps


@compiled
def _make_room(packed: Places, width: int, first: int, kept: int) -> int:
    """Move the rows from ``first`` on, which are at the beginning, to the end; return the row at the beginning then."""
    moved = packed.size - kept * width
    for i in range(kept * width):
        packed[moved + i] = packed[i]
    return first + kept - packed.size // width


@compiled
def _pack(row: Bytes, packed: Places) -> None:
    for i in range(row.size // 3):
        j = np.uint64(3 * i)
        packed[i] = row[j] | (row[j + 1] << 8) | (row[j + 2] << 16)


@compiled
def _unpack(packed: Places, row: Bytes) -> None:
    for i in range(row.size // 3):
        j = np.uint64(3 * i)
        row[j], row[j + 1], row[j + 2] = packed[i], packed[i] >> 8, packed[i] >> 16


@compiled
def _copy_row(packed: Places, place: int, shifts: Shifts, steps: NDArray[np.uint64]) -> None:
    """Copy pixels in place, from the right to the left."""
    target = np.uint64(place)
    for i in range(shifts.size):
        packed[target] = packed[target + steps[shifts[i]]]
        target -= np.uint64(1)
