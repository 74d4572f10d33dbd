"""Weighted sums of shifted rows in 16-bit integers: what the blurs are made of.

Rows lie one behind the other in a flat uint16 array, so that a shift to the side and a shift up or down are the same
thing: another place to start reading. Values have 7 or 8 bits behind the point. A product keeps its upper 16 bits, so
each loses half a unit on average, which callers add at the start of the sum.

Each function has two twins with equal results; for ``explicit`` see ``fast.vectors``. They need 32 values or more, as
the last vector overlaps the one before.
"""

from __future__ import annotations

import typing

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.vectors import convert, fill, high_product, load, store
from oodometer.types import Image

__all__ = [
    "STRIP",
    "Bytes",
    "Places",
    "Row",
    "after",
    "bell_weights",
    "blend",
    "clip_to_bytes",
    "compiled",
    "extend",
    "fetch",
    "fetch_mirrored",
    "in_pairs",
    "strip_bounds",
    "sum_rows",
    "to_bytes",
    "weigh_each",
    "weigh_pairs",
]

Row = NDArray[np.uint16]
Places = NDArray[np.uint32]
Bytes = NDArray[np.uint8]

Lanes: typing.TypeAlias = typing.Any
"""A ``fast.vectors.Vector`` of 32 uint16, which exists in compiled code only."""

U16, U32 = np.uint16, np.uint32

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


STRIP = 256
"""Columns of a strip, at most."""


@compiled
def strip_bounds(width: int, i: int, strips: int) -> tuple[int, int]:
    """Return the first column of strip ``i`` and the one after its last: all strips have about the same width."""
    return width * i // strips, width * (i + 1) // strips


def bell_weights(sigma: float, reach: int) -> NDArray[np.float64]:
    """Return the weights of a Gaussian's centre and of the taps to one side; with the other side they add up to 1."""
    bell = np.exp(-(np.arange(reach + 1.0) ** 2) / (2 * sigma**2))
    bell /= 2 * bell.sum() - bell[0]
    return bell


def in_pairs(bell: NDArray[np.float64]) -> Row:
    """Return weights as integers: of half the centre, then of each pair of taps; they add up to 2^15."""
    whole = np.rint(bell * 2**16).astype(np.int64)
    whole[0] = 2**15 - whole[1:].sum()
    return np.trim_zeros(whole, "b").astype(np.uint16)


@compiled
def fetch(image: Image, y: int, first: int, last: int, shift: int, out: Row, at: int) -> None:
    """Write columns ``first`` up to ``last`` of a row, shifted left, to ``out[at:]``; those outside are the nearest.

    The image is H x 3 W, so that a column is three values.
    """
    row, width = image[y], image.shape[1] // 3
    inner, outer = max(first, 0), min(last, width)
    for column in range(first, inner):
        for channel in range(3):
            out[at + 3 * (column - first) + channel] = U16(row[channel]) << U16(shift)
    _shift(row[3 * inner : 3 * outer], shift, out[at + 3 * (inner - first) :])
    for column in range(outer, last):
        for channel in range(3):
            out[at + 3 * (column - first) + channel] = U16(row[3 * width - 3 + channel]) << U16(shift)


@compiled
def extend(line: Row, first: int, last: int, end: int) -> None:
    """Repeat the pixel at place ``first`` of a row down to its beginning, and the one before ``last`` up to ``end``."""
    for i in range(first - 3, -1, -3):
        for channel in range(3):
            line[i + channel] = line[first + channel]
    for i in range(last, end, 3):
        for channel in range(3):
            line[i + channel] = line[last - 3 + channel]


@compiled
def mirrored(i: int, n: int) -> int:
    """Return which of n samples lies at place ``i`` where the row goes on as c b|a b c ... y z|y x."""
    while not 0 <= i < n:
        i = -i if i < 0 else 2 * n - 2 - i
    return i


@compiled
def fetch_mirrored(image: Image, y: int, first: int, last: int, out: Bytes) -> None:
    """Do as ``fetch``, but leave bytes as they are and mirror the borders, those above and below too."""
    width = image.shape[1] // 3
    row = image[mirrored(y, image.shape[0])]
    inner, outer = max(first, 0), min(last, width)
    for column in range(first, inner):
        _copy(row[3 * mirrored(column, width) :], 3, out[3 * (column - first) :])
    _copy(row[3 * inner :], 3 * (outer - inner), out[3 * (inner - first) :])
    for column in range(outer, last):
        _copy(row[3 * mirrored(column, width) :], 3, out[3 * (column - first) :])


@compiled
def _copy(row: Bytes, n: int, out: Bytes) -> None:
    for i in range(n):
        out[i] = row[i]


@compiled
def _shift(row: Bytes, shift: int, out: Row) -> None:
    for i in range(row.size):
        out[i] = U16(row[i]) << U16(shift)


