"""Fast kernels of snow, frost and fog; see ``oodometer.corruptions.weather`` for their meaning.

Brightness is in ``tone``, spatter in ``spatter``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions import weather
from oodometer.corruptions.fast.normals import fill_normals
from oodometer.corruptions.fast.streams import fill_words, word
from oodometer.corruptions.fast.views import read_only
from oodometer.types import Image

__all__ = ["draw_fog", "draw_frost", "draw_snow", "fog", "frost", "render_fog", "render_frost", "render_snow", "snow"]

U8 = np.uint8
F32 = np.float32
I32 = np.int32
U16 = np.uint16
UP = np.uintp
U32 = np.uint32

Key = NDArray[np.uint32]


def uniforms(key: Key, count: int) -> list[float]:
    """Return the first words of a stream as numbers in 0 <= u < 1."""
    words = np.empty(count, np.uint32)
    fill_words(key, 0, words)
    return [int(word) / 2**32 for word in words]


# Snow ------------------------------------------------------------------------------------------------------------


def snow(
    image: Image,
    key: Key,
    mean: float,
    deviation: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    keep: float,
) -> Image:
    """Whiten the image and let flakes fall over it, the same layer twice: as it is and turned by 180 degrees."""
    field, degrees = draw_snow(key, image.shape[:2], mean, deviation, zoom)
    return render_snow(image, field, degrees, zoom, threshold, radius, sigma, keep)


def draw_snow(
    key: Key, size: tuple[int, int], mean: float, deviation: float, zoom: float
) -> tuple[NDArray[np.float64], float]:
    """Draw the flakes' field, only the central crop that the zoom keeps, and the direction in which they fall."""
    rows, columns = (math.ceil(side / zoom) for side in size)
    normals = np.empty(rows * columns, np.float32)
    fill_normals(key, 1, normals)
    (share,) = uniforms(key, 1)
    field = normals.reshape(rows, columns).astype(np.float64)
    field *= deviation
    field += mean
    return field, -135 + 90 * share


def render_snow(
    image: Image,
    field: NDArray[np.float64],
    degrees: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    keep: float,
) -> Image:
    """Enlarge the field, cut it off at the threshold, smear it to flakes and lay it over the whitened image."""
    flakes = np.empty(image.shape[:2], np.uint8)
    _let_fall(field, zoom, threshold, *_streak(radius, sigma, degrees), flakes)
    out = np.empty_like(image)
    _snow_over(read_only(image).reshape(-1), flakes.reshape(-1), F32(keep), out.reshape(-1))
    return out


TOGETHER = 4
"""Taps of the streak that are added in one go."""

STRIPE = 1024
"""Pixels that are handled in one go where rows do not matter."""

