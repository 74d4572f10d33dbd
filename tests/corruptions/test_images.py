"""Every kind of image that ``corrupt`` takes gives what its plain uint8 form gives, in the form that came in."""

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pictures import textured

from oodometer.corruptions import METHODS, corrupt
from oodometer.errors import ArgumentError

COLOR = textured(64, 80)
GRAY = COLOR[:, :, 0]
FLOATS = [np.float16, np.float32, np.float64]


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


@pytest.mark.parametrize("shape", [(64, 80), (64, 80, 1)])
@pytest.mark.parametrize("severity", [0, 1, 3, 5])
def test_gray_is_repeated_and_not_restored(corruption, method, shape, severity):
    """Case B3."""
    gray = GRAY.reshape(shape)
    output = corrupt(gray, corruption, severity, method=method, seed=3)
    expected = corrupt(np.dstack([GRAY] * 3), corruption, severity, method=method, seed=3)
    assert output.shape == (64, 80, 3)
    assert np.array_equal(output, expected)


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_give_the_result_of_their_levels_divided_by_255(corruption, method, dtype):
    """Case D2."""
    floats = (COLOR / 255).astype(dtype)
    output = corrupt(floats, corruption, 3, method=method)
    assert output.dtype == dtype
    assert np.array_equal(output, (corrupt(COLOR, corruption, 3, method=method) / 255).astype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_level_survives_the_way_through_floats(dtype):
    levels = np.resize(np.arange(256, dtype=np.uint8), (16, 16, 3))
    output = corrupt((levels / 255).astype(dtype), "brightness", 2, edition="cifar32")
    assert np.array_equal(np.rint(output.astype(float) * 255), corrupt(levels, "brightness", 2, edition="cifar32"))


@settings(max_examples=50, deadline=None)
@given(
    hnp.arrays(st.sampled_from(FLOATS), (16, 16), elements={"min_value": 0, "max_value": 1, "allow_subnormal": False})
)
def test_floats_are_rounded_to_the_nearest_level(image):
    # Box averages over one pixel and JPEG aside, the smallest severity of noise is the image itself.
    output = corrupt(image, "impulse_noise", 1e-9, edition="cifar32")
    assert np.abs(output[:, :, 0].astype(float) - image.astype(float)).max() <= 0.5 / 255 + 1e-3


@pytest.mark.parametrize("dtype", [*FLOATS, np.uint8])
@pytest.mark.parametrize("shape", [(20, 24), (20, 24, 1), (20, 24, 3), (2, 20, 24, 1), (2, 20, 24, 3)])
def test_severity_0_gives_a_copy_to_the_last_bit(dtype, shape):
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, shape).astype(np.uint8) if dtype == np.uint8 else rng.random(shape).astype(dtype)
    output = corrupt(image, "fog", 0, edition="cifar32")
    channels = image if image.shape[-1] in (1, 3) else image[..., np.newaxis]
    assert output.dtype == dtype
    assert output.shape == (*channels.shape[:-1], 3)
    assert np.array_equal(output, np.broadcast_to(channels, output.shape))
    assert not np.shares_memory(output, image)
    assert output.flags.writeable


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_batch_is_its_images_one_by_one(corruption, method, dtype, channels):
    batch = np.stack([textured(32, 40, seed)[:, :, :channels] for seed in range(3)])
    batch = batch if dtype == np.uint8 else (batch / 255).astype(dtype)
    options = {"edition": "cifar32", "method": method, "seed": 5}
    for names in (["a/0.png", "a/1.png", "b.png"], None, np.array(["x", "y", "z"])):
        output = corrupt(batch, corruption, 2, image_id=names, **options)
        assert (output.dtype, output.shape) == (dtype, (3, 32, 40, 3))
        for place, image in enumerate(batch):
            name = str(place) if names is None else names[place]
            assert np.array_equal(output[place], corrupt(image, corruption, 2, image_id=name, **options))


def test_a_batch_of_one_and_of_none():
    one = corrupt(COLOR[np.newaxis], "fog", 2)
    assert one.shape == (1, *COLOR.shape)
    assert np.array_equal(one[0], corrupt(COLOR, "fog", 2, image_id="0"))
    none = corrupt(COLOR[np.newaxis][:0], "fog", 2)
    assert (none.dtype, none.shape) == (np.uint8, (0, *COLOR.shape))
    assert corrupt(np.zeros((0, 64, 80, 1), np.float32), "fog", 2).dtype == np.float32


@pytest.mark.parametrize(
    ("image", "names", "message"),
    [
        (np.stack([COLOR] * 2), "a.png", "image_id of a batch must be a sequence of strings, not 'a.png'"),
        (np.stack([COLOR] * 2), ["a.png"], "The batch has 2 images, and image_id has 1 names"),
        (np.stack([COLOR] * 2), [1, 2], "sequence of strings"),
        (np.stack([COLOR] * 2), 7, "sequence of strings, not 7"),
        (COLOR, ["a.png"], "image_id of one image must be a string"),
        (PIL.Image.fromarray(COLOR), 3, "image_id of one image must be a string, not 3"),
    ],
)
def test_names_that_do_not_fit_are_an_error(image, names, message):
    with pytest.raises(ArgumentError, match=message):
        corrupt(image, "fog", 1, image_id=names)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "YCbCr", "HSV", "LAB", "I", "F", "I;16"])
