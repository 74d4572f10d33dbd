"""Fast brightness, contrast and saturate equal the plain ones within a level, at every pixel of any image."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from oodometer.corruptions import EDITIONS, registry

NAMES = ["brightness", "contrast", "saturate"]

sides = st.integers(16, 40)
shapes = st.tuples(sides, sides, st.just(3))
images = st.one_of(
    hnp.arrays(np.uint8, shapes),
    hnp.arrays(np.uint8, shapes, elements=st.sampled_from([0, 1, 254, 255])),  # primary colours, and next to them
    hnp.arrays(np.uint8, shapes, elements=st.sampled_from([100, 101, 102])),  # nearly gray
)


def both(name, image, severity, edition="imagenet224"):
    corruption = registry.find(name)
    constants = corruption.table.row(edition, severity)
    fast = corruption.fast_kernel()(image, np.zeros(4, np.uint32), *constants)
    return fast.astype(int), corruption.reference(image, np.random.RandomState(0), *constants).astype(int)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(images, st.floats(1e-9, 5), st.sampled_from(EDITIONS))
def test_equals_the_plain_kernel_within_a_level(name, image, severity, edition):
    fast, plain = both(name, image, severity, edition)
    assert np.max(np.abs(fast - plain)) <= 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5, 0.5, 2.5])
def test_every_colour_of_a_fine_grid_is_within_a_level(name, severity):
    levels = np.array([*range(0, 256, 7), 1, 2, 127, 128, 253, 254, 255])
    grid = np.stack(np.meshgrid(levels, levels, levels), axis=-1).reshape(levels.size, -1, 3).astype(np.uint8)
    fast, plain = both(name, grid, severity)
    assert np.max(np.abs(fast - plain)) <= 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("color", [(0, 0, 0), (255, 255, 255), (90, 90, 90), (255, 0, 0), (0, 0, 255), (9, 200, 130)])
def test_one_colour_is_within_a_level_at_every_severity(name, color):
    image = np.full((17, 23, 3), color, np.uint8)
    for severity in (1e-9, 0.3, 1, 2, 2.7, 3, 4, 5):
        fast, plain = both(name, image, severity)
        assert np.max(np.abs(fast - plain)) <= 1
        assert np.all(fast == fast[0, 0])


def test_contrast_takes_the_mean_of_each_channel_of_the_whole_image():
    # More pixels than one stripe of sums has, and not a multiple of it.
    image = np.zeros((301, 257, 3), np.uint8)
    image[:, :, 0] = 255
    image[:150, :, 1] = 200
    fast, plain = both("contrast", image, 5)
    assert np.max(np.abs(fast - plain)) <= 1
    assert np.ptp(fast[:, :, 1]) == 10  # 0.05 of the 200 that it was
