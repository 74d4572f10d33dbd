"""The JPEG round trip against Pillow, which writes and reads a file."""

import io

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pictures import textured

from oodometer.corruptions.fast.jpeg import jpeg_roundtrip
from oodometer.errors import ArgumentError

KINDS = ("textured", "uniform noise", "black and white noise", "one colour", "stripes")


def by_way_of_a_file(image, quality):
    file = io.BytesIO()
    PIL.Image.fromarray(image).save(file, "JPEG", quality=quality)
    return np.asarray(PIL.Image.open(file))


def picture_of(kind, height, width, seed):
    rng = np.random.default_rng(seed)
    size = (height, width, 3)
    if kind == "textured":
        return textured(height, width, seed % 2**32)
    if kind == "uniform noise":
        return rng.integers(0, 256, size, np.uint8)
    if kind == "black and white noise":
        return rng.choice(np.array([0, 255], np.uint8), size)
    colours = rng.integers(0, 256, (2, 3), np.uint8)
    period = width + 1 if kind == "one colour" else rng.integers(1, 9)
    return np.broadcast_to(colours[np.arange(width) // period % 2], size).copy()


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    height=st.integers(1, 70),
    width=st.integers(1, 70),
    quality=st.integers(1, 100),
    seed=st.integers(0, 2**32 - 1),
)
def test_equal_to_pillow_at_every_pixel(kind, height, width, quality, seed):
    image = picture_of(kind, height, width, seed)
    assert np.array_equal(jpeg_roundtrip(image, quality), by_way_of_a_file(image, quality))


@pytest.mark.parametrize("size", [(1, 1), (1, 70), (70, 1), (2, 2), (3, 4), (5, 5), (16, 17), (33, 15)], ids=str)
def test_every_quality_at_small_and_odd_sizes(size):
    image = picture_of("uniform noise", *size, seed=0)
    for quality in range(1, 101):
        assert np.array_equal(jpeg_roundtrip(image, quality), by_way_of_a_file(image, quality))


@pytest.mark.parametrize("size", [(224, 224), (375, 500), (1080, 1920)], ids=str)
@pytest.mark.parametrize("quality", [7, 85])
def test_photograph_sizes(size, quality):
    image = textured(*size)
    assert np.array_equal(jpeg_roundtrip(image, quality), by_way_of_a_file(image, quality))


def test_the_default_quality_is_that_of_the_release():
    image = textured(40, 60)
    assert np.array_equal(jpeg_roundtrip(image), by_way_of_a_file(image, 85))


def test_the_input_may_have_any_strides_and_is_not_changed():
    image = textured(40, 60)
    image.setflags(write=False)
    expected = jpeg_roundtrip(image.copy(), 50)
    assert np.array_equal(jpeg_roundtrip(image, 50), expected)
    assert np.array_equal(jpeg_roundtrip(image[::-1, ::-1], 50), by_way_of_a_file(image[::-1, ::-1].copy(), 50))
    assert np.array_equal(image, textured(40, 60))
    assert expected.flags.writeable


@pytest.mark.parametrize("quality", [0, 101, -1, 85.0, "85", None, True])
def test_a_quality_that_is_none_is_refused(quality):
    with pytest.raises(ArgumentError, match="from 1 to 100"):
        jpeg_roundtrip(textured(16, 16), quality)


@pytest.mark.parametrize(
    "image",
    [None, [[0]], np.zeros((8, 8), np.uint8), np.zeros((8, 8, 4), np.uint8), np.zeros((8, 8, 3)), np.zeros((0, 8, 3))],
    ids=lambda image: str(getattr(image, "shape", image)),
)
def test_what_is_no_image_is_refused(image):
    with pytest.raises(ArgumentError, match="height x width x 3"):
        jpeg_roundtrip(image)


def test_an_image_without_pixels_is_refused():
    with pytest.raises(ArgumentError, match="no pixels"):
        jpeg_roundtrip(np.zeros((0, 8, 3), np.uint8))
