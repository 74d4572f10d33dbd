"""JPEG files against Pillow's, byte by byte."""

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import PIL.features
import PIL.Image
import PIL.ImageFile
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer import jpeg_file
from oodometer.errors import ArgumentError
from oodometer.jpeg_file import encode_jpeg

KINDS = ("noise", "black and white noise", "one colour", "stripes", "ramp", "soft noise")


@pytest.fixture(autouse=True, scope="module")
def _room():
    """Give Pillow a buffer that holds any file: it sizes it by the pixels, which noise of a high quality exceeds."""
    before, PIL.ImageFile.MAXBLOCK = PIL.ImageFile.MAXBLOCK, 1 << 24
    yield
    PIL.ImageFile.MAXBLOCK = before


def by_pillow(image, quality):
    file = io.BytesIO()
    PIL.Image.fromarray(image).save(file, "JPEG", quality=quality, optimize=True)
    return file.getvalue()


def assert_as_pillow(image, quality):
    ours, theirs = encode_jpeg(image, quality), by_pillow(np.ascontiguousarray(image), quality)
    version = PIL.features.version_feature("libjpeg_turbo") or "none, but another libjpeg"
    first = next((at for at, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
    assert ours == theirs, (
        f"{image.shape} at quality {quality}: {len(ours)} and {len(theirs)} bytes differ from byte {first} on. Pillow "
        f"{PIL.__version__} has libjpeg-turbo {version}; ours is meant to equal 3.x. If only the version of Pillow has "
        "changed, its libjpeg may write other bytes than before."
    )


def picture_of(kind, height, width, seed=0):
    rng = np.random.default_rng(seed)
    size = (height, width, 3)
    if kind == "noise":
        return rng.integers(0, 256, size, np.uint8)
    if kind == "black and white noise":
        return rng.choice(np.array([0, 255], np.uint8), size)
    if kind == "soft noise":
        return np.clip(rng.normal(128, rng.uniform(0, 30), size), 0, 255).astype(np.uint8)
    y, x = np.mgrid[:height, :width][..., None]
    a, b = rng.integers(0, 256, (2, 3), np.uint8)
    if kind == "ramp":
        return ((x * a + y * b) // max(height, width)).astype(np.uint8)
    period = width + 1 if kind == "one colour" else rng.integers(1, 9)
    return np.where((x + 0 * y) // period % 2, a, b)


@settings(max_examples=300, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    height=st.integers(1, 70),
    width=st.integers(1, 70),
    quality=st.integers(1, 100),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_bytes_are_pillows(kind, height, width, quality, seed):
    assert_as_pillow(picture_of(kind, height, width, seed), quality)


@pytest.mark.long
def test_the_bytes_are_pillows_for_thousands():
    rng = np.random.default_rng(0)
    for _ in range(5000):
        height, width = rng.integers(1, rng.choice([20, 100, 400]), 2)
        kind, quality = rng.choice(KINDS), int(rng.integers(1, 101))
        assert_as_pillow(picture_of(kind, height, width, int(rng.integers(2**32))), quality)


@pytest.mark.parametrize("size", [(1, 1), (8, 9), (16, 17), (24, 33), (7, 70)], ids=str)
def test_every_quality(size):
    for quality in range(1, 101):
        assert_as_pillow(picture_of("noise", *size), quality)


@pytest.mark.parametrize("size", [(224, 224), (299, 299), (64, 64), (375, 500), (1080, 1920)], ids=str)
@pytest.mark.parametrize("kind", ["soft noise", "noise", "ramp"])
def test_the_sizes_of_photographs(kind, size):
    assert_as_pillow(picture_of(kind, *size), 85)


@pytest.mark.parametrize("size", [(1, 65500), (65500, 1)], ids=str)
def test_the_longest_sides(size):
    assert_as_pillow(picture_of("noise", *size), 85)


def test_the_default_quality_is_that_of_the_release():
    image = picture_of("soft noise", 40, 50)
    assert encode_jpeg(image) == by_pillow(image, 85)


def test_strides_and_read_only_images():
    image = picture_of("noise", 50, 40)
    image.setflags(write=False)
    for view in (image, image[::2, ::-1], image.transpose(1, 0, 2), image[:, :, ::-1]):
        assert_as_pillow(view, 85)


def test_threads_write_the_same():
    images = [picture_of("noise", 60 + n, 50, n) for n in range(16)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(encode_jpeg, images * 4)) == [by_pillow(image, 85) for image in images] * 4


def test_golden_files(golden):
    # The third severity of all corruptions, as Pillow with libjpeg-turbo wrote it.
    files = sorted((golden / "variants/libjpeg_turbo/imagenet224/photo1/final_jpeg").glob("*.jpg"))
    assert len(files) == 19
    for file in files:
        image = PIL.Image.open(golden / f"imagenet224/photo1/{file.stem}.png")
        assert encode_jpeg(np.asarray(image)) == file.read_bytes()


@pytest.mark.parametrize("quality", [0, 101, 85.0, "85", None, True])
def test_a_quality_that_is_none_is_refused(quality):
    with pytest.raises(ArgumentError, match="from 1 to 100"):
        encode_jpeg(picture_of("noise", 16, 16), quality)


@pytest.mark.parametrize("shape", [(8, 8), (8, 8, 4), (0, 8, 3), (1, 65501, 3), (65501, 1, 3)], ids=str)
def test_what_no_file_can_hold_is_refused(shape):
    with pytest.raises(ArgumentError, match=r"height x width x 3|no pixels|65500 pixels a side"):
        encode_jpeg(np.zeros(shape, np.uint8))


# --- codes ---


def depths_by_the_standard(counts):
    """Annex K.2 in its own words: merge the two rarest, lengthen the codes of all that either stands for."""
    frequency = [*counts, 1]
    members = {symbol: [symbol] for symbol, count in enumerate(frequency) if count}
    depth = dict.fromkeys(members, 0)
    while len(members) > 1:
        first, second = sorted(members, key=lambda symbol: (frequency[symbol], -symbol))[:2]
        for symbol in members[first] + members[second]:
            depth[symbol] += 1
        frequency[first] += frequency[second]
        members[first] += members.pop(second)
    return depth


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 3) | st.integers(0, 100_000), min_size=1, max_size=256).filter(any))
def test_the_tree_is_huffmans(counts):
    symbols, depths, lengths = jpeg_file.huffman(np.array(counts, np.uint64))
    expected = depths_by_the_standard(counts)
    assert dict(zip(symbols, depths, strict=True)) == {s: d for s, d in expected.items() if s < len(counts)}
    assert list(lengths) == [list(expected.values()).count(length) for length in range(64)]


def fibonacci(count):
    """Return the counts that, with another one that occurs once, make the deepest tree."""
    numbers = [1, 2]
    while len(numbers) < count:
        numbers.append(numbers[-1] + numbers[-2])
    return numbers


@pytest.mark.parametrize("count", [2, 15, 16, 17, 18, 30, 40])
def test_codes_of_more_than_16_bits_are_shortened(count):
    lengths = jpeg_file.huffman(np.array(fibonacci(count), np.uint64))[2]
    assert np.flatnonzero(lengths).max() == count
    jpeg_file.limit(lengths)
    assert lengths.sum() == count
    assert np.flatnonzero(lengths).max() <= 16
    # Kraft's sum: codes of these lengths exist, and all ones are left over.
    assert sum(number * 2.0**-length for length, number in enumerate(lengths)) <= 1 - 2.0**-16


def test_a_file_with_codes_that_were_shortened():
    # Blocks of one cosine each, the rarer the higher its number.
    waves = np.cos(np.pi * np.outer(np.arange(8), np.arange(8) + 0.5) / 8)
    blocks = np.array([128 + 50 * np.outer(waves[n % 8], waves[n // 8]) for n in range(1, 18)])
    order = np.repeat(np.arange(17), fibonacci(17)[::-1])
    order = np.append(order, np.zeros(96**2 - order.size, int))
    luma = blocks[order].reshape(96, 96, 8, 8).swapaxes(1, 2).reshape(768, 768)
    assert_as_pillow(np.repeat(luma.round().astype(np.uint8)[..., None], 3, axis=2), 50)
