"""Severities as real numbers: the constants between the published rows, and beyond them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import textured

from oodometer.corruptions import EDITIONS, METHODS, corrupt, list_corruptions, registry
from oodometer.corruptions.strength import natural_like
from oodometer.errors import ArgumentError

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
BEYOND = [name for name in list_corruptions("all") if name != "saturate"]
# The most that each constant may be, and the least; whole numbers are marked by an int.
VALID = {
    "gaussian_noise": [(0.1, 1.1)],
    "shot_noise": [(0.5, 50.0)],
    "impulse_noise": [(0.05, 1.0)],
    "defocus_blur": [(1.5, 25.0), (0.01, 1.0)],
    "glass_blur": [(0.4, 5.0), (1, 10), (1.0, 10.0)],
    "motion_blur": [(9.0, 50.0), (2.5, 35.0)],
    "zoom_blur": [(0.009, 0.031), (11, 60)],
    "snow": [(0.3, 0.6), (0.3, 0.3), (1.25, 2.5), (0.65, 0.9), (12.0, 24.0), (12.0, 42.0), (0.0, 0.8)],
    "frost": [(0.0, 0.75), (0.45, 1.0), (0.2, 1.0)],
    "fog": [(1.5, 6.0), (1.4, 1.75)],
    "brightness": [(0.3, 1.0)],
    "contrast": [(0.001, 0.15)],
    "elastic_transform": [(3.0, 140.0), (0.9, 4.0), (0.9, 8.0)],
    "pixelate": [(1 / 16, 0.65)],
    "jpeg_compression": [(1, 40)],
    "speckle_noise": [(0.2, 1.5)],
    "gaussian_blur": [(1.0, 16.5)],
    "spatter": [(0.65, 0.8), (0.1, 1.0), (0.5, 1.3), (0.6, 0.7), (0.6, 2.0), (1, 1)],
}
# Not claimed there: more blur brings displaced pixels nearer to the clean ones; a darker image leaves room for the ice.
NOT_FURTHER = {("glass_blur", "cifar32"), ("frost", "cifar32")}
FURTHER = [(name, edition) for name in BEYOND for edition in EDITIONS if (name, edition) not in NOT_FURTHER]
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


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(BEYOND), st.sampled_from(EDITIONS), st.floats(5, 10))
def test_constants_beyond_5_mean_something(name, edition, severity):
    constants = row(name, severity, edition)
    assert len(constants) == len(VALID[name])
    for constant, (least, most) in zip(constants, VALID[name], strict=True):
        assert least * (1 - 1e-12) <= constant <= most * (1 + 1e-12)
        assert isinstance(constant, int) or isinstance(least, float)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", BEYOND)
def test_beyond_5_begins_at_5(name, edition):
    at, above = (row(name, severity, edition) for severity in (5, 5 + 1e-9))
    if name == "zoom_blur":  # one more zoom, in smaller steps, up to the same largest one
        at, above = ((step * (count - 1),) for step, count in (at, above))
    assert above == pytest.approx(at, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "severity", "constants"),
    [
        ("gaussian_noise", 7, (0.62,)),
        ("shot_noise", 6, ((2 / np.sqrt(3) - 1 / np.sqrt(5)) ** -2,)),
        ("defocus_blur", 6.5, (13, 0.5)),
        ("glass_blur", 6.4, (2.06, 5, 2)),
        ("zoom_blur", 10, (0.03, 21)),
        ("snow", 9, (0.55, 0.3, 2.5, 0.85, 12, 28, 0.15)),
        ("fog", 7, (4, 1.4)),
        ("contrast", 7, (0.0125,)),
        ("elastic_transform", 6, (41.48, 2.44, 4.88)),
        ("pixelate", 6, (0.25 / 0.3 * 0.25,)),
        ("jpeg_compression", 6, (5,)),
        ("spatter", 6, (0.69, 0.5, 1, 0.65, 1.5, 1)),
    ],
)
def test_beyond_5_the_last_step_goes_on(name, severity, constants):
    assert row(name, severity) == pytest.approx(constants)


@pytest.mark.parametrize(("name", "edition"), FURTHER)
def test_what_is_stronger_is_further_from_the_clean_image(name, edition, request):
    if name == "frost":
        request.getfixturevalue("frost")
    side = {"imagenet224": 96, "inception299": 96}.get(edition, 64)
    image = natural_like(224)[1][:side, :side]
    severities = (5, 6, 7.5, 10)
    distances = [
        np.mean([distance(image, name, severity, edition=edition, seed=seed) for seed in range(3)])
        for severity in severities
    ]
    assert distances == sorted(distances)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("severity", [5.01, 6, 7.7, 10])
@pytest.mark.parametrize("size", [(16, 16), (40, 64)])
def test_every_edition_can_go_to_10(corruption, edition, method, severity, size):
    if corruption == "saturate":
        with pytest.raises(ArgumentError, match=r"saturate has no severity above 5, so not .*: at 5 most colours"):
            corrupt(textured(*size), corruption, severity, edition="cifar32", method=method)
        return
    edition = "tiny64" if edition == "imagenet224" else edition  # as strong a table on small images warns
    output = corrupt(textured(*size), corruption, severity, edition=edition, method=method)
    assert (output.dtype, output.shape) == (np.uint8, (*size, 3))