def test_a_pil_image_of_any_mode_is_taken_as_rgb(mode, method):
    gray = PIL.Image.new("L", (70, 64), 100)
    image = PIL.Image.merge(mode, [gray] * 3) if mode == "LAB" else gray.convert(mode)
    output = corrupt(image, "contrast", 1, method=method)
    assert (output.mode, output.size) == ("RGB", (70, 64))
    assert np.array_equal(np.asarray(output), corrupt(np.asarray(image.convert("RGB")), "contrast", 1, method=method))


def test_a_mode_that_pillow_cannot_convert_is_an_error():
    with pytest.raises(ArgumentError, match=r"The PIL image of mode 'La' does not give RGB pixels: conversion .*"):
        corrupt(PIL.Image.new("La", (64, 64)), "fog")


def test_a_palette_with_transparency_drops_it():
    image = PIL.Image.fromarray(textured(64, 64)).quantize(8)
    expected = corrupt(image, "contrast", 1)
    image.info["transparency"] = bytes(8)
    assert corrupt(image, "contrast", 1) == expected


def test_severity_0_gives_another_pil_image():
    image = PIL.Image.fromarray(COLOR)
    output = corrupt(image, "fog", 0)
    assert output == image
    output.putpixel((0, 0), (1, 2, 3))
    assert image.getpixel((0, 0)) == tuple(COLOR[0, 0])


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x[::-1, ::-1],
        lambda x: x[..., ::-1],
        lambda x: x.swapaxes(-2, -3),
        lambda x: x[..., ::2, 1::2, :],
        np.asfortranarray,
        lambda x: np.lib.stride_tricks.as_strided(x, writeable=False),
    ],
)
@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, ">f8"])
def test_views_of_any_strides_give_what_their_copies_give(view, batch, dtype, method):
    image = np.stack([textured(64, 64, seed) for seed in range(2)]) if batch else textured(64, 64)
    image = view(image if dtype == np.uint8 else (image / 255).astype(dtype))
    before = image.copy()
    output = corrupt(image, "gaussian_noise", 3, method=method, edition="tiny64")
    assert output.dtype == np.dtype(dtype)
    assert np.array_equal(
        output, corrupt(np.array(image, order="C"), "gaussian_noise", 3, method=method, edition="tiny64")
    )
    assert np.array_equal(image, before)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros((64, 64, 3), np.uint16), r'not uint16 of shape 64 x 64 x 3\. .* x\.astype\("uint8"\)'),
        (np.zeros((64, 64, 3), bool), r"not bool .* x \* np\.uint8\(255\)"),
        (np.zeros((64, 64, 3), complex), "not complex128"),
        (np.zeros((64, 64, 3), np.longdouble), "not .*float.* of shape"),
        (np.zeros((64, 64, 4), np.uint8), r"of shape 64 x 64 x 4\. Drop the alpha channel with x\[:, :, :3\]"),
        (np.zeros((3, 64, 64), np.uint8), r"of shape 3 x 64 x 64\. Channels come last: use np\.moveaxis\(x, -3, -1\)"),
        (np.zeros((8, 3, 64, 64), np.float32), r"of shape 8 x 3 x 64 x 64\. Channels come last"),
        (np.zeros((8, 64, 64), np.uint8), "of shape 8 x 64 x 64"),
        (np.zeros((64, 64, 2), np.uint8), "of shape 64 x 64 x 2"),
        (np.zeros((2, 2, 64, 64, 3), np.uint8), "of shape 2 x 2 x 64 x 64 x 3"),
        (np.zeros(64, np.uint8), "of shape 64"),
        (np.uint8(3), "not uint8"),
        ([[0, 0, 0]], "not list"),
        ("cat.png", "not str"),
    ],
)
def test_an_image_of_another_kind_says_what_was_expected_and_found(image, message):
    with pytest.raises(ArgumentError, match=f"(?s)uint8 .*height x width x 3.*N x height x width x 3.*{message}"):
        corrupt(image, "fog")


def test_the_advice_works():
    channels_first = np.moveaxis(np.ascontiguousarray(COLOR), -1, 0)
    assert np.array_equal(corrupt(np.moveaxis(channels_first, -3, -1), "fog"), corrupt(COLOR, "fog"))
    assert corrupt((GRAY > 99) * np.uint8(255), "fog").shape == COLOR.shape
    assert np.array_equal(corrupt(COLOR.astype(np.int64).astype("uint8"), "fog"), corrupt(COLOR, "fog"))


@pytest.mark.parametrize(
    ("floats", "message"),
    [
        (COLOR.astype(np.float32), r"from 0 to 1; this one has .* On the scale 0\.\.255, divide by 255 first"),
        (COLOR / 127.5 - 1, r"from 0 to 1; this one has -\S+ to \S+\.$"),
        (COLOR * 9.0, r"this one has \S+ to \S+\.$"),
        (np.where(COLOR > 99, np.nan, 0.5), "this one has NaN"),
        (np.where(COLOR > 99, np.inf, 0.5), "this one has 0.5 to inf"),
        (np.full((64, 64), 1 + 1e-6), "from 0 to 1"),
    ],
)
def test_floats_outside_0_to_1_are_an_error(floats, message):
    with pytest.raises(ArgumentError, match=message):
        corrupt(floats, "contrast")
