"""Fast kernels of the digital corruptions; see ``oodometer.corruptions.digital`` for their meaning."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.types import Image

__all__ = ["pixelate"]

I = np.int32  # noqa: E741
U = np.uint64

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined = numba.njit(forceinline=True, error_model="numpy")


# --- pixelate ---


def pixelate(image: Image, key: NDArray[np.uint32], scale: float) -> Image:
    """Fast twin of ``digital.pixelate``: box means down, copies up, equal to Pillow's at every pixel."""
    height, width = image.shape[:2]
    result = np.empty_like(image)
    pixels = image.view()
    pixels.flags.writeable = False  # Numba compiles for read-only arrays and for others; so once is enough
    shrink_and_enlarge(pixels, int(height * scale), int(width * scale), result)
    return result


@compiled
def shrink_and_enlarge(image: Image, few_rows: int, few_columns: int, result: Image) -> None:
    """Average boxes of pixels, first along rows, then along columns, and spread them again."""
    height, width = image.shape[:2]
    pixels, spread = image.reshape(-1), result.reshape(height, -1)
    left, right, across = boxes(width, few_columns)
    top, bottom, down = boxes(height, few_rows)
    column_of, row_of = boxes(few_columns, width)[0], boxes(few_rows, height)[0]
    totals, means = np.empty(few_columns, np.uint64), np.empty(4 * few_columns, np.uint8)
    sums, wide = np.empty(4 * few_columns, np.int32), np.empty(4 * width, np.uint8)
    means[:] = 0
    y = 0
    for row in range(few_rows):
        sums[:] = 0
        for source in range(top[row], bottom[row]):
            add_boxes(pixels, U(source) * U(width), left, right, totals)
            average(totals, across, means)
            accumulate(means, sums)
        scale_down(sums, I(down[row]), means)
        repeat(means.view(np.uint32), column_of, wide.view(np.uint32))
        while y < height and row_of[y] == U(row):
            drop_fourth(wide, spread[y])
            y += 1


@compiled
def boxes(old: int, new: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Return first, end and weight of the samples that Pillow averages for each of ``new`` samples.

    A weight is in 1/2**22, rounded. Pillow rounds the ends of a box, then drops what is not in its half-open interval.
    """
    ratio = old / new
    reach = max(ratio, 1.0)
    first, end, weight = np.empty(new, np.uint64), np.empty(new, np.uint64), np.empty(new, np.uint64)
    for i in range(new):
        centre = (i + 0.5) * ratio
        a = max(int(centre - 0.5 * reach + 0.5), 0)
        b = min(int(centre + 0.5 * reach + 0.5), old)
        while a < b and (a - centre + 0.5) * (1.0 / reach) <= -0.5:
            a += 1
        while a < b and (b - 1 - centre + 0.5) * (1.0 / reach) > 0.5:
            b -= 1
        first[i], end[i] = a, b
        weight[i] = int(0.5 + 1.0 / (b - a) * 4194304.0) if b > a else 0
    return first, end, weight


@compiled
def add_boxes(
    pixels: NDArray[np.uint8],
    start: np.uint64,
    left: NDArray[np.uint64],
    right: NDArray[np.uint64],
    totals: NDArray[np.uint64],
) -> None:
    """Add up the boxes of one row: sums of the three channels in one word, 21 bits each."""
    for i in range(U(totals.size)):
        total = U(0)
        for x in range(start + left[i], start + right[i]):
            at = U(3) * x
            total += U(pixels[at]) + (U(pixels[at + U(1)]) << U(21)) + (U(pixels[at + U(2)]) << U(42))
        totals[i] = total


@compiled
def average(totals: NDArray[np.uint64], weights: NDArray[np.uint64], means: NDArray[np.uint8]) -> None:
    """Turn the sums of a row into means, four bytes a pixel."""
    for i in range(U(totals.size)):
        at = U(4) * i
        means[at] = rounded(totals[i] & U(0x1FFFFF), weights[i])
        means[at + U(1)] = rounded((totals[i] >> U(21)) & U(0x1FFFFF), weights[i])
        means[at + U(2)] = rounded(totals[i] >> U(42), weights[i])


@inlined
def rounded(total: np.uint64, weight: np.uint64) -> np.uint64:
    """Multiply by a weight in 1/2**22 and round, halves up."""
    return (total * weight + U(2097152)) >> U(22)


@compiled
def accumulate(means: NDArray[np.uint8], sums: NDArray[np.int32]) -> None:
    """Add a row."""
    for i in range(sums.size):
        sums[i] += means[i]


@compiled
def scale_down(sums: NDArray[np.int32], weight: np.int32, means: NDArray[np.uint8]) -> None:
    """Turn sums into means."""
    for i in range(sums.size):
        means[i] = I(I(sums[i] * weight) + I(2097152)) >> I(22)


@compiled
def repeat(means: NDArray[np.uint32], column_of: NDArray[np.uint64], wide: NDArray[np.uint32]) -> None:
    """Give each pixel of a row the mean of its box."""
    for x in range(U(wide.size)):
        wide[x] = means[column_of[x]]


@compiled
def drop_fourth(wide: NDArray[np.uint8], row: NDArray[np.uint8]) -> None:
    """Leave out every fourth byte."""
    for x in range(U(wide.size // 4)):
        row[U(3) * x] = wide[U(4) * x]
        row[U(3) * x + U(1)] = wide[U(4) * x + U(1)]
        row[U(3) * x + U(2)] = wide[U(4) * x + U(2)]
