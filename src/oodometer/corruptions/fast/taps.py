"""Weighted sums of shifted rows in 16-bit integers: what the blurs are made of.

Rows lie one behind the other in a flat uint16 array, so that a shift to the side and a shift up or down are the same
thing: another place to start reading. Values have 7 or 8 bits behind the point. A product keeps its upper 16 bits, so
each loses half a unit on average, which callers add at the start of the sum.

Each function has two twins with equal results; for ``explicit`` see ``fast.vectors``. They need 32 values or more, as
the last vector overlaps the one before.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.vectors import convert, fill, high_product, load, store
from oodometer.types import Image

__all__ = [
    "Places",
    "Row",
    "blend",
    "clip_to_bytes",
    "compiled",
    "fetch",
    "fetch_mirrored",
    "sum_rows",
    "to_bytes",
    "weigh_each",
    "weigh_pairs",
]

Row = NDArray[np.uint16]
Places = NDArray[np.uint32]
Bytes = NDArray[np.uint8]

U16, U32 = np.uint16, np.uint32

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


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
def mirrored(i: int, n: int) -> int:
    """Return which of n samples lies at place ``i`` where the row goes on as c b|a b c ... y z|y x."""
    i = abs(i) % max(2 * n - 2, 1)
    return min(i, 2 * n - 2 - i)


@compiled
def fetch_mirrored(image: Image, y: int, first: int, last: int, out: Row, at: int) -> None:
    """Do as ``fetch``, not shifted and with mirrored borders above, below and at the sides."""
    width = image.shape[1] // 3
    row = image[mirrored(y, image.shape[0])]
    inner, outer = max(first, 0), min(last, width)
    for column in range(first, inner):
        for channel in range(3):
            out[at + 3 * (column - first) + channel] = row[3 * mirrored(column, width) + channel]
    _shift(row[3 * inner : 3 * outer], 0, out[at + 3 * (inner - first) :])
    for column in range(outer, last):
        for channel in range(3):
            out[at + 3 * (column - first) + channel] = row[3 * mirrored(column, width) + channel]


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
def clip_to_bytes(row: Row, out: Bytes) -> None:
    """Do as ``to_bytes`` with 7 bits behind the point, where a sum may be a little under 0."""
    for i in range(out.size):
        out[i] = np.uint8(max(np.int16(row[i]), np.int16(0)) >> np.int16(7))


@compiled
def weigh_pairs(
    explicit: bool | None, source: Row, left: Places, right: Places, weights: Row, start: int, out: Row, at: int, n: int
) -> None:
    """Write ``start + sum((source[left + i] + source[right + i]) * weights >> 16)`` to ``out[at + i]``, i < n.

    The two values of a pair, which share a weight, must add up to less than 2^16.
    """
    if explicit is None:
        _fill(out[at : at + n], start)
        for k in range(weights.size):
            a, b = left[k], right[k]
            _add_pair(source[a : a + n], source[b : b + n], weights[k], out[at : at + n])
    else:
        i = 0
        while i + 128 <= n:
            _weigh_pairs_4(source, left, right, weights, start, out, at, i)
            i += 128
        while i < n:
            i = min(i, n - 32)
            _weigh_pairs_1(source, left, right, weights, start, out, at, i)
            i += 32


@compiled
def _fill(out: Row, start: int) -> None:
    for i in range(out.size):
        out[i] = start


@compiled
def _add_pair(a: Row, b: Row, weight: int, out: Row) -> None:
    for i in range(out.size):
        out[i] += U16((U32(U16(a[i] + b[i])) * U32(weight)) >> U32(16))


@compiled
def _weigh_pairs_4(
    source: Row, left: Places, right: Places, weights: Row, start: int, out: Row, at: int, i: int
) -> None:
    """128 values at once: places and weights are read once for four vectors."""
    s0 = fill(U16(start), 32)
    s1, s2, s3 = s0, s0, s0
    for k in range(weights.size):
        a, b, w = left[k] + i, right[k] + i, fill(weights[k], 32)
        s0 += high_product(load(source, a, 32) + load(source, b, 32), w)
        s1 += high_product(load(source, a + 32, 32) + load(source, b + 32, 32), w)
        s2 += high_product(load(source, a + 64, 32) + load(source, b + 64, 32), w)
        s3 += high_product(load(source, a + 96, 32) + load(source, b + 96, 32), w)
    store(out, at + i, s0)
    store(out, at + i + 32, s1)
    store(out, at + i + 64, s2)
    store(out, at + i + 96, s3)


@compiled
def _weigh_pairs_1(
    source: Row, left: Places, right: Places, weights: Row, start: int, out: Row, at: int, i: int
) -> None:
    s = fill(U16(start), 32)
    for k in range(weights.size):
        pair = load(source, left[k] + i, 32) + load(source, right[k] + i, 32)
        s += high_product(pair, fill(weights[k], 32))
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
def sum_rows(explicit: bool | None, source: Row, more: Places, less: Places, out: Row, at: int, n: int) -> None:
    """Write ``sum(source[more + i]) - sum(source[less + i])``, modulo 2^16, to ``out[at + i]``, i < n.

    ``out`` may be the source, but at a place that is not read.
    """
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
def _add(a: Row, out: Row) -> None:
    for i in range(out.size):
        out[i] += a[i]


@compiled
def _subtract(a: Row, out: Row) -> None:
    for i in range(out.size):
        out[i] -= a[i]


@compiled
def _sum_rows_4(source: Row, more: Places, less: Places, out: Row, at: int, i: int) -> None:
    s0 = fill(U16(0), 32)
    s1, s2, s3 = s0, s0, s0
    for k in range(more.size):
        a = more[k] + i
        s0 += load(source, a, 32)
        s1 += load(source, a + 32, 32)
        s2 += load(source, a + 64, 32)
        s3 += load(source, a + 96, 32)
    for k in range(less.size):
        a = less[k] + i
        s0 -= load(source, a, 32)
        s1 -= load(source, a + 32, 32)
        s2 -= load(source, a + 64, 32)
        s3 -= load(source, a + 96, 32)
    store(out, at + i, s0)
    store(out, at + i + 32, s1)
    store(out, at + i + 64, s2)
    store(out, at + i + 96, s3)


@compiled
def _sum_rows_1(source: Row, more: Places, less: Places, out: Row, at: int, i: int) -> None:
    s = fill(U16(0), 32)
    for k in range(more.size):
        s += load(source, more[k] + i, 32)
    for k in range(less.size):
        s -= load(source, less[k] + i, 32)
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