TILE = 256
"""Columns in which flakes fall from top to bottom before the next ones: the rows in reach stay in the nearest cache."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _streak(
    radius: float, sigma: float, degrees: float
) -> tuple[NDArray[np.float32], NDArray[np.intp], NDArray[np.intp]]:
    """Return the taps of ``rendering.streak`` that show: their weights (for 16-bit sums of 8-bit values) and places.

    The last bits of exp, sin and cos depend on the C library; they show where a tap lies on the middle of two pixels.
    """
    taps = 2 * math.ceil(radius) + 1
    weights = np.array([math.exp(-(i**2) / (2 * sigma**2)) for i in range(taps)])
    weights *= 257 / weights.sum()
    shown = int(np.count_nonzero(weights > 1e-5))  # of 65535 steps: all the others together are not even 0.1 of one
    count = -(-shown // TOGETHER) * TOGETHER
    padded = np.zeros(count, np.float32)
    padded[:shown] = weights[:shown]
    angle = math.radians(degrees)
    rows, columns = np.empty(count, np.intp), np.empty(count, np.intp)
    for i in range(count):
        rows[i] = math.ceil(min(i, shown - 1) * math.sin(angle) - 0.5)
        columns[i] = math.ceil(min(i, shown - 1) * math.cos(angle) - 0.5)
    return padded, rows, columns


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _zoom_axis(side: int, zoom: float, crop: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
    """Return, for each sample of one axis, its first neighbour in the crop and the weight of the second."""
    enlarged = round(crop * zoom)
    shift = (enlarged - side) // 2
    first, weight = np.empty(side, np.uint32), np.empty(side, np.float64)
    for i in range(side):
        position = (i + shift) * ((crop - 1) / (enlarged - 1))
        first[i] = min(int(position), crop - 1)
        weight[i] = position - first[i]
    return first, weight


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _let_fall(
    field: NDArray[np.float64],
    zoom: float,
    threshold: float,
    weights: NDArray[np.float32],
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    flakes: NDArray[np.uint8],
) -> None:
    """Enlarge the field and smear what is over the threshold, tile by tile; flakes only reach downwards.

    The latest rows of the enlarged field are kept in a ring, whose length is a power of 2.
    """
    height, width = flakes.shape
    above, down = _zoom_axis(height, zoom, field.shape[0])
    left, across = _zoom_axis(width, zoom, field.shape[1])
    reach, depth = np.abs(columns).max(), 1
    while depth <= -rows.min():
        depth *= 2
    places = np.empty(weights.size, np.uintp)
    for start in range(0, width, TILE):
        total = np.empty(min(TILE, width - start), np.float32)
        ring = np.empty((depth, total.size + 2 * reach), np.float32)
        # Of the columns in reach, those that exist.
        first, stop = max(start - reach, 0), min(start + total.size + reach, width)
        before, after = first - start + reach, stop - start + reach
        wide = np.empty((2, stop - first))  # rows of the field of even and of odd number, the latest of each
        done = above[0]
        for y in range(height):
            while done < above[y] + 2:
                _stretch(field[min(done, field.shape[0] - 1)], left[first:stop], across[first:stop], wide[done % 2])
                done += 1
            row = ring[y % depth]
            _mix(wide[above[y] % 2], wide[(above[y] + 1) % 2], down[y], threshold, row[before:after])
            row[:before] = row[before]
            row[after:] = row[after - 1]
            for i in range(weights.size):
                places[i] = (max(y + rows[i], 0) & (depth - 1)) * ring.shape[1] + columns[i] + reach
            _smear(ring.reshape(-1), places, weights, total)
            _cut(total, flakes[y, start : start + total.size])


@numba.njit(cache=True, nogil=True)
def _stretch(
    row: NDArray[np.float64], left: NDArray[np.uint32], across: NDArray[np.float64], wide: NDArray[np.float64]
) -> None:
    """Enlarge a row; in float64, since at the threshold a hair decides between nothing and all."""
    last = U32(row.size - 1)
    for x in range(left.size):
        right = min(U32(left[x] + U32(1)), last)
        wide[x] = row[left[x]] * (1 - across[x]) + row[right] * across[x]


@numba.njit(cache=True, nogil=True)
def _mix(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    weight: float,
    threshold: float,
    row: NDArray[np.float32],
) -> None:
    for x in range(row.size):
        value = first[x] * (1 - weight) + second[x] * weight
        level = 255.0 * min(value if value >= threshold else 0.0, 1.0)
        row[x] = F32(I32(max(level, 0.0)))


@numba.njit(cache=True, nogil=True)
def _smear(
    flat: NDArray[np.float32], places: NDArray[np.uintp], weights: NDArray[np.float32], total: NDArray[np.float32]
) -> None:
    """Sum the taps in 16-bit steps, with the half that rounds."""
    total[:] = F32(0.5)
    for i in range(0, weights.size, TOGETHER):
        _add_taps(flat, places[i : i + TOGETHER], weights[i : i + TOGETHER], total)


@numba.njit(cache=True, nogil=True)
def _add_taps(
    flat: NDArray[np.float32], places: NDArray[np.uintp], weights: NDArray[np.float32], total: NDArray[np.float32]
) -> None:
    a, b, c, d = places[0], places[1], places[2], places[3]
    wa, wb, wc, wd = weights[0], weights[1], weights[2], weights[3]
    for x in range(UP(total.size)):
        total[x] += (wa * flat[a + x] + wb * flat[b + x]) + (wc * flat[c + x] + wd * flat[d + x])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _cut(total: NDArray[np.float32], row: NDArray[np.uint8]) -> None:
    for x in range(total.size):
        row[x] = U8(U32(I32(total[x])) // U32(257))


@numba.njit(cache=True, nogil=True)
def _snow_over(pixels: NDArray[np.uint8], flakes: NDArray[np.uint8], keep: F32, out: NDArray[np.uint8]) -> None:
    both = np.empty(STRIPE, np.float32)
    for start in range(0, flakes.size, STRIPE):
        stop = min(start + STRIPE, flakes.size)
        snow = both[: stop - start]
        _add_turned(flakes[start:stop], flakes[flakes.size - stop : flakes.size - start], snow)
        _whiten(pixels[3 * start : 3 * stop], snow, keep, out[3 * start : 3 * stop])


@numba.njit(cache=True, nogil=True)
def _add_turned(row: NDArray[np.uint8], opposite: NDArray[np.uint8], both: NDArray[np.float32]) -> None:
    last = UP(row.size - 1)
    for x in range(UP(row.size)):
        both[x] = F32(I32(row[x]) + I32(opposite[last - x]))


@numba.njit(cache=True, nogil=True)
def _whiten(row: NDArray[np.uint8], snow: NDArray[np.float32], keep: F32, out: NDArray[np.uint8]) -> None:
    # keep * x + rest * max(x, gray * 1.5 + 0.5) is the larger of x and what the second gives, as keep + rest = 1.
    rest = F32(1) - keep
    for x in range(snow.size):
        red, green, blue = F32(row[3 * x]), F32(row[3 * x + 1]), F32(row[3 * x + 2])
        gray = F32(0.299) * red + F32(0.587) * green + F32(0.114) * blue
        white = rest * (F32(1.5) * gray + F32(127.5))
        out[3 * x] = U8(min(max(red, keep * red + white) + snow[x], F32(255)))
        out[3 * x + 1] = U8(min(max(green, keep * green + white) + snow[x], F32(255)))
        out[3 * x + 2] = U8(min(max(blue, keep * blue + white) + snow[x], F32(255)))


# Frost -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ice:
    """A crop of a texture that is enlarged by ``factor`` (1: as it is), from its row ``top`` and column ``left`` on."""

    texture: Image
    factor: float
    top: int
    left: int


def frost(image: Image, key: Key, weight: float, texture_weight: float, scale: float) -> Image:
    """Add a random part of one of five photographs of ice crystals."""
    return render_frost(image, draw_frost(key, image.shape[:2], scale), weight, texture_weight)


def draw_frost(key: Key, size: tuple[int, int], scale: float) -> Ice:
    """Draw a texture and a place in it, both with the plain kernel's bounds."""
    which, down, across = uniforms(key, 3)
    texture = weather.scaled_texture(int(5 * which), scale)
    factor = weather.enlargement(texture, *size)
    rows, columns = (round(side * factor) for side in texture.shape[:2])
    return Ice(texture, factor, int(down * (rows - size[0])), int(across * (columns - size[1])))


