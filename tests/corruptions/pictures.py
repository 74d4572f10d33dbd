"""Pictures to corrupt."""

import numpy as np
from scipy import ndimage


def textured(height, width, seed=0):
    """Draw a colourful mid-tone picture with structure at every scale."""
    rng = np.random.RandomState(seed)
    picture = np.zeros((height, width, 3))
    for sigma in (0, 1, 2, 4, 8):
        waves = ndimage.gaussian_filter(rng.normal(0, 1, (height, width, 3)), (sigma, sigma, 0), mode="wrap")
        picture += waves * (5 + 2 * sigma) / waves.std()
    return np.clip(128 + picture, 0, 255).astype(np.uint8)