@compiled
def to_bytes(row: Row, shift: int, out: Bytes) -> None:
    """Drop the bits behind the point: as the published code does, truncate."""
    for i in range(out.size):
        out[i] = np.uint8(row[i] >> U16(shift))


@compiled
def after(slot: int, steps: int, slots: int) -> int:
    """Return the slot of a ring so many steps after another, fewer than once round. A division would take longer."""
    slot += steps
    return slot - slots if slot >= slots else slot


@compiled
def clip_to_bytes(row: Row, out: Bytes) -> None:
    """Do as ``to_bytes`` with 7 bits behind the point, where a sum may be a little under 0."""
    for i in range(out.size):
        out[i] = np.uint8(max(np.int16(row[i]), np.int16(0)) >> np.int16(7))


@compiled
def weigh_pairs(
    explicit: bool | None,
    source: Row | Bytes,
    shift: int | None,
    left: Places,
    right: Places,
    weights: Row,
    start: int,
    out: Row,
    at: int,
    n: int,
) -> None:
    """Write ``start + sum((source[left + i] + source[right + i]) * weights >> 16)`` to ``out[at + i]``, i < n.

    The two values of a pair, which share a weight, must add up to less than 2^16. Bytes are first shifted left by
    ``shift``, which is ``None`` for rows.
    """
    if explicit is None:
        _fill(out[at : at + n], start)
        for k in range(weights.size):
            a, b = left[k], right[k]
            _add_pair(source[a : a + n], source[b : b + n], shift, weights[k], out[at : at + n])
    else:
        i = 0
        while i + 128 <= n:
            _weigh_pairs_4(source, shift, left, right, weights, start, out, at, i)
            i += 128
        while i < n:
            i = min(i, n - 32)
            _weigh_pairs_1(source, shift, left, right, weights, start, out, at, i)
            i += 32


@compiled
def _fill(out: Row, start: int) -> None:
    for i in range(out.size):
        out[i] = start


@compiled
def _add_pair(a: Row | Bytes, b: Row | Bytes, shift: int | None, weight: int, out: Row) -> None:
    for i in range(out.size):
        pair = U16(U16(a[i]) + U16(b[i]))
        if shift is not None:
            pair = U16(pair << U16(shift))
        out[i] += U16((U32(pair) * U32(weight)) >> U32(16))


@compiled
def _pair(source: Row | Bytes, shift: int | None, a: int, b: int) -> Lanes:
    pair = convert(load(source, a, 32), U16) + convert(load(source, b, 32), U16)
    return pair if shift is None else pair << fill(U16(shift), 32)


@compiled
def _weigh_pairs_4(
    source: Row | Bytes,
    shift: int | None,
    left: Places,
    right: Places,
    weights: Row,
    start: int,
    out: Row,
    at: int,
    i: int,
) -> None:
    """128 values at once: places and weights are read once for four vectors."""
    s0 = fill(U16(start), 32)
    s1, s2, s3 = s0, s0, s0
    for k in range(weights.size):
        a, b, w = left[k] + i, right[k] + i, fill(weights[k], 32)
        s0 += high_product(_pair(source, shift, a, b), w)
        s1 += high_product(_pair(source, shift, a + 32, b + 32), w)
        s2 += high_product(_pair(source, shift, a + 64, b + 64), w)
        s3 += high_product(_pair(source, shift, a + 96, b + 96), w)
    store(out, at + i, s0)
    store(out, at + i + 32, s1)
    store(out, at + i + 64, s2)
    store(out, at + i + 96, s3)


@compiled
def _weigh_pairs_1(
    source: Row | Bytes,
    shift: int | None,
    left: Places,
    right: Places,
    weights: Row,
    start: int,
    out: Row,
    at: int,
    i: int,
) -> None:
    s = fill(U16(start), 32)
    for k in range(weights.size):
        s += high_product(_pair(source, shift, left[k] + i, right[k] + i), fill(weights[k], 32))
    store(out, at + i, s)


@compiled
def weigh_each(
    explicit: bool | None, source: Row, places: Places, weights: Row, start: int, out: Row, at: int, n: int
) -> None:
    """Write ``start + sum(source[places + i] * weights >> 16)`` to ``out[at + i]``, i < n."""
    if explicit is None:
        _fill(out[at : at + n], start)
        for k in range(weights.size):
            _add_one(source[places[k] : places[k] + n], weights[k], out[at : at + n])
    else:
        i = 0
        while i + 128 <= n:
            _weigh_each_4(source, places, weights, start, out, at, i)
            i += 128
        while i < n:
            i = min(i, n - 32)
            _weigh_each_1(source, places, weights, start, out, at, i)
            i += 32


@compiled
def _add_one(a: Row, weight: int, out: Row) -> None:
    for i in range(out.size):
        out[i] += U16((U32(a[i]) * U32(weight)) >> U32(16))