def render_frost(image: Image, ice: Ice, weight: float, texture_weight: float) -> Image:
    """Add the ice to the image."""
    out = np.empty_like(image)
    sources = (read_only(image), read_only(ice.texture), out)
    rows, texture, result = (pixels.reshape(len(pixels), -1) for pixels in sources)
    if ice.factor == 1:
        _freeze(rows, texture, ice.top, 3 * ice.left, F32(weight), F32(texture_weight), result)
    else:
        _freeze_enlarged(rows, texture, ice.factor, ice.top, ice.left, F32(weight), F32(texture_weight), result)
    return out


@numba.njit(cache=True, nogil=True)
def _freeze(
    rows: NDArray[np.uint8],
    texture: NDArray[np.uint8],
    top: int,
    left: int,
    weight: F32,
    texture_weight: F32,
    out: NDArray[np.uint8],
) -> None:
    for y in range(rows.shape[0]):
        _add_ice(rows[y], texture[top + y, left : left + rows.shape[1]], weight, texture_weight, out[y])


@numba.njit(cache=True, nogil=True)
def _add_ice(
    row: NDArray[np.uint8], ice: NDArray[np.uint8], weight: F32, texture_weight: F32, out: NDArray[np.uint8]
) -> None:
    for x in range(row.size):
        out[x] = U8(min(weight * F32(row[x]) + texture_weight * F32(ice[x]), F32(255)))


