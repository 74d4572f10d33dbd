"""What is made of equal pieces: mosaic, halftone and silhouette."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.renditions.canvas import Plane, finished, gray, paint, smooth, unit_length
from oodometer.types import Image

__all__ = ["halftone", "mosaic", "silhouette"]

_COLOURS = 24
"""How many colours of the rim stand for the background."""


def mosaic(image: Image, rng: np.random.RandomState, side: float, joint: float) -> Image:
    """Lay tiles of one colour each around points of a shaken grid, with light joints between them."""
    unit = unit_length(image)
    tile, nearest, further = _tiles(image.shape[:2], rng, max(2.0, side * unit))
    count = np.maximum(np.bincount(tile.ravel()), 1)
    means = [np.bincount(tile.ravel(), image[..., c].ravel()) / count for c in range(3)]
    glazed = np.stack(means, axis=1) * (1 + 0.08 * rng.standard_normal((len(count), 1))) / 255
    laid = np.clip((further - nearest) / max(joint * unit, 0.5), 0, 1)[..., None]
    return finished(glazed[tile] * laid + 0.82 * (1 - laid))


def _tiles(
    shape: tuple[int, ...], rng: np.random.RandomState, side: float
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return for each pixel the nearest point's number, its distance, and that of the next point."""
    rows, columns = (int(np.ceil(length / side)) + 2 for length in shape)
    place = rng.random_sample((rows, columns, 2)) * 0.7 + 0.15
    point = (np.indices((rows, columns)).transpose(1, 2, 0) - 1 + place) * side
    y, x = np.indices(shape)
    row, column = (np.floor(v / side).astype(np.intp) + 1 for v in (y, x))
    number = np.zeros(shape, dtype=np.intp)
    nearest, further = (np.full(shape, np.inf) for _ in range(2))
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            near_row, near_column = np.clip(row + down, 0, rows - 1), np.clip(column + right, 0, columns - 1)
            found = point[near_row, near_column]
            distance = np.hypot(y - found[..., 0], x - found[..., 1])
            here = near_row * columns + near_column
            closer = distance < nearest
            further = np.where(closer, nearest, np.where(here == number, further, np.minimum(further, distance)))
            number, nearest = np.where(closer, here, number), np.where(closer, distance, nearest)
    return number, nearest, further


def halftone(image: Image, rng: np.random.RandomState, distance: float, colour: float) -> Image:
    """Print dots, larger where it is darker: cyan, magenta and yellow, or black, each on its own turned grid."""
    period, picture = max(2.0, distance * unit_length(image)), paint(image)
    origins = rng.random_sample((4, 2)) * period
    inks = [_dots(1 - picture[..., c], period, degrees, origins[c]) for c, degrees in enumerate((15.0, 75.0, 0.0))]
    black = _dots(1 - gray(picture), period, 45.0, origins[3])[..., None]
    return finished(1 - 0.95 * (colour * np.stack(inks, axis=2) + (1 - colour) * black))


def _dots(ink: Plane, period: float, degrees: float, origin: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 where there is ink: where there must be more of it than a wave says that has hills every period."""
    y, x = np.indices(ink.shape)
    turn = np.exp(1j * np.deg2rad(degrees)) * 2 * np.pi / period
    phase = (x + origin[0] - 1j * (y + origin[1])) * turn
    wave = (np.cos(phase.real) + np.cos(phase.imag)) / 4 + 0.5
    found: NDArray[np.float64] = 1 / (1 + np.exp((wave - smooth(ink, period / 3)) * 3 * period))
    return found


def silhouette(image: Image, rng: np.random.RandomState, smoothness: float, inside: float) -> Image:
    """Cut out what differs most from the rim of the picture, in dark paper on light."""
    unit = unit_length(image)
    shape = smooth(_foreground(image, smoothness * unit), unit)
    edge = np.clip((shape - 0.5) * 4 + 0.5, 0, 1)[..., None]
    dark = 0.04 + 0.6 * inside * gray(paint(image))[..., None]
    paper = 0.9 + 0.05 * rng.random_sample(3)
    return finished(dark * edge + paper * (1 - edge))


def _foreground(image: Image, smoothness: float) -> Plane:
    """Return 1 on the largest region whose colours are none of the rim's, more readily near the middle."""
    height, width = image.shape[:2]
    unlike = _unlike_the_rim(cv2.cvtColor(image, cv2.COLOR_RGB2LAB).astype(np.float32), 2 * unit_length(image))
    y, x = np.indices((height, width))
    middle = np.exp(-(((y / height - 0.5) / 0.38) ** 2) - ((x / width - 0.5) / 0.38) ** 2)
    score = smooth((unlike * (0.25 + middle)).astype(np.float32), smoothness)
    low, high = np.percentile(score, (2, 98))
    levels = finished((score - low) / max(high - low, 1e-6))
    _, mask = cv2.threshold(levels, 0, 1, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    count, region, figures, _ = cv2.connectedComponentsWithStats(mask)
    if count == 1:
        return np.zeros((height, width), dtype=np.float32)
    largest = 1 + int(np.argmax(figures[1:, cv2.CC_STAT_AREA]))
    return np.equal(region, largest).astype(np.float32)


def _unlike_the_rim(lab: Plane, sigma: float) -> NDArray[np.float32]:
    """Return the distance of each colour from the nearest of some of the rim's, in the rim's own deviations."""
    lab = smooth(lab, sigma)
    width = max(1, round(0.06 * min(lab.shape[:2])))
    parts = (lab[:width], lab[-width:], lab[:, :width], lab[:, -width:])
    rim = np.concatenate([part.reshape(-1, 3) for part in parts])
    spread = rim.std(axis=0) + 8
    colours = rim[np.linspace(0, len(rim) - 1, _COLOURS).astype(np.intp)]
    squares = [(((lab - colour) / spread) ** 2).sum(axis=2) for colour in colours]
    return np.asarray(np.sqrt(np.min(squares, axis=0)), dtype=np.float32)
