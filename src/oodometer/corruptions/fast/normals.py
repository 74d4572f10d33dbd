"""Standard normals from a counter-based stream, in float32.

Box and Muller's way, all of it written in additions, multiplications, one division and one square root, which IEEE 754
defines to the last bit: so the same bits on every machine, and compilers turn it into vector code. No function of the
C library takes part, whose last bits differ from one system to another.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.streams import word

__all__ = ["fill_normals"]

F32 = np.float32
I32 = np.int32
U32 = np.uint32

LN_2 = F32(math.log(2))
SQRT_HALF = I32(np.float32(math.sqrt(0.5)).view(np.int32))
"""The bits of sqrt(1/2), the smallest mantissa."""

QUARTER_TURN = F32(math.pi / 2 / 2**32)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def fill_normals(key: NDArray[np.uint32], start: int, out: NDArray[np.float32]) -> None:
    """Fill a float32 array of one dimension with standard normals.

    It takes the words from ``start`` on, one for each value, and one more where their number is odd.
    """
    pairs = out.size // 2
    _fill_pairs(key, start, out[:pairs], out[pairs : 2 * pairs])
    if out.size % 2:
        last = np.empty(2, np.float32)
        _fill_pairs(key, start + 2 * pairs, last[:1], last[1:])
        out[-1] = last[0]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _fill_pairs(key: NDArray[np.uint32], start: int, first: NDArray[np.float32], second: NDArray[np.float32]) -> None:
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    begin, pairs = U32(start), U32(first.size)
    for i in range(first.size):
        radius = _radius(word(k0, k1, k2, k3, U32(begin + U32(i))))
        turn = word(k0, k1, k2, k3, U32(begin + pairs + U32(i)))
        # An angle within 45 degrees of 0; two of the lowest bits, which do not reach it, say whether its sine and
        # cosine change places (mirrored at 45 degrees) and whether both change sign.
        angle = F32(I32(turn)) * QUARTER_TURN
        square = angle * angle
        sine = angle * (F32(1) - square * (F32(1 / 6) - square * (F32(1 / 120) - square * F32(1 / 5040))))
        cosine = F32(1) - square * (
            F32(0.5) - square * (F32(1 / 24) - square * (F32(1 / 720) - square * F32(1 / 40320)))
        )
        signed = -radius if turn & U32(1) else radius
        mirrored = (turn & U32(2)) != U32(0)
        first[i] = signed * (sine if mirrored else cosine)
        second[i] = signed * (cosine if mirrored else sine)


@numba.njit(inline="always")
def _radius(bits: U32) -> F32:
    """Return ``sqrt(-2 ln u)`` of the uniform ``u`` in (0, 1] that 31 of the bits make."""
    u = np.float32((F32(I32(bits >> U32(1))) + F32(0.5)) * F32(2**-31))
    # u = mantissa * 2^exponent with the mantissa in sqrt(1/2)..sqrt(2), so that its logarithm is a short series.
    pattern = u.view(np.int32)
    exponent = I32(I32(pattern - SQRT_HALF) >> I32(23))
    scaled = np.int32(pattern - I32(exponent << I32(23)))
    mantissa = scaled.view(np.float32)
    s = (mantissa - F32(1)) / (mantissa + F32(1))
    square = s * s
    logarithm = F32(2) * s * (F32(1) + square * (F32(1 / 3) + square * (F32(1 / 5) + square * F32(1 / 7))))
    return F32(math.sqrt(F32(-2) * (F32(exponent) * LN_2 + logarithm)))
