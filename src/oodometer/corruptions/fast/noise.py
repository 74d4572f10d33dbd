"""Fast kernels of the noises; see ``oodometer.corruptions.noise`` for their meaning.

Each value goes through its channel (``channels``) by itself: one random word and at most one look into a table of
packed alias columns. Sampling is whole-number arithmetic throughout, so it is the same everywhere. It goes block by
block, and within a block in loops of one kind each: looking up is scalar work, and would make the rest scalar too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast import channels
from oodometer.corruptions.fast.streams import fill_words
from oodometer.types import Image

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise"]

Words = NDArray[np.uint32]

U = np.uint32
S = np.int32
H = np.int16
B = np.uint8
BLOCK = 2048
"""Values at a time: words, entries and pixels stay in the first cache, beside the smaller tables."""
TABLES = 32
"""Tables kept of each noise: at most 8 MB of them."""


def gaussian_noise(image: Image, key: Words, deviation: float) -> Image:
    """Twin of ``noise.gaussian_noise``."""
    return _new(image, _add_steps, key, _steps_table(deviation))


def shot_noise(image: Image, key: Words, photons: float) -> Image:
    """Twin of ``noise.shot_noise``."""
    return _new(image, _pass_channel, key, *_shot_table(photons))


def impulse_noise(image: Image, key: Words, share: float) -> Image:
    """Twin of ``noise.impulse_noise``."""
    return _new(image, _add_impulses, key, round(share * 2**29), round(share * 2**30))


def speckle_noise(image: Image, key: Words, deviation: float) -> Image:
    """Twin of ``noise.speckle_noise``."""
    return _new(image, _pass_channel, key, *_speckle_table(deviation))


def _new(image: Image, kernel: Callable[..., None], *arguments: object) -> Image:
    """Let a kernel fill a new image, made by NumPy: it asks for huge pages, without which 4K takes 3 times as long."""
    result = np.empty_like(image)
    kernel(image, result, *arguments)
    return result


@lru_cache(TABLES)
def _steps_table(deviation: float) -> Words:
    """Pack 512 columns: threshold (23 bits), alias (9 bits)."""
    thresholds, aliases = channels.alias_tables(channels.gaussian_steps(deviation)[None], 512, 2**23)
    table: Words = (thresholds[0] << 9 | aliases[0]).astype(U)
    return table


@lru_cache(TABLES)
def _shot_table(photons: float) -> tuple[Words, int]:
    outputs, below = channels.shot_channel(photons)
    return _channel_table(outputs, below, 6 if outputs.size <= 64 else 8)


@lru_cache(TABLES)
def _speckle_table(deviation: float) -> tuple[Words, int]:
    return _channel_table(channels.LEVELS.astype(B), channels.speckle_channel(deviation), 8)


def _channel_table(outputs: NDArray[np.uint8], below: channels.Probabilities, bits: int) -> tuple[Words, int]:
    """Pack 256 rows of 2^bits columns: threshold (16 bits), own output and that of the alias (8 bits each)."""
    thresholds, aliases = channels.alias_tables(below, 2**bits, 2**16)
    level = np.zeros(2**bits, np.int64)
    level[: outputs.size] = outputs
    return (thresholds << 16 | level << 8 | level[aliases]).astype(U).ravel(), bits


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_steps(image: Image, result: Image, key: Words, table: Words) -> None:
    pixels, output = image.reshape(-1), result.reshape(-1)
    words, entries, steps = np.empty(BLOCK, U), np.empty(BLOCK, U), np.empty(BLOCK, H)
    for start in range(0, pixels.size, BLOCK):
        count = min(BLOCK, pixels.size - start)
        fill_words(key, start, words[:count])
        _look_up(words[:count], U(23), table, entries)
        _choose_steps(words[:count], entries, steps)
        _add(pixels[start : start + count], steps, output[start : start + count])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_impulses(image: Image, result: Image, key: Words, pepper: int, replaced: int) -> None:
    """Replace by 0 with probability ``pepper / 2^30``, by 255 with probability ``(replaced - pepper) / 2^30``."""
    pixels, output = image.reshape(-1), result.reshape(-1)
    words, steps = np.empty(BLOCK, U), np.empty(BLOCK, H)
    for start in range(0, pixels.size, BLOCK):
        count = min(BLOCK, pixels.size - start)
        fill_words(key, start, words[:count])
        _choose_impulses(words[:count], S(pepper), S(replaced), steps)
        _add(pixels[start : start + count], steps, output[start : start + count])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _pass_channel(image: Image, result: Image, key: Words, table: Words, bits: int) -> None:
    pixels, output = image.reshape(-1), result.reshape(-1)
    words, entries = np.empty(BLOCK, U), np.empty(BLOCK, U)
    for start in range(0, pixels.size, BLOCK):
        count = min(BLOCK, pixels.size - start)
        fill_words(key, start, words[:count])
        _choose_columns(pixels[start : start + count], words, U(bits), entries)
        _look_up(entries[:count], U(0), table, entries)
        _choose_outputs(words, entries, U(bits), output[start : start + count])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _look_up(words: Words, shift: np.uint32, table: Words, entries: Words) -> None:
    for j in range(words.size):
        entries[j] = table[words[j] >> shift]


# Comparisons are of signed numbers: AVX2 has no others.


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _choose_steps(words: Words, entries: Words, steps: NDArray[np.int16]) -> None:
    for j in range(words.size):
        own = S(words[j] & U(0x7FFFFF)) < S(entries[j] >> U(9))
        steps[j] = H(H(words[j] >> U(23) if own else entries[j] & U(511)) - H(256))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _choose_impulses(words: Words, pepper: np.int32, replaced: np.int32, steps: NDArray[np.int16]) -> None:
    for j in range(words.size):
        draw = S(words[j] >> U(2))
        step = S(256) if draw < replaced else S(0)
        steps[j] = H(S(-256) if draw < pepper else step)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add(pixels: Image, steps: NDArray[np.int16], output: Image) -> None:
    for j in range(pixels.size):
        output[j] = B(min(max(H(H(pixels[j]) + steps[j]), H(0)), H(255)))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _choose_columns(pixels: Image, words: Words, bits: np.uint32, columns: Words) -> None:
    rest = U(U(32) - bits)
    for j in range(pixels.size):
        columns[j] = U(U(pixels[j]) << bits) | U(words[j] >> rest)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _choose_outputs(words: Words, entries: Words, bits: np.uint32, output: Image) -> None:
    for j in range(output.size):
        own = S(U(words[j] << bits) >> U(16)) < S(entries[j] >> U(16))
        output[j] = B(entries[j] >> U(8) if own else entries[j])
