"""The digital ones: contrast, elastic deformation, pixels, JPEG and saturation.

Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations", ICLR 2019.
Each kernel maps an image (uint8, H x W x 3, RGB) to a new one and draws from ``rng`` in the published order.
"""

from __future__ import annotations

import io

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.corruptions.color import hsv_to_rgb, rgb_to_hsv
from oodometer.corruptions.rendering import gaussian, to_uint8, unit
from oodometer.corruptions.severity import Row, Table, column, geometric, linear, mix, nearest
from oodometer.types import Image

__all__ = [
    "CONTRAST",
    "ELASTIC_TRANSFORM",
    "JPEG_COMPRESSION",
    "PIXELATE",
    "SATURATE",
    "contrast",
    "elastic_transform",
    "jpeg_compression",
    "pixelate",
    "saturate",
]

# Constant: what the differences to the mean are multiplied by.
CONTRAST = Table(
    clean=(1,),
    imagenet224=column(0.4, 0.3, 0.2, 0.1, 0.05),
    inception299=column(0.4, 0.3, 0.2, 0.1, 0.05),
    tiny64=column(0.4, 0.3, 0.2, 0.1, 0.05),
    cifar32=column(0.75, 0.5, 0.4, 0.3, 0.15),
    beyond=geometric,
)


def contrast(image: Image, rng: np.random.RandomState, factor: float) -> Image:
    """Draw all values towards the image's mean of their channel."""
    x = unit(image)
    mean = x.mean(axis=(0, 1))
    return to_uint8((x - mean) * factor + mean)


def _between_warps(low: Row, high: Row, t: float) -> Row:
    """Mix the shift of the triangle linearly, alpha and sigma geometrically.

    The displacement is about ``alpha / sigma``, whose parts differ up to 40-fold between rows; so it stays between the
    two rows' own. Where one row has no displacement (alpha = 0), alpha is mixed linearly and sigma is the other row's.
    """
    affine = mix(low[2], high[2], t)
    if low[0] == 0 or high[0] == 0:
        return mix(low[0], high[0], t), max(low[1], high[1]), affine
    alpha, sigma = (low[i] ** (1 - t) * high[i] ** t for i in range(2))
    return alpha, sigma, affine


def _beyond_warps(fourth: Row, fifth: Row, t: float) -> Row:
    """Let the displacement, about ``alpha / sigma``, go on linearly; its smoothness and the affine map stay.

    The published affine map gets weaker with severity, and sigma, where it moves, reaches 0 at severity 8.
    """
    _, sigma, affine = fifth
    return sigma * mix(fourth[0] / fourth[1], fifth[0] / fifth[1], 1 + t), sigma, affine


# Constants, in pixels: factor and smoothing of the displacement field, largest shift of the affine map's points.
# Quirk of the published code: those of imagenet224 are multiples of 244, where 224 was meant.
ELASTIC_TRANSFORM = Table(
    clean=(0, None, 0),
    imagenet224=(
        (488, 170.8, 24.4),
        (488, 19.52, 48.8),
        (12.2, 2.44, 4.88),
        (17.08, 2.44, 4.88),
        (29.28, 2.44, 4.88),
    ),
    inception299=(
        (720, 252.0, 36.0),
        (720, 28.8, 72.0),
        (18.0, 3.6, 7.2),
        (25.2, 3.6, 7.2),
        (43.2, 3.6, 7.2),
    ),
    tiny64=((0, 0, 5.12), (3.2, 19.2, 3.84), (6.4, 5.12, 3.84), (6.4, 1.92, 1.92), (10.24, 1.92, 1.28)),
    cifar32=((0, 0, 2.56), (1.6, 6.4, 2.24), (2.56, 1.92, 1.92), (3.2, 1.28, 1.6), (3.2, 0.96, 0.96)),
    between=_between_warps,
    beyond=_beyond_warps,
)


def elastic_transform(image: Image, rng: np.random.RandomState, alpha: float, sigma: float, affine: float) -> Image:
    """Apply a random affine map, then displace each pixel by a smooth random field.

    The field's border is that of SciPy 1.6 and later; the images published in 2018 have the border of older releases.
    """
    from scipy import ndimage

    height, width = image.shape[:2]
    moved = _affine_map(unit(image).astype(np.float32), _inverse_map(rng, height, width, affine))
    columns = _displacement(rng, height, width, alpha, sigma) + np.arange(width)
    rows = _displacement(rng, height, width, alpha, sigma) + np.arange(height)[:, np.newaxis]
    warped = [
        ndimage.map_coordinates(moved[..., channel], (rows, columns), order=1, mode="reflect") for channel in range(3)
    ]
    return to_uint8(np.stack(warped, axis=-1))


def _displacement(
    rng: np.random.RandomState, height: int, width: int, alpha: float, sigma: float
) -> NDArray[np.float32]:
    field = gaussian(rng.uniform(-1, 1, (height, width)), sigma, mode="reflect", truncate=3.0)
    return (alpha * field).astype(np.float32)


