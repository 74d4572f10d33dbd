"""JPEG without the file: what encoding and decoding do to the pixels, bit for bit as libjpeg-turbo, in memory.

A JPEG file keeps, of each 8 x 8 block, the rounded coefficients of a cosine transform; the entropy coding of these
numbers loses nothing. So the pixels that a decoder gives follow without it: colour conversion, chroma halved, cosine
transform, rounding to multiples of the quantisation table, and all of it back. Each step is the integer arithmetic
that libjpeg documents (baseline, 4:2:0, accurate integer transform, smooth chroma upsampling), so that every pixel is
the one that Pillow or OpenCV would give.

The 8 x 8 blocks are handled ``LANES`` at a time, numbers of the same place in their blocks side by side, so that each
step is a plain loop over blocks that compilers turn into vector code.
"""

from __future__ import annotations

import functools
import typing

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.arguments import whole
from oodometer.corruptions.fast.int32 import add, mul, shifted, sub
from oodometer.corruptions.fast.views import read_only
from oodometer.errors import ArgumentError
from oodometer.types import Image

__all__ = ["jpeg_compression", "jpeg_roundtrip"]

Bytes: typing.TypeAlias = NDArray[np.uint8]
Words: typing.TypeAlias = NDArray[np.uint64]
Index: typing.TypeAlias = int | np.uint64
Eight: typing.TypeAlias = tuple[
    typing.Any, typing.Any, typing.Any, typing.Any, typing.Any, typing.Any, typing.Any, typing.Any
]

I = np.int32  # noqa: E741  # the arithmetic of libjpeg fits 32 bits; Numba would widen each product to 64
F = np.float32
U = np.uint64

UNIT = F(1 / 65536)
"""Colour weights are whole numbers of these; the sums fit the 24 bits of a float32 exactly."""

LANES = 32
"""Blocks that are transformed side by side."""

# Annex K.1 of the JPEG standard (ITU-T T.81): quantisation tables that libjpeg scales by the quality.
LUMA = np.array(
    [
        [16, 11, 10, 16, 24, 40, 51, 61],
        [12, 12, 14, 19, 26, 58, 60, 55],
        [14, 13, 16, 24, 40, 57, 69, 56],
        [14, 17, 22, 29, 51, 87, 80, 62],
        [18, 22, 37, 56, 68, 109, 103, 77],
        [24, 35, 55, 64, 81, 104, 113, 92],
        [49, 64, 78, 87, 103, 121, 120, 101],
        [72, 92, 95, 98, 112, 100, 103, 99],
    ],
    np.uint8,
).tobytes()
CHROMA = np.pad(
    np.array([[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]], np.uint8),
    (0, 4),
    constant_values=99,
).tobytes()

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined = numba.njit(forceinline=True, error_model="numpy")


def jpeg_roundtrip(image: Image, quality: int = 85) -> Image:
    """Return the pixels that an image has after being saved as JPEG and read again.

    Equal at every pixel to Pillow's ``save(file, "JPEG", quality=quality)`` and ``open(file)`` with libjpeg-turbo,
    several times faster, because no file is made.

    Parameters
    ----------
    image
        A uint8 array, H x W x 3, RGB, 0..255, of any strides and any size from 1 x 1. It is never changed.
    quality
        JPEG quality, a whole number from 1 to 100.

    Returns
    -------
    numpy.ndarray
        A new image of the same size.

    Raises
    ------
    ArgumentError
        If an argument is none of the above.

    Notes
    -----
    ImageNet-C was released as JPEG files of quality 85.

    Examples
    --------
    >>> import numpy as np
    >>> jpeg_roundtrip(np.full((8, 8, 3), (200, 100, 0), np.uint8))[0, 0]
    array([199, 100,   0], dtype=uint8)
    """
    return _roundtrip(*checked(image, quality))


def checked(image: object, quality: object) -> tuple[Image, int]:
    """Return an image in one piece and the quality as an int, or raise ``ArgumentError``."""
    if not isinstance(image, np.ndarray) or image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
        found = f"{image.dtype} of shape {image.shape}" if isinstance(image, np.ndarray) else type(image).__name__
        raise ArgumentError(f"The image must be a uint8 array of shape height x width x 3, not {found}.")
    if 0 in image.shape:
        raise ArgumentError(f"The image has no pixels: its shape is {image.shape}.")
    return np.ascontiguousarray(image), whole("The JPEG quality", quality, lowest=1, highest=100)


