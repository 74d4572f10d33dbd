"""The blurs: out of focus, through frosted glass, in motion, zooming in, and plain Gaussian.

Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations", ICLR 2019.
Each kernel maps an image (uint8, H x W x 3, RGB) to a new one and draws from ``rng`` in the published order.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.rendering import central_zoom, gaussian, streak, to_uint8, unit
from oodometer.corruptions.severity import Row, Table, column, linear, mix, nearest, onward
from oodometer.types import Image

__all__ = [
    "DEFOCUS_BLUR",
    "GAUSSIAN_BLUR",
    "GLASS_BLUR",
    "MOTION_BLUR",
    "ZOOM_BLUR",
    "defocus_blur",
    "gaussian_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
]


def _between_disks(low: Row, high: Row, t: float) -> Row:
    """Mix both, but keep a softer edge up to the next row: small disks have no other blur, and would lose it."""
    radius, alias = linear(low, high, t)
    return radius, max(low[1], alias)


# Constants: radius of the disk in pixels, sigma of the smoothing that softens its edge.
DEFOCUS_BLUR = Table(
    clean=(0, 0),
    imagenet224=((3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)),
    inception299=((4, 0.1), (5, 0.5), (7, 0.5), (10, 0.5), (12, 0.5)),
    tiny64=((0.5, 0.6), (1, 0.1), (1.5, 0.1), (2.5, 0.01), (3, 0.1)),
    cifar32=((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1)),
    between=_between_disks,
    beyond=onward(1),
)


def defocus_blur(image: Image, rng: np.random.RandomState, radius: float, alias: float) -> Image:
    """Replace each pixel by the mean over a disk around it: a lens out of focus."""
    from scipy import ndimage

    disk = _disk(radius, alias).astype(np.float64)
    return to_uint8(ndimage.correlate(unit(image), disk[:, :, np.newaxis], mode="mirror"))


def _disk(radius: float, alias: float) -> NDArray[np.float32]:
    """Return the blur's kernel.

    Quirk of the published code: the kernel is not normalised again after its smoothing, whose mirrored border counts
    the disk twice where it touches the edge of the grid. Its sum exceeds 1 by up to 1.3 %.
    """
    half, reach = (8, 1) if radius <= 8 else (math.ceil(radius), 2)
    grid = np.arange(-half, half + 1)
    disk = (grid**2 + grid[:, np.newaxis] ** 2 <= radius**2).astype(np.float32)
    disk /= disk.sum()
    bell = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * alias**2))
    weights = (bell / bell.sum()).astype(np.float32)[reach:]
    return _smooth_rows(_smooth_rows(disk, weights).T, weights).T


def _smooth_rows(disk: NDArray[np.float32], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    """Filter along the rows in float32; ``weights`` are the centre's and those to its right."""
    reach, side = len(weights) - 1, disk.shape[1]
    wide = np.pad(disk, ((0, 0), (reach, reach)), mode="reflect")
    smooth: NDArray[np.float32] = disk * weights[0]
    for j in range(1, reach + 1):
        smooth += weights[j] * (wide[:, reach - j : reach - j + side] + wide[:, reach + j : reach + j + side])
    return smooth


def _between_glasses(low: Row, high: Row, t: float) -> Row:
    """Mix sigma and the passes; but where the displacement differs, let it and the passes step at the middle."""
    sigma, _, iterations = linear(low, high, t)
    return (sigma, low[1], iterations) if low[1] == high[1] else (sigma, *nearest(low, high, t)[1:])


def _beyond_glass(fourth: Row, fifth: Row, t: float) -> Row:
    sigma, delta, iterations = linear(fourth, fifth, 1 + t)
    return sigma, round(delta), iterations


# Constants: sigma of the blurs before and after, largest displacement in pixels, passes.
GLASS_BLUR = Table(
    clean=(0, None, 0),
    imagenet224=((0.7, 1, 2), (0.9, 2, 1), (1, 2, 3), (1.1, 3, 2), (1.5, 4, 2)),
    inception299=((0.8, 1, 3), (1, 3, 1), (1.1, 2, 4), (1.2, 4, 2), (1.6, 5, 2)),
    tiny64=((0.1, 1, 1), (0.5, 1, 1), (0.6, 1, 2), (0.7, 2, 1), (0.9, 2, 2)),
    cifar32=((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2)),
    between=_between_glasses,
    beyond=_beyond_glass,
)


def copy_pixels(source: NDArray[np.int64], places: NDArray[np.int64], shifts: NDArray[np.int64]) -> None:
    """Copy ``source[place + shift]`` to ``source[place]``, in place and one by one, in one pass per row of ``shifts``.

    Each copy sees the ones before it, so there is no way round a loop.
    """
    pixels, order = source.tolist(), places.tolist()
    for shift_of in shifts.tolist():
        for place, shift in zip(order, shift_of, strict=True):
            pixels[place] = pixels[place + shift]
    source[:] = pixels