def _inverse_map(rng: np.random.RandomState, height: int, width: int, affine: float) -> NDArray[np.float64]:
    """Draw where three points of the image go, and return the 2 x 3 matrix that leads back: (x, y, 1) to (x, y)."""
    center, side = np.array([height // 2, width // 2]), min(height, width) // 3
    # Quirk of the published code: the centre is (row, column), but the points are (x, y).
    points = (center + side * np.array([[1, 1], [1, -1], [-1, -1]])).astype(np.float32)
    targets = points + rng.uniform(-affine, affine, points.shape).astype(np.float32)
    homogeneous = np.column_stack([targets, np.ones(3)])
    return np.linalg.solve(homogeneous, points.astype(np.float64)).T


def _affine_map(x: NDArray[np.float32], inverse: NDArray[np.float64]) -> NDArray[np.float32]:
    """Sample the image at the inverse map's points, rounded to 1/32 pixel as in OpenCV 3 and 4 (not 5)."""
    height, width = x.shape[:2]
    left, across = _sample_axis(inverse[0], height, width)
    top, down = _sample_axis(inverse[1], height, width)
    left, right = _mirrored(left, width), _mirrored(left + 1, width)
    top, bottom = _mirrored(top, height), _mirrored(top + 1, height)
    across, down = across[..., np.newaxis], down[..., np.newaxis]
    return (
        x[top, left] * ((1 - down) * (1 - across))
        + x[top, right] * ((1 - down) * across)
        + x[bottom, left] * (down * (1 - across))
        + x[bottom, right] * (down * across)
    )


def _sample_axis(
    coefficients: NDArray[np.float64], height: int, width: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return one coordinate of each pixel's source: its whole part, and its fraction in steps of 1/32."""
    per_x, per_y, offset = coefficients
    along = np.rint(1024 * (per_x * np.arange(width))).astype(np.int64)
    across = np.rint(1024 * (per_y * np.arange(height) + offset)).astype(np.int64)
    in_32nds = (across[:, np.newaxis] + along + 16) >> 5
    return in_32nds >> 5, (in_32nds & 31).astype(np.float32) / np.float32(32)


def _mirrored(index: NDArray[np.int64], side: int) -> NDArray[np.int64]:
    """Fold indices outside the image back at its edge pixels, which are not repeated."""
    folded = np.abs(index) % (2 * side - 2)
    mirrored: NDArray[np.int64] = np.minimum(folded, 2 * side - 2 - folded)
    return mirrored


# Constant: scale of the sides.
PIXELATE = Table(
    clean=(1,),
    imagenet224=column(0.6, 0.5, 0.4, 0.3, 0.25),
    inception299=column(0.5, 0.4, 0.3, 0.25, 0.2),
    tiny64=column(0.9, 0.8, 0.7, 0.6, 0.5),
    cifar32=column(0.95, 0.9, 0.85, 0.75, 0.65),
    beyond=geometric,
)


def pixelate(image: Image, rng: np.random.RandomState, scale: float) -> Image:
    """Shrink the image and enlarge it again, both with a box filter. Pillow 7 or later is the meaning.

    It shrinks rows, then columns, and rounds after each. Pillow 13 takes columns first in some images that are more
    than twice as high as wide, hence the two steps.
    """
    height, width = image.shape[:2]
    box = PIL.Image.Resampling.BOX
    narrow = PIL.Image.fromarray(image).resize((int(width * scale), height), box)
    small = narrow.resize((narrow.width, int(height * scale)), box)
    return np.array(small.resize((width, height), box))


def _whole_quality(low: Row, high: Row, t: float) -> Row:
    return (round(mix(low[0], high[0], t)),)


def _lower_quality(fourth: Row, fifth: Row, t: float) -> Row:
    return (max(round(geometric(fourth, fifth, t)[0]), 1),)


# Constant: JPEG quality, a whole number.
JPEG_COMPRESSION = Table(
    clean=(100,),
    imagenet224=column(25, 18, 15, 10, 7),
    inception299=column(23, 16, 13, 8, 5),
    tiny64=column(65, 58, 50, 40, 25),
    cifar32=column(80, 65, 58, 50, 40),
    between=_whole_quality,
    beyond=_lower_quality,
)


def jpeg_compression(image: Image, rng: np.random.RandomState, quality: int) -> Image:
    """Encode as JPEG and decode, with Pillow's libjpeg-turbo (libjpeg 9, used in 2018, halves chroma otherwise)."""
    encoded = io.BytesIO()
    PIL.Image.fromarray(image).save(encoded, format="JPEG", quality=quality)
    return np.array(PIL.Image.open(encoded))


def _between_saturations(low: Row, high: Row, t: float) -> Row:
    """Mix rows on one side of the identity; between fading and boosting take the nearer one, not what lies between."""
    same_side = (low[0] <= 1) == (high[0] <= 1) or 1 in (low[0], high[0])
    return linear(low, high, t) if same_side else nearest(low, high, t)


# Constants: factor on the saturation, what is added to it.
SATURATE = Table(
    clean=(1, 0),
    imagenet224=((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    inception299=((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (20, 0.2)),
    tiny64=((0.3, 0), (0.1, 0), (2, 0), (5, 0.1), (30, 0.2)),
    cifar32=((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2)),
    between=_between_saturations,
    beyond="at 5 most colours are fully saturated already.",
)


def saturate(image: Image, rng: np.random.RandomState, factor: float, added: float) -> Image:
    """Fade the colours (severities 1 and 2) or boost them (3 to 5).

    Quirk of the published code: gray counts as red of no saturation, so that severities 4 and 5 turn it reddish.
    """
    hue, saturation, value = rgb_to_hsv(unit(image))
    return to_uint8(hsv_to_rgb(hue, np.clip(saturation * factor + added, 0, 1), value))
