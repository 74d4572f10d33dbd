"""The noises as memoryless channels: how likely each output is for each input, and tables that sample just that.

Each value of an image goes through the channel by itself, so that a noise is known completely by 256 distributions.
They are given as ``below``: ``below[x, j]`` is the probability that input ``x`` ends under the outcome ``j``.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.rendering import to_uint8

__all__ = ["alias_tables", "gaussian_steps", "shot_channel", "speckle_channel"]

Probabilities = NDArray[np.float64]

LEVELS = np.arange(256)
WHOLE_COUNTS = 1e15
"""Up to here a number of photons plus or minus one is exact in float64."""
SUMMED_MEANS = 5000.0
"""Up to here a sum over counts is quick, and its rounding errors are below 1e-11."""


def gaussian_steps(deviation: float) -> Probabilities:
    """Return how likely ``floor(255 * normal(0, deviation))`` is to be below -256, -255, .. 256.

    As ``trunc(x + noise) = x + floor(noise)`` wherever the sum is not negative, and all below ends at 0, this is the
    channel of all inputs at once. The ends are 0 and 1: steps beyond them saturate every input, as the last ones do.
    """
    below = _normal_below(np.arange(-256, 257) / (255 * deviation))
    below[0], below[-1] = 0, 1
    return below


def speckle_channel(deviation: float) -> Probabilities:
    """Return ``below``, 256 x 257, of ``x * (1 + normal(0, deviation))`` in levels, truncated."""
    x = LEVELS[1:, None]
    below = np.ones((256, 257))
    below[:, 0] = 0
    below[1:, 1:-1] = _normal_below((LEVELS[1:] - x) / (x * deviation))
    return below


def shot_channel(photons: float) -> tuple[NDArray[np.uint8], Probabilities]:
    """Return the outputs that shot noise can have, n of them, and ``below``, 256 x (n + 1), counted in these.

    Few photons leave few outputs. With more than 1e15, up to infinity, the law is that of 1e15: half of the values
    fall one level, which truncation does to any deviation that is small enough.
    """
    photons = min(photons, WHOLE_COUNTS)
    counts: Probabilities = np.unique(_first_counts(photons))
    below = np.ones((256, counts.size + 1))
    below[:, 0] = 0
    below[:, 1:-1] = _poisson_below(counts[1:], LEVELS[:, None] / 255 * photons)
    return _outputs(counts, photons), below


@numba.njit(cache=True, nogil=True)
def _normal_below(z: Probabilities) -> Probabilities:
    """Return how likely a standard normal number is to be below each z; SciPy's ``ndtr`` takes long to import."""
    below = np.empty(z.size)
    for i, value in enumerate(z.flat):
        below[i] = 0.5 * math.erfc(-value / math.sqrt(2.0))
    return below.reshape(z.shape)


def _poisson_below(counts: Probabilities, means: Probabilities) -> Probabilities:
    """Return how likely Poisson numbers with these means (M x 1) are to be below each count: M x counts, to 1e-9."""
    if means.max() <= SUMMED_MEANS:
        return _poisson_sums(counts, means.ravel())
    from scipy import special  # for hardly any noise at all; its import takes longer than all the rest

    # Exact tails would take most of the time.
    near = np.abs(counts - means) < 14 + 7 * np.sqrt(means)
    below: Probabilities = special.pdtr(counts - 1, means, out=(counts > means).astype(float), where=near)
    return below


@numba.njit(cache=True, nogil=True)
def _poisson_sums(counts: Probabilities, means: Probabilities) -> Probabilities:
    """Sum up the probabilities of 0, 1, .. below each count (ascending), from where they begin to matter."""
    below = np.ones((means.size, counts.size))
    for row in range(means.size):
        mean = means[row]
        reach = 14 + 8 * math.sqrt(mean)
        k = max(math.floor(mean - reach), 0.0)
        likely = math.exp(k * math.log(mean) - mean - math.lgamma(k + 1)) if mean > 0 else 1.0
        total = 0.0
        for column in range(counts.size):
            while k < counts[column] and k <= mean + reach:
                total += likely
                k += 1
                likely *= mean / k
            below[row, column] = min(total, 1.0)
    return below


def _first_counts(photons: float) -> Probabilities:
    """Return the smallest count of photons that gives an output of at least 0, 1, .. 255, rounding errors included."""
    near: Probabilities = np.floor(LEVELS[:, None] / 255 * photons) + np.arange(-1, 3)
    enough = _outputs(near, photons) >= LEVELS[:, None]
    counts: Probabilities = np.maximum(near[LEVELS, enough.argmax(axis=1)], 0)
    return counts


def _outputs(counts: Probabilities, photons: float) -> NDArray[np.uint8]:
    return to_uint8(counts / photons)


def alias_tables(below: Probabilities, columns: int, height: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Prepare the drawing of outcomes from each row of ``below`` by Walker's alias method, in whole numbers.

    A draw chooses one of the columns and a number under ``height``, both evenly: below the column's threshold its own
    outcome is meant (column 5: outcome 5), else its alias. Probabilities are rounded to parts of
    ``columns * height``, so that none of the sums in ``below`` is off by more than half a part, and then met exactly.

    Returns
    -------
    thresholds, aliases
        Both rows x columns. A column with one outcome has threshold 0 and itself as alias.
    """
    weights = np.zeros((len(below), columns), np.int64)
    weights[:, : below.shape[1] - 1] = np.diff(np.rint(below * (columns * height)).astype(np.int64))
    aliases = np.tile(np.arange(columns), (len(below), 1))
    _level_columns(weights, aliases, height)
    return weights, aliases


@numba.njit(cache=True, nogil=True)
def _level_columns(weights: NDArray[np.int64], aliases: NDArray[np.int64], height: int) -> None:
    """Fill up the columns that are too low from those that are too high (Vose's order), in place."""
    columns = weights.shape[1]
    waiting = np.empty(columns, np.int64)
    for row in range(weights.shape[0]):
        weight, alias = weights[row], aliases[row]
        low, high = 0, columns  # columns below the height wait at the front, the others at the back
        for column in range(columns):
            if weight[column] < height:
                waiting[low] = column
                low += 1
            else:
                high -= 1
                waiting[high] = column
        while low > 0:
            low -= 1
            giver = waiting[high]
            alias[waiting[low]] = giver
            weight[giver] -= height - weight[waiting[low]]
            if weight[giver] < height:
                high += 1
                waiting[low] = giver
                low += 1
        weight[waiting[high:]] = 0
