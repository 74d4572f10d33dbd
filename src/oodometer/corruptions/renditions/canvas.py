"""What the renditions share: lengths, smoothing, chance, and the way back to 8 bits.

Lengths are those of an image whose shorter side is 224 pixels and grow with the image, so that a rendition looks the
same at every size. Values are float32, 0..1, black to white.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from oodometer.types import Image

__all__ = ["Plane", "deviates", "finished", "grain", "gray", "moved", "paint", "smooth", "unit_length"]

Plane = NDArray[np.float32]
"""float32, H x W, or H x W x 3."""

_EDGE = cv2.BORDER_REFLECT_101
_LUMINANCE = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def unit_length(image: Image) -> float:
    """Return how many pixels of this image a pixel of one of 224 is."""
    return float(min(image.shape[:2])) / 224


def paint(image: Image) -> Plane:
    """Return the image as fractions, H x W x 3."""
    return image.astype(np.float32) / np.float32(255)


def gray(picture: Plane) -> Plane:
    """Return the luminance of an H x W x 3 picture."""
    found: Plane = picture @ _LUMINANCE
    return found


def smooth(picture: Plane, sigma: float) -> Plane:
    """Blur with a Gaussian, mirrored at the edges."""
    found: Plane = cv2.GaussianBlur(picture, (0, 0), max(sigma, 0.3), borderType=_EDGE)  # type: ignore[assignment]
    return found


def deviates(picture: Plane) -> Plane:
    """Scale a picture to a standard deviation of 1."""
    return picture / np.float32(max(float(picture.std()), 1e-6))


def grain(rng: np.random.RandomState, shape: tuple[int, ...], sigma: float) -> Plane:
    """Draw smooth noise of mean 0 and standard deviation 1, H x W."""
    return deviates(smooth(rng.standard_normal(shape[:2]).astype(np.float32), sigma))


def moved(picture: Plane, right: Plane | float, down: Plane | float) -> Plane:
    """Take each pixel from so many pixels to the right and below."""
    rows, columns = np.mgrid[: picture.shape[0], : picture.shape[1]].astype(np.float32)
    found: Plane = cv2.remap(  # type: ignore[assignment]
        picture, columns + right, rows + down, cv2.INTER_LINEAR, borderMode=_EDGE
    )
    return found


def finished(picture: NDArray[np.floating]) -> Image:
    """Return a picture as uint8."""
    found: Image = np.rint(np.clip(picture, 0, 1) * 255).astype(np.uint8)
    return found
