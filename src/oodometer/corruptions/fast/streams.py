"""Counter-based random streams: the i-th word of a stream depends on its key and on i alone.

So pixels can be drawn in any order and by any number of lanes, and the result is the same on every machine: only
32-bit integer operations are used, which compilers turn into vector code.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["fill_words", "word"]

U = np.uint32


@numba.njit(inline="always")
def word(k0: U, k1: U, k2: U, k3: U, i: U) -> U:
    """Return word ``i`` (uint32) of the stream with the key (k0, k1, k2, k3): rounds of xor-shift and multiply."""
    x = U(i ^ k0)
    x = U(U(x ^ (x >> U(16))) * U(0x21F0AAAD)) + k1
    x = U(U(x ^ (x >> U(15))) * U(0xD35A2D97)) ^ k2
    x = U(U(x ^ (x >> U(15))) * U(0x31848BAB)) + k3
    return U(x ^ (x >> U(14)))


@numba.njit(cache=True, nogil=True)
def fill_words(key: np.ndarray, start: int, out: np.ndarray) -> None:
    """Fill a uint32 array with the words of a stream from ``start`` on."""
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    for i in range(out.size):
        out[i] = word(k0, k1, k2, k3, U(start + i))
