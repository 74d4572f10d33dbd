"""``strength``: distances that can be computed by hand, and the pictures that it measures on."""

import dataclasses
import math

import numpy as np
import PIL.Image
import pytest
from pictures import textured

from oodometer.corruptions import METHODS, corrupt, strength
from oodometer.corruptions.strength import natural_like
from oodometer.errors import ArgumentError


def test_the_distance_of_brightness_on_gray_is_what_it_adds():
    gray = np.full((64, 64, 3), 100, np.uint8)
    measured = strength("brightness", (0, 1, 2.5), images=gray)
    assert [s.mean_absolute for s in measured] == [0, 25, 63]  # 25.5 and 63.75, truncated
    assert [s.root_mean_square for s in measured] == [0, 25, 63]
    assert [s.severity for s in measured] == [0, 1, 2.5]


@pytest.mark.parametrize("method", METHODS)
def test_impulses_have_the_distance_of_their_share(method):
    gray = np.full((224, 224, 3), 128, np.uint8)
    (measured,) = strength("impulse_noise", [5], images=[gray] * 4, method=method)
    assert measured.mean_absolute == pytest.approx(0.27 * 127.5, rel=0.02)
    assert measured.root_mean_square == pytest.approx(math.sqrt(0.27 * (128**2 + 127**2) / 2), rel=0.02)


def test_each_picture_counts_alike_whatever_its_size_and_kind():
    small, large = textured(64, 64), textured(128, 200, 1)
    both = strength("contrast", [2], images=[PIL.Image.fromarray(small), large / 255])[0]
    each = [strength("contrast", [2], images=image)[0] for image in (small, large)]
    assert both.images == 2
    assert both.mean_absolute == pytest.approx(np.mean([s.mean_absolute for s in each]))
    assert both.root_mean_square**2 == pytest.approx(np.mean([s.root_mean_square**2 for s in each]))
    batch = np.stack([small, small[::-1]])
    assert strength("contrast", [2], images=batch)[0].images == 2


def test_it_measures_what_corrupt_gives():
    images = [textured(64, 64, seed) for seed in range(2)]
    (measured,) = strength("fog", [3], edition="tiny64", images=images, seed=9)
    made = [corrupt(x, "fog", 3, edition="tiny64", seed=9, image_id=str(i)) for i, x in enumerate(images)]
    assert measured.mean_absolute == pytest.approx(np.mean(np.abs(np.subtract(made, images, dtype=float))))


def test_a_row_says_what_it_is():
    (row,) = strength("contrast", [3], edition="cifar32", method="reference")
    named = dataclasses.asdict(row)
    assert (named["corruption"], named["severity"], named["edition"]) == ("contrast", 3, "cifar32")
    assert (named["method"], named["images"]) == ("reference", 4)
    assert len(strength("contrast")) == 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        row.severity = 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"corruption": "fogg"}, "Did you mean 'fog'"),
        ({"corruption": "fog", "severities": [11]}, "from 0 to 10|to 10, not 11"),
        ({"corruption": "fog", "edition": "tiny"}, "Did you mean 'tiny64'"),
        ({"corruption": "fog", "images": []}, "no image to measure"),
        ({"corruption": "fog", "images": ["a.png"]}, "not str"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        strength(**arguments)


@pytest.mark.parametrize("side", [32, 64, 224])
def test_the_built_in_pictures_are_like_photographs(side):
    pictures = natural_like(side)
    assert len({picture.tobytes() for picture in pictures}) == len(pictures) == 4
    for picture in pictures:
        assert (picture.dtype, picture.shape) == (np.uint8, (side, side, 3))
        assert 90 < picture.mean() < 140
        assert 40 < picture.std() < 70
        assert np.mean((picture == 0) | (picture == 255)) < 0.1


def test_the_built_in_pictures_have_the_spectrum_of_photographs():
    """Amplitude times frequency is level within a factor of 2, as it is in photographs (Field 1987)."""
    gray = np.mean(natural_like(224), axis=-1)
    amplitude = np.mean(np.abs(np.fft.fft2(gray - gray.mean(axis=(1, 2), keepdims=True))), axis=0)
    frequency = np.hypot(np.fft.fftfreq(224), np.fft.fftfreq(224)[:, np.newaxis])
    bands = [(0.01, 0.02), (0.02, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.4)]
    level = [np.mean((amplitude * frequency)[(low <= frequency) & (frequency < high)]) for low, high in bands]
    assert max(level) < 2 * min(level)
