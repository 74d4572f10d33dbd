"""Pillow's bilinear resize of the part of a picture that is kept: the same bits, in a quarter of the time.

Pillow resizes a whole picture, and a crop then throws much of it away. Here only the pixels of the crop are computed,
by the same arithmetic: a tent that is as wide as the reduction, its weights whole numbers of 1 / 2 ** 22; rows first,
rounded to 8 bits, then columns, as Pillow did when ImageNet-C was made. (From version 13 on it begins with the columns
of some pictures; see ``oodometer.preprocess.plain``.)
"""

from __future__ import annotations

import typing

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.int32 import add, mul, shifted
from oodometer.types import Image

__all__ = ["Box", "Size", "bilinear"]

Size: typing.TypeAlias = tuple[int, int]
"""Width and height in pixels."""

Box: typing.TypeAlias = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels, the last two not included, as Pillow has it."""

Bytes: typing.TypeAlias = NDArray[np.uint8]
Places: typing.TypeAlias = NDArray[np.int64]

I = np.int32  # noqa: E741
U = np.uint64

BITS = 22
"""Weights are whole numbers of 1 / 2 ** BITS."""
HALF = 1 << (BITS - 1)

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined = numba.njit(forceinline=True, error_model="numpy")


def bilinear(pixels: Bytes, box: Box, size: Size, window: Box) -> Image:
    """Return what Pillow gives at every pixel for ``image.crop(box).resize(size, BILINEAR).crop(window)``.

    Parameters
    ----------
    pixels
        The picture: uint8, height x (4 * width), four bytes a pixel of which the fourth is ignored, as in Pillow's
        memory; contiguous and read-only (Numba would compile for arrays that can be written once more).
    box
        The part that is resized, within the picture.
    size
        Width and height to which the box is resized.
    window
        The part of the result that is kept, within ``size``.

    Returns
    -------
    Image
        uint8, height x width of the window x 3.
    """
    left, top, right, bottom = window
    result = np.empty((bottom - top, right - left, 3), np.uint8)
    resize_window(pixels, box, size, window, result.reshape(bottom - top, -1))
    return result


@compiled
def resize_window(pixels: Bytes, box: Box, size: Size, window: Box, result: Bytes) -> None:
    """Resize rows as far as the window needs them, then columns."""
    column, columns, across = weights(box[2] - box[0], size[0], window[0], window[2])
    row, rows, down = weights(box[3] - box[1], size[1], window[1], window[3])
    first = row[0]
    narrow = np.empty((row[-1] + rows[-1] - first, result.shape[1]), np.uint8)
    for y in range(narrow.shape[0]):
        shrink_row(pixels[box[1] + first + y, 4 * box[0] :], column, columns, across, narrow[y])
    sums = np.empty(result.shape[1], np.int32)
    for y in range(result.shape[0]):
        sums[:] = HALF
        for tap in range(rows[y]):
            add_row(narrow[row[y] - first + tap], down[y, tap], sums)
        for i in range(sums.size):
            result[y, i] = level(sums[i])


@compiled
def weights(old: int, new: int, start: int, end: int) -> tuple[Places, Places, NDArray[np.int32]]:
    """Return, for each new sample of a range, the first old one that it is made of, how many, and their weights."""
    scale = old / new
    reach = max(scale, 1.0)
    first, count = np.empty(end - start, np.int64), np.empty(end - start, np.int64)
    weight = np.zeros((end - start, 2 * int(np.ceil(reach)) + 1), np.int32)
    tent = np.empty(weight.shape[1])
    for i in range(end - start):
        centre = (start + i + 0.5) * scale
        first[i] = max(int(centre - reach + 0.5), 0)
        count[i] = min(int(centre + reach + 0.5), old) - first[i]
        total = 0.0
        for tap in range(count[i]):
            tent[tap] = max(1.0 - abs((tap + first[i] - centre + 0.5) * (1.0 / reach)), 0.0)
            total += tent[tap]
        for tap in range(count[i]):
            weight[i, tap] = int(0.5 + tent[tap] / total * (1 << BITS))
    return first, count, weight


@compiled
def shrink_row(row: Bytes, first: Places, count: Places, weight: NDArray[np.int32], narrow: Bytes) -> None:
    """Resize one row and leave the fourth byte of each pixel out."""
    for x in range(U(first.size)):
        at = U(4) * U(first[x])
        red = green = blue = fourth = I(HALF)  # four, so that compilers make one vector of them
        for tap in range(U(count[x])):
            red = add(red, mul(row[at], weight[x, tap]))
            green = add(green, mul(row[at + U(1)], weight[x, tap]))
            blue = add(blue, mul(row[at + U(2)], weight[x, tap]))
            fourth = add(fourth, mul(row[at + U(3)], weight[x, tap]))
            at += U(4)
        narrow[U(3) * x] = level(red)
        narrow[U(3) * x + U(1)] = level(green)
        narrow[U(3) * x + U(2)] = level(blue)


@compiled
def add_row(row: Bytes, weight: int, sums: NDArray[np.int32]) -> None:
    """Add a row with a weight."""
    for i in range(sums.size):
        sums[i] = add(sums[i], mul(row[i], weight))


@inlined
def level(total: np.int32) -> np.int32:
    """Round a sum that holds half a level already, and clip it: rounded weights may add up to a little over 1."""
    return min(shifted(total, BITS), I(255))
