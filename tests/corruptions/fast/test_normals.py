"""The fast normals against SciPy's normal distribution."""

import numpy as np
import pytest
from scipy import stats

from oodometer.corruptions.fast import normals, streams

KEYS = np.random.RandomState(0).randint(0, 2**32, (100, 4), dtype=np.uint32)


def drawn(key, count, start=0):
    out = np.empty(count, np.float32)
    normals.fill_normals(key, start, out)
    return out.astype(np.float64)


def test_they_are_normal():
    sample = drawn(KEYS[0], 2_000_000)
    assert stats.kstest(sample, "norm").pvalue > 0.001
    assert abs(sample.mean()) < 5 / np.sqrt(sample.size)
    assert abs(sample.std() - 1) < 5 / np.sqrt(2 * sample.size)
    assert abs(stats.skew(sample)) < 5 * np.sqrt(6 / sample.size)
    assert abs(stats.kurtosis(sample)) < 5 * np.sqrt(24 / sample.size)


@pytest.mark.parametrize("bound", [2, 3, 4, 4.5])
def test_their_tails_have_their_share(bound):
    sample = drawn(KEYS[1], 2_000_000)
    expected = sample.size * stats.norm.sf(bound)
    for tail in (sample > bound, sample < -bound):
        assert abs(np.count_nonzero(tail) - expected) < 5 * np.sqrt(expected)


def test_each_field_has_the_law_of_its_size():
    # Of many small fields, so that what is wrong with odd sizes or the first words would show.
    probabilities = [stats.kstest(drawn(key, 601), "norm").pvalue for key in KEYS]
    assert stats.kstest(probabilities, "uniform").pvalue > 0.001


def test_neighbours_and_the_two_of_a_pair_are_unrelated():
    sample = drawn(KEYS[2], 1_000_000)
    half = sample.size // 2
    for first, second in ((sample[:-1], sample[1:]), (sample[:half], sample[half:])):
        assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(first.size)
        assert abs(np.corrcoef(first**2, second**2)[0, 1]) < 5 / np.sqrt(first.size)


def test_they_are_the_transform_of_box_and_muller_to_float_precision():
    words = np.empty(2000, np.uint32)
    streams.fill_words(KEYS[3], 7, words)
    radius = np.sqrt(-2 * np.log(((words[:1000] >> 1) + 0.5) / 2**31))
    sample = drawn(KEYS[3], 2000, start=7)
    assert np.allclose(np.hypot(sample[:1000], sample[1000:]), radius, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 17, 64])
def test_any_count_and_start_are_filled(count):
    sample = drawn(KEYS[4], count + 2, start=2**31)
    assert np.all(np.isfinite(sample))
    assert np.unique(sample).size == sample.size


def test_the_bits_are_those_of_every_machine():
    # Frozen on x86-64 with AVX-512, and equal with AVX2.
    out = np.empty(7, np.float32)
    normals.fill_normals(np.arange(4, dtype=np.uint32), 0, out)
    frozen = [1063557118, 1056041181, 1056745363, 1066508993, 1065011286, 1040187878, 1068316092]
    assert out.view(np.uint32).tolist() == frozen
