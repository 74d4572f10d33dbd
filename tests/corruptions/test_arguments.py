"""What ``corrupt`` accepts besides images, and what it says to the rest."""

import math

import numpy as np
import pytest
from pictures import textured

from oodometer import seeding
from oodometer.corruptions import corrupt, registry
from oodometer.errors import ArgumentError

GRAY = np.full((64, 64, 3), 128, np.uint8)


@pytest.mark.parametrize("severity", [-1, -0.01, 10.01, 11, math.nan, math.inf, "3", None, True, np.True_, 1j, [3]])
def test_a_severity_outside_0_to_10_is_one_clear_error(severity):
    with pytest.raises(ArgumentError, match=r"severity must be a number from 0 .* to 10, not"):
        corrupt(GRAY, "contrast", severity)


@pytest.mark.parametrize("kind", [int, float, np.int8, np.uint64, np.float32, np.float64])
def test_any_kind_of_number_is_the_same_severity(kind):
    image = textured(64, 64)
    assert np.array_equal(corrupt(image, "gaussian_noise", kind(3)), corrupt(image, "gaussian_noise", 3))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"corruption": "gausian_noise"}, "Unknown corruption 'gausian_noise'. Did you mean 'gaussian_noise'"),
        ({"corruption": "fog", "method": "quick"}, "Unknown method 'quick'.* Known: fast, reference"),
        ({"corruption": "fog", "edition": "tiny"}, "Unknown edition 'tiny'. Did you mean 'tiny64'"),
        ({"corruption": "fog", "seed": 1.5}, "seed must be a whole number.*, not 1.5"),
        ({"corruption": "fog", "seed": -1, "method": "reference"}, "from 0 to 2\\*\\*32 - 1, not -1"),
    ],
)
def test_other_wrong_arguments_say_what_is_known(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        corrupt(GRAY, severity=1, **arguments)


@pytest.mark.parametrize("shape", [(15, 64), (64, 15), (1, 1), (0, 64)])
def test_under_16_pixels_is_an_error(shape):
    with pytest.raises(ArgumentError, match=f"at least 16 pixels; this one is {shape[0]} x {shape[1]}"):
        corrupt(np.zeros((*shape, 3), np.uint8), "fog", edition="cifar32")


def test_the_strengths_for_224_pixels_on_a_small_image_warn_once():
    with pytest.warns(UserWarning, match="'tiny64' and 'cifar32'") as caught:
        corrupt(np.zeros((63, 300, 3), np.uint8), "contrast")
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize("edition", ["tiny64", "cifar32", "inception299"])
def test_the_other_editions_do_not_warn(edition):
    corrupt(np.zeros((32, 32, 3), np.uint8), "contrast", edition=edition)


def test_the_reference_without_an_image_id_draws_the_published_stream():
    image = textured(64, 64)
    expected = registry.find("fog").reference(image, np.random.RandomState(7), 2, 2)
    assert np.array_equal(corrupt(image, "fog", 2, seed=7, method="reference"), expected)


@pytest.mark.parametrize(
    ("options", "image_id"),
    [({"image_id": "a/b.png"}, "a/b.png"), ({}, "")],
)
def test_a_fast_kernel_draws_the_stream_of_its_image(options, image_id):
    image = textured(64, 64)
    key = seeding.stream_key(-7, image_id, "fog", 2)
    assert np.array_equal(
        corrupt(image, "fog", 2, seed=-7, **options), registry.find("fog").fast_kernel()(image, key, 2, 2)
    )


def test_the_reference_with_an_image_id_draws_the_stream_of_its_image():
    image = textured(64, 64)
    rng = seeding.stream(-7, "a/b.png", "fog", 2)
    assert np.array_equal(
        corrupt(image, "fog", 2, seed=-7, method="reference", image_id="a/b.png"),
        registry.find("fog").reference(image, rng, 2, 2),
    )
