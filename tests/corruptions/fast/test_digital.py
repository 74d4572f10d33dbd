"""Pixelate and the elastic deformation against the plain kernels, and the law of the fields that are drawn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import textured
from scipy import ndimage

from oodometer.corruptions import EDITIONS
from oodometer.corruptions import digital as plain
from oodometer.corruptions.fast import digital, elastic, vectors

KEY = np.array([1, 2, 3, 4], np.uint32)
SIDES = st.integers(16, 130)


def noisy(height, width, seed):
    """Draw black and white noise: it shows each displacement at its largest."""
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([0, 255], np.uint8), (height, width, 3))


def keys(count):
    return np.random.default_rng(0).integers(0, 2**32, (count, 4), np.uint32)


# --- pixelate ---


@settings(max_examples=200, deadline=None)
@given(height=SIDES, width=SIDES, scale=st.floats(0.07, 1), seed=st.integers(0, 1000))
def test_pixelate_equals_the_plain_kernel_at_every_pixel(height, width, scale, seed):
    image = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    assert np.array_equal(digital.pixelate(image, KEY, scale), plain.pixelate(image, None, scale))


@pytest.mark.parametrize(
    "size", [(224, 224), (299, 299), (64, 64), (32, 32), (375, 500), (16, 400), (400, 16)], ids=str
)
def test_pixelate_at_the_published_scales(size):
    image = noisy(*size, seed=0)
    for edition in EDITIONS:
        for severity in range(1, 6):
            scale = plain.PIXELATE.row(edition, severity)[0]
            assert np.array_equal(digital.pixelate(image, KEY, scale), plain.pixelate(image, None, scale))


# --- the elastic deformation: rendering ---


def plain_draws(seed, height, width, alpha, sigma, affine):
    """Draw what the plain kernel draws from a seed."""
    rng = np.random.RandomState(seed)
    inverse = plain._inverse_map(rng, height, width, affine)
    across, down = (plain._displacement(rng, height, width, alpha, sigma) for _ in range(2))
    return inverse, across, down


@settings(max_examples=60, deadline=None)
@given(
    height=SIDES,
    width=SIDES,
    edition=st.sampled_from(EDITIONS),
    severity=st.floats(0.01, 5),
    picture=st.sampled_from((noisy, textured)),
    seed=st.integers(0, 1000),
)
def test_elastic_transform_renders_the_same_draws_within_a_level(height, width, edition, severity, picture, seed):
    image = picture(height, width, seed)
    constants = plain.ELASTIC_TRANSFORM.row(edition, severity)
    expected = plain.elastic_transform(image, np.random.RandomState(seed), *constants)
    rendered = elastic.render_elastic_transform(image, *plain_draws(seed, height, width, *constants))
    assert np.abs(rendered.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("severity", range(1, 6))
def test_elastic_transform_of_a_photograph_is_nearly_always_the_same(severity):
    image = textured(224, 224)
    constants = plain.ELASTIC_TRANSFORM.row("imagenet224", severity)
    expected = plain.elastic_transform(image, np.random.RandomState(0), *constants)
    rendered = elastic.render_elastic_transform(image, *plain_draws(0, 224, 224, *constants))
    assert np.mean(rendered != expected) < 0.002


@pytest.mark.parametrize("level", [0, 1, 77, 128, 254, 255])
def test_an_image_of_one_colour_stays_as_it_is(level):
    image = np.full((40, 56, 3), level, np.uint8)
    assert np.array_equal(elastic.elastic_transform(image, KEY, 488, 19.52, 48.8), image)


@pytest.mark.skipif(vectors.explicit() is None, reason="no explicit vectors here")
@settings(max_examples=30, deadline=None)
@given(height=SIDES, width=SIDES, severity=st.integers(1, 5), seed=st.integers(0, 1000))
def test_explicit_vectors_give_the_bits_of_the_plain_loop(height, width, severity, seed):
    constants = plain.ELASTIC_TRANSFORM.row("imagenet224", severity)
    pixels = np.append(noisy(height, width, seed), np.uint8(0))
    draws = elastic.draw_elastic_transform(keys(seed + 1)[seed], height, width, *constants)
    outputs = []
    for explicit in (True, None):
        moved, result = np.zeros(pixels.size, np.float32), np.empty(pixels.size - 1, np.uint8)
        elastic.render(explicit, pixels, *draws, moved, result)
        outputs.append(moved.tobytes() + result.tobytes())
    assert outputs[0] == outputs[1]


# --- the elastic deformation: draws ---


def filtered(noise, sigma):
    return ndimage.gaussian_filter(noise.astype(np.float64), sigma, mode="reflect", truncate=3.0)


@pytest.mark.parametrize("size", [(224, 224), (16, 90), (33, 16)], ids=str)
@pytest.mark.parametrize("sigma", [0.3, 0.96, 2.44, 5.9])
def test_a_narrow_field_is_filtered_uniform_noise(size, sigma):
    noise = elastic.draw_elastic_transform(KEY, *size, 1, 0, 0)[1:]
    fields = elastic.draw_elastic_transform(KEY, *size, 10, sigma, 0)[1:]
    for raw, field in zip(noise, fields, strict=True):
        assert np.abs(field - 10 * filtered(raw, sigma)).max() < 1e-5


def test_the_noise_is_uniform_and_that_of_both_fields_independent():
    across, down = (
        noise.reshape(-1).astype(float) for noise in elastic.draw_elastic_transform(KEY, 500, 400, 1, 0, 0)[1:]
    )
    for noise in (across, down):
        assert -1 < noise.min() < -0.999
        assert 0.999 < noise.max() < 1
        for power in range(1, 7):
            assert np.mean(noise**power) == pytest.approx((power % 2 == 0) / (power + 1), abs=0.006)
    for lag in (0, 1, 400):
        assert abs(np.corrcoef(across[lag:], down[: len(down) - lag])[0, 1]) < 0.01
        assert lag == 0 or abs(np.corrcoef(across[lag:], across[:-lag])[0, 1]) < 0.01


def wide_filter(side, sigma):
    """Write one axis of a wide field as a matrix: what each cell's noise adds to each pixel."""
    cells = -(-side // int(sigma / elastic.CELLS_A_SIGMA))
    half = elastic.wide_taps(sigma, side / cells).astype(np.float64)
    reach = len(half) - 1
    matrix = np.array(
        [np.convolve(np.pad(unit, reach, "symmetric"), [*half[:0:-1], *half], "valid") for unit in np.eye(cells)]
    ).T
    neighbours, weights = elastic.spline(side, cells)
    return (matrix[neighbours] * weights[..., np.newaxis]).sum(axis=1) / np.sqrt(side / cells)


@pytest.mark.parametrize("side", [16, 32, 224, 299, 500])
@pytest.mark.parametrize("sigma", [6, 6.4, 19.52, 28.8, 170.8, 252])
def test_a_wide_field_has_the_covariance_of_filtered_noise(side, sigma):
    exact = ndimage.gaussian_filter1d(np.eye(side), sigma, axis=0, mode="reflect", truncate=3.0)
    ours = wide_filter(side, sigma)
    covariance, expected = ours @ ours.T, exact @ exact.T
    assert np.abs(covariance - expected).max() < 0.002 * expected.max()
    # The cut at 3 sigma leaves steps from pixel to pixel that no grid has: less than a thousandth of the displacement.
    step, expected_step = (np.sqrt(np.square(np.diff(m, axis=0)).sum() / side) for m in (ours, exact))
    assert step == pytest.approx(expected_step, rel=0.002, abs=0.001 * np.sqrt(expected.max()))


@pytest.mark.parametrize(
    ("size", "alpha", "sigma"), [((48, 40), 488, 19.52), ((64, 64), 3.2, 19.2), ((32, 36), 1.6, 6.4)]
)
def test_wide_fields_have_the_moments_of_filtered_noise(size, alpha, sigma):
    fields = [
        field.astype(float)
        for key in keys(300)
        for field in elastic.draw_elastic_transform(key, *size, alpha, sigma, 0)[1:]
    ]
    noise = np.random.default_rng(0).uniform(-1, 1, (600, *size))
    expected = [alpha * filtered(one, sigma) for one in noise]
    for difference in (None, 0, 1):
        ours, theirs = (
            np.array(some) if difference is None else np.diff(some, axis=difference + 1) for some in (fields, expected)
        )
        assert np.sqrt(np.mean(ours**2)) == pytest.approx(np.sqrt(np.mean(theirs**2)), rel=0.06)
        assert abs(ours.mean()) < 0.15 * ours.std()
    ours, theirs = np.array(fields)[:, 20, 20], np.array(expected)[:, 20, 20]
    assert np.mean(ours**4) / np.mean(ours**2) ** 2 == pytest.approx(
        np.mean(theirs**4) / np.mean(theirs**2) ** 2, abs=0.6
    )
    assert abs(np.corrcoef(np.array(fields)[::2, 20, 20], np.array(fields)[1::2, 20, 20])[0, 1]) < 0.2


def test_the_affine_map_moves_three_points_by_uniform_shifts():
    shifts = []
    for key in keys(500):
        inverse = elastic.inverse_map(key, 120, 200, 20.0)
        forward = np.linalg.inv(np.vstack([inverse, [0, 0, 1]]))
        points = np.array([[60 + 40, 100 + 40, 1], [60 + 40, 100 - 40, 1], [60 - 40, 100 - 40, 1]])
        shifts.append(((forward @ points.T).T - points)[:, :2])
    shifts = np.array(shifts).reshape(500, 6)
    assert np.abs(shifts).max() < 20.001
    assert np.abs(shifts.mean(axis=0)).max() < 2
    assert np.std(shifts, axis=0) == pytest.approx(20 / np.sqrt(3), rel=0.1)
    assert np.abs(np.corrcoef(shifts.T) - np.eye(6)).max() < 0.2


@pytest.mark.parametrize("size", [(16, 16), (16, 130), (130, 17)], ids=str)
def test_displacements_far_beyond_a_small_image_are_reflected(size):
    image = textured(*size)
    rng = np.random.default_rng(0)
    across, down = rng.uniform(-900, 900, (2, *size)).astype(np.float32)
    inverse = np.array([[1.5, 40.25, -700.0], [-30.5, 2.0, 333.0]])
    moved = plain._affine_map((image / 255).astype(np.float32), inverse)
    places = (np.arange(size[0])[:, np.newaxis] + down.astype(float), np.arange(size[1]) + across.astype(float))
    expected = [ndimage.map_coordinates(moved[..., c], places, order=1, mode="reflect") for c in range(3)]
    rendered = elastic.render_elastic_transform(image, inverse, across, down)
    assert np.abs(rendered - 255.0 * np.stack(expected, axis=-1)).max() < 1.001
