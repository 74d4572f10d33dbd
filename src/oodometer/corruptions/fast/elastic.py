"""The fast kernel of the elastic deformation; see ``oodometer.corruptions.digital`` for its meaning.

The fields. A displacement is uniform noise under a Gaussian filter that reflects at the borders. Where the filter is
narrow, that is what is computed. A wide one leaves waves only that are longer than it, so the noise is drawn on a grid
of cells of a third of sigma, filtered there, and interpolated with cubic B-splines: the sum of hundreds of uniform
numbers is a normal number with the same covariance, whose error is some 1e-3 of the displacement. So the cost of a
pixel depends on neither sigma nor the size of the image.

The rendering. Both the affine map and the displacement take bilinear samples in float32, of four values at once: the
three channels and one that is dropped. Compilers make no vector code of it, hence explicit vectors. A sample of equal
pixels is that pixel exactly.
"""

from __future__ import annotations

import functools
import math
import typing

import numba
import numpy as np
from numpy.typing import NDArray

from oodometer.corruptions.fast.int32 import add, mul, shifted, sub
from oodometer.corruptions.fast.normals import fill_normals
from oodometer.corruptions.fast.streams import word
from oodometer.corruptions.fast.vectors import convert, explicit, fill, load, store
from oodometer.types import Image

__all__ = ["draw_elastic_transform", "elastic_transform", "render_elastic_transform"]

F = np.float32
I = np.int32  # noqa: E741
U = np.uint64
U32 = np.uint32

FIRST_FIELD = 8
"""The first word of the fields' noise; those before move the three points of the affine map."""

CELLS_A_SIGMA = 3
"""The grid of a wide filter has this many cells in a sigma."""

Field: typing.TypeAlias = NDArray[np.float32]
Offsets: typing.TypeAlias = NDArray[np.int32]
Places: typing.TypeAlias = tuple[Offsets, Offsets, Offsets, Offsets, Field, Field]

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
inlined = numba.njit(forceinline=True, error_model="numpy")


def elastic_transform(image: Image, key: NDArray[np.uint32], alpha: float, sigma: float, affine: float) -> Image:
    """Fast twin of ``digital.elastic_transform``."""
    height, width = image.shape[:2]
    return render_elastic_transform(image, *draw_elastic_transform(key, height, width, alpha, sigma, affine))


def draw_elastic_transform(
    key: NDArray[np.uint32], height: int, width: int, alpha: float, sigma: float, affine: float
) -> tuple[NDArray[np.float64], Field, Field]:
    """Draw the inverse of the affine map (2 x 3: from (x, y, 1) to (x, y)), and both displacements, x first."""
    across, down = np.empty((2, height, width), np.float32)
    if sigma < 2 * CELLS_A_SIGMA:
        draw_narrow(key, F(alpha), narrow_taps(sigma), across, down)
    else:
        draw_wide(key, FIRST_FIELD, alpha, sigma, across)
        draw_wide(key, FIRST_FIELD + across.size, alpha, sigma, down)
    return inverse_map(key, height, width, float(affine)), across, down


def render_elastic_transform(image: Image, inverse: NDArray[np.float64], across: Field, down: Field) -> Image:
    """Move the image by the affine map, then each pixel by the displacements."""
    # One block for both: if what is freed at the end of a call were more than twice the largest block, the C library
    # would give the memory back, and fetching it again page by page takes longer than everything else here.
    scratch = np.empty(5 * image.size + 5, np.uint8)
    moved, pixels = scratch[: 4 * image.size + 4].view(np.float32), scratch[4 * image.size + 4 :]
    pixels[:-1], pixels[-1], moved[-1] = image.reshape(-1), 0, 0
    result = np.empty_like(image)
    render(explicit(), pixels, inverse, across, down, moved, result.reshape(-1))
    return result


# --- drawing ---