def jpeg_compression(image: Image, key: NDArray[np.uint32], quality: int) -> Image:
    """Fast twin of ``digital.jpeg_compression``."""
    return _roundtrip(image, quality)


def _roundtrip(image: Image, quality: int) -> Image:
    """Do all steps, on whole planes: NumPy asks for large arrays in large pages, which Numba does not."""
    luma, chroma = planes(*image.shape[:2])
    result = np.empty_like(image)
    tables = quantisation_table(LUMA, quality), quantisation_table(CHROMA, quality)
    roundtrip(read_only(image), luma, chroma, result, *tables)
    return result


def planes(height: int, width: int) -> tuple[Bytes, Bytes]:
    """Return room for luma and chroma in whole blocks; a row of the latter holds Cb, then Cr, both at half the size."""
    luma = np.empty((_up(height, 8), _up(width, 8)), np.uint8)
    return luma, np.empty((_up(height, 16) // 2, _up(width, 16)), np.uint8)


def _up(pixels: int, block: int) -> int:
    return (pixels + block - 1) // block * block


@functools.cache
def quantisation_table(base: bytes, quality: int) -> NDArray[np.int32]:
    """Scale a table by the quality as libjpeg does; entries fit 8 bits (a baseline file). Columns come first."""
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    scaled = (np.frombuffer(base, np.uint8).astype(np.int32) * percent + 50) // 100
    return np.clip(scaled, 1, 255).reshape(8, 8).T.copy()


@compiled
def roundtrip(
    image: Image,
    luma: Bytes,
    chroma: Bytes,
    result: Image,
    luma_table: NDArray[np.int32],
    chroma_table: NDArray[np.int32],
) -> None:
    """Do all steps one after the other."""
    split(image, luma, chroma)
    quantise_blocks(luma, luma_table)
    quantise_blocks(chroma, chroma_table)
    join(luma, chroma, result)


# --- colour, and chroma at half the size ---


@compiled
def split(image: Image, luma: Bytes, chroma: Bytes) -> None:
    """Convert to luma at full and chroma at half the size, and continue them to whole blocks."""
    height, width = image.shape[:2]
    rows = image.reshape(height, 3 * width)
    halved, across = (height + 1) // 2, chroma.shape[1]
    upper, lower = np.empty(2 * across, np.uint8), np.empty(2 * across, np.uint8)
    for y in range(halved):
        above, below = 2 * y, min(2 * y + 1, height - 1)
        to_ycc(rows[above], luma[above], upper[:across], upper[across:], width)
        to_ycc(rows[below], luma[below], lower[:across], lower[across:], width)
        halve(upper, lower, chroma[y])
    for y in range(height, luma.shape[0]):
        luma[y] = luma[height - 1]
    for y in range(halved, chroma.shape[0]):
        chroma[y] = chroma[halved - 1]


@compiled
def to_ycc(rgb: Bytes, luma: Bytes, blue: Bytes, red: Bytes, width: int) -> None:
    """Convert a row to Y, Cb and Cr: weights in 1/65536, Y rounded, chroma with halves down."""
    for x in range(width):
        r, g, b = F(rgb[3 * x]), F(rgb[3 * x + 1]), F(rgb[3 * x + 2])
        luma[x] = I((F(19595) * r + F(38470) * g + F(7471) * b + F(32768)) * UNIT)
        blue[x] = I((F(32768) * b - F(11059) * r - F(21709) * g + F(8421375)) * UNIT)  # 128.5 * 65536 - 1
        red[x] = I((F(32768) * r - F(27439) * g - F(5329) * b + F(8421375)) * UNIT)
    continue_row(luma, width)
    continue_row(blue, width)
    continue_row(red, width)


@inlined
def continue_row(row: Bytes, width: int) -> None:
    """Repeat the last pixel up to the end of the row."""
    for x in range(width, row.size):
        row[x] = row[width - 1]


@compiled
def halve(upper: Bytes, lower: Bytes, out: Bytes) -> None:
    """Average 2 x 2 pixels; halves are rounded down and up in turn."""
    for x in range(out.size):
        total = add(add(upper[2 * x], upper[2 * x + 1]), add(lower[2 * x], lower[2 * x + 1]))
        out[x] = shifted(add(total, 1 + x % 2), 2)


# --- blocks ---


@compiled
def quantise_blocks(plane: Bytes, table: NDArray[np.int32]) -> None:
    """Replace each 8 x 8 block of a plane by what is left of it after the cosine transform and quantisation."""
    across = plane.shape[1] // 8
    blocks = plane.shape[0] // 8 * across
    words = plane.reshape(-1).view(np.uint64)  # a row of a block is a word
    inverses = inverted(table)
    tile = np.zeros(64 * LANES, np.uint8)
    work = np.empty(64 * LANES, np.int16)
    places = np.zeros(LANES, np.uint64)
    for start in range(0, blocks, LANES):
        count = min(LANES, blocks - start)
        for i in range(count):
            block = start + i
            places[i] = block // across * 8 * across + block % across
        gather(words, places, count, across, tile.view(np.uint64))
        rows_forward(tile, work)
        columns(work, table, inverses)
        rows_inverse(work, tile)
        scatter(tile.view(np.uint64), places, count, across, words)


@inlined
def inverted(table: NDArray[np.int32]) -> NDArray[np.float32]:
    """Return the factors of ``quantised`` for a quantisation table."""
    return F(0.125) / table.astype(F)


@compiled
def gather(words: Words, places: Words, count: int, across: int, tile: Words) -> None:
    """Bring blocks together: byte b of row r and column c of the tile is that of block b."""
    step = U(LANES // 8)
    for eight in range(U((count + 7) // 8)):
        p = taken(places, U(8) * eight, U(1))
        for r in range(U(8)):
            o = r * U(across)
            rows = (
                words[p[0] + o],
                words[p[1] + o],
                words[p[2] + o],
                words[p[3] + o],
                words[p[4] + o],
                words[p[5] + o],
                words[p[6] + o],
                words[p[7] + o],
            )
            put(transposed(rows), tile, U(8) * r * step + eight, step)


@compiled
def scatter(tile: Words, places: Words, count: int, across: int, words: Words) -> None:
    """Put blocks back where ``gather`` took them."""
    step = U(LANES // 8)
    for eight in range(U((count + 7) // 8)):
        for r in range(U(8)):
            rows = transposed(taken(tile, U(8) * r * step + eight, step))
            for b in range(min(U(8), U(count) - U(8) * eight)):
                words[places[U(8) * eight + b] + r * U(across)] = rows[b]


@inlined
def transposed(words: Eight) -> Eight:
    """Transpose 8 x 8 bytes: byte i of word j becomes byte j of word i."""
    a, b, c, d, e, f, g, h = words
    a, e = swapped(a, e, U(32), U(0x00000000FFFFFFFF))
    b, f = swapped(b, f, U(32), U(0x00000000FFFFFFFF))
    c, g = swapped(c, g, U(32), U(0x00000000FFFFFFFF))
    d, h = swapped(d, h, U(32), U(0x00000000FFFFFFFF))
    a, c = swapped(a, c, U(16), U(0x0000FFFF0000FFFF))
    b, d = swapped(b, d, U(16), U(0x0000FFFF0000FFFF))
    e, g = swapped(e, g, U(16), U(0x0000FFFF0000FFFF))
    f, h = swapped(f, h, U(16), U(0x0000FFFF0000FFFF))
    a, b = swapped(a, b, U(8), U(0x00FF00FF00FF00FF))
    c, d = swapped(c, d, U(8), U(0x00FF00FF00FF00FF))
    e, f = swapped(e, f, U(8), U(0x00FF00FF00FF00FF))
    g, h = swapped(g, h, U(8), U(0x00FF00FF00FF00FF))
    return a, b, c, d, e, f, g, h


@inlined
def swapped(low: np.uint64, high: np.uint64, bits: np.uint64, mask: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Exchange the upper half of each group of bits in ``low`` with the lower half of that in ``high``."""
    change = ((low >> bits) ^ high) & mask
    return low ^ (change << bits), high ^ change


@inlined
def taken(array: NDArray[np.integer], start: Index, step: Index) -> Eight:
    """Return eight numbers, ``step`` apart."""
    return (
        array[start],
        array[start + step],
        array[start + 2 * step],
        array[start + 3 * step],
        array[start + 4 * step],
        array[start + 5 * step],
        array[start + 6 * step],
        array[start + 7 * step],
    )


@inlined
def put(numbers: Eight, array: NDArray[np.integer], start: Index, step: Index) -> None:
    """Store eight numbers, ``step`` apart."""
    array[start] = numbers[0]
    array[start + step] = numbers[1]
    array[start + 2 * step] = numbers[2]
    array[start + 3 * step] = numbers[3]
    array[start + 4 * step] = numbers[4]
    array[start + 5 * step] = numbers[5]
    array[start + 6 * step] = numbers[6]
    array[start + 7 * step] = numbers[7]


# The tile holds the numbers of ``LANES`` blocks: those of the same place lie together, rows come first.


@compiled
def rows_forward(tile: Bytes, work: NDArray[np.int16]) -> None:
    """Transform the rows of all blocks of the tile, in steps of 1/4."""
    for r in range(8):
        source, target = tile[8 * r * LANES :], work[8 * r * LANES :]
        for b in range(LANES):
            put(forward(taken(source, b, LANES), 11), target, b, LANES)


@compiled
def columns(work: NDArray[np.int16], table: NDArray[np.int32], inverses: NDArray[np.float32]) -> None:
    """Transform the columns of all blocks of the tile, quantise, and transform back."""
    for c in range(8):
        part = work[c * LANES :]
        steps, factors = taken(table[c], 0, 1), taken(inverses[c], 0, 1)
        middle = middle_of(c)
        for b in range(LANES):
            k = quantised_column(part, b, factors, middle)
            kept = (
                add(mul(k[0], steps[0]), middle),
                mul(k[1], steps[1]),
                mul(k[2], steps[2]),
                mul(k[3], steps[3]),
                mul(k[4], steps[4]),
                mul(k[5], steps[5]),
                mul(k[6], steps[6]),
                mul(k[7], steps[7]),
            )
            put(backward(kept, 11), part, b, 8 * LANES)


@inlined
def middle_of(column: int) -> int:
    """Return what libjpeg takes off the first coefficient of a column, because it takes 128 off each pixel."""
    return 1024 if column == 0 else 0


@inlined
def quantised_column(part: NDArray[np.int16], b: int, factors: Eight, middle: int) -> Eight:
    """Transform a column of block b of the tile and quantise it."""
    y = forward(taken(part, b, 8 * LANES), 15)
    return (
        quantised(sub(y[0], 8 * middle), factors[0]),
        quantised(y[1], factors[1]),
        quantised(y[2], factors[2]),
        quantised(y[3], factors[3]),
        quantised(y[4], factors[4]),
        quantised(y[5], factors[5]),
        quantised(y[6], factors[6]),
        quantised(y[7], factors[7]),
    )


@compiled
def rows_inverse(work: NDArray[np.int16], tile: Bytes) -> None:
    """Transform the rows of all blocks of the tile back to pixels."""
    for r in range(8):
        source, target = work[8 * r * LANES :], tile[8 * r * LANES :]
        for b in range(LANES):
            x = backward(taken(source, b, LANES), 18)
            pixels = (
                level(x[0]),
                level(x[1]),
                level(x[2]),
                level(x[3]),
                level(x[4]),
                level(x[5]),
                level(x[6]),
                level(x[7]),
            )
            put(pixels, target, b, LANES)


@inlined
def forward(x: Eight, bits: int) -> Eight:
    """Cosine transform of 8 numbers, times 8192 / 2 ** bits (Loeffler, Ligtenberg and Moschytz, ICASSP 1989)."""
    s0, s1, s2, s3 = add(x[0], x[7]), add(x[1], x[6]), add(x[2], x[5]), add(x[3], x[4])
    t0, t1 = add(s0, s3), add(s1, s2)
    y0, y4 = mul(add(t0, t1), 8192), mul(sub(t0, t1), 8192)
    y2, y6 = rotated(sub(s0, s3), sub(s1, s2))
    y1, y3, y5, y7 = odd(sub(x[0], x[7]), sub(x[1], x[6]), sub(x[2], x[5]), sub(x[3], x[4]))
    return (
        rounded(y0, bits),
        rounded(y1, bits),
        rounded(y2, bits),
        rounded(y3, bits),
        rounded(y4, bits),
        rounded(y5, bits),
        rounded(y6, bits),
        rounded(y7, bits),
    )


@inlined
def backward(y: Eight, bits: int) -> Eight:
    """Inverse cosine transform of 8 numbers, times 8 * 8192 / 2 ** bits."""
    plus, minus = mul(add(y[0], y[4]), 8192), mul(sub(y[0], y[4]), 8192)
    a, b = rotated(y[2], y[6])
    t0, t1, t2, t3 = add(plus, a), add(minus, b), sub(minus, b), sub(plus, a)
    s0, s1, s2, s3 = odd(y[1], y[3], y[5], y[7])
    return (
        rounded(add(t0, s0), bits),
        rounded(add(t1, s1), bits),
        rounded(add(t2, s2), bits),
        rounded(add(t3, s3), bits),
        rounded(sub(t3, s3), bits),
        rounded(sub(t2, s2), bits),
        rounded(sub(t1, s1), bits),
        rounded(sub(t0, s0), bits),
    )


@inlined
def rotated(a: np.int32, b: np.int32) -> tuple[np.int32, np.int32]:
    """Turn (a, b) by an eighth of a right angle, scaled; weights in 1/8192."""
    common = mul(add(a, b), 4433)
    return add(common, mul(a, 6270)), sub(common, mul(b, 15137))


@inlined
def odd(a: np.int32, b: np.int32, c: np.int32, d: np.int32) -> tuple[np.int32, np.int32, np.int32, np.int32]:
    """Return the odd half of the transform, which is its own inverse; weights in 1/8192."""
    ac, bd = add(a, c), add(b, d)
    all_four = mul(add(ac, bd), 9633)
    ac, bd = sub(all_four, mul(ac, 3196)), sub(all_four, mul(bd, 16069))
    ad, bc = mul(add(a, d), -7373), mul(add(b, c), -20995)
    return (
        add(mul(a, 12299), add(ad, ac)),
        add(mul(b, 25172), add(bc, bd)),
        add(mul(c, 16819), add(bc, ac)),
        add(mul(d, 2446), add(ad, bd)),
    )


@inlined
def rounded(x: np.int32, bits: int) -> np.int32:
    """Divide by 2 ** bits, halves up."""
    return shifted(add(x, 1 << (bits - 1)), bits)


@inlined
def quantised(x: np.int32, factor: np.float32) -> np.int32:
    """Return x / 8 in steps of the quantisation table, halves away from 0; ``factor`` is 1 / (8 steps).

    The half added to x keeps the sum off whole numbers by more than its rounding error, since x is a whole number below
    2 ** 14.
    """
    steps = I((F(abs(x)) + F(0.5)) * factor + F(0.5))
    return sub(0, steps) if x < 0 else steps


@inlined
def level(x: np.int32) -> np.int32:
    """Clip to 0..255."""
    return min(max(x, I(0)), I(255))


# --- chroma at full size, and colour back ---


@inlined
def join(luma: Bytes, chroma: Bytes, result: Image) -> None:
    """Enlarge the chroma and convert to RGB."""
    height, width = result.shape[:2]
    rows = result.reshape(height, 3 * width)
    halved, half, across = (height + 1) // 2, (width + 1) // 2, chroma.shape[1]
    sums, row = np.empty(across, np.int16), np.empty(2 * across, np.uint8)
    for y in range(height):
        near = y // 2
        far = min(max(near - 1 + 2 * (y % 2), 0), halved - 1)
        if half > 2:
            enlarge(chroma[near], chroma[far], half, sums, row)
        else:
            double(chroma[near], row)
        to_rgb(luma[y], row[:across], row[across:], rows[y], width)


@inlined
def double(samples: Bytes, row: Bytes) -> None:
    """Repeat each chroma sample: libjpeg interpolates only between more than two in a row."""
    for x in range(row.size):
        row[x] = samples[x // 2]


@compiled
def enlarge(near: Bytes, far: Bytes, half: int, sums: NDArray[np.int16], row: Bytes) -> None:
    """Interpolate one row of both chroma planes at twice the size: 3/4 of the nearer and 1/4 of the farther sample."""
    for x in range(sums.size):
        sums[x] = add(mul(near[x], 3), far[x])
    between(sums, row[1:])
    for start in (0, sums.size // 2):
        last = start + half - 1
        row[2 * start] = shifted(add(mul(sums[start], 4), 8), 4)
        row[2 * last + 1] = shifted(add(mul(sums[last], 4), 7), 4)


@inlined
def between(sums: NDArray[np.int16], row: Bytes) -> None:
    """Interpolate the two pixels between each sample and the next."""
    for x in range(sums.size - 1):
        row[2 * x] = shifted(add(add(mul(sums[x], 3), sums[x + 1]), 7), 4)
        row[2 * x + 1] = shifted(add(add(mul(sums[x + 1], 3), sums[x]), 8), 4)


@compiled
def to_rgb(luma: Bytes, blue: Bytes, red: Bytes, rgb: Bytes, width: int) -> None:
    """Convert a row back to R, G and B, clipped: weights in 1/65536, each rounded."""
    for x in range(width):
        y, b, r = I(luma[x]), sub(blue[x], 128), sub(red[x], 128)
        rgb[3 * x] = level(add(y, rounded(mul(r, 91881), 16)))
        rgb[3 * x + 1] = level(sub(y, shifted(add(add(mul(b, 22554), mul(r, 46802)), 32767), 16)))
        rgb[3 * x + 2] = level(add(y, rounded(mul(b, 116130), 16)))
