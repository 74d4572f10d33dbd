"""What is painted with a brush: watercolour and oil."""

from __future__ import annotations

import cv2
import numpy as np

from oodometer.corruptions.renditions.canvas import (
    Plane,
    deviates,
    finished,
    grain,
    gray,
    moved,
    paint,
    smooth,
    unit_length,
)
from oodometer.types import Image

__all__ = ["oil", "watercolour"]


def watercolour(image: Image, rng: np.random.RandomState, radius: float, tremble: float, clotting: float) -> Image:
    """Paint washes: thin colour on white paper, darker where a wash ends and where pigment settles in the grain."""
    unit = unit_length(image)
    right, down = (tremble * unit * grain(rng, image.shape, 8 * unit) for _ in range(2))
    wash = moved(paint(image), right, down)
    for _ in range(2):
        wash = _brushed(wash, radius * unit)
    wash = smooth(wash, 0.8 * unit)
    across, along = _slopes(gray(wash))
    settled = 0.5 * grain(rng, image.shape, 0.6 * unit) + grain(rng, image.shape, 14 * unit)
    density = np.clip(1 + 1.2 * np.hypot(across, along) + clotting * settled, 0.2, 3)[..., None]
    thin = 0.12 + 0.88 * wash
    # Bousseau et al., "Interactive watercolor rendering ...", NPAR 2006: what more pigment does to a colour.
    return finished(thin - (thin - thin * thin) * (density - 1))


def oil(image: Image, rng: np.random.RandomState, radius: float, times: float, relief: float) -> Image:
    """Paint with a broad brush: flat strokes along the contours, whose relief is lit from one side."""
    unit, picture = unit_length(image), paint(image)
    for _ in range(round(times)):
        picture = _brushed(picture, radius * unit)
    strokes = _along_contours(gray(paint(image)), grain(rng, image.shape, 0.7 * unit), unit, radius)
    lit: Plane = deviates(cv2.Sobel(strokes, -1, 1, 1))  # type: ignore[arg-type]
    return finished(picture + relief * lit[..., None])


def _brushed(picture: Plane, radius: float) -> Plane:
    """Replace each pixel by the mean of that box beside it whose tones differ least (Kuwahara et al., 1976)."""
    reach = max(1, round(radius))
    tones = gray(picture)
    mean, mean_tone, mean_square = (_boxes(values, reach) for values in (picture, tones, tones * tones))
    spread = mean_square - mean_tone**2
    height, width = tones.shape
    found = np.empty_like(picture)
    least = np.full(tones.shape, np.inf, dtype=np.float32)
    for down in (0, reach):
        for right in (0, reach):
            at = np.s_[down : down + height, right : right + width]
            better = spread[at] < least
            found[better], least[better] = mean[at][better], spread[at][better]
    return found


def _boxes(values: Plane, reach: int) -> Plane:
    """Return the means of boxes of ``reach + 1`` pixels; the box of which a pixel is the far corner lies at its place.

    So the one of which it is the near corner lies ``reach`` further down and to the right.
    """
    size = reach + 1
    wide = cv2.copyMakeBorder(values, reach, reach, reach, reach, cv2.BORDER_REFLECT_101)
    found: Plane = cv2.boxFilter(wide, -1, (size, size), anchor=(0, 0))[: len(values) + reach]  # type: ignore[assignment]
    return found


def _along_contours(tones: Plane, noise: Plane, unit: float, radius: float) -> Plane:
    """Smear noise along the contours (Cabral & Leedom, 1993), whose direction is that of the structure tensor."""
    across, along = _slopes(smooth(tones, 3 * unit))
    xx, xy, yy = (smooth(product, 4 * unit) for product in (across * across, across * along, along * along))
    angle = 0.5 * np.arctan2(2 * xy, xx - yy) + np.pi / 2
    right, down = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    steps = max(2, round(1.5 * radius * unit))
    return deviates(sum((moved(noise, k * right, k * down) for k in range(-steps, steps + 1)), np.zeros_like(noise)))


def _slopes(tones: Plane) -> tuple[Plane, Plane]:
    """Return the differences to the right and downwards, by Sobel's filter."""
    return cv2.Sobel(tones, -1, 1, 0), cv2.Sobel(tones, -1, 0, 1)  # type: ignore[return-value]
