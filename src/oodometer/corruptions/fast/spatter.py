"""Fast kernel of spatter; see ``oodometer.corruptions.weather`` for its meaning.

The layer is made in float64 and the water's chain in whole numbers, both exactly as the plain kernel makes them: at a
threshold a hair decides between all and nothing, and the chain has many. Rows are handed to small functions, which
compilers turn into vector code.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.normals import fill_normals
from oodometer.corruptions.fast.views import read_only
from oodometer.types import Image

__all__ = ["draw_spatter", "render_spatter", "render_water", "spatter"]

U8 = np.uint8
F64 = np.float64
F32 = np.float32
I32 = np.int32
UP = np.uintp
I16 = np.int16
U32 = np.uint32

Bytes = NDArray[np.uint8]
Places = tuple[UP, UP, UP, UP]


def spatter(
    image: Image,
    key: NDArray[np.uint32],
    mean: float,
    deviation: float,
    sigma: float,
    threshold: float,
    intensity: float,
    mud: int,
) -> Image:
    """Splash water or mud on the lens."""
    field = draw_spatter(key, image.shape[:2], mean, deviation)
    return render_spatter(image, field, sigma, threshold, intensity, mud)


def draw_spatter(key: NDArray[np.uint32], size: tuple[int, int], mean: float, deviation: float) -> NDArray[np.float32]:
    """Draw the liquid's field."""
    field = np.empty(size, np.float32)
    fill_normals(key, 0, field.reshape(-1))
    field *= F32(deviation)
    field += F32(mean)
    return field


def render_spatter(
    image: Image, field: NDArray[np.number], sigma: float, threshold: float, intensity: float, mud: int
) -> Image:
    """Smooth the field to drops and lay them over the image."""
    liquid = np.empty(image.shape[:2], np.uint8)
    _smooth(field, half_bell(sigma), threshold, 1 if mud else 255, liquid)
    if not mud:
        return render_water(image, liquid, intensity)
    out = np.empty_like(image)
    _muddy(read_only(image).reshape(len(image), -1), liquid, half_bell(intensity), out.reshape(len(image), -1))
    return out


def render_water(image: Image, liquid: Bytes, intensity: float) -> Image:
    """Lay drops over the image, whose layer is made already: uint8, height x width, 0 where there is none."""
    out = np.empty_like(image)
    _watery(read_only(image).reshape(len(image), -1), liquid, intensity, out.reshape(len(image), -1))
    return out


# The layer ---------------------------------------------------------------------------------------------------------

TOGETHER = 4
"""Pairs of taps that are added in one go."""

TILE = 256
"""Columns that are smoothed from top to bottom before the next ones: the rows in reach stay in the nearest cache."""


