"""The search among hashes: compiled, exact, every pair looked at, since no index prunes a radius of a quarter.

Importing this module imports Numba, so it is imported when used.
"""

from __future__ import annotations

import typing

import numba
import numpy as np
from numpy.typing import NDArray

import oodometer.corruptions.fast  # noqa: F401 - finds a place where compiled code can be kept

__all__ = ["search"]

Word: typing.TypeAlias = np.uint64

_PAIRS, _FOURS, _BYTES, _SUM = (
    np.uint64(pattern) for pattern in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F, 0x0101010101010101)
)
_ONE, _TWO, _FOUR, _TOP = (np.uint64(shift) for shift in (1, 2, 4, 56))


@numba.njit(forceinline=True)
def _ones(word: Word) -> Word:
    """Count the bits that are 1; compilers know this form, and make it one instruction."""
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    return (((word + (word >> _FOUR)) & _BYTES) * _SUM) >> _TOP


@numba.njit(cache=True, nogil=True)
def search(
    these: NDArray[np.uint64],
    those: NDArray[np.uint64],
    begin: int,
    end: int,
    earlier: bool,
    place: NDArray[np.int64],
    distance: NDArray[np.int64],
) -> None:
    """Find for each of ``these[begin:end]`` the nearest of ``those`` by Hamming distance, in place.

    Parameters
    ----------
    these
        Hashes in all views and turns: uint64, N x views x turns x 4.
    those
        Hashes in all views: uint64, M x views x 4.
    begin, end
        Which of ``these`` to take, so that threads can share the work.
    earlier
        Whether each is compared only with those at lower places.
    place, distance
        int64, N: written where something is nearer than ``distance``; of equals the first counts.
    """
    for i in range(begin, end):
        for j in range(i if earlier else those.shape[0]):
            for view in range(these.shape[1]):
                a, b, c, d = those[j, view, 0], those[j, view, 1], those[j, view, 2], those[j, view, 3]
                for turn in range(these.shape[2]):
                    differing = np.int64(
                        _ones(these[i, view, turn, 0] ^ a)
                        + _ones(these[i, view, turn, 1] ^ b)
                        + _ones(these[i, view, turn, 2] ^ c)
                    )
                    if differing < distance[i]:  # three words of unrelated pictures nearly always differ in more
                        differing += np.int64(_ones(these[i, view, turn, 3] ^ d))
                        if differing < distance[i]:
                            place[i], distance[i] = j, differing
