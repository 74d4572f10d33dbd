"""The perturbations that move the picture: translate, rotate, scale, shear and tilt.

The steps are those of the public generator of ImageNet-P (Hendrycks & Dietterich, ICLR 2019). Each video runs through
the unmoved picture, which is its frame 15 (translate: 20, scale: 24). Where there is no picture, frames are black.
"""

from __future__ import annotations

import itertools
import math
import typing
from collections.abc import Iterator

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.perturbations.window import Keys, Window
from oodometer.types import Image

__all__ = ["Affine", "about_centre", "rotate", "scale", "shear", "tilt", "translate", "warped"]

Affine: typing.TypeAlias = tuple[float, float, float, float, float, float]
"""The place (a x + b y + c, d x + e y + f) in the picture that the point (x, y) of the result shows."""


def translate(window: Window, keys: Keys) -> Iterator[Image]:
    """Move the picture one pixel a frame to the right, from 20 pixels left of its place."""
    return (window.shifted(i - 20) for i in itertools.count())


def rotate(window: Window, keys: Keys) -> Iterator[Image]:
    """Turn the picture clockwise by one degree a frame, from -15 degrees."""
    return _affine(window, (about_centre(window, degrees=i - 15) for i in itertools.count()))


def scale(window: Window, keys: Keys) -> Iterator[Image]:
    """Enlarge the picture by 2.5 % of its size a frame, from 40 %."""
    return _affine(window, (about_centre(window, factor=(40 + 2.5 * i) / 100) for i in itertools.count()))


def shear(window: Window, keys: Keys) -> Iterator[Image]:
    """Lean the columns by one degree a frame, from -15 degrees; they keep their length."""
    return _affine(window, (about_centre(window, lean=i - 15) for i in itertools.count()))


def tilt(window: Window, keys: Keys) -> Iterator[Image]:
    """Turn the picture in space about its upright and its level axis at once, by one degree a frame from -15 degrees.

    The eye is as far from the axes as the picture's diagonal is long. Quirk of the published code: the picture lies one
    pixel behind the axes, so that it is seen a little smaller, by 0.3 %, even in frame 15. OpenCV's bilinear warp
    rounds places to 1/32 pixel.
    """
    import cv2

    height, width = window.picture.shape[:2]
    into_window = np.array([[1, 0, -window.left], [0, 1, -window.top], [0, 0, 1]])
    for i in itertools.count():
        seen = into_window @ _in_space(height, width, math.radians(i - 15))
        yield cv2.warpPerspective(window.picture, seen, (window.width, window.height)).astype(np.uint8, copy=False)


def _in_space(height: int, width: int, angle: float) -> NDArray[np.float64]:
    """Return the homography, 3 x 3, from the picture to what is seen of it once it is turned."""
    sine, cosine, eye = math.sin(angle), math.cos(angle), math.hypot(height, width)
    placed = np.array([[1, 0, -width / 2], [0, 1, -height / 2], [0, 0, 1], [0, 0, 1]])
    upright = np.array([[cosine, 0, -sine, 0], [0, 1, 0, 0], [sine, 0, cosine, 0], [0, 0, 0, 1]])
    level = np.array([[1, 0, 0, 0], [0, cosine, -sine, 0], [0, sine, cosine, 0], [0, 0, 0, 1]])
    away = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, eye], [0, 0, 0, 1]])
    seen = np.array([[eye, 0, width / 2, 0], [0, eye, height / 2, 0], [0, 0, 1, 0]])
    homography: NDArray[np.float64] = seen @ away @ level @ upright @ placed
    return homography


def about_centre(window: Window, degrees: float = 0, factor: float = 1, lean: float = 0) -> Affine:
    """Return the map of a picture that is turned, enlarged and leant about its centre.

    Quirk of the published code (the torchvision of 2018): the centre is half a pixel to the right of and below the
    middle, so that a picture of 256 pixels turns about the middle of its pixel 128.
    """
    across, down = window.picture.shape[1] / 2 + 0.5, window.picture.shape[0] / 2 + 0.5
    angle, leant = math.radians(degrees), math.radians(degrees + lean)
    # The inverse of [[cos angle, -sin leant], [sin angle, cos leant]] * factor.
    size = factor * (math.cos(leant) * math.cos(angle) + math.sin(leant) * math.sin(angle))
    a, b = math.cos(leant) / size, math.sin(leant) / size
    d, e = -math.sin(angle) / size, math.cos(angle) / size
    return a, b, across - a * across - b * down, d, e, down - d * across - e * down


def _affine(window: Window, maps: Iterator[Affine]) -> Iterator[Image]:
    picture = PIL.Image.fromarray(window.picture)
    return (warped(picture, window, places) for places in maps)


def warped(picture: PIL.Image.Image, window: Window, places: Affine) -> Image:
    """Return the frame that a map of the picture gives, bilinearly, with Pillow as torchvision does it."""
    a, b, c, d, e, f = places
    c, f = c + a * window.left + b * window.top, f + d * window.left + e * window.top
    size, method = (window.width, window.height), PIL.Image.Transform.AFFINE
    return np.array(picture.transform(size, method, (a, b, c, d, e, f), PIL.Image.Resampling.BILINEAR))
