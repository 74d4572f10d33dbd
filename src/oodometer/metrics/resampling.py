"""The bootstrap: how much a number would vary if the images were drawn again, told by drawing them from themselves.

B. Efron, "Bootstrap Methods: Another Look at the Jackknife", Annals of Statistics 7 (1979). An image is drawn with all
that is known of it, so that outcomes of one image under several conditions stay together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["REPLICATES", "resampled"]

REPLICATES = 500
"""How often the images are drawn again."""

_AT_ONCE = 50
"""How many draws are held in memory at a time."""


def resampled(images: int, seed: int = 0) -> Iterator[NDArray[np.float64]]:
    """Draw images with replacement, as many as there are, again and again.

    Parameters
    ----------
    images
        How many there are.
    seed
        Of the draws: the same seed gives the same interval.

    Yields
    ------
    numpy.ndarray
        How often each image was drawn: float64, some draws x images; ``REPLICATES`` draws in all.
    """
    rng = np.random.default_rng(seed)
    for begin in range(0, REPLICATES, _AT_ONCE):
        draws = range(begin, min(begin + _AT_ONCE, REPLICATES))
        yield np.array(
            [np.bincount(rng.integers(images, size=images), minlength=images) for _ in draws], dtype=np.float64
        )
