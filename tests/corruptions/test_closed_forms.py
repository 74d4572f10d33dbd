"""What can be said about a result without computing it the same way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pictures import textured

from oodometer.corruptions import corrupt, list_corruptions, registry, weather

images = hnp.arrays(np.uint8, st.tuples(st.integers(16, 40), st.integers(16, 40), st.just(3)))
levels = st.integers(0, 255)
strengths = st.floats(0, 5)


def constant(level, size=64):
    return np.full((size, size, 3), level, np.uint8)


@settings(max_examples=40, deadline=None)
@given(images, st.sampled_from([name for name in list_corruptions("all") if name != "frost"]), strengths)
def test_any_image_at_any_strength_gives_an_image_of_its_size(image, name, severity):
    before = image.copy()
    output = corrupt(image, name, severity, edition="cifar32")
    assert (output.dtype, output.shape) == (np.uint8, image.shape)
    assert np.array_equal(image, before)
    if severity == 0:
        assert np.array_equal(output, image)


@settings(max_examples=40, deadline=None)
@given(levels, strengths)
def test_contrast_leaves_one_level_alone(level, severity):
    assert np.max(np.abs(corrupt(constant(level), "contrast", severity).astype(int) - level)) <= 1


@settings(max_examples=40, deadline=None)
@given(levels, strengths)
def test_brightness_adds_to_gray(level, severity):
    added = np.interp(severity, range(6), (0, 0.1, 0.2, 0.3, 0.4, 0.5)) * 255
    assert np.max(np.abs(corrupt(constant(level), "brightness", severity) - min(level + added, 255.0))) <= 1


@settings(max_examples=25, deadline=None)
@given(levels, strengths)
def test_pixels_leave_one_level_alone(level, severity):
    assert np.all(corrupt(constant(level), "pixelate", severity) == level)


@settings(max_examples=25, deadline=None)
@given(levels, strengths)
def test_jpeg_moves_one_level_by_half_a_step_of_its_quantiser_at_most(level, severity):
    output = corrupt(constant(level), "jpeg_compression", severity)
    assert np.all(output == output[0, 0])
    assert abs(int(output[0, 0, 0]) - level) <= 8  # quality 7: steps of 114 / 8 levels


@pytest.mark.parametrize("name", ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "gaussian_blur"])
def test_blurs_leave_one_level_alone(name):
    for seed in range(50):
        output = corrupt(constant(128), name, 1 + seed % 5, seed=seed)
        # The published disk sums to 1.013 at severities 4 and 5: an inherited brightening.
        allowed = 2 if name == "defocus_blur" and seed % 5 >= 3 else 1
        assert np.max(np.abs(output.astype(int) - 128)) <= allowed


@pytest.mark.parametrize(("severity", "deviation"), [(1, 0.08), (2, 0.12), (3, 0.18)])
def test_gaussian_noise_has_its_mean_and_deviation(severity, deviation):
    noise = corrupt(constant(128, 224), "gaussian_noise", severity) - 128.0
    assert noise.mean() == pytest.approx(-0.5, abs=0.4)  # the truncation costs half a level
    assert noise.std() == pytest.approx(255 * deviation, rel=0.02)


def test_shot_noise_has_the_deviation_of_its_photons():
    noise = corrupt(constant(51, 224), "shot_noise", 1) - 51.0
    assert noise.std() == pytest.approx(255 * np.sqrt(0.2 / 60), rel=0.02)


def test_speckle_leaves_black_alone():
    assert not corrupt(constant(0), "speckle_noise", 5).any()


@pytest.mark.parametrize(("severity", "share"), [(1, 0.03), (5, 0.27)])
def test_impulses_replace_their_share_by_black_and_white_alike(severity, share):
    output = corrupt(constant(100, 224), "impulse_noise", severity)
    assert set(np.unique(output)) == {0, 100, 255}
    assert np.mean(output == 0) == pytest.approx(share / 2, rel=0.06)
    assert np.mean(output == 255) == pytest.approx(share / 2, rel=0.06)


def test_white_does_not_wrap_round():
    white = constant(255)
    assert corrupt(white, "gaussian_noise", 1).min() >= 132
    for severity in range(1, 6):
        assert np.all(corrupt(white, "brightness", severity) == 255)


def test_noise_of_different_images_corruptions_and_severities_is_unrelated():
    gray = constant(128, 128)
    fields = [corrupt(gray, "gaussian_noise", 3, image_id=f"{i}.png") for i in range(8)]
    fields += [
        corrupt(gray, "gaussian_noise", 4, image_id="0.png"),
        corrupt(gray, "speckle_noise", 3, image_id="0.png"),
    ]
    fields += [corrupt(gray, "gaussian_noise", 3, image_id="0.png", seed=1)]
    correlation = np.corrcoef([field.ravel() for field in fields])
    assert np.max(np.abs(correlation - np.eye(len(fields)))) < 0.05


@settings(max_examples=30, deadline=None)
@given(st.sampled_from([16, 32, 128]), st.floats(1.3, 3), st.integers(0, 99))
def test_plasma_fills_0_to_1(side, decay, seed):
    plasma = weather._plasma(np.random.RandomState(seed), side, decay)
    assert plasma.shape == (side, side)
    assert (plasma.min(), plasma.max()) == (0, 1)


def test_fog_keeps_the_brightest_value_in_range():
    image = textured(64, 64)
    assert corrupt(image, "fog", 5).max() <= image.max()


def test_distance_is_the_shortest_path_to_an_edge_up_to_20():
    edges = np.zeros((40, 60), bool)
    edges[3, 4] = True
    distance = weather._capped_distance(edges)
    assert distance[3, 4] == 0
    assert distance[3, 9] == 5
    assert distance[5, 6] == pytest.approx(2 * 1.4, abs=1e-3)
    assert distance[4, 6] == pytest.approx(2.1969, abs=1e-3)
    assert np.all(distance[30:] == 20)
    assert np.all(weather._capped_distance(np.zeros((16, 16), bool)) == 20)


def test_spatter_without_any_drop_changes_nothing():
    image = textured(64, 64)
    kernel = registry.find("spatter").reference
    assert np.array_equal(kernel(image, np.random.RandomState(0), 0, 0.1, 1, 0.9, 0.6, 0), image)


def test_snow_without_flakes_and_whitening_changes_nothing():
    image = textured(64, 64)
    kernel = registry.find("snow").reference
    assert np.array_equal(kernel(image, np.random.RandomState(0), -9, 0.3, 2, 0.5, 10, 4, 1), image)


@pytest.mark.parametrize("zoom", [1, 1.01, 1.5, 3, 4.5])
def test_central_zoom_keeps_a_slope_straight_and_centered(zoom):
    slope = np.linspace(0, 1, 101)[:, np.newaxis].repeat(64, axis=1)
    zoomed = weather.central_zoom(slope, zoom)
    assert zoomed.shape == slope.shape
    assert np.allclose(np.diff(zoomed[:, 0]), np.diff(zoomed[:2, 0]), rtol=1e-9)
    assert zoomed[50, 0] == pytest.approx(0.5, abs=0.01)
    assert zoomed[-1, 0] - zoomed[0, 0] == pytest.approx(1 / zoom, abs=0.04)


@pytest.mark.parametrize(("name", "size"), [("frost", (400, 300)), ("frost", (32, 700))])
def test_a_texture_smaller_than_the_image_is_enlarged(name, size, frost):
    image = np.zeros((*size, 3), np.uint8)
    for seed in range(10):
        output = corrupt(image, name, 5, seed=seed, edition="inception299")
        assert output.shape == image.shape
        assert output.std() > 1
