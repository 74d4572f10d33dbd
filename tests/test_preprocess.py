"""The resize and crop of the published ImageNet-C, against a plain twin."""

import msgspec
import numpy as np
import PIL.Image
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oodometer.errors import ArgumentError, ImageError
from oodometer.preprocess import PREPROCESS, apply
from oodometer.types import Preprocess

IMAGENET224 = PREPROCESS["imagenet224"]


def picture(width, height, seed=0):
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return PIL.Image.fromarray(pixels)


def plain_resize(pixels, width, height):
    """Pillow's bilinear filter, written out: a tent as wide as the reduction, one rounding for each axis."""

    def weights(length, wanted):
        scale = length / wanted
        support = max(scale, 1.0)
        matrix = np.zeros((wanted, length))
        for o in range(wanted):
            centre = (o + 0.5) * scale
            low, high = max(int(centre - support + 0.5), 0), min(int(centre + support + 0.5), length)
            taps = np.arange(low, high)
            matrix[o, taps] = np.clip(1 - np.abs((taps + 0.5 - centre) / support), 0, None)
        return matrix / matrix.sum(axis=1, keepdims=True)

    across = np.floor(np.einsum("oc,rck->rok", weights(pixels.shape[1], width), pixels) + 0.5)
    return np.floor(np.einsum("or,rck->ock", weights(pixels.shape[0], height), across) + 0.5)


def plain(image, short=256, side=224):
    width, height = image.size
    long = int(short * max(width, height) / min(width, height))
    new = (short, long) if width <= height else (long, short)
    resized = plain_resize(np.asarray(image, dtype=float), *new)
    left, top = (int(np.rint((length - side) / 2)) for length in new)
    return resized[top : top + side, left : left + side]


@pytest.mark.parametrize(
    "size",
    [
        (500, 375),
        (375, 500),
        (300, 224),
        (256, 256),
        (224, 224),
        (257, 300),
        (1, 1),
        (3, 2),
        (2, 5),
        (40, 41),
        (900, 610),
    ],
)
def test_equals_the_plain_twin_within_a_rounding(size):
    image = picture(*size)
    result = apply(image, IMAGENET224)
    expected = plain(image)
    assert result.shape == (224, 224, 3)
    assert result.dtype == np.uint8
    assert np.abs(result - expected).max() <= 1
    assert (result != expected).mean() < 0.01


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 300), st.integers(1, 300))
def test_offset_of_the_crop(width, height):
    assume(max(width, height) <= 12 * min(width, height))
    # A ramp of two bytes along each axis tells where the crop was taken.
    columns, rows = (256, int(256 * height / width)) if width <= height else (int(256 * width / height), 256)
    y, x = np.mgrid[:rows, :columns]
    ramp = np.stack([x % 256, y % 256, x // 256 + 16 * (y // 256)], axis=-1).astype(np.uint8)
    result = apply(PIL.Image.fromarray(ramp), Preprocess("crop", "crop", None, 224)).astype(int)
    left, top = int(np.rint((columns - 224) / 2)), int(np.rint((rows - 224) / 2))
    assert result[0, 0, 0] + 256 * (result[0, 0, 2] % 16) == left
    assert result[0, 0, 1] + 256 * (result[0, 0, 2] // 16) == top
    assert apply(picture(width, height), IMAGENET224).shape == (224, 224, 3)


def test_half_offsets_go_to_the_even_side():
    # int(256 * 387 / 256) = 387: 81.5 gives 82, and 385: 80.5 gives 80.
    for width, offset in ((387, 82), (385, 80)):
        image = picture(width, 256)
        assert np.array_equal(apply(image, IMAGENET224), np.asarray(image)[16:240, offset : offset + 224])


def test_g1_a_bar_keeps_its_width():
    pixels = np.zeros((256, 512, 3), dtype=np.uint8)
    pixels[:, 240:272] = 255
    result = apply(PIL.Image.fromarray(pixels), IMAGENET224)
    assert ((result > 127).sum(axis=1) == 32).all()


@pytest.mark.parametrize("size", [(224, 224), (1, 1), (3, 700), (512, 256)])
def test_g1_none_resamples_nothing(size):
    image = picture(*size)
    assert np.array_equal(apply(image, PREPROCESS["none"]), np.asarray(image))


def test_the_array_is_new_and_writable():
    image = picture(8, 8)
    before = np.array(image)
    apply(image, PREPROCESS["none"])[:] = 0
    assert np.array_equal(np.asarray(image), before)


@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "CMYK", "I;16"])
def test_other_modes_are_refused(mode):
    with pytest.raises(ArgumentError, match="RGB"):
        apply(PIL.Image.new(mode, (8, 8)), IMAGENET224)


def test_a_crop_larger_than_the_picture_is_refused():
    with pytest.raises(ArgumentError, match="223x300"):
        apply(picture(223, 300), Preprocess("crop", "crop", None, 224))


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 600), st.integers(2, 600))
def test_inception299_is_that_of_the_published_script(width, height):
    # Written with Pillow's calls: 0.875 of each side from the middle, then 299 x 299, whatever the ratio.
    image = picture(width, height)
    kept = int(0.875 * width), int(0.875 * height)
    left, top = int(np.rint((width - kept[0]) / 2)), int(np.rint((height - kept[1]) / 2))
    cut = image.crop((left, top, left + kept[0], top + kept[1]))
    across = cut.resize((299, kept[1]), PIL.Image.Resampling.BILINEAR)
    expected = across.resize((299, 299), PIL.Image.Resampling.BILINEAR)
    assert np.array_equal(apply(image, PREPROCESS["inception299"]), np.asarray(expected))


@pytest.mark.parametrize("size", [(500, 375), (64, 64), (1, 1), (3, 900), (63, 65)])
def test_tiny64_is_the_whole_picture(size):
    image = picture(*size)
    result = apply(image, PREPROCESS["tiny64"])
    assert result.shape == (64, 64, 3)
    assert np.abs(result - plain_resize(np.asarray(image, dtype=float), 64, 64)).max() <= 1


@pytest.mark.parametrize("size", [(1, 1), (1, 50), (50, 1)])
def test_a_share_of_one_pixel_is_refused(size):
    with pytest.raises(ImageError, match=f"{size[0]}x{size[1]}.*0.875"):
        apply(picture(*size), PREPROCESS["inception299"])


def test_a_narrow_picture_is_refused_before_it_becomes_huge():
    with pytest.raises(ImageError, match="1x60000"):
        apply(PIL.Image.new("RGB", (1, 60000)), IMAGENET224)


@pytest.mark.parametrize("preset", PREPROCESS.values(), ids=lambda preset: preset.name)
def test_presets_are_stored_and_read_as_they_are(preset):
    assert msgspec.json.decode(msgspec.json.encode(preset), type=Preprocess) == preset


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("imagenet224", b'{"name":"imagenet224","label":"256->224","resize":256,"crop":224}'),
        ("none", b'{"name":"none","label":"no resize","resize":null,"crop":null}'),
    ],
)
def test_the_presets_of_stored_runs_are_still_the_same(name, stored):
    # To the byte: the digest of a run's plan is made of them.
    assert msgspec.json.encode(PREPROCESS[name]) == stored
    assert msgspec.json.decode(stored, type=Preprocess) == PREPROCESS[name]


def test_presets_are_named_after_themselves():
    assert all(name == preset.name for name, preset in PREPROCESS.items())