@numba.njit(cache=True, nogil=True)
def _freeze_enlarged(
    rows: NDArray[np.uint8],
    texture: NDArray[np.uint8],
    factor: float,
    top: int,
    left: int,
    weight: F32,
    texture_weight: F32,
    out: NDArray[np.uint8],
) -> None:
    """Enlarge only what is seen, in the integer steps of the plain kernel: each texture row once, then row by row."""
    last = texture.shape[0] - 1
    upper, down = _resize_axis(texture.shape[0], factor, top, rows.shape[0])
    first, across = _resize_axis(texture.shape[1] // 3, factor, left, rows.shape[1] // 3)
    wide = np.empty((2, rows.shape[1]), np.uint16)  # texture rows of even and of odd number, the latest of each
    ice = np.empty(rows.shape[1], np.uint8)
    done = upper[0]
    for y in range(rows.shape[0]):
        while done < upper[y] + 2:
            _resize_row(texture[min(done, last)], first, across, wide[done % 2])
            done += 1
        _mix_ice(wide[upper[y] % 2], wide[(upper[y] + 1) % 2], down[y, 0], down[y, 1], ice)
        _add_ice(rows[y], ice, weight, texture_weight, out[y])


@numba.njit(cache=True, nogil=True)
def _resize_axis(side: int, factor: float, start: int, count: int) -> tuple[NDArray[np.intp], NDArray[np.uint16]]:
    """Return the first neighbours of some samples of one axis, and the weights of both in 1/2048."""
    first, weights = np.empty(count, np.intp), np.empty((count, 2), np.uint16)
    for i in range(count):
        position = min(max((start + i + 0.5) / factor - 0.5, 0.0), side - 1.0)
        first[i] = int(position)
        weight = position - first[i]
        weights[i, 0], weights[i, 1] = U16(np.rint(2048 * (1 - weight))), U16(np.rint(2048 * weight))
    return first, weights


@numba.njit(cache=True, nogil=True)
def _resize_row(
    row: NDArray[np.uint8], first: NDArray[np.intp], weights: NDArray[np.uint16], wide: NDArray[np.uint16]
) -> None:
    last = UP(row.size - 3)
    for x in range(UP(first.size)):
        left = UP(3 * first[x])
        right = min(UP(left + UP(3)), last)
        for channel in range(UP(3)):
            total = U32(row[left + channel]) * U32(weights[x, 0]) + U32(row[right + channel]) * U32(weights[x, 1])
            wide[UP(3) * x + channel] = U16(total >> 4)


@numba.njit(cache=True, nogil=True)
def _mix_ice(
    upper: NDArray[np.uint16], lower: NDArray[np.uint16], above: U16, below: U16, ice: NDArray[np.uint8]
) -> None:
    for x in range(ice.size):
        mixed = U16(U32(U32(upper[x]) * U32(above)) >> U32(16)) + U16(U32(U32(lower[x]) * U32(below)) >> U32(16))
        ice[x] = U8(U16(mixed + 2) >> U16(2))


# Fog -------------------------------------------------------------------------------------------------------------


def fog(image: Image, key: Key, amount: float, decay: float) -> Image:
    """Lay a plasma fractal over the image and scale the sum back to the image's brightest value."""
    return render_fog(image, *draw_fog(key, image.shape[:2], decay), amount)


def draw_fog(key: Key, size: tuple[int, int], decay: float) -> tuple[NDArray[np.float32], float, float]:
    """Return the top left part of a height map, at least of that size, and the extremes of the whole map."""
    side = 1 << (max(size) - 1).bit_length()
    scratch = np.empty((2, (side // 2 + 1) ** 2), np.float32)
    seen = np.empty((size[0] + size[0] % 2, side + 1), np.float32)
    low, high = _plasma(key, decay, scratch, seen)
    return seen, low, high


@numba.njit(cache=True, nogil=True)
def _plasma(key: Key, decay: float, scratch: NDArray[np.float32], seen: NDArray[np.float32]) -> tuple[float, float]:
    """Refine a flat map until it is as wide as ``seen``; ``scratch`` holds a map and the next finer one."""
    side = seen.shape[1] - 1
    coarse = scratch[0, :4].reshape(2, 2)
    coarse[:] = F32(0)
    wibble, first, lines, spare = 100.0, 0, 1, 1
    while 2 * lines < side:
        finer = scratch[spare, : (2 * lines + 1) ** 2].reshape(2 * lines + 1, 2 * lines + 1)
        _refine(coarse, key, first, F32(wibble * wibble), finer)
        coarse, spare = finer, 1 - spare
        first += 2 * lines * lines
        lines, wibble = 2 * lines, wibble / decay
    return _refine(coarse, key, first, F32(wibble * wibble), seen)


@numba.njit(cache=True, nogil=True)
def _refine(
    coarse: NDArray[np.float32], key: Key, first: int, rough: F32, fine: NDArray[np.float32]
) -> tuple[float, float]:
    """Halve the step of a height map of k x k points, both with its first row and column again at the end.

    Takes k x k words for the centres of the squares, then k x k more: their lower halves for the middles of the upper
    sides, their upper halves for those of the left sides. Returns the lowest and the highest point. ``fine`` may have
    room for the upper part only.
    """
    k = coarse.shape[0] - 1
    low, high = np.full(k, np.inf, np.float32), np.full(k, -np.inf, np.float32)
    above, center = np.empty(k + 1, np.float32), np.empty(k + 1, np.float32)
    unseen = np.empty((2, 2 * k + 1), np.float32)
    _centers(coarse[k - 1], coarse[k], key, first + (k - 1) * k, rough, center)
    for y in range(k):
        above, center = center, above
        upper, lower = coarse[y], coarse[y + 1]
        _centers(upper, lower, key, first + y * k, rough, center)
        pair = fine[2 * y : 2 * y + 2] if 2 * y + 2 <= fine.shape[0] else unseen
        _join(above, center, upper, lower, key, first + (k + y) * k, rough, pair[0], pair[1], low, high)
    if fine.shape[0] > 2 * k:
        fine[2 * k] = fine[0]
    return low.min(), high.max()


@numba.njit(cache=True, nogil=True)
def _centers(
    upper: NDArray[np.float32],
    lower: NDArray[np.float32],
    key: Key,
    first: int,
    rough: F32,
    center: NDArray[np.float32],
) -> None:
    """Fill ``center`` from its second place on; its first is the last again."""
    k0, k1, k2, k3, begin, scale = key[0], key[1], key[2], key[3], U32(first), rough * F32(2**-31)
    k = center.size - 1
    for x in range(k):
        bits = word(k0, k1, k2, k3, U32(begin + U32(x)))
        mean = F32(0.25) * ((upper[x] + lower[x]) + (upper[x + 1] + lower[x + 1]))
        center[x + 1] = mean + F32(I32(bits)) * scale
    center[0] = center[k]


@numba.njit(cache=True, nogil=True)
def _join(
    above: NDArray[np.float32],
    center: NDArray[np.float32],
    upper: NDArray[np.float32],
    lower: NDArray[np.float32],
    key: Key,
    first: int,
    rough: F32,
    even: NDArray[np.float32],
    odd: NDArray[np.float32],
    low: NDArray[np.float32],
    high: NDArray[np.float32],
) -> None:
    """Fill two rows with corners, middles and centres; ``above`` and ``center`` are as ``_centers`` makes them.

    The extremes of each place are kept apart: that is vector code, where a single minimum would not be.
    """
    k0, k1, k2, k3, begin, scale = key[0], key[1], key[2], key[3], U32(first), rough * F32(2**-31)
    k = low.size
    for x in range(k):
        bits = word(k0, k1, k2, k3, U32(begin + U32(x)))
        # Both halves become numbers of 32 bits with a sign; 0x8000 is the middle of what their lower half could be.
        top = F32(0.25) * ((above[x + 1] + center[x + 1]) + (upper[x] + upper[x + 1]))
        top += F32(I32(U32(bits << U32(16)) | U32(0x8000))) * scale
        left = F32(0.25) * ((center[x] + center[x + 1]) + (upper[x] + lower[x]))
        left += F32(I32((bits & U32(0xFFFF0000)) | U32(0x8000))) * scale
        even[2 * x] = upper[x]
        even[2 * x + 1] = top
        odd[2 * x] = left
        odd[2 * x + 1] = center[x + 1]
        low[x] = min(low[x], upper[x], center[x + 1], top, left)
        high[x] = max(high[x], upper[x], center[x + 1], top, left)
    even[2 * k] = even[0]
    odd[2 * k] = odd[0]


def render_fog(image: Image, heights: NDArray[np.float32], low: float, high: float, amount: float) -> Image:
    """Lay the top left part of a height map, scaled to 0..1 from the lowest to the highest of all, over the image."""
    brightest = int(image.max()) / 255
    share = brightest / (brightest + amount)
    haze = 255 * amount * share / (high - low)
    out = np.empty_like(image)
    height = len(image)
    _haze(
        read_only(image).reshape(height, -1), heights, F32(share), F32(haze), F32(-low * haze), out.reshape(height, -1)
    )
    return out


@numba.njit(cache=True, nogil=True)
def _haze(
    rows: NDArray[np.uint8], heights: NDArray[np.float32], share: F32, haze: F32, offset: F32, out: NDArray[np.uint8]
) -> None:
    for y in range(rows.shape[0]):
        _haze_row(rows[y], heights[y], share, haze, offset, out[y])


@numba.njit(cache=True, nogil=True)
def _haze_row(
    row: NDArray[np.uint8], heights: NDArray[np.float32], share: F32, haze: F32, offset: F32, out: NDArray[np.uint8]
) -> None:
    for x in range(row.size // 3):
        fog = heights[x] * haze + offset
        out[3 * x] = U8(F32(row[3 * x]) * share + fog)
        out[3 * x + 1] = U8(F32(row[3 * x + 1]) * share + fog)
        out[3 * x + 2] = U8(F32(row[3 * x + 2]) * share + fog)