def glass_blur(image: Image, rng: np.random.RandomState, sigma: float, delta: int, iterations: float) -> Image:
    """Blur, let each pixel take the colour of one nearby, from the bottom right to the top left, and blur again.

    Quirk of the published code: it means to swap pixels, but assigns through array views, so that the second
    assignment reads what the first has just overwritten. The data set has the copy.
    """
    height, width = image.shape[:2]
    blurred = to_uint8(gaussian(unit(image), sigma))
    rows = np.arange(height - delta, delta, -1)
    columns = np.arange(width - delta, delta, -1)
    # A shift is (dx, dy), drawn pixel by pixel; the upper bound is exclusive, so that shifts lean to the top left.
    drawn = rng.randint(-delta, delta, size=(math.ceil(iterations), len(rows) * len(columns), 2)).astype(np.int64)
    if iterations < len(drawn):  # between published severities: the last pass moves a share of the pixels
        drawn[-1, rng.random_sample(len(rows) * len(columns)) >= iterations % 1] = 0
    source = np.arange(height * width)
    copy_pixels(source, (rows[:, np.newaxis] * width + columns).ravel(), drawn[..., 1] * width + drawn[..., 0])
    copied = blurred.reshape(-1, 3)[source].reshape(image.shape)
    return to_uint8(gaussian(unit(copied), sigma))


# Constants: radius and sigma of the streak, in pixels.
MOTION_BLUR = Table(
    clean=(0, 0),
    imagenet224=((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
    inception299=((12, 4), (17, 6), (17, 9), (17, 13), (22, 16)),
    tiny64=((10, 1), (10, 1.5), (10, 2), (10, 2.5), (12, 3)),
    cifar32=((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
)


def motion_blur(image: Image, rng: np.random.RandomState, radius: float, sigma: float) -> Image:
    """Smear the image along a line at a random angle: the camera moved."""
    return streak(image, radius, sigma, rng.uniform(-45, 45))


def _between_zooms(low: Row, high: Row, t: float) -> Row:
    """Mix the largest zoom linearly; the number of zooms grows along with it and the step follows."""
    reach = mix(low[0] * (low[1] - 1), high[0] * (high[1] - 1), t)
    count = math.ceil(mix(low[1], high[1], t))
    return reach / (count - 1), count


def _beyond_zoom(fourth: Row, fifth: Row, t: float) -> Row:
    """Let the largest zoom go on, in steps that are no wider than those at 5: wider ones would show as copies."""
    reach = mix(fourth[0] * (fourth[1] - 1), fifth[0] * (fifth[1] - 1), 1 + t)
    count = 1 + math.ceil(round(reach / fifth[0], 9))  # 0.36 / 0.03 is a hair above 12
    return reach / (count - 1), count


# Constants: step from one zoom factor to the next, number of factors (the first is 1).
ZOOM_BLUR = Table(
    clean=(0, 1),
    imagenet224=((0.01, 12), (0.01, 16), (0.02, 11), (0.02, 13), (0.03, 11)),
    inception299=((0.01, 12), (0.01, 16), (0.02, 11), (0.02, 13), (0.03, 11)),
    tiny64=((0.01, 7), (0.01, 12), (0.01, 16), (0.01, 21), (0.01, 26)),
    cifar32=((0.01, 7), (0.01, 12), (0.01, 16), (0.01, 21), (0.01, 26)),
    between=_between_zooms,
    beyond=_beyond_zoom,
)


def zoom_blur(image: Image, rng: np.random.RandomState, step: float, count: int) -> Image:
    """Average the image with enlarged copies of itself: the camera moved forward.

    Quirks of the published code: the factor 1 is among the zooms, so that the image counts twice; and the factors are
    those of NumPy's ``arange(1, ..., 1 + step)``, whose real step is ``(1 + step) - 1``. That matters once: the last
    factor of cifar32 severity 5 is a hair above 1.25, so that 26 pixels become 33, not 32.
    """
    x = unit(image).astype(np.float32)
    total = np.zeros_like(x)
    real_step = (1 + step) - 1
    for i in range(count):
        total += central_zoom(x, 1 + i * real_step)
    return to_uint8((x + total) / np.float32(count + 1))


# Constant: sigma in pixels.
GAUSSIAN_BLUR = Table(
    clean=(0,),
    imagenet224=column(1, 2, 3, 4, 6),
    inception299=column(1.5, 2.5, 3.5, 4.5, 6.5),
    tiny64=column(0.5, 0.75, 1, 1.25, 1.5),
    cifar32=column(0.4, 0.6, 0.7, 0.8, 1),
)


def gaussian_blur(image: Image, rng: np.random.RandomState, sigma: float) -> Image:
    """Blur with a Gaussian bell."""
    return to_uint8(gaussian(unit(image), sigma))
