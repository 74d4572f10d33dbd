"""Severities as real numbers: the constants between the published rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import textured

from oodometer.corruptions import EDITIONS, corrupt, registry

# Where the published strength itself grows in mean squared difference on a textured mid-tone image.
GROWING = [
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "speckle_noise",
    "defocus_blur",
    "gaussian_blur",
    "zoom_blur",
    "contrast",
    "pixelate",
    "jpeg_compression",
]
SMOOTH = ["gaussian_noise", "shot_noise", "impulse_noise", "speckle_noise", "gaussian_blur", "motion_blur", "contrast"]


def row(corruption, severity, edition="imagenet224"):
    return registry.find(corruption).table.row(edition, severity)


def distance(image, corruption, severity, **options):
    output = corrupt(image, corruption, severity, method="reference", **options)
    return np.mean((output.astype(float) - image) ** 2)


@pytest.mark.parametrize("name", GROWING)
def test_the_published_severities_grow(name, picture):
    distances = [distance(picture, name, severity) for severity in range(6)]
    assert distances == sorted(distances)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_strength_grows_in_between(name, edition):
    image = textured(96, 96)
    severities = np.arange(0, 5.01, 0.25)
    distances = [distance(image, name, severity, edition=edition, seed=1) for severity in severities]
    assert np.all(np.diff(distances) > -1e-3 * np.max(distances))
    assert distances[-1] > distances[0]


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(registry.REGISTRY)), st.sampled_from(EDITIONS), st.floats(0, 5, exclude_min=True))
def test_constants_stay_between_those_of_the_neighbours(name, edition, severity):
    table = registry.find(name).table
    constants = table.row(edition, severity)
    above = table.row(edition, np.ceil(severity))
    below = table.row(edition, np.floor(severity)) if severity >= 1 else None
    for i, (constant, high) in enumerate(zip(constants, above, strict=True)):
        clean = high if table.clean[i] is None else table.clean[i]
        low = below[i] if below else clean
        assert (
            min(low, high) * (1 - 1e-9) - 1e-9 <= constant <= max(low, high) * (1 + 1e-9) + 1e-9 or name == "zoom_blur"
        )


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["gaussian_noise", "speckle_noise", "impulse_noise", "contrast", "brightness"]), st.integers(1, 4)
)
def test_the_middle_is_the_mean_of_its_neighbours(name, below):
    assert row(name, below + 0.5)[0] == pytest.approx((row(name, below)[0] + row(name, below + 1)[0]) / 2)


def test_the_noise_of_photons_grows_linearly():
    deviations = [row("shot_noise", severity)[0] ** -0.5 for severity in (0.5, 1, 1.5, 2)]
    assert deviations[0] == pytest.approx(deviations[1] / 2)
    assert deviations[2] == pytest.approx((deviations[1] + deviations[3]) / 2)


def test_saturation_turns_without_passing_the_identity():
    between = [row("saturate", severity) for severity in np.linspace(2, 3, 21)]
    assert set(between) == {(0.1, 0), (2, 0)}
    assert row("saturate", 2.49) == (0.1, 0)
    assert row("saturate", 2.5) == (2, 0)


def test_spatter_is_water_or_mud():
    assert row("spatter", 3.49) == row("spatter", 3)
    assert row("spatter", 3.5) == row("spatter", 4)
    assert {row("spatter", severity)[-1] for severity in np.linspace(0.1, 5, 50)} == {0, 1}


def test_jpeg_quality_and_displacements_are_whole():
    for severity in np.linspace(0.05, 5, 100):
        assert isinstance(row("jpeg_compression", severity)[0], int)
        assert isinstance(row("glass_blur", severity)[1], int)
        assert isinstance(row("zoom_blur", severity)[1], int)


def test_a_share_of_a_pass_moves_a_share_of_the_pixels():
    image = textured(96, 96)
    glass = registry.find("glass_blur").reference
    moved = [np.mean(glass(image, np.random.RandomState(0), 0, 2, passes) != image) for passes in (0, 0.25, 0.5, 1)]
    assert moved[0] == 0
    assert moved[1] == pytest.approx(moved[3] / 4, rel=0.1)
    assert moved[2] == pytest.approx(moved[3] / 2, rel=0.1)


def test_the_largest_zoom_is_mixed():
    step, count = row("zoom_blur", 2.5)
    assert step * (count - 1) == pytest.approx((0.15 + 0.20) / 2)


def test_elastic_displacements_stay_between_their_neighbours():
    def displacement(severity):
        alpha, sigma, _ = row("elastic_transform", severity)
        return alpha / sigma

    displacements = [displacement(severity) for severity in np.linspace(2, 3, 11)]
    assert displacements == sorted(displacements, reverse=True)
    assert row("elastic_transform", 1.5, "tiny64") == (1.6, 19.2, pytest.approx(4.48))
