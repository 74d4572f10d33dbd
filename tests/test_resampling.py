"""The resize of a window against Pillow's own of the whole."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import PIL.Image
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oodometer import preprocess, resampling
from oodometer.corruptions.fast.views import read_only
from oodometer.preprocess import PREPROCESS

BILINEAR = PIL.Image.Resampling.BILINEAR


def picture(width, height, seed=0):
    rng = np.random.default_rng(seed)
    values = np.array([0, 255], np.uint8) if seed % 2 else np.arange(256, dtype=np.uint8)
    return PIL.Image.fromarray(rng.choice(values, (height, width, 3)))


def resampled(image, box, size, window):
    pixels = preprocess._in_place(image)
    assert pixels is not None
    return resampling.bilinear(pixels, box, size, window)


def interval(length):
    """Draw a part of a length that is not empty."""
    return st.tuples(st.integers(0, length - 1), st.integers(1, length)).map(lambda t: (t[0], max(t[0] + 1, t[1])))


@settings(max_examples=200, deadline=None)
@given(st.data(), st.integers(1, 3000), st.integers(1, 3000), st.integers(0, 2**32 - 1))
def test_every_pixel_is_pillows(data, width, height, seed):
    longest = 600_000  # pixels, so that it stays quick
    assume(width * height <= longest)
    new = data.draw(st.integers(1, 3000), "new width"), data.draw(st.integers(1, 3000), "new height")
    assume(new[0] * new[1] <= longest and new[0] * height <= longest)
    across, down = data.draw(interval(width), "columns"), data.draw(interval(height), "rows")
    kept = data.draw(interval(new[0]), "kept columns"), data.draw(interval(new[1]), "kept rows")
    box, window = (across[0], down[0], across[1], down[1]), (kept[0][0], kept[1][0], kept[0][1], kept[1][1])
    image = picture(width, height, seed)
    assert np.array_equal(resampled(image, box, new, window), preprocess.plain(image, box, new, window))


@pytest.mark.parametrize("size", [(500, 375), (375, 500), (1024, 768), (2400, 1600), (256, 256), (300, 257), (640, 64)])
def test_one_call_of_pillow_gives_the_same_where_it_takes_rows_first(size):
    image = picture(*size)
    new = (256, int(256 * size[1] / size[0])) if size[0] <= size[1] else (int(256 * size[0] / size[1]), 256)
    left, top = round((new[0] - 224) / 2), round((new[1] - 224) / 2)
    window = (left, top, left + 224, top + 224)
    expected = np.asarray(image.resize(new, BILINEAR).crop(window))
    assert np.array_equal(resampled(image, (0, 0, *size), new, window), expected)


def test_pictures_in_several_pieces_take_pillows_way():
    image = picture(2500, 1700)
    assert preprocess._in_place(image) is None
    pixels = read_only(np.asarray(image.convert("RGBX")).reshape(1700, -1))
    geometry = preprocess._geometry(image.size, PREPROCESS["imagenet224"])
    result = preprocess.apply(image, PREPROCESS["imagenet224"])
    assert np.array_equal(result, resampling.bilinear(pixels, *geometry))


def test_a_pillow_that_lends_no_memory(monkeypatch):
    image = picture(500, 375)
    expected = preprocess.apply(image, PREPROCESS["imagenet224"])
    monkeypatch.delattr(PIL.Image.Image, "__arrow_c_array__")
    assert preprocess._in_place(image) is None
    assert np.array_equal(preprocess.apply(image, PREPROCESS["imagenet224"]), expected)


def test_the_picture_is_not_changed_and_may_change_afterwards():
    image = picture(500, 375)
    before = image.tobytes()
    result = preprocess.apply(image, PREPROCESS["tiny64"])
    kept = result.copy()
    assert image.tobytes() == before
    image.paste((0, 0, 0), (0, 0, *image.size))
    assert np.array_equal(result, kept)


def test_threads_give_the_same():
    images = [picture(400 + n, 300, n) for n in range(12)]
    expected = [preprocess.apply(image, PREPROCESS["imagenet224"]) for image in images]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda image: preprocess.apply(image, PREPROCESS["imagenet224"]), images * 4))
    assert all(np.array_equal(a, b) for a, b in zip(found, expected * 4, strict=True))
