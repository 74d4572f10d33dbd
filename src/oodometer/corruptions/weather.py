"""The weather: snow, frost, fog, brightness and spatter.

Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations", ICLR 2019.
Each kernel maps an image (uint8, H x W x 3, RGB) to a new one and draws from ``rng`` in the published order.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from oodometer import textures
from oodometer.corruptions.color import hsv_to_rgb, rgb_to_hsv
from oodometer.corruptions.rendering import Floats, central_zoom, gaussian, streak, to_uint8, unit
from oodometer.corruptions.severity import Row, Table, column, linear, nearest, onward
from oodometer.types import Image

__all__ = ["BRIGHTNESS", "FOG", "FROST", "SNOW", "SPATTER", "brightness", "fog", "frost", "snow", "spatter"]


# Constants: mean and deviation of the flakes' field, zoom of the flakes, threshold under which there is no flake,
# radius and sigma of their streaks, share of the image that is kept from whitening.
# Towards severity 0 the flakes get rare (mean far under the threshold) and the whitening ends.
def _between_snows(low: Row, high: Row, t: float) -> Row:
    """Mix rows; but where the zoom sets in, the nearer one is taken: the least zoom wipes out flakes of one pixel."""
    return nearest(low, high, t) if low[2] == 1 < high[2] else linear(low, high, t)


SNOW = Table(
    clean=(-0.6, None, None, None, None, None, 1),
    imagenet224=(
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    ),
    inception299=(
        (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
        (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
        (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
        (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
        (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
    ),
    tiny64=(
        (0.1, 0.2, 1, 0.6, 8, 3, 0.8),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.8),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.7),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.65),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.6),
    ),
    cifar32=(
        (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
        (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
        (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
        (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
        (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
    ),
    between=_between_snows,
    beyond=onward(2),
)


def snow(
    image: Image,
    rng: np.random.RandomState,
    mean: float,
    deviation: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    keep: float,
) -> Image:
    """Whiten the image and let flakes fall over it, the same layer twice: as it is and turned by 180 degrees."""
    layer = central_zoom(rng.normal(mean, deviation, image.shape[:2]), zoom)
    layer[layer < threshold] = 0
    flakes = unit(streak(to_uint8(layer), radius, sigma, rng.uniform(-135, -45)))[..., np.newaxis]

    x = unit(image).astype(np.float32)
    gray = _gray(x)[..., np.newaxis]
    whitened = np.float32(keep) * x + np.float32(1 - keep) * np.maximum(x, gray * np.float32(1.5) + np.float32(0.5))
    return to_uint8((whitened + flakes) + flakes[::-1, ::-1])


def _gray(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the luminance in float32, summed from blue to red: another order shows in the truncated result."""
    red, green, blue = (x[..., channel] for channel in range(3))
    gray: NDArray[np.float32] = (np.float32(0.114) * blue + np.float32(0.587) * green) + np.float32(0.299) * red
    return gray


# Constants: weight of the image, weight of the texture, scale of the texture's sides.
FROST = Table(
    clean=(1, 0, None),
    imagenet224=((1, 0.4, 1), (0.8, 0.6, 1), (0.7, 0.7, 1), (0.65, 0.7, 1), (0.6, 0.75, 1)),
    inception299=((1, 0.4, 1), (0.8, 0.6, 1), (0.7, 0.7, 1), (0.65, 0.7, 1), (0.6, 0.75, 1)),
    tiny64=((1, 0.3, 0.3), (0.9, 0.4, 0.3), (0.8, 0.45, 0.3), (0.75, 0.5, 0.3), (0.7, 0.55, 0.3)),
    cifar32=((1, 0.2, 0.2), (1, 0.3, 0.2), (0.9, 0.4, 0.2), (0.85, 0.4, 0.2), (0.75, 0.45, 0.2)),
)


def frost(image: Image, rng: np.random.RandomState, weight: float, texture_weight: float, scale: float) -> Image:
    """Add a random part of one of five photographs of ice crystals.

    A texture that is not larger than the image is enlarged until both its sides are.

    Raises
    ------
    MissingDataError
        If the textures are nowhere; see ``oodometer.textures``.
    """
    height, width = image.shape[:2]
    texture = scaled_texture(rng.randint(5), scale)
    factor = enlargement(texture, height, width)
    if factor != 1:
        texture = _resize(texture, factor)
    rows, columns = texture.shape[:2]
    top = rng.randint(0, rows - height)
    left = rng.randint(0, columns - width)
    ice = texture[top : top + height, left : left + width]
    frozen: NDArray[np.float64] = np.clip(weight * image + texture_weight * ice, 0, 255)
    return frozen.astype(np.uint8)


@functools.lru_cache(maxsize=10)  # five textures at the scales of two editions
def scaled_texture(number: int, scale: float) -> Image:
    """Return one of the five textures in the size of an edition."""
    texture = textures.frost_textures()[number]
    return texture if scale == 1 else _resize(texture, scale)


