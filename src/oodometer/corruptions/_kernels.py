"""Compiled loops, each the twin of a plain one. Importing this module imports Numba; so import it where it is used."""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["copy_pixels"]


@numba.njit(cache=True, nogil=True)
def copy_pixels(source: NDArray[np.int64], places: NDArray[np.int64], shifts: NDArray[np.int64]) -> None:
    """Twin of ``blur.copy_pixels``."""
    for iteration in range(shifts.shape[0]):
        for i in range(places.size):
            source[places[i]] = source[places[i] + shifts[iteration, i]]
