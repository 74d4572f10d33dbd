"""JPEG files as Pillow writes them with ``quality`` and ``optimize=True``, to the byte, in less than half its time.

A file is the quantised coefficients of all 8 x 8 blocks in Huffman codes. "Optimised" says that the codes are made for
the file: the image is gone through for the symbols it needs and how often, codes are built for these counts, then the
symbols are written. The layout of the file, the construction of a code and its limit to 16 bits are those of the JPEG
standard (ITU-T T.81, annexes B, F and K.2) and, where that leaves a choice, those of libjpeg, so that the bytes are the
same. Colour, cosine transform and quantisation are those of ``oodometer.corruptions.fast.jpeg``.

A *unit* is 16 x 16 pixels: four blocks of luma, one of Cb and one of Cr. A *token* is one coefficient of a block, or a
mark: a symbol, and the bits that follow it as they are.
"""

from __future__ import annotations

import functools
import struct
import typing
from collections.abc import Callable

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from oodometer.corruptions.fast.int32 import shifted, sub
from oodometer.corruptions.fast.jpeg import (
    CHROMA,
    LANES,
    LUMA,
    Eight,
    checked,
    gather,
    inverted,
    middle_of,
    planes,
    put,
    quantisation_table,
    quantised_column,
    rows_forward,
    split,
    taken,
    transposed,
)
from oodometer.corruptions.fast.views import read_only
from oodometer.errors import ArgumentError
from oodometer.types import Image

__all__ = ["encode_jpeg"]

Bytes: typing.TypeAlias = NDArray[np.uint8]
Words: typing.TypeAlias = NDArray[np.uint64]
Inner: typing.TypeAlias = typing.Any
"""An object of Numba's own, which publishes no types."""
Numbers: typing.TypeAlias = NDArray[np.int64]
Whole: typing.TypeAlias = int | np.int64
Tokens: typing.TypeAlias = NDArray[np.uint32]

I = np.int32  # noqa: E741
U = np.uint64

LARGEST_SIDE = 65500
"""libjpeg's limit, a little below that of the format."""