@compiled
def _weigh_each_4(source: Row, places: Places, weights: Row, start: int, out: Row, at: int, i: int) -> None:
    s0 = fill(U16(start), 32)
    s1, s2, s3 = s0, s0, s0
    for k in range(weights.size):
        a, w = places[k] + i, fill(weights[k], 32)
        s0 += high_product(load(source, a, 32), w)
        s1 += high_product(load(source, a + 32, 32), w)
        s2 += high_product(load(source, a + 64, 32), w)
        s3 += high_product(load(source, a + 96, 32), w)
    store(out, at + i, s0)
    store(out, at + i + 32, s1)
    store(out, at + i + 64, s2)
    store(out, at + i + 96, s3)


@compiled
def _weigh_each_1(source: Row, places: Places, weights: Row, start: int, out: Row, at: int, i: int) -> None:
    s = fill(U16(start), 32)
    for k in range(weights.size):
        s += high_product(load(source, places[k] + i, 32), fill(weights[k], 32))
    store(out, at + i, s)


@compiled
def sum_rows(explicit: bool | None, source: Bytes, more: Places, less: Places, out: Row, at: int, n: int) -> None:
    """Write ``sum(source[more + i]) - sum(source[less + i])``, modulo 2^16, to ``out[at + i]``, i < n."""
    if explicit is None:
        _fill(out[at : at + n], 0)
        for k in range(more.size):
            _add(source[more[k] : more[k] + n], out[at : at + n])
        for k in range(less.size):
            _subtract(source[less[k] : less[k] + n], out[at : at + n])
    else:
        i = 0
        while i + 128 <= n:
            _sum_rows_4(source, more, less, out, at, i)
            i += 128
        while i < n:
            i = min(i, n - 32)
            _sum_rows_1(source, more, less, out, at, i)
            i += 32


@compiled
def _add(a: Bytes, out: Row) -> None:
    for i in range(out.size):
        out[i] += a[i]


@compiled
def _subtract(a: Bytes, out: Row) -> None:
    for i in range(out.size):
        out[i] -= a[i]


@compiled
def _sum_rows_4(source: Bytes, more: Places, less: Places, out: Row, at: int, i: int) -> None:
    s0 = fill(U16(0), 32)
    s1, s2, s3 = s0, s0, s0
    for k in range(more.size):
        a = more[k] + i
        s0 += convert(load(source, a, 32), U16)
        s1 += convert(load(source, a + 32, 32), U16)
        s2 += convert(load(source, a + 64, 32), U16)
        s3 += convert(load(source, a + 96, 32), U16)
    for k in range(less.size):
        a = less[k] + i
        s0 -= convert(load(source, a, 32), U16)
        s1 -= convert(load(source, a + 32, 32), U16)
        s2 -= convert(load(source, a + 64, 32), U16)
        s3 -= convert(load(source, a + 96, 32), U16)
    store(out, at + i, s0)
    store(out, at + i + 32, s1)
    store(out, at + i + 64, s2)
    store(out, at + i + 96, s3)


@compiled
def _sum_rows_1(source: Bytes, more: Places, less: Places, out: Row, at: int, i: int) -> None:
    s = fill(U16(0), 32)
    for k in range(more.size):
        s += convert(load(source, more[k] + i, 32), U16)
    for k in range(less.size):
        s -= convert(load(source, less[k] + i, 32), U16)
    store(out, at + i, s)


@compiled
def blend(
    explicit: bool | None, source: Bytes, start: int, first: int, last: int, weights: Row, out: Row, at: int
) -> None:
    """Write ``source[start + i]``, blended with the value 3 behind it by ``weights[i] / 2^16``, to ``out[at + i]``.

    For ``i`` from ``first`` up to ``last``, with 8 bits behind the point. The explicit twin goes on for up to 31 values
    after the last.
    """
    if explicit is None:
        _blend(source[start + first : start + last + 3], weights[first:last], out[at + first : at + last])
    else:
        for i in range(first, last, 32):
            a = convert(load(source, start + i, 32), np.uint16) << fill(U16(8), 32)
            b = convert(load(source, start + i + 3, 32), np.uint16) << fill(U16(8), 32)
            w = load(weights, i, 32)
            mixed = high_product(a, w ^ fill(U16(65535), 32)) + high_product(b, w)
            store(out, at + i, mixed + fill(U16(1), 32))


@compiled
def _blend(source: Bytes, weights: Row, out: Row) -> None:
    for i in range(out.size):
        a, b, w = U32(source[i]) << U32(8), U32(source[i + 3]) << U32(8), U32(weights[i])
        out[i] = U16(((a * U32(U32(65535) - w)) >> U32(16)) + ((b * w) >> U32(16)) + U32(1))
