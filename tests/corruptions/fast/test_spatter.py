"""Fast spatter: the rendering against the plain kernel's after the same draws, its parts, and the law of its draws."""

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pictures import textured
from scipy import ndimage, stats

from oodometer.corruptions import EDITIONS, registry
from oodometer.corruptions import weather as plain
from oodometer.corruptions.fast import spatter

KEYS = np.random.RandomState(0).randint(0, 2**32, (100, 4), dtype=np.uint32)


@pytest.mark.parametrize("size", [(96, 200), (16, 16), (33, 130), (97, 20), (40, 530)], ids=str)
def test_equals_the_plain_kernel_within_a_level_after_the_same_draws(size):
    pictures = [textured(*size), *(np.full((*size, 3), level, np.uint8) for level in (0, 130))]
    for edition in EDITIONS:
        for seed, severity in enumerate([1e-9, 0.5, 1, 2, 2.6, 3, 4, 5]):
            constants = registry.find("spatter").table.row(edition, severity)
            field = np.random.RandomState(seed).normal(*constants[:2], size)
            for image in pictures:
                expected = plain.spatter(image, np.random.RandomState(seed), *constants)
                difference = spatter.render_spatter(image, field, *constants[2:]).astype(int) - expected
                assert np.max(np.abs(difference)) <= 1


pictures = hnp.arrays(
    np.uint8,
    st.tuples(st.integers(16, 40), st.integers(16, 80)),
    elements=st.one_of(st.sampled_from([0, 10, 20, 30, 40, 176, 255]), st.integers(0, 255)),
)


@settings(max_examples=150, deadline=None)
@given(pictures)
def test_edges_are_those_of_canny(picture):
    edges = spatter._edges(picture)[1:-1, 1:-1] == spatter.EDGE
    assert np.array_equal(edges, cv2.Canny(picture, 50, 150) > 0)


def test_weak_edges_are_followed_from_a_strong_place():
    ramp = np.zeros((80, 80), np.uint8)
    ramp[20:60] = 20  # a step of 20: 80 in Canny's measure, which is a weak edge
    ramp[20:22, 40] = 120  # one strong place
    edges = spatter._edges(ramp)[1:-1, 1:-1] == spatter.EDGE
    assert edges.any()
    assert np.array_equal(edges, cv2.Canny(ramp, 50, 150) > 0)


@settings(max_examples=150, deadline=None)
@given(hnp.arrays(bool, st.tuples(st.integers(16, 60), st.integers(16, 60)), fill=st.just(False)))
def test_distances_are_those_of_the_plain_kernel(edges):
    kinds = np.pad(np.where(edges, spatter.EDGE, spatter.WEAK), 1)
    expected = cv2.blur(plain._capped_distance(edges), (3, 3)).astype(np.uint8)
    assert np.array_equal(spatter._mean_distance(kinds), expected)


@settings(max_examples=100, deadline=None)
@given(hnp.arrays(np.uint8, st.tuples(st.integers(16, 40), st.integers(16, 40)), elements=st.integers(0, 20)))
def test_shade_is_equalised_and_embossed_as_by_opencv(shade):
    even = spatter._equalized(shade)
    expected = cv2.equalizeHist(shade)
    assert np.array_equal(even[1:-1, 1:-1], expected)
    embossed = cv2.filter2D(expected, cv2.CV_8U, np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]]))
    lit = spatter._embossed(even)
    assert np.array_equal(lit[1:-1, 1:-1], embossed)
    drops, largest = spatter._drops(lit, np.full(shade.shape, 255, np.uint8))
    assert np.array_equal(drops, 255 * cv2.blur(embossed, (3, 3)).astype(int))
    assert largest == drops.max()


@pytest.mark.parametrize("sigma", [0.05, 0.5, 0.7, 1, 1.2, 4])
def test_the_filter_is_scipy_s_to_the_last_bit(sigma):
    field = np.random.RandomState(0).normal(0.5, 0.1, (50, 300))
    expected = (ndimage.gaussian_filter(field, sigma, mode="nearest") * 255).astype(int)
    liquid = np.empty(field.shape, np.uint8)
    spatter._smooth(field, spatter.half_bell(sigma), 0.01, 255, liquid)
    assert np.array_equal(liquid, expected)


def test_the_field_is_normal():
    fields = np.ravel([spatter.draw_spatter(key, (33, 47), 0.65, 0.3) for key in KEYS])
    assert stats.kstest(fields, "norm", (0.65, 0.3)).pvalue > 0.001


def test_a_layer_without_any_drop_changes_nothing():
    image = textured(64, 64)
    for mud in (0, 1):
        assert np.array_equal(spatter.render_spatter(image, np.zeros((64, 64)), 1, 0.9, 0.6, mud), image)