def half_bell(sigma: float) -> NDArray[np.float64]:
    """Return SciPy's weights of a Gaussian filter from the centre on; zeros fill the last group of taps."""
    radius = int(4 * sigma + 0.5)
    bell = np.exp(-0.5 / sigma**2 * np.arange(-radius, radius + 1) ** 2) if radius else np.ones(1)
    weights = np.zeros(1 + -(-radius // TOGETHER) * TOGETHER)
    weights[: radius + 1] = (bell / bell.sum())[radius:]
    return weights


@numba.njit(cache=True, nogil=True)
def _smooth(
    field: NDArray[np.number], weights: NDArray[np.float64], threshold: float, scale: float, liquid: Bytes
) -> None:
    """Smooth the field and cut it to 8 bits, or to 0 under the threshold; over 255 it wraps round, as published."""
    height, width = field.shape
    wide = np.empty(TILE + 2 * weights.size)
    for start in range(0, width, TILE):
        smooth = np.empty(min(TILE, width - start))
        for y in range(height):
            _smooth_part(field, y, start, weights, wide, smooth)
            if scale == 1:
                _mark(smooth, threshold, liquid[y, start : start + smooth.size])
            else:
                _cut(smooth, threshold, liquid[y, start : start + smooth.size])


@numba.njit(cache=True, nogil=True)
def _mark(smooth: NDArray[np.float64], threshold: float, row: Bytes) -> None:
    for x in range(row.size):
        row[x] = U8(1) if smooth[x] > threshold else U8(0)


@numba.njit(cache=True, nogil=True)
def _cut(smooth: NDArray[np.float64], threshold: float, row: Bytes) -> None:
    for x in range(row.size):
        kept = smooth[x] if smooth[x] >= threshold else 0.0
        row[x] = U8(I32(kept * 255.0) & I32(255))


@numba.njit(cache=True, nogil=True)
def _smooth_part(
    field: NDArray[np.number],
    y: int,
    start: int,
    weights: NDArray[np.float64],
    wide: NDArray[np.float64],
    smooth: NDArray[np.float64],
) -> None:
    """Filter a part of a row, vertically, then horizontally, in SciPy's order of additions (the outermost taps first).

    ``wide`` is room for the part and the columns in reach.
    """
    width = field.shape[1]
    reach, count = weights.size - 1, smooth.size
    # Of the columns that the horizontal pass reads, those that exist.
    left, right = max(start - reach, 0), min(start + count + reach, width)
    before, after = left - start + reach, right - start + reach
    flat, part = field.reshape(-1), wide[before:after]
    _scale(flat[y * width + left : y * width + right], weights[0], part)
    for outer in range(reach, 0, -TOGETHER):
        up = _rows(y - outer, 1, field.shape, left)
        down = _rows(y + outer, -1, field.shape, left)
        _add_pairs(flat, up, down, weights[outer - TOGETHER + 1 : outer + 1], part)
    for x in range(before):
        wide[x] = part[0]
    for x in range(after, count + 2 * reach):
        wide[x] = part[after - before - 1]
    _scale(wide[reach : reach + count], weights[0], smooth)
    for outer in range(reach, 0, -TOGETHER):
        i, j = UP(reach - outer), UP(reach + outer)
        behind, ahead = (i, i + UP(1), i + UP(2), i + UP(3)), (j, j - UP(1), j - UP(2), j - UP(3))
        _add_pairs(wide, behind, ahead, weights[outer - TOGETHER + 1 : outer + 1], smooth)


@numba.njit(cache=True, nogil=True)
def _rows(y: int, step: int, shape: tuple[int, int], left: int) -> Places:
    """Return where four rows start, of those outside the image the outermost one."""
    height, width = shape
    a, b = min(max(y, 0), height - 1), min(max(y + step, 0), height - 1)
    c, d = min(max(y + 2 * step, 0), height - 1), min(max(y + 3 * step, 0), height - 1)
    return UP(a * width + left), UP(b * width + left), UP(c * width + left), UP(d * width + left)


@numba.njit(cache=True, nogil=True)
def _scale(row: NDArray[np.number], weight: float, total: NDArray[np.float64]) -> None:
    for x in range(total.size):
        total[x] = F64(row[x]) * weight


@numba.njit(cache=True, nogil=True)
def _add_pairs(
    flat: NDArray[np.number],
    first: Places,
    second: Places,
    weights: NDArray[np.float64],
    total: NDArray[np.float64],
) -> None:
    """Add four pairs of taps at the given places, each pair times its weight; the weights are in reversed order."""
    a, b, c, d = first
    e, f, g, h = second
    wa, wb, wc, wd = weights[3], weights[2], weights[1], weights[0]
    for x in range(UP(total.size)):
        value = total[x] + (F64(flat[a + x]) + F64(flat[e + x])) * wa
        value += (F64(flat[b + x]) + F64(flat[f + x])) * wb
        value += (F64(flat[c + x]) + F64(flat[g + x])) * wc
        total[x] = value + (F64(flat[d + x]) + F64(flat[h + x])) * wd


# Mud ---------------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def _muddy(rows: Bytes, mask: Bytes, weights: NDArray[np.float64], out: Bytes) -> None:
    height, width = mask.shape
    wide = np.empty(TILE + 2 * weights.size)
    for start in range(0, width, TILE):
        cover = np.empty(min(TILE, width - start))
        stop = start + cover.size
        for y in range(height):
            _smooth_part(mask, y, start, weights, wide, cover)
            _cover(rows[y, 3 * start : 3 * stop], cover, out[y, 3 * start : 3 * stop])


@numba.njit(cache=True, nogil=True)
def _cover(row: Bytes, cover: NDArray[np.float64], out: Bytes) -> None:
    for x in range(cover.size):
        mud = F32(cover[x] if cover[x] >= 0.8 else 0.0)
        rest = F32(1) - mud
        out[3 * x] = U8(F32(row[3 * x]) * rest + F32(63) * mud)
        out[3 * x + 1] = U8(F32(row[3 * x + 1]) * rest + F32(42) * mud)
        out[3 * x + 2] = U8(F32(row[3 * x + 2]) * rest + F32(20) * mud)


# Water -------------------------------------------------------------------------------------------------------------


@numba.njit(cache=True, nogil=True)
def _watery(rows: Bytes, liquid: Bytes, intensity: float, out: Bytes) -> None:
    """Light the drops along their edges: a chain of 8-bit pictures, as published."""
    edges = _edges(liquid)
    shade = _mean_distance(edges)
    lit = _embossed(_equalized(shade))
    drops, brightest = _drops(lit, liquid)
    gain = F32(intensity / max(int(brightest), 1))
    for y in range(rows.shape[0]):
        _splash(rows[y], drops[y], gain, out[y])


@numba.njit(cache=True, nogil=True)
def _splash(row: Bytes, drops: NDArray[np.uint16], gain: F32, out: Bytes) -> None:
    for x in range(drops.size):
        light = F32(drops[x]) * gain
        out[3 * x] = U8(min(F32(row[3 * x]) + F32(175) * light, F32(255)))
        out[3 * x + 1] = U8(min(F32(row[3 * x + 1]) + F32(238) * light, F32(255)))
        out[3 * x + 2] = U8(min(F32(row[3 * x + 2]) + F32(238) * light, F32(255)))


WEAK, EDGE = U8(1), U8(2)


@numba.njit(cache=True, nogil=True)
def _edges(liquid: Bytes) -> Bytes:
    """Canny's edges with the thresholds 50 and 150: ``EDGE`` where there is one, with a border of 1 without any."""
    height, width = liquid.shape
    kinds = np.zeros((height + 2, width + 2), np.uint8)
    wide = np.empty((3, width + 2), np.int16)  # three rows with their outermost values repeated
    across, down = np.empty((2, width), np.int16), np.empty((2, width), np.int16)
    steep = np.zeros((3, width + 2), np.int16)
    weak = 0
    for y in range(height + 1):  # the gradient of row y, then the edges of the row before
        latest, before, first = y % 3, (y - 1) % 3, (y - 2) % 3
        if y < height:
            if y == 0:
                _repeat_edges(liquid[0], wide[before])
                _repeat_edges(liquid[0], wide[latest])
            _repeat_edges(liquid[min(y + 1, height - 1)], wide[first])
            _gradient(wide[before], wide[latest], wide[first], across[y % 2], down[y % 2], steep[latest, 1:])
        else:
            steep[latest] = 0
        if y > 0:
            row = kinds[y, 1 : width + 1]
            _crests(across[(y - 1) % 2], down[(y - 1) % 2], steep[first], steep[before], steep[latest], row)
            weak += int(_count(row, WEAK))
    if weak:
        _connect(kinds, weak)
    return kinds


@numba.njit(cache=True, nogil=True)
def _repeat_edges(row: Bytes, wide: NDArray[np.int16]) -> None:
    for x in range(row.size):
        wide[x + 1] = I16(row[x])
    wide[0] = wide[1]
    wide[row.size + 1] = wide[row.size]


@numba.njit(cache=True, nogil=True)
def _gradient(
    upper: NDArray[np.int16],
    row: NDArray[np.int16],
    lower: NDArray[np.int16],
    across: NDArray[np.int16],
    down: NDArray[np.int16],
    steep: NDArray[np.int16],
) -> None:
    for x in range(across.size):
        gx = I16(I16(upper[x + 2] - upper[x]) + I16(2 * (row[x + 2] - row[x])) + I16(lower[x + 2] - lower[x]))
        gy = I16(I16(lower[x] - upper[x]) + I16(2 * (lower[x + 1] - upper[x + 1])) + I16(lower[x + 2] - upper[x + 2]))
        across[x], down[x] = gx, gy
        steep[x] = I16(I16(abs(gx)) + I16(abs(gy)))


@numba.njit(cache=True, nogil=True)
def _crests(
    across: NDArray[np.int16],
    down: NDArray[np.int16],
    upper: NDArray[np.int16],
    row: NDArray[np.int16],
    lower: NDArray[np.int16],
    kinds: Bytes,
) -> None:
    """Find the points that are steeper than their neighbours across the edge; as OpenCV's Canny, in 16 bits."""
    for x in range(kinds.size):
        # All are loaded before one is chosen: loads under a condition are no vector code.
        north_west, north, north_east = upper[x], upper[x + 1], upper[x + 2]
        west, g, east = row[x], row[x + 1], row[x + 2]
        south_west, south, south_east = lower[x], lower[x + 1], lower[x + 2]
        flat, tall = I16(abs(across[x])), I16(abs(down[x]))
        slant = I16(
            U32(U32(flat) * U32(27146)) >> U32(16)
        )  # tan(22.5 degrees); cut to whole numbers, so that <= means <
        opposite = I16(across[x] ^ down[x]) < I16(0)
        one = north_east if opposite else north_west
        two = I16((south_west if opposite else south_east) + I16(1))  # one more, or >= below would not mean >
        steep = tall > I16(slant + I16(flat + flat))
        one = north if steep else one
        two = south if steep else two
        level = tall <= slant
        one = west if level else one
        two = east if level else two
        crest = (g > one) & (g >= two) & (g > I16(50))
        kinds[x] = (EDGE if g > I16(150) else WEAK) if crest else U8(0)


@numba.njit(cache=True, nogil=True)
def _count(row: Bytes, kind: U8) -> I32:
    count = I32(0)
    for x in range(row.size):
        count += I32(row[x] == kind)
    return count


@numba.njit(cache=True, nogil=True)
def _connect(kinds: Bytes, weak: int) -> None:
    """Make edges of the weak points that are connected with one."""
    flat = kinds.reshape(-1)
    line = kinds.shape[1]
    around = np.array([-line - 1, -line, -line + 1, -1, 1, line - 1, line, line + 1])
    pending = np.empty(weak, np.intp)
    for i in range(line, flat.size - line):
        if flat[UP(i)] != WEAK:
            continue
        count = 0
        for step in around:
            if flat[UP(i + step)] == EDGE:
                flat[UP(i)] = EDGE
                pending[0], count = i, 1
                break
        while count:
            count -= 1
            place = pending[count]
            for step in around:
                if flat[UP(place + step)] == WEAK:
                    flat[UP(place + step)] = EDGE
                    pending[count] = place + step
                    count += 1


UNIT = 65536
CAP = 20


@numba.njit(cache=True, nogil=True)
def _mean_distance(edges: Bytes) -> Bytes:
    """Return the 3 x 3 mean, cut to 8 bits, of the distance to the next edge, which is at most ``CAP``.

    A shortest path goes along a row first, then only upwards or only downwards: straight, diagonally or as a knight.
    """
    height, width = edges.shape[0] - 2, edges.shape[1] - 2
    paths = np.full((height + 4, width + 4), CAP * UNIT, np.int32)  # a border of 2, where no path leads
    near, other = np.full(width + 32, U8(CAP)), np.full(width + 32, U8(CAP))
    for y in range(height):
        row = paths[y + 2]
        _along(edges[y + 1, 1 : width + 1], near, other, row[2 : width + 2])
        _approach(paths[y + 1], paths[y], row[2 : width + 2])
    for y in range(height - 1, -1, -1):
        row = paths[y + 2]
        _approach(paths[y + 3], paths[y + 4], row[2 : width + 2])
    paths[:, 1], paths[:, width + 2] = paths[:, 3], paths[:, width]
    paths[1], paths[height + 2] = paths[3], paths[height]
    shade = np.empty((height, width), np.uint8)
    for y in range(height):
        _mean_of_9(paths[y + 1, 1:], paths[y + 2, 1:], paths[y + 3, 1:], shade[y])
    return shade


@numba.njit(cache=True, nogil=True)
def _along(edges: Bytes, near: Bytes, other: Bytes, row: NDArray[np.int32]) -> None:
    """Fill a row of paths with the distance along the row; ``near`` and ``other`` have borders of 16 times ``CAP``."""
    _start(edges, near[16:])
    _reach(near, U8(1), other[16 : 16 + row.size])
    _reach(other, U8(2), near[16 : 16 + row.size])
    _reach(near, U8(4), other[16 : 16 + row.size])
    _reach(other, U8(8), near[16 : 16 + row.size])
    _reach(near, U8(16), other[16 : 16 + row.size])
    for x in range(row.size):
        row[x] = I32(other[x + 16]) << I32(16)


@numba.njit(cache=True, nogil=True)
def _start(edges: Bytes, near: Bytes) -> None:
    for x in range(edges.size):
        near[x] = U8(0) if edges[x] == EDGE else U8(CAP)


@numba.njit(cache=True, nogil=True)
def _reach(near: Bytes, step: U8, out: Bytes) -> None:
    left, right = near[16 - step :], near[16 + step :]
    for x in range(out.size):
        out[x] = min(near[x + 16], U8(min(left[x], right[x]) + step))


@numba.njit(cache=True, nogil=True)
def _approach(next_row: NDArray[np.int32], one_further: NDArray[np.int32], row: NDArray[np.int32]) -> None:
    """Shorten a row's paths by those that come from the next row and the one further, which have borders of 2."""
    for x in range(row.size):
        straight = I32(next_row[x + 2] + I32(UNIT))
        diagonal = I32(min(next_row[x + 1], next_row[x + 3]) + I32(91750))
        knight = min(next_row[x], next_row[x + 4], one_further[x + 1], one_further[x + 3])
        row[x] = min(row[x], straight, diagonal, I32(knight + I32(143976)))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _mean_of_9(a: NDArray[np.int32], b: NDArray[np.int32], c: NDArray[np.int32], shade: Bytes) -> None:
    for x in range(shade.size):
        total = I32(I32(a[x] + a[x + 1]) + I32(a[x + 2] + b[x]))
        total = I32(I32(total + I32(b[x + 1] + b[x + 2])) + I32(I32(c[x] + c[x + 1]) + c[x + 2]))
        shade[x] = U8(np.uint32(total >> I32(16)) // np.uint32(9))


@numba.njit(cache=True, nogil=True)
def _equalized(shade: Bytes) -> Bytes:
    """Equalise the histogram, and mirror one more row and column at each side."""
    height, width = shade.shape
    counts = np.zeros((8, CAP + 1), np.uint32)  # eight histograms: one would wait for itself where levels repeat
    flat = shade.reshape(-1)
    for i in range(UP(flat.size)):
        counts[i & UP(7), flat[i]] += np.uint32(1)
    table = _table(counts.sum(axis=0), flat.size)
    even = np.empty((height + 2, width + 2), np.uint8)
    for y in range(height):
        row, result = shade[y], even[y + 1]
        for x in range(UP(width)):
            result[x + UP(1)] = table[row[x]]
    _mirror(even)
    return even


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _table(counts: NDArray[np.uint64], size: int) -> Bytes:
    table = np.zeros(CAP + 1, np.uint8)
    first = np.flatnonzero(counts)[0]
    rest = size - counts[first]
    if rest == 0:  # one level only, which stays
        table[first] = first
        return table
    scale = F32(F32(255) / F32(rest))
    total = 0
    for level in range(first + 1, CAP + 1):
        total += counts[level]
        table[level] = U8(np.rint(F32(total) * scale))
    return table


@numba.njit(cache=True, nogil=True)
def _mirror(wide: Bytes) -> None:
    """Fill the border of 1 with what is next to the outermost pixels."""
    for y in range(wide.shape[0]):
        wide[y, 0], wide[y, -1] = wide[y, 2], wide[y, -3]
    wide[0], wide[-1] = wide[2], wide[-3]


@numba.njit(cache=True, nogil=True)
def _embossed(wide: Bytes) -> Bytes:
    """Correlate with [[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], clipped to 8 bits; both have a mirrored border of 1."""
    out = np.empty_like(wide)
    width = wide.shape[1] - 2
    for y in range(1, wide.shape[0] - 1):
        _emboss(wide[y - 1], wide[y], wide[y + 1], out[y, 1 : width + 1])
    _mirror(out)
    return out


@numba.njit(cache=True, nogil=True)
def _emboss(upper: Bytes, row: Bytes, lower: Bytes, out: Bytes) -> None:
    for x in range(out.size):
        dark = I32(I32(2 * I32(upper[x])) + I32(I32(upper[x + 1]) + I32(row[x])))
        light = I32(I32(I32(row[x + 1]) + I32(row[x + 2])) + I32(I32(lower[x + 1]) + I32(2 * I32(lower[x + 2]))))
        out[x] = U8(min(max(I32(light - dark), I32(0)), I32(255)))


@numba.njit(cache=True, nogil=True)
def _drops(lit: Bytes, liquid: Bytes) -> tuple[NDArray[np.uint16], I32]:
    """Return the liquid times the 3 x 3 mean of the light, rounded, and the largest of these products."""
    drops = np.empty(liquid.shape, np.uint16)
    brightest = I32(0)
    for y in range(liquid.shape[0]):
        _mean_light(lit[y], lit[y + 1], lit[y + 2], liquid[y], drops[y])
        brightest = max(brightest, _largest(drops[y]))
    return drops, brightest


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _mean_light(a: Bytes, b: Bytes, c: Bytes, liquid: Bytes, drops: NDArray[np.uint16]) -> None:
    for x in range(drops.size):
        total = I32(I32(I32(a[x]) + I32(a[x + 1])) + I32(I32(a[x + 2]) + I32(b[x])))
        total = I32(
            I32(total + I32(I32(b[x + 1]) + I32(b[x + 2]))) + I32(I32(I32(c[x]) + I32(c[x + 1])) + I32(c[x + 2]))
        )
        light = np.uint32(total + I32(4)) // np.uint32(9)
        drops[x] = np.uint16(np.uint32(liquid[x]) * np.uint32(light))


@numba.njit(cache=True, nogil=True)
def _largest(drops: NDArray[np.uint16]) -> I32:
    largest = I32(0)
    for x in range(drops.size):
        largest = max(largest, I32(drops[x]))
    return largest
