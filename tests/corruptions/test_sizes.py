"""Cases B1 and B2 and images without any structure: every size works, and nothing turns into a flat frame."""

import functools
import itertools
import warnings

import numpy as np
import pytest
from pictures import textured

from oodometer.corruptions import METHODS, corrupt, registry

# Case B1, and its kind: sides that are a power of two, odd, prime, one more or less than a multiple of 8 or 16.
SIZES = [(64, 64), (128, 128), (200, 120), (120, 200), (257, 257), (299, 299), (384, 384), (360, 640)]
SMALL = [(16, 16), (16, 17), (17, 16), (23, 31), (32, 32), (33, 63)]
LARGE = (3000, 4000)

FRAMES = {"black": (0, 0, 0), "white": (255, 255, 255), "gray": (128, 128, 128), "a colour": (200, 30, 90)}


@pytest.fixture(params=METHODS)
def method(request):
    return request.param


@pytest.fixture(autouse=True)
def _small_images_are_meant():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The edition 'imagenet224' is meant for larger images")
        yield


@functools.lru_cache(maxsize=1)  # a large one takes seconds to draw
def picture_of(size):
    return textured(*size)


def check(size, corruption, severities, **options):
    image = picture_of(size)
    for severity in severities:
        output = corrupt(image, corruption, severity, **options)
        assert (output.dtype, output.shape) == (np.uint8, image.shape)
        # Below 32 pixels the flakes of the editions for large images, longer than the image, may bury all of it.
        if corruption != "snow" or min(size) >= 32:
            assert output.min() < output.max()


@pytest.mark.parametrize("size", [(257, 129), (128, 200)])
def test_some_sizes(corruption, method, size):
    check(size, corruption, (1, 5), method=method)


@pytest.mark.long
@pytest.mark.parametrize("size", [*SMALL, *SIZES], ids=str)
def test_every_size(corruption, method, edition, size):
    check(size, corruption, range(1, 6), method=method, edition=edition)


@pytest.mark.long
def test_a_large_image(corruption, method):
    check(LARGE, corruption, [4], method=method)


def frames(size):
    """Return images of one colour, and the same with one pixel that differs."""
    made = []
    for color in FRAMES.values():
        frame = np.full((*size, 3), color, np.uint8)
        dotted = frame.copy()
        dotted[size[0] // 2, size[1] // 3] = 255 - frame[0, 0]
        made += [frame, dotted]
    return made


def is_frame(image, level, tolerance=0, share=0.0):
    """Tell whether an image is of one level, but for a share of its values."""
    return np.mean(np.abs(image.astype(int) - level) > tolerance) <= share


def check_frames(corruption, edition, seeds):
    """Compare with the reference, which may give black or white too: black under fog, white under brightness."""
    random = registry.find(corruption).random
    for image, severity in itertools.product(frames((32, 40)), range(1, 6)):

        def plain(seed, image=image, severity=severity):
            return corrupt(image, corruption, severity, method="reference", edition=edition, seed=seed)

        for seed in seeds:
            output = corrupt(image, corruption, severity, edition=edition, seed=seed)
            for level in (0, 255):
                if is_frame(output, level):
                    # The dot may lie outside a warped image, and a level near the end be rounded to it.
                    assert any(is_frame(plain(s), level, tolerance=1, share=0.02) for s in range(200))
            if not random:
                assert np.abs(output.astype(int) - plain(seed)).max() <= 1


def test_images_without_structure_give_no_flat_frame(corruption, edition):
    check_frames(corruption, edition, range(3))


@pytest.mark.long
def test_images_without_structure_give_no_flat_frame_under_200_seeds(corruption, edition):
    check_frames(corruption, edition, range(200))