# The places of a block in the order of the file: along the diagonals, upwards and downwards in turn.
ZIGZAG = np.array(sorted(range(64), key=lambda n: (n // 8 + n % 8, (n % 8, n // 8)[(n // 8 + n % 8) % 2])), np.uint64)

ORDER = ZIGZAG * U(LANES)
"""The same places within a tile of blocks."""

UNITS = LANES // 2
"""How many units are taken at a time: two tiles of luma and one of chroma."""

# Symbols: 0..255 are for all coefficients of a block but the first, 16 * (zeros before it) + (bits that follow), then
# come those for the first, (bits that follow). All of them are for luma, and once more for chroma.
END_OF_BLOCK, SIXTEEN_ZEROS, FIRST = 0x00, 0xF0, 256
PLANE = 272

# Those of the format are bytes: the class and number of the code, and where its symbols begin and end here.
CODES = ((0x00, FIRST, PLANE), (0x10, 0, FIRST), (0x01, PLANE + FIRST, 2 * PLANE), (0x11, PLANE, PLANE + FIRST))

DEEPEST = 64
"""No Huffman tree of an image's symbols is as deep: it would take as many as the Fibonacci number 64."""

# Numba compiles a function once more for a number that is written in the call, so those are cast.
compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined = numba.njit(forceinline=True, error_model="numpy")


def encode_jpeg(image: Image, quality: int = 85) -> bytes:
    """Return the JPEG file of an image: baseline, 4:2:0, optimised codes. Safe to call from several threads.

    Parameters
    ----------
    image
        A uint8 array, H x W x 3, RGB, 0..255, of any strides and any size from 1 x 1. It is never changed.
    quality
        JPEG quality, a whole number from 1 to 100.

    Returns
    -------
    bytes
        What Pillow with libjpeg-turbo writes in ``save(file, "JPEG", quality=quality, optimize=True)``; for noise too,
        which Pillow refuses to write in high quality, unless it is told of a larger buffer.

    Raises
    ------
    ArgumentError
        If an argument is none of the above, or the image is larger than the format allows.
    """
    image, quality = checked(image, quality)
    height, width = image.shape[:2]
    if max(height, width) > LARGEST_SIDE:
        raise ArgumentError(f"A JPEG file has at most {LARGEST_SIDE} pixels a side; the image is {width}x{height}.")
    steps = quantisation_table(LUMA, quality), quantisation_table(CHROMA, quality)
    units = -(-height // 16) * -(-width // 16)
    tokens = np.empty(6 * 64 * units, np.uint32)
    codes, tables = np.empty(2 * PLANE, np.uint64), np.empty(1024, np.uint8)
    count, described, bits = analyse(read_only(image), *planes(height, width), *steps, tokens, codes, tables)
    body = np.empty(int(bits) // 4 + 16, np.uint8)  # twice the bytes: each may need a zero after it
    length = write(tokens, count, codes, body)
    head = _head(quality) + struct.pack(">HHBHHB", 0xFFC0, 17, 8, height, width, 3) + _COMPONENTS
    return b"".join((head, tables[:described].tobytes(), _SCAN, body[:length].tobytes(), b"\xff\xd9"))


# Number, sampling (2 x 2 or 1 x 1 blocks a unit) and quantisation table of each component; then, for the scan, their
# codes, and that all 64 coefficients follow in one go.
_COMPONENTS = bytes((1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1))
_SCAN = bytes((0xFF, 0xDA, 0, 12, 3, 1, 0x00, 2, 0x11, 3, 0x11, 0, 63, 0))


@functools.cache
def _head(quality: int) -> bytes:
    """Return the start of a file, the JFIF segment (version 1.1, no density) and the quantisation tables."""
    start = b"\xff\xd8\xff\xe0" + struct.pack(">H5sBBBHHBB", 16, b"JFIF", 1, 1, 0, 1, 1, 0, 0)
    for number, base in enumerate((LUMA, CHROMA)):
        table = quantisation_table(base, quality).T.ravel()[ZIGZAG].astype(np.uint8)
        start += struct.pack(">HHB", 0xFFDB, 67, number) + table.tobytes()
    return start


# --- from pixels to tokens ---


@compiled
def analyse(
    image: Image,
    luma: Bytes,
    chroma: Bytes,
    luma_steps: NDArray[np.int32],
    chroma_steps: NDArray[np.int32],
    tokens: Tokens,
    codes: Words,
    tables: Bytes,
) -> tuple[np.uint64, Whole, np.uint64]:
    """Find the tokens of an image and make codes for them.

    ``codes`` is filled as ``write`` wants it, ``tables`` with the segments of the file that describe the codes. Return
    how many tokens there are, how many bytes of tables, and how many bits the tokens take.
    """
    split(image, luma, chroma)
    counts = np.zeros(2 * PLANE, np.uint64)
    found = find_tokens(luma, chroma, inverted(luma_steps), inverted(chroma_steps), tokens, counts)
    described: Whole = np.int64(0)
    bits = U(0)
    for name, first, end in CODES:
        described, taken_bits = make_code(counts[first:end], name, codes[first:end], tables, described)
        bits += taken_bits
    return found, described, bits


@compiled
def find_tokens(
    luma: Bytes,
    chroma: Bytes,
    luma_inverses: NDArray[np.float32],
    chroma_inverses: NDArray[np.float32],
    tokens: Tokens,
    counts: Words,
) -> np.uint64:
    """Write the tokens of all blocks, in the order of the file, and count their symbols."""
    rows, columns = luma.shape[0] // 8, luma.shape[1] // 8
    across = (columns + 1) // 2
    units = (rows + 1) // 2 * across
    luma_words, chroma_words = luma.reshape(-1).view(np.uint64), chroma.reshape(-1).view(np.uint64)
    places, missing = np.zeros(3 * LANES, np.uint64), np.zeros(3 * LANES, np.uint8)
    work, filled = np.empty(3 * 64 * LANES, np.int16), np.empty(3 * LANES, np.uint64)
    before = np.zeros(3, np.int16)
    at = U(0)
    for start in range(0, units, UNITS):
        count = min(UNITS, units - start)
        locate(start, count, rows, columns, places, missing)
        for tile in range((4 * count + LANES - 1) // LANES):
            transform(luma_words, places, tile, columns, luma_inverses, work, filled)
        transform(chroma_words, places, np.int64(2), 2 * across, chroma_inverses, work, filled)
        for unit in range(U(count)):
            for number in range(U(6)):  # where the block lies among those of the tiles, and its first number
                block = U(4) * unit + number if number < U(4) else U(2 * LANES - 4) + U(2) * unit + number
                first = block // U(LANES) * U(64 * LANES) + block % U(LANES)
                component = number - U(3) if number > U(3) else U(0)
                if missing[block]:
                    work[first], filled[block] = before[component], U(0)
                plane = U(0) if number < U(4) else U(PLANE)
                at = add_token(plane + U(FIRST), sub(work[first], before[component]), tokens, at, counts)
                before[component] = work[first]
                at = add_others(work, first, filled[block], plane, tokens, at, counts)
    return at


@compiled
def locate(start: int, count: int, rows: int, columns: int, places: Words, missing: Bytes) -> None:
    """Say where the blocks of some units lie, in words from the start of their plane.

    Where a unit reaches beyond the last row or column of blocks, the file repeats the first coefficient before.
    """
    across = (columns + 1) // 2
    for unit in range(count):
        y, x = (start + unit) // across, (start + unit) % across
        for block in range(4):
            row, column = 2 * y + block // 2, 2 * x + block % 2
            missing[4 * unit + block] = row >= rows or column >= columns
            places[4 * unit + block] = min(row, rows - 1) * 8 * columns + min(column, columns - 1)
        places[2 * LANES + 2 * unit] = y * 8 * 2 * across + x
        places[2 * LANES + 2 * unit + 1] = y * 8 * 2 * across + across + x


@compiled
def transform(
    words: Words,
    places: Words,
    tile: Whole,
    across: int,
    inverses: NDArray[np.float32],
    work: NDArray[np.int16],
    filled: Words,
) -> None:
    """Transform and quantise a tile of blocks; numbers of the same place in their blocks lie together."""
    pixels = np.empty(64 * LANES, np.uint8)
    part = work[tile * 64 * LANES : (tile + 1) * 64 * LANES]
    gather(words, places[tile * LANES :], LANES, across, pixels.view(np.uint64))
    rows_forward(pixels, part)
    for c in range(8):
        factors, middle = taken(inverses[c], 0, 1), middle_of(c)
        quantise_column(part[c * LANES :], factors, middle)
    find_filled(part, filled[tile * LANES : (tile + 1) * LANES])


@inlined
def quantise_column(part: NDArray[np.int16], factors: Eight, middle: int) -> None:
    """Transform and quantise one column of all blocks of a tile."""
    for b in range(LANES):
        put(quantised_column(part, b, factors, middle), part, b, 8 * LANES)


@compiled
def find_filled(part: NDArray[np.int16], filled: Words) -> None:
    """Make a word for each block: bit k is set if number k, in the order of the file, is not 0."""
    flags = np.empty(8 * LANES, np.uint8)
    for eight in range(8):
        p = taken(ORDER, 8 * eight, 1)
        for b in range(U(LANES)):
            flags[U(LANES * eight) + b] = (
                flag(part, p[0] + b)
                | flag(part, p[1] + b) << 1
                | flag(part, p[2] + b) << 2
                | flag(part, p[3] + b) << 3
                | flag(part, p[4] + b) << 4
                | flag(part, p[5] + b) << 5
                | flag(part, p[6] + b) << 6
                | flag(part, p[7] + b) << 7
            )
    words = flags.view(np.uint64)
    for eight in range(LANES // 8):
        put(transposed(taken(words, eight, LANES // 8)), filled, 8 * eight, 1)


@inlined
def flag(part: NDArray[np.int16], place: np.uint64) -> np.uint8:
    """Return 1 if a number is not 0."""
    return np.uint8(part[place] != 0)


@inlined
def add_others(
    work: NDArray[np.int16],
    first: np.uint64,
    filled: np.uint64,
    plane: np.uint64,
    tokens: Tokens,
    at: np.uint64,
    counts: Words,
) -> np.uint64:
    """Write the tokens of a block but its first, whose number is at ``first``; return where the next one belongs."""
    left, last = filled & ~U(1), U(0)
    while left:
        k = trailing_zeros(left)
        left &= left - U(1)
        zeros = k - last - U(1)
        while zeros > U(15):
            at = add_token(plane + U(SIXTEEN_ZEROS), I(0), tokens, at, counts)
            zeros -= U(16)
        at = add_token(plane + U(16) * zeros, I(work[first + ORDER[k]]), tokens, at, counts)
        last = k
    if last < U(63):
        at = add_token(plane + U(END_OF_BLOCK), I(0), tokens, at, counts)
    return at


@inlined
def add_token(symbol: np.uint64, number: np.int32, tokens: Tokens, at: np.uint64, counts: Words) -> np.uint64:
    """Write one token: its symbol (10 bits) and what follows.

    That is the number without leading zeros; a negative one less 1, so that it begins with a zero.
    """
    bits = bit_length(U(abs(number)))
    symbol += bits
    follow = U(number + shifted(number, 31)) & ((U(1) << bits) - U(1))
    tokens[at] = symbol | follow << U(10)
    counts[symbol] += U(1)
    return at + U(1)


def _counting(write: Callable[[Inner, Inner], Inner]) -> Callable[[np.uint64], np.uint64]:
    """Return a function for compiled code that counts bits of a word."""

    @intrinsic
    def count(context: Inner, word: Inner) -> tuple[Inner, Callable[..., Inner]]:
        def generate(context: Inner, builder: Inner, signature: Inner, arguments: Inner) -> Inner:
            return write(builder, arguments[0])

        return types.uint64(types.uint64), generate

    return typing.cast(Callable[[np.uint64], np.uint64], count)


_NO, _YES = ir.Constant(ir.IntType(1), 0), ir.Constant(ir.IntType(1), 1)  # whether the word is known not to be 0
trailing_zeros = _counting(lambda builder, word: builder.cttz(word, _YES))
bit_length = _counting(lambda builder, word: builder.sub(ir.Constant(ir.IntType(64), 64), builder.ctlz(word, _NO)))


# --- from counts to codes ---


@compiled
def make_code(counts: Words, name: int, codes: Words, tables: Bytes, at: Whole) -> tuple[Whole, np.uint64]:
    """Make the code of some symbols, and describe it in a segment of the file that begins at ``at``.

    ``codes`` gets, for each symbol, how many bits it and those that follow it take, and above these 8 bits its code,
    moved up to leave room for what follows. Return where the segment ends, and how many bits all the tokens take.
    """
    symbols, depths, lengths = huffman(counts)
    limit(lengths)
    tables[at], tables[at + 1], tables[at + 4] = 0xFF, 0xC4, name
    for length in range(1, 17):
        tables[at + 4 + length] = lengths[length]
    end, code, length, total = at + 21, U(0), 1, U(0)
    for depth in range(1, DEEPEST):
        for i in range(symbols.size):
            if depths[i] == depth:
                while lengths[length] == 0:
                    code, length = code << U(1), length + 1
                lengths[length] -= 1
                follow = U(symbols[i] % 16)
                bits = U(length) + follow
                codes[symbols[i]] = code << follow << U(8) | bits
                total += counts[symbols[i]] * bits
                tables[end] = symbols[i]
                code, end = code + U(1), end + 1
    tables[at + 2], tables[at + 3] = (end - at - 2) // 256, (end - at - 2) % 256
    return end, total


@compiled
def huffman(counts: Words) -> tuple[Numbers, Numbers, Numbers]:
    """Return the symbols that occur, the depth of each in Huffman's tree, and how many there are at each depth.

    One more symbol takes part, and is in the last of these three, so that no code consists of ones only, which the
    standard does not allow. It occurs once. Of symbols that are as rare, the later one is taken first, as in libjpeg.
    """
    symbols, keys = np.empty(counts.size, np.int64), np.empty(counts.size + 1, np.uint64)
    size = 0
    for symbol in range(counts.size):
        if counts[symbol] > U(0):
            symbols[size], keys[size] = symbol, counts[symbol] << U(9) | U(511 - size)
            size += 1
    keys[size] = U(1) << U(9) | U(511 - size)
    root = 2 * size
    parent = joined(keys[: size + 1], root)
    depths, lengths = np.zeros(root + 1, np.int64), np.zeros(DEEPEST, np.int64)
    for node in range(root - 1, -1, -1):
        depths[node] = depths[parent[node]] + 1
        if node <= size:
            lengths[depths[node]] += 1
    return symbols[:size], depths[:size], lengths


@compiled
def joined(keys: Words, root: int) -> Numbers:
    """Make Huffman's tree of leaves by joining the two rarest until one is left; return the parent of each node.

    A key is how often a leaf occurs, and 511 less its place; two that are joined keep the place of the rarer one.
    """
    node, parent = np.empty(keys.size, np.int64), np.empty(root + 1, np.int64)
    for leaf in range(keys.size):
        node[leaf] = leaf
    for new in range(keys.size, root + 1):
        first, second = take_smallest(keys), take_smallest(keys)
        place, other = 511 - I(first % U(512)), 511 - I(second % U(512))
        parent[node[place]] = parent[node[other]] = new
        node[place], keys[place] = new, first + (second >> U(9) << U(9))
    return parent


@inlined
def take_smallest(keys: Words) -> np.uint64:
    """Remove the smallest key."""
    smallest = ~U(0)
    for key in keys:
        smallest = min(smallest, key)
    keys[511 - I(smallest % U(512))] = ~U(0)
    return smallest


@compiled
def limit(lengths: Numbers) -> None:
    """Shorten codes to 16 bits, of which there are some of each length, and take the additional one out (annex K.2)."""
    for length in range(DEEPEST - 1, 16, -1):
        while lengths[length] > 0:
            shorter = length - 2
            while lengths[shorter] == 0:
                shorter -= 1
            lengths[length] -= 2
            lengths[length - 1] += 1
            lengths[shorter + 1] += 2
            lengths[shorter] -= 1
    longest = 16
    while lengths[longest] == 0:
        longest -= 1
    lengths[longest] -= 1


# --- from tokens to bytes ---


@compiled
def write(tokens: Tokens, count: np.uint64, codes: Words, body: Bytes) -> np.uint64:
    """Write tokens in their codes; return how many bytes there are. The last one is filled up with ones."""
    word, bits, at = U(0), U(0), U(0)
    for i in range(count):
        token = U(tokens[i])
        entry = codes[token & U(1023)]
        bits += entry & U(255)
        word = word << (entry & U(255)) | entry >> U(8) | token >> U(10)
        if bits >= U(32):
            bits -= U(32)
            at = put_four(word >> bits, body, at)
    word, bits = word << U(7) | U(127), bits + U(7)
    while bits >= U(8):
        bits -= U(8)
        at = put_byte(word >> bits, body, at)
    return at


@inlined
def put_four(word: np.uint64, body: Bytes, at: np.uint64) -> np.uint64:
    """Write four bytes, the upper ones first; a zero follows each that is all ones, which would begin a segment."""
    if (~word - U(0x01010101)) & word & U(0x80808080):
        for shift in (U(24), U(16), U(8), U(0)):
            at = put_byte(word >> shift, body, at)
        return at
    body[at] = word >> U(24)
    body[at + U(1)] = word >> U(16)
    body[at + U(2)] = word >> U(8)
    body[at + U(3)] = word
    return at + U(4)


@inlined
def put_byte(word: np.uint64, body: Bytes, at: np.uint64) -> np.uint64:
    """Write the lowest byte of a word, and a zero if it is all ones."""
    body[at] = word
    if word & U(255) == U(255):
        body[at + U(1)] = U(0)
        return at + U(2)
    return at + U(1)
