"""Which conditions each image goes through where it does not go through all: balanced incomplete blocks.

The image at place ``p`` of the seeded order has a sequence of all C conditions, which depends on (seed, p, C) alone. An
evaluation that takes ``each`` conditions of an image takes the first ``each`` of its sequence, so what it does with an
image depends neither on the other images nor on who evaluates them.

The places are cut into cycles of C images, and these into rounds of C // 2 cycles. The sequence of the j-th image of a
cycle is that of the first one moved on by j conditions around a circle, so within a cycle every condition is taken
equally often (``each`` times). Two conditions meet in an image if their distance on the circle is one of those between
the steps of the cycle; the steps are chosen so that all distances are used about equally often in a round. So every
pair of conditions meets about equally often: exactly so for two conditions an image and an odd C, else within a few of
the mean (``tests/test_sampling.py`` counts). The circle is shuffled anew for each round.

Source of the construction: cyclic designs, J. A. John & E. R. Williams, "Cyclic and Computer Generated Designs" (1995).
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from oodometer.seeding import order_stream

__all__ = ["taken"]

BALANCED = 8
"""Up to how many conditions an image the steps are chosen for balance; beyond, every pair meets so often that chance
suffices."""


def taken(seed: int, places: NDArray[np.intp], conditions: int, each: int) -> NDArray[np.intp]:
    """Say which conditions the images at some places of the seeded order go through.

    Parameters
    ----------
    seed
        The seed of the run.
    places
        Positions in the seeded order, shape (N,).
    conditions
        How many conditions there are.
    each
        How many of them an image goes through, from 1 to ``conditions``.

    Returns
    -------
    NDArray
        Indices of conditions, shape (N, each); those of an image differ, and begin with those of a smaller ``each``.
    """
    cycles, shifts = np.divmod(np.asarray(places, dtype=np.intp), conditions)
    rounds, cycles = np.divmod(cycles, max(conditions // 2, 1))
    found = np.empty((len(cycles), each), dtype=np.intp)
    for number in np.unique(rounds):
        circle, steps = _round(seed, int(number), conditions)
        here = rounds == number
        found[here] = circle[(shifts[here, None] + steps[cycles[here], :each]) % conditions]
    return found


@functools.lru_cache(maxsize=4)
def _round(seed: int, number: int, conditions: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the circle of a round, and the steps of each of its cycles: shapes (C,) and (C // 2, C)."""
    rng = order_stream(seed, f"conditions {conditions} {number}")
    circle = rng.permutation(conditions)
    met = np.zeros((BALANCED, conditions // 2 + 1), dtype=np.intp)
    return circle, np.stack([_steps(rng, conditions, met) for _ in range(max(conditions // 2, 1))])


def _steps(rng: np.random.RandomState, conditions: int, met: NDArray[np.intp]) -> NDArray[np.intp]:
    """Order the steps of one cycle, beginning with 0, so that distances met often in the round are met no more.

    ``met[k, d]`` counts how often distance d occurred among the first k + 1 steps of a cycle, and is updated.
    """
    steps = np.concatenate([[0], 1 + rng.permutation(conditions - 1)])
    for k in range(1, min(BALANCED, conditions)):
        apart = np.abs(steps[k:, None] - steps[:k])
        distances = np.minimum(apart, conditions - apart)
        best = k + int(np.argmin(met[k, distances].max(axis=1)))
        steps[[k, best]] = steps[[best, k]]
        among = np.abs(steps[: k + 1, None] - steps[: k + 1])[np.triu_indices(k + 1, 1)]
        np.add.at(met[k], np.minimum(among, conditions - among), 1)
    return steps