@compiled
def inverse_map(key: NDArray[np.uint32], height: int, width: int, affine: float) -> NDArray[np.float64]:
    """Draw where three points of the image go, and return the 2 x 3 matrix that leads back."""
    side = min(height, width) // 3
    # Quirk of the published code: the centre is (row, column), but the points are (x, y).
    points = np.array([[side, side], [side, -side], [-side, -side]]) + np.array([height // 2, width // 2])
    targets = np.empty((3, 2))
    for i in range(6):
        unit = (np.float64(word(key[0], key[1], key[2], key[3], U32(i))) + 0.5) / 2.0**32
        targets[i // 2, i % 2] = F(points[i // 2, i % 2]) + F(affine * (2.0 * unit - 1.0))
    x1, y1 = targets[0] - targets[1]
    x2, y2 = targets[2] - targets[1]
    area = x1 * y2 - x2 * y1
    inverse = np.empty((2, 3))
    for i in range(2):
        first, second = points[0, i] - points[1, i], points[2, i] - points[1, i]
        per_x, per_y = (first * y2 - second * y1) / area, (second * x1 - first * x2) / area
        inverse[i, 0], inverse[i, 1] = per_x, per_y
        inverse[i, 2] = points[1, i] - per_x * targets[1, 0] - per_y * targets[1, 1]
    return inverse


def draw_wide(key: NDArray[np.uint32], start: int, alpha: float, sigma: float, field: Field) -> None:
    """Draw a displacement from the words of the stream from ``start`` on, by way of a grid of cells."""
    height, width = field.shape
    cell = int(sigma / CELLS_A_SIGMA)
    rows, columns = -(-height // cell), -(-width // cell)
    tall, wide = height / rows, width / columns
    noise, coarse = np.empty((rows, columns), np.float32), np.empty((rows, columns), np.float32)
    fill_normals(key, start, noise.reshape(-1))
    scale = F(alpha / math.sqrt(3 * tall * wide))  # a cell stands for the mean of the noise of its pixels
    filter_rows(noise, wide_taps(sigma, wide), scale)
    filter_columns(noise, wide_taps(sigma, tall), coarse)
    interpolate(coarse, *spline(width, columns), *spline(height, rows), field)


@functools.lru_cache(maxsize=64)
def narrow_taps(sigma: float) -> Field:
    """Return one half of the filter, its centre first, as SciPy cuts it off at 3 sigma."""
    return as_taps(bell(sigma, int(3 * sigma + 0.5) + 1))


@functools.lru_cache(maxsize=64)
def wide_taps(sigma: float, cell: float) -> Field:
    """Return one half of a filter on cells that, with a cubic B-spline after it, has the width of the true one.

    The spline adds 1/3 of a cell to the variance.
    """
    full = int(3 * sigma + 0.5) + 1
    weights = bell(sigma, full)
    variance = 2 * (weights * np.arange(full) ** 2).sum() / (2 * weights.sum() - weights[0]) / cell**2
    shrunk = math.sqrt(1 - 1 / (3 * variance)) / cell
    reach = (full - 0.5) * shrunk
    share = np.clip(reach + 0.5 - np.arange(int(reach + 0.5) + 1), 0, 1)  # of the last cell only a part is inside
    return as_taps(bell(sigma * shrunk, share.size) * share)


def bell(sigma: float, count: int) -> NDArray[np.float64]:
    """Return one half of a Gaussian, its centre first."""
    return np.exp(-(np.arange(count) ** 2) / (2 * sigma**2)) if count > 1 else np.ones(1)


def as_taps(half: NDArray[np.float64]) -> Field:
    """Divide by the sum of both halves; a 0 at the end where the pairs are odd, since two are added at once."""
    taps = half / (2 * half.sum() - half[0])
    return np.append(taps, np.zeros((half.size + 1) % 2)).astype(np.float32)


@functools.lru_cache(maxsize=16)
def spline(pixels: int, cells: int) -> tuple[NDArray[np.int64], Field]:
    """Return, for each pixel of an axis, the four cells around it and their weights in a cubic B-spline."""
    place = (np.arange(pixels) + 0.5) * (cells / pixels) - 0.5
    first = np.floor(place)
    f = place - first
    weights = [(1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, 3 * (1 - f) ** 3 - 6 * (1 - f) ** 2 + 4, f**3]
    around = first.astype(np.int64)[:, np.newaxis] + np.arange(-1, 3)
    folded = around % (2 * cells)
    return np.minimum(folded, 2 * cells - 1 - folded), (np.stack(weights, axis=1) / 6).astype(np.float32)


@inlined
def reflected(i: int, side: int) -> int:
    """Fold an index outside an axis back at its ends, which are repeated."""
    if not -side <= i < 2 * side:
        i %= 2 * side
    upper = max(i, -1 - i)
    return min(upper, 2 * side - 1 - upper)


@compiled
def draw_narrow(key: NDArray[np.uint32], scale: np.float32, taps: Field, across: Field, down: Field) -> None:
    """Draw both displacements: uniform noise in (-scale, scale), 16 bits of a word for each, and filter it.

    Filtered rows are kept as long as the filter of the columns needs them, so that they stay in the cache.
    """
    height, width = across.shape
    reach = taps.size - 1
    line, other = np.empty(width + 2 * reach, np.float32), np.empty(width + 2 * reach, np.float32)
    kept = min(2 * reach + 1, height)
    rows, others = np.empty((kept, width), np.float32), np.empty((kept, width), np.float32)
    slots = np.arange(height) % kept
    drawn = 0
    for y in range(height):
        while drawn < min(y + reach + 1, height):
            start = FIRST_FIELD + drawn * width
            draw_pairs(key, start, scale, line[reach : reach + width], other[reach : reach + width])
            filter_line(line, taps, rows[slots[drawn]])
            filter_line(other, taps, others[slots[drawn]])
            drawn += 1
        filter_down(rows, slots, taps, y, across[y])
        filter_down(others, slots, taps, y, down[y])


@compiled
def draw_pairs(key: NDArray[np.uint32], start: int, scale: np.float32, first: Field, second: Field) -> None:
    """Draw two uniform numbers in (-scale, scale) from each word."""
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    begin, step = U32(start), scale * F(2.0**-15)
    for x in range(first.size):
        bits = I(word(k0, k1, k2, k3, U32(begin + U32(x))))
        first[x] = (F(shifted(bits, 16)) + F(0.5)) * step
        second[x] = (F(shifted(mul(bits, 65536), 16)) + F(0.5)) * step


@compiled
def filter_rows(noise: Field, taps: Field, scale: np.float32) -> None:
    """Filter the rows in place, and multiply them."""
    height, width = noise.shape
    reach = taps.size - 1
    line = np.empty(width + 2 * reach, np.float32)
    for y in range(height):
        for x in range(width):
            line[reach + x] = noise[y, x] * scale
        filter_line(line, taps, noise[y])


@compiled
def filter_columns(source: Field, taps: Field, out: Field) -> None:
    """Filter the columns."""
    slots = np.arange(source.shape[0])
    for y in range(slots.size):
        filter_down(source, slots, taps, y, out[y])


@inlined
def filter_line(line: Field, taps: Field, out: Field) -> None:
    """Filter a row that has room at both ends, which is filled with its reflection."""
    reach, width = taps.size - 1, out.size
    for i in range(reach):
        line[reach - 1 - i] = line[reach + reflected(-1 - i, width)]
        line[reach + width + i] = line[reach + reflected(width + i, width)]
    scale_row(line, U(reach), taps[0], out)
    for j in range(1, reach, 2):
        add_pairs(line, reach - j, reach + j, taps[j], reach - j - 1, reach + j + 1, taps[j + 1], out)


@compiled
def filter_down(rows: Field, slots: NDArray[np.int64], taps: Field, y: int, out: Field) -> None:
    """Filter the columns for row ``y`` of an image whose rows lie at ``slots``; rows outside are reflections."""
    height, width = slots.size, out.size
    flat = rows.reshape(-1)
    scale_row(flat, U(slots[y] * width), taps[0], out)
    for j in range(1, taps.size - 1, 2):
        above, below = slots[reflected(y - j, height)], slots[reflected(y + j, height)]
        higher, lower = slots[reflected(y - j - 1, height)], slots[reflected(y + j + 1, height)]
        add_pairs(flat, above * width, below * width, taps[j], higher * width, lower * width, taps[j + 1], out)


@compiled
def scale_row(source: Field, start: np.uint64, factor: np.float32, out: Field) -> None:
    """Multiply a row."""
    for x in range(U(out.size)):
        out[x] = factor * source[start + x]


@compiled
def add_pairs(
    source: Field,
    before: int,
    after: int,
    weight: np.float32,
    far_before: int,
    far_after: int,
    far_weight: np.float32,
    out: Field,
) -> None:
    """Add the rows at one distance on both sides, and those at another, with a weight for each distance."""
    a, b, c, d = U(before), U(after), U(far_before), U(far_after)
    for x in range(U(out.size)):
        near, far = source[a + x] + source[b + x], source[c + x] + source[d + x]
        out[x] += weight * near + far_weight * far


@compiled
def interpolate(
    coarse: Field,
    columns: NDArray[np.int64],
    across: Field,
    rows: NDArray[np.int64],
    down: Field,
    field: Field,
) -> None:
    """Enlarge a grid of cells: rows first, then columns."""
    height, width = field.shape
    wide = np.empty(coarse.shape[0] * width, np.float32)
    for y in range(coarse.shape[0]):
        for x in range(width):
            first = coarse[y, columns[x, 0]] * across[x, 0] + coarse[y, columns[x, 1]] * across[x, 1]
            last = coarse[y, columns[x, 2]] * across[x, 2] + coarse[y, columns[x, 3]] * across[x, 3]
            wide[y * width + x] = first + last
    for y in range(height):
        mix_rows(wide, rows[y], down[y], field[y])


@inlined
def mix_rows(wide: Field, rows: NDArray[np.int64], weights: Field, out: Field) -> None:
    """Add four rows with weights."""
    width = U(out.size)
    a, b, c, d = U(rows[0]) * width, U(rows[1]) * width, U(rows[2]) * width, U(rows[3]) * width
    w0, w1, w2, w3 = weights[0], weights[1], weights[2], weights[3]
    for x in range(width):
        out[x] = (wide[a + x] * w0 + wide[b + x] * w1) + (wide[c + x] * w2 + wide[d + x] * w3)


# --- rendering ---


@compiled
def render(
    explicit: bool | None,
    pixels: NDArray[np.uint8],
    inverse: NDArray[np.float64],
    across: Field,
    down: Field,
    moved: Field,
    result: NDArray[np.uint8],
) -> None:
    """Sample the image at the inverse map's points, then that at the displaced points.

    All images are of one dimension here; ``pixels`` and ``moved`` have a value more than the image, because samples
    take and give four values from a pixel on. A row of ``moved`` is made when it is first needed, and read from cache.
    """
    height, width = across.shape
    places, displaced = row_of_places(width), row_of_places(width)
    whole, samples = np.empty(width, np.int32), np.empty(3 * width + 1, np.float32)
    made = 0
    for y in range(height):
        displaced_places(across[y], 0, 1, whole, displaced[4])
        fold(whole, width, 1, 3, displaced[0], displaced[1])
        displaced_places(down[y], y, 0, whole, displaced[5])
        fold(whole, height, 1, 3 * width, displaced[2], displaced[3])
        needed = max(highest(displaced[2]), highest(displaced[3])) // (3 * width) + 1
        for row in range(made, needed):
            affine_places(inverse[0, 0], inverse[0, 1] * row + inverse[0, 2], whole, places[4])
            fold(whole, width, 0, 3, places[0], places[1])
            affine_places(inverse[1, 0], inverse[1, 1] * row + inverse[1, 2], whole, places[5])
            fold(whole, height, 0, 3 * width, places[2], places[3])
            sample(explicit, pixels, places, moved, U(3 * row * width))
        made = max(made, needed)
        sample(explicit, moved, displaced, samples, U(0))
        truncate(samples, result, U(3 * y * width))


@inlined
def row_of_places(width: int) -> Places:
    """Make room for a row of points: offsets of the columns and rows around each, and its fractions along both axes."""
    offsets = np.empty((4, width), np.int32)
    fractions = np.empty((2, width), np.float32)
    return offsets[0], offsets[1], offsets[2], offsets[3], fractions[0], fractions[1]


@inlined
def highest(numbers: NDArray[np.int32]) -> np.int32:
    """Return the largest of whole numbers that are not negative."""
    largest = I(0)
    for x in range(numbers.size):
        largest = max(largest, numbers[x])
    return largest


@compiled
def affine_places(per_x: float, start: float, whole: NDArray[np.int32], fraction: Field) -> None:
    """Find one coordinate of a row's points in the image, in 1/32 pixel: ``per_x * x + start``."""
    offset = np.int64(np.rint(1024.0 * start)) + 16
    for x in range(whole.size):
        place = (offset + np.int64(np.rint(1024.0 * (per_x * x)))) >> 5
        whole[x] = place >> 5
        fraction[x] = F(I(place & 31)) * F(1 / 32)


@compiled
def displaced_places(displacement: Field, start: int, per_x: int, whole: NDArray[np.int32], fraction: Field) -> None:
    """Find one coordinate of a row's displaced points: ``per_x * x + start`` and the displacement."""
    for x in range(whole.size):
        floor = np.floor(displacement[x])
        whole[x] = add(I(floor), add(mul(per_x, x), start))
        fraction[x] = displacement[x] - floor


@compiled
def fold(
    whole: NDArray[np.int32],
    side: int,
    repeated: int,
    step: int,
    near: NDArray[np.int32],
    far: NDArray[np.int32],
) -> None:
    """Find where a coordinate and the next one lie, reflected at both ends.

    ``repeated`` is 1 if the pixels at the ends are repeated in the reflection, and 0 if not.
    """
    lowest, highest = I(0), I(0)
    for x in range(whole.size):
        lowest, highest = min(lowest, whole[x]), max(highest, whole[x])
    if lowest < -side or highest >= 2 * side - 2:
        for x in range(whole.size):
            whole[x] = (whole[x] + side) % (2 * side - 2 + 2 * repeated) - side
    for x in range(whole.size):
        near[x] = mul(folded(whole[x], side, repeated), step)
        far[x] = mul(folded(add(whole[x], 1), side, repeated), step)


@inlined
def folded(i: np.int32, side: int, repeated: int) -> np.int32:
    """Reflect an index that is less than a side outside."""
    upper = max(i, sub(-repeated, i))
    return min(upper, sub(2 * side - 2 + repeated, upper))


@compiled
def sample(
    explicit: bool | None,
    pixels: NDArray[np.generic],
    places: Places,
    out: Field,
    at: np.uint64,
) -> None:
    """Mix, for each pixel of a row, four values of four pixels each: bilinear samples.

    The fourth value is the first one of the next pixel, which overwrites it.
    """
    left, right, top, bottom, a, b = places
    for x in range(U(a.size)):
        upper_left, upper_right = U(top[x]) + U(left[x]), U(top[x]) + U(right[x])
        lower_left, lower_right = U(bottom[x]) + U(left[x]), U(bottom[x]) + U(right[x])
        if explicit is None:
            for c in range(U(4)):
                p, q = F(pixels[upper_left + c]), F(pixels[upper_right + c])
                r, s = F(pixels[lower_left + c]), F(pixels[lower_right + c])
                upper, lower = p + (q - p) * a[x], r + (s - r) * a[x]
                out[at + U(3) * x + c] = upper + (lower - upper) * b[x]
        else:
            p4, q4 = convert(load(pixels, upper_left, 4), F), convert(load(pixels, upper_right, 4), F)
            r4, s4 = convert(load(pixels, lower_left, 4), F), convert(load(pixels, lower_right, 4), F)
            upper4, lower4 = p4 + (q4 - p4) * fill(a[x], 4), r4 + (s4 - r4) * fill(a[x], 4)
            store(out, at + U(3) * x, upper4 + (lower4 - upper4) * fill(b[x], 4))


@inlined
def truncate(samples: Field, result: NDArray[np.uint8], at: np.uint64) -> None:
    """Turn a row to whole levels."""
    for i in range(U(samples.size - 1)):
        result[at + i] = I(samples[i])
