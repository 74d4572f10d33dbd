"""The interface of the package imagecorruptions, from its documentation (1.1.2 and 1.1.5); none of its code is used."""

import inspect

import numpy as np
import pytest

import oodometer
from oodometer.compat.imagecorruptions import corrupt, get_corruption_names

COMMON = [
    "gaussian_noise",
    "shot_noise",
    "impulse_noise",
    "defocus_blur",
    "glass_blur",
    "motion_blur",
    "zoom_blur",
    "snow",
    "frost",
    "fog",
    "brightness",
    "contrast",
    "elastic_transform",
    "pixelate",
    "jpeg_compression",
]
VALIDATION = ["speckle_noise", "gaussian_blur", "spatter", "saturate"]
GRAY = np.linspace(0, 255, 40 * 48).reshape(40, 48).astype(np.uint8)
COLOR = np.stack([GRAY, GRAY[::-1], GRAY[:, ::-1]], axis=2)

# The images here are small for ImageNet's constants, which the package says.
pytestmark = pytest.mark.filterwarnings("ignore:The edition 'imagenet224' is meant for larger images")


def test_the_signatures_are_that_packages():
    corrupts = inspect.signature(corrupt).parameters
    assert [(p.name, p.default) for p in corrupts.values()] == [
        ("image", inspect.Parameter.empty),
        ("severity", 1),
        ("corruption_name", None),
        ("corruption_number", -1),
    ]
    names = inspect.signature(get_corruption_names).parameters
    assert [(p.name, p.default) for p in names.values()] == [("subset", "common")]


def test_the_subsets_have_that_packages_names_and_order():
    assert get_corruption_names() == COMMON
    assert get_corruption_names("validation") == VALIDATION
    assert get_corruption_names("all") == COMMON + VALIDATION
    assert get_corruption_names("noise") == COMMON[:3]
    assert get_corruption_names("blur") == COMMON[3:7]
    assert get_corruption_names("weather") == COMMON[7:11]
    assert get_corruption_names("digital") == COMMON[11:]
    with pytest.raises(ValueError, match="subset"):
        get_corruption_names("extra")


def test_a_caller_may_change_the_list_of_names():
    get_corruption_names().clear()
    assert get_corruption_names() == COMMON


@pytest.mark.parametrize("number", range(19))
def test_a_number_is_a_position_in_the_list(number, request):
    name = get_corruption_names("all")[number]
    if name == "frost":
        request.getfixturevalue("frost")
    np.random.seed(1)
    by_number = corrupt(COLOR, severity=2, corruption_number=number)
    np.random.seed(1)
    by_name = corrupt(COLOR, severity=2, corruption_name=name)
    np.testing.assert_array_equal(by_number, by_name)
    assert by_name.dtype == np.uint8
    assert by_name.shape == COLOR.shape


@pytest.mark.parametrize("name", ["gaussian_noise", "glass_blur", "elastic_transform"])
def test_numpys_seed_repeats_a_sequence_of_calls_in_which_no_two_are_alike(name):
    def sequence():
        np.random.seed(7)
        return [corrupt(COLOR, 3, name).tobytes() for _ in range(3)]

    first = sequence()
    assert first == sequence()
    assert len(set(first)) == 3


def test_without_chance_it_is_the_corruption_of_this_package():
    np.testing.assert_array_equal(corrupt(COLOR, 4, "contrast"), oodometer.corrupt(COLOR, "contrast", 4))
    np.testing.assert_array_equal(
        corrupt(COLOR, corruption_name="pixelate", corruption_number=2), oodometer.corrupt(COLOR, "pixelate", 1)
    )


def test_gray_images_come_back_with_three_channels():
    np.random.seed(0)
    flat = corrupt(GRAY, 1, "shot_noise")
    np.random.seed(0)
    thin = corrupt(GRAY[:, :, np.newaxis], 1, "shot_noise")
    assert flat.shape == (40, 48, 3)
    np.testing.assert_array_equal(flat, thin)


@pytest.mark.parametrize("severity", [0, 6, -1, 2.5, "3", None, np.nan])
def test_only_the_five_severities_are_taken(severity):
    with pytest.raises(ValueError, match="severity"):
        corrupt(COLOR, severity, "fog")


def test_wrong_arguments_are_refused():
    with pytest.raises(ValueError, match="corruption_name or a corruption_number"):
        corrupt(COLOR)
    for number in (-2, 19):
        with pytest.raises(ValueError, match="0 to 18"):
            corrupt(COLOR, corruption_number=number)
    with pytest.raises(ValueError, match="fog"):
        corrupt(COLOR, corruption_name="fogg")
    for image in (COLOR.astype(float), COLOR.tolist(), np.zeros((40, 48, 4), np.uint8)):
        with pytest.raises(ValueError, match="uint8"):
            corrupt(image, 1, "fog")
