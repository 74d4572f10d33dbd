"""Fast kernel of defocus_blur; see ``corruptions.blur`` for its meaning and ``fast.blur`` for the strips and rings."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions import blur
from oodometer.corruptions.fast.taps import (
    STRIP,
    Bytes,
    Places,
    Row,
    after,
    bell_weights,
    compiled,
    fetch_mirrored,
    in_pairs,
    strip_bounds,
    sum_rows,
    weigh_pairs,
)
from oodometer.corruptions.fast.vectors import explicit
from oodometer.types import Image

__all__ = ["defocus_blur"]

LARGEST_DISK = 30
"""The largest radius for which the sums of defocus_blur are exact enough."""


@dataclass(frozen=True)
class Disk:
    """The published kernel of ``defocus_blur`` taken apart: a disk of ones, its smoothing, and the edges of its grid.

    ``spans`` has the disk's half height at each column, ``scale`` is 2^23 over its number of pixels, ``weights`` are
    those of the smoothing (see ``in_pairs``). The kernel's grid ends at ``half`` pixels, where the smoothing mirrors
    the disk: at each of its four sides a line of ``2 * line + 1`` pixels counts ``gain / 2^23`` more; and where the
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
    gain = round(bell_weights(alias, reach)[1] / area * 2**23)
    disk = Disk(
        spans=spans.astype(np.int64),
        scale=round(2**23 / area),
        weights=in_pairs(bell_weights(alias, reach)),
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
    upright = np.apply_along_axis(np.convolve, 0, grid, bell, "same")
    kernel: NDArray[np.float64] = np.apply_along_axis(np.convolve, 1, upright, bell, "same")
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
    """Blur one strip: means over the disk, row after row, then their smoothing, then the edges of the kernel's grid.

    When the disk is in row ``y``, the kernel is in row ``y - reach``, and ``top`` is the slot of the highest row that
    the kernel may need, ``margin`` above it.
    """
    first, last = columns
    height, reach = image.shape[0], weights.size - 1
    margin = spans.size // 2 + 2
    slots, pitch = 2 * margin + 1, 3 * (last - first + 2 * margin)
    n, wide = 3 * (last - first), 3 * (last - first + 2 * reach)
    rows, boxes, upright = np.empty(slots * pitch, np.uint8), np.empty(slots * n, np.uint16), np.zeros(pitch, np.uint16)
    total, means = np.zeros(wide, np.int32), np.empty((2 * reach + 1) * wide, np.uint16)
    more, less = np.empty(spans.size + 2, np.uint32), np.empty(spans.size + 2, np.uint32)
    sums, change, extra = np.empty(n, np.uint16), np.empty(wide, np.uint16), np.zeros(n, np.uint16)
    done = -margin
    for y in range(-reach, height + reach):
        while done <= y - reach + margin:
            slot = (done + margin) % slots
            fetch_mirrored(image, done, first - margin, last + margin, rows[slot * pitch :])
            if lines[1] >= 0:
                _box(explicit, rows, slot * pitch + 3 * margin, lines[1], more, boxes, slot * n, n)
            done += 1
        top = (y - reach) % slots
        ring = (top, margin + reach, slots)
        _move_disk(explicit, rows, y == -reach, ring, pitch, spans, reach, more, less, total, change)
        _scale(total, scale, means[(y + reach) % (2 * reach + 1) * wide :])
        if y >= reach:
            if reach > 0:
                _smooth_means(explicit, means, y - reach, weights, more, less, change, sums)
            if lines[1] >= 0:
                _add_lines(rows, boxes, upright, y == reach, (top, margin, slots), pitch, lines, extra)
            _finish(sums if reach > 0 else means, extra, lines[2], out[y - reach, 3 * first : 3 * last])


@compiled
def _move_disk(
    explicit: bool | None,
    rows: Bytes,
    starts: bool,
    ring: tuple[int, int, int],
    pitch: int,
    spans: NDArray[np.int64],
    reach: int,
    more: Places,
    less: Places,
    total: NDArray[np.int32],
    change: Row,
) -> None:
    """Move the disk down one row: it gains its lower rim and loses the upper one. When it starts, it gains all.

    The ring's three numbers are its top slot, the steps from there to the row of the disk's middle, and its slots.
    """
    top, middle, slots = ring
    margin = spans.size // 2 + 2
    for k in range(spans.size):
        column = 3 * (k - spans.size // 2 + margin - reach)
        if starts:
            for j in range(2 * spans[k] + 1):
                more[j] = after(top, middle - spans[k] + j, slots) * pitch + column
            sum_rows(explicit, rows, more[: 2 * spans[k] + 1], less[:0], change, 0, total.size)
            _add_change(change, total)
        else:
            more[k] = after(top, middle + spans[k], slots) * pitch + column
            less[k] = after(top, middle - 1 - spans[k], slots) * pitch + column
    if not starts:
        sum_rows(explicit, rows, more[: spans.size], less[: spans.size], change, 0, total.size)
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
def _smooth_means(
    explicit: bool | None, means: Row, y: int, weights: Row, left: Places, right: Places, upright: Row, out: Row
) -> None:
    reach = weights.size - 1
    for k in range(reach + 1):
        left[k] = (y - k + reach) % (2 * reach + 1) * upright.size
        right[k] = (y + k + reach) % (2 * reach + 1) * upright.size
    weigh_pairs(explicit, means, None, left, right, weights, weights.size // 2, upright, 0, upright.size)
    for k in range(reach + 1):
        left[k], right[k] = 3 * (reach - k), 3 * (reach + k)
    weigh_pairs(explicit, upright, None, left, right, weights, weights.size // 2, out, 0, out.size)


@compiled
def _box(
    explicit: bool | None, rows: Bytes, place: int, line: int, places: Places, boxes: Row, at: int, n: int
) -> None:
    """Write sums over ``2 * line + 1`` columns."""
    for k in range(2 * line + 1):
        places[k] = place + 3 * (k - line)
    sum_rows(explicit, rows, places[: 2 * line + 1], places[:0], boxes, at, n)


@compiled
def _add_lines(
    rows: Bytes,
    boxes: Row,
    upright: Row,
    starts: bool,
    ring: tuple[int, int, int],
    pitch: int,
    lines: tuple[int, int, int, bool],
    extra: Row,
) -> None:
    """Sum what the edges of the kernel's grid count more: lines along the rows, upright ones, and four pixels less.

    ``upright`` has the sums over ``2 * line + 1`` rows, which move down like the disk.
    """
    top, middle, slots = ring
    half, line, _, cut = lines
    margin, n = middle, extra.size
    if starts:
        for j in range(-line, line + 1):
            place = after(top, middle + j, slots) * pitch
            _add_row(rows[place : place + pitch], upright)
    else:
        gained, lost = after(top, middle + line, slots) * pitch, after(top, middle - 1 - line, slots) * pitch
        _move_row(rows[gained : gained + pitch], rows[lost : lost + pitch], upright)
    upper, lower = after(top, middle - half, slots) * n, after(top, middle + half, slots) * n
    left, right = 3 * (margin - half), 3 * (margin + half)
    _add_four(
        boxes[upper : upper + n], boxes[lower : lower + n], upright[left : left + n], upright[right : right + n], extra
    )
    if cut:
        upper = after(top, middle - half - 1, slots) * pitch + 3 * margin
        lower = after(top, middle + half + 1, slots) * pitch + 3 * margin
        here = after(top, middle, slots) * pitch
        left, right = here + left - 3, here + right + 3
        _take_four(
            rows[upper : upper + n], rows[lower : lower + n], rows[left : left + n], rows[right : right + n], extra
        )


@compiled
def _add_row(row: Bytes, total: Row) -> None:
    for i in range(total.size):
        total[i] += row[i]


@compiled
def _move_row(gained: Bytes, lost: Bytes, total: Row) -> None:
    for i in range(total.size):
        total[i] += np.uint16(np.uint16(gained[i]) - np.uint16(lost[i]))


@compiled
def _add_four(a: Row, b: Row, c: Row, d: Row, out: Row) -> None:
    for i in range(out.size):
        out[i] = np.uint16(a[i] + b[i] + c[i] + d[i])


@compiled
def _take_four(a: Bytes, b: Bytes, c: Bytes, d: Bytes, out: Row) -> None:
    for i in range(out.size):
        out[i] -= np.uint16(np.uint16(a[i]) + np.uint16(b[i]) + np.uint16(c[i]) + np.uint16(d[i]))


@compiled
def _finish(sums: Row, extra: Row, gain: int, out: Bytes) -> None:
    """Add the edges, clip and truncate."""
    for i in range(out.size):
        level = np.int32(np.int32(sums[i]) + (np.int32(np.int32(np.int16(extra[i])) * np.int32(gain)) >> np.int32(16)))
        level = max(level, np.int32(0))
        out[i] = np.int32(min(level, np.int32(32767))) >> np.int32(7)