def enlargement(texture: Image, height: int, width: int) -> float:
    """Return the factor that makes both sides of a texture larger than the image; 1 if they are."""
    rows, columns = texture.shape[:2]
    return 1 if rows > height and columns > width else max((height + 1) / rows, (width + 1) / columns)


def _resize(texture: Image, scale: float) -> Image:
    """Resize bilinearly, without antialiasing, with the integer weights of OpenCV's resize for 8-bit images."""
    upper, lower, down = _resize_axis(texture.shape[0], scale)
    left, right, across = _resize_axis(texture.shape[1], scale)
    across, down = across[:, :, np.newaxis], down[:, :, np.newaxis, np.newaxis]
    wide = texture.astype(np.int32)
    sums = (wide[:, left] * across[0] + wide[:, right] * across[1]) >> 4
    mixed: NDArray[np.int32] = ((down[0] * sums[upper]) >> 16) + ((down[1] * sums[lower]) >> 16)
    return ((mixed + 2) >> 2).astype(np.uint8)


def _resize_axis(side: int, scale: float) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.int32]]:
    """Return, for each sample of one axis, its two neighbours and their weights in 1/2048."""
    # 1 / scale, not the ratio of the two rounded sides: that would be up to 48 levels away.
    position = np.clip((np.arange(round(side * scale)) + 0.5) / scale - 0.5, 0, side - 1)
    first = position.astype(np.intp)
    weight = position - first
    weights = np.rint(2048 * np.stack([1 - weight, weight])).astype(np.int32)
    return first, np.minimum(first + 1, side - 1), weights


# Constants: amount of fog, decay of its roughness from one scale to the next finer one.
FOG = Table(
    clean=(0, None),
    imagenet224=((1.5, 2), (2, 2), (2.5, 1.7), (2.5, 1.5), (3, 1.4)),
    inception299=((1.5, 2), (2, 2), (2.5, 1.8), (2.5, 1.6), (3, 1.5)),
    tiny64=((0.4, 3), (0.7, 3), (1, 2.5), (1.5, 2), (2, 1.75)),
    cifar32=((0.2, 3), (0.5, 3), (0.75, 2.5), (1, 2), (1.5, 1.75)),
    beyond=onward(1),
)


def fog(image: Image, rng: np.random.RandomState, amount: float, decay: float) -> Image:
    """Lay a plasma fractal over the image and scale the sum back to the image's brightest value."""
    height, width = image.shape[:2]
    side = 1 << (max(height, width) - 1).bit_length()  # the next power of two: 256 for 224
    haze = _plasma(rng, side, decay)[:height, :width, np.newaxis]
    x = unit(image)
    brightest = x.max()
    return to_uint8((x + amount * haze) * brightest / (brightest + amount))


def _plasma(rng: np.random.RandomState, side: int, decay: float) -> NDArray[np.float64]:
    """Return a diamond-square height map, ``side`` x ``side``, from 0 to 1, that wraps at its edges."""
    height = np.zeros((side, side))
    wibble, step = 100.0, side

    def rough(mean: NDArray[np.float64]) -> NDArray[np.float64]:
        # Multiplied by the wibble once more than its name says: roughness grows with its square.
        return mean + wibble * rng.uniform(-wibble, wibble, mean.shape)

    while step >= 2:
        half = step // 2
        corner = height[::step, ::step]
        pairs = corner + np.roll(corner, -1, axis=0)
        center = rough((pairs + np.roll(pairs, -1, axis=1)) / 4)
        above = (center + np.roll(center, 1, axis=0)) + (corner + np.roll(corner, -1, axis=1))
        height[half::step, half::step] = center
        height[::step, half::step] = rough(above / 4)
        beside = (center + np.roll(center, 1, axis=1)) + (corner + np.roll(corner, -1, axis=0))
        height[half::step, ::step] = rough(beside / 4)
        step, wibble = half, wibble / decay
    height -= height.min()
    plasma: NDArray[np.float64] = height / height.max()
    return plasma


# Constant: added to the value (the V of HSV).
BRIGHTNESS = Table(
    clean=(0,),
    imagenet224=column(0.1, 0.2, 0.3, 0.4, 0.5),
    inception299=column(0.1, 0.2, 0.3, 0.4, 0.5),
    tiny64=column(0.1, 0.2, 0.3, 0.4, 0.5),
    cifar32=column(0.05, 0.1, 0.15, 0.2, 0.3),
)


def brightness(image: Image, rng: np.random.RandomState, added: float) -> Image:
    """Raise the value of each pixel, hue and saturation left as they are: daylight."""
    hue, saturation, value = rgb_to_hsv(unit(image))
    return to_uint8(hsv_to_rgb(hue, saturation, np.clip(value + added, 0, 1)))


def _between_spatters(low: Row, high: Row, t: float) -> Row:
    """Mix rows of one liquid; there is nothing between water and mud, so the nearer one is taken."""
    return linear(low, high, t) if low[-1] == high[-1] else nearest(low, high, t)


