"""What is drawn with lines: pencil, ink and cartoon."""

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

__all__ = ["cartoon", "ink", "pencil"]


def pencil(image: Image, rng: np.random.RandomState, width: float, colour: float, shade: float) -> Image:
    """Draw with a soft pencil: the picture divided by its surroundings leaves the lines; hatching gives the tones."""
    unit, picture = unit_length(image), paint(image)
    tones = gray(picture)
    lines = np.clip(tones / np.maximum(smooth(tones, width * unit), 0.02), 0, 1) ** 2.2
    length = max(3, round(9 * unit) | 1)
    stroke = np.eye(length, dtype=np.float32)[::-1] / length
    noise = rng.standard_normal(tones.shape).astype(np.float32)
    hatching = deviates(cv2.filter2D(noise, -1, stroke, borderType=cv2.BORDER_REFLECT_101))  # type: ignore[arg-type]
    hatched = 1 - shade * (1 - smooth(tones, 2 * unit)) * np.clip(0.6 + 0.5 * hatching, 0, 1)
    return finished((0.08 + 0.89 * np.clip(lines * hatched, 0, 1)[..., None]) * _tint(picture, colour))


def ink(image: Image, rng: np.random.RandomState, width: float, colour: float, filled: float) -> Image:
    """Draw with a pen: dark where the picture is darker than its surroundings, filled where it is all but black."""
    unit, picture = unit_length(image), paint(image)
    tones = gray(picture)
    right, down = (0.6 * unit * grain(rng, tones.shape, 6 * unit) for _ in range(2))  # the hand is not quite steady
    steady = moved(tones, right, down)
    lines = _dark_lines(steady, width * unit, softness=0.012)
    fill = 1 / (1 + np.exp((filled - smooth(steady, 2 * unit)) * 60))
    return finished((lines * fill)[..., None] * _tint(picture, colour))


def cartoon(image: Image, rng: np.random.RandomState, levels: float, width: float, outline: float) -> Image:
    """Flatten the picture into few tones of strong colour, with black outlines."""
    unit, flat = unit_length(image), image
    for _ in range(3):
        flat = cv2.bilateralFilter(  # type: ignore[assignment]
            flat, 0, 30, max(1.0, width * unit), borderType=cv2.BORDER_REFLECT_101
        )
    lab = cv2.cvtColor(flat, cv2.COLOR_RGB2LAB).astype(np.float32)
    step = 255 / levels
    lab[..., 0] = (np.floor(lab[..., 0] / step) + 0.5) * step
    lab[..., 1:] = 128 + (lab[..., 1:] - 128) * 1.25
    colours = paint(cv2.cvtColor(np.clip(lab, 0, 255).astype(np.uint8), cv2.COLOR_LAB2RGB).astype(np.uint8))
    lines = _dark_lines(gray(paint(flat)), 0.9 * unit, softness=0.02)
    return finished(colours * (1 - outline * (1 - lines[..., None])))


def _dark_lines(tones: Plane, sigma: float, softness: float) -> Plane:
    """Return 0 on lines that are darker than their surroundings, 1 elsewhere: a difference of Gaussians, with a bend.

    Winnemoeller, "XDoG: Advanced Image Stylization with eXtended Difference-of-Gaussians", NPAR 2011.
    """
    darker = smooth(tones, 1.6 * sigma) - smooth(tones, sigma)
    found: Plane = 1 / (1 + np.exp((darker - 0.015) / (softness / 3)))
    return found


def _tint(picture: Plane, colour: float) -> Plane:
    """Return the colours that a drawing is coloured with, of which a share is left: white if that is 0."""
    return 1 - np.float32(colour) * (1 - picture)