# Constants: mean and deviation of the liquid's field, sigma of its smoothing, threshold under which there is none,
# intensity (mud: sigma of a second smoothing), 1 for mud and 0 for water.
SPATTER = Table(
    clean=(None, None, None, None, 0, None),
    imagenet224=(
        (0.65, 0.3, 4, 0.69, 0.6, 0),
        (0.65, 0.3, 3, 0.68, 0.6, 0),
        (0.65, 0.3, 2, 0.68, 0.5, 0),
        (0.65, 0.3, 1, 0.65, 1.5, 1),
        (0.67, 0.4, 1, 0.65, 1.5, 1),
    ),
    inception299=(
        (0.65, 0.3, 4, 0.69, 0.9, 0),
        (0.65, 0.3, 3.5, 0.68, 0.9, 0),
        (0.65, 0.3, 3, 0.68, 0.8, 0),
        (0.65, 0.3, 1.2, 0.65, 1.8, 1),
        (0.67, 0.4, 1.2, 0.65, 1.8, 1),
    ),
    tiny64=(
        (0.62, 0.1, 0.7, 0.7, 0.6, 0),
        (0.65, 0.1, 0.8, 0.7, 0.6, 0),
        (0.65, 0.3, 1, 0.69, 0.6, 0),
        (0.65, 0.1, 0.7, 0.68, 0.6, 1),
        (0.65, 0.1, 0.5, 0.67, 0.6, 1),
    ),
    cifar32=(
        (0.62, 0.1, 0.7, 0.7, 0.5, 0),
        (0.65, 0.1, 0.8, 0.7, 0.5, 0),
        (0.65, 0.3, 1, 0.69, 0.5, 0),
        (0.65, 0.1, 0.7, 0.69, 0.6, 1),
        (0.65, 0.1, 0.5, 0.68, 0.6, 1),
    ),
    between=_between_spatters,
    beyond=onward(2, 4, 5),
)

_WATER = (np.array([175, 238, 238]) / 255).astype(np.float32)
_MUD = (np.array([63, 42, 20]) / 255).astype(np.float32)


def spatter(
    image: Image,
    rng: np.random.RandomState,
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    intensity: float,
    mud: int,
) -> Image:
    """Splash water (severities 1 to 3) or mud (4 and 5) on the lens."""
    x = unit(image).astype(np.float32)
    layer = gaussian(rng.normal(mean, deviation, image.shape[:2]), sigma)
    layer[layer < threshold] = 0
    return to_uint8(_muddy(x, layer, threshold, intensity) if mud else _watery(x, layer, intensity))


def _muddy(x: NDArray[np.float32], layer: Floats, threshold: float, sigma: float) -> NDArray[np.float32]:
    cover = gaussian((layer > threshold).astype(np.float64), sigma)
    cover[cover < 0.8] = 0
    cover = cover[..., np.newaxis]
    # Both products are rounded to float32 before they are added.
    return (x * (1 - cover)).astype(np.float32) + (_MUD * cover).astype(np.float32)


def _watery(x: NDArray[np.float32], layer: Floats, intensity: float) -> NDArray[np.float32]:
    """Add drops that are lit along their edges: an 8-bit chain in which each rounding shows."""
    import cv2

    # Quirk of the published code: a layer above 1 is not clipped but wraps round to dark.
    liquid = (layer * 255).astype(np.int64).astype(np.uint8)
    distance = _capped_distance(cv2.Canny(liquid, 50, 150) > 0)
    shade = cv2.equalizeHist(cv2.blur(distance, (3, 3)).astype(np.uint8))  # truncated, not rounded
    shade = cv2.filter2D(shade, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    drops = liquid * cv2.blur(shade, (3, 3)).astype(np.float32)
    # Without any drop the published code divides 0 by 0.
    drops = drops / max(drops.max(), np.float32(1)) * np.float32(intensity)
    splashed: NDArray[np.float32] = x + drops[..., np.newaxis] * _WATER
    return splashed


_STEPS = tuple(
    (rows, columns, cost)
    for rows, columns, cost in (
        *((r, c, 65536) for r, c in ((0, 1), (1, 0), (0, -1), (-1, 0))),
        *((r, c, 91750) for r in (-1, 1) for c in (-1, 1)),
        *((r, c, 143976) for r in (-2, -1, 1, 2) for c in (-2, -1, 1, 2) if abs(r) != abs(c)),
    )
)
"""The steps of the distance: straight, diagonal and a knight's move, with their lengths in 1/65536."""


def _capped_distance(edges: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the length of the shortest path to an edge point in whole steps, or 20 if it is longer.

    OpenCV's ``distanceTransform`` means the same, but its current x86 builds compute it in float: 6 levels off.
    """
    cap = 20 * 65536
    height, width = edges.shape
    wide = np.full((height + 4, width + 4), cap, np.int32)  # a border of 2, where no path leads
    inside = wide[2:-2, 2:-2]
    inside[edges] = 0
    before = None
    while before is None or not np.array_equal(before, inside):
        before = inside.copy()
        for rows, columns, cost in _STEPS:
            neighbour = wide[2 + rows : 2 + rows + height, 2 + columns : 2 + columns + width]
            np.minimum(inside, neighbour + cost, out=inside)
    return inside.astype(np.float32) / np.float32(65536)
