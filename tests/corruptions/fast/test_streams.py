"""The streams are as good as chance: every bound is four to five standard deviations wide, and all seeds are fixed."""

import numpy as np
import pytest

from oodometer.corruptions.fast.streams import fill_words
from oodometer.seeding import stream_key

KEYS = np.random.RandomState(0).randint(0, 2**32, (64, 4), dtype=np.uint32)


def words(key, count, start=0):
    out = np.empty(count, np.uint32)
    fill_words(np.asarray(key, np.uint32), start, out)
    return out


def noise(key, count):
    """Draw a field of mean 0 and variance 1 from the upper bits."""
    return (words(key, count) / 2**32 - 0.5) * np.sqrt(12)


def bits(values):
    return np.unpackbits(values.astype(">u4").view(np.uint8).reshape(-1, 4), axis=1)


def surprise(flips):
    """Return how many standard deviations the share of set bits is from one half, by bit."""
    return (bits(flips).mean(axis=0) - 0.5) * 2 * np.sqrt(len(flips))


def plain_words(key, counters):
    """Compute the words with Python's integers, whose products never overflow and never widen."""

    def rounds(x, *steps):
        for shift, factor, added in steps:
            x = ((x ^ x >> shift) * factor % 2**32) ^ added
        return x

    def mixed(x):
        x = rounds((x + 0x9E3779B9) % 2**32, (16, 0x21F0AAAD, 0), (15, 0x735A2D97, 0))
        return x ^ x >> 15

    k0, k1, k2, k3 = map(int, key)
    k3 ^= mixed(k0)
    k2 ^= mixed(k3)
    k1 ^= mixed(k2)
    k0 ^= mixed(k1)
    steps = (17, 0xED5AD4BB, k1), (11, 0xAC4C1B51, k2), (15, 0x31848BAB, k3)
    return [last ^ last >> 14 for last in (rounds(i ^ k0, *steps) for i in counters)]


@pytest.mark.parametrize("key", [*KEYS[:3], [0, 0, 0, 0], [2**32 - 1] * 4], ids=str)
@pytest.mark.parametrize("start", [0, 1, 36_000_000, 2**31 - 50, 2**32 - 100])
def test_equals_whole_number_arithmetic(key, start):
    assert words(key, 100, start).tolist() == plain_words(key, range(start, start + 100))


def test_the_streams_are_pinned():
    """Stored images stay repeatable only as long as these numbers do not change."""
    assert words(stream_key(0, "n01440764/a.JPEG", "fog", 3), 3).tolist() == PINNED


def test_a_stream_can_start_anywhere():
    whole = words(KEYS[0], 1000)
    for start in (1, 17, 500):
        assert np.array_equal(words(KEYS[0], 1000 - start, start), whole[start:])


@pytest.mark.parametrize("bit", range(20))
def test_a_bit_of_the_counter_flips_half_of_the_bits(bit):
    pairs = words(KEYS[0], 2**21).reshape(-1, 2, 1 << bit)
    assert np.abs(surprise((pairs[:, 0] ^ pairs[:, 1]).ravel())).max() < 5


@pytest.mark.parametrize("which", range(4))
def test_a_bit_of_the_key_flips_half_of_the_bits(which):
    stream = words(KEYS[0], 2**16)
    for bit in range(32):
        key = KEYS[0].copy()
        key[which] ^= np.uint32(1 << bit)
        assert np.abs(surprise(stream ^ words(key, stream.size))).max() < 5


@pytest.mark.parametrize("shift", range(0, 32, 4))
def test_bytes_are_uniform_and_so_are_their_differences(shift):
    stream = words(KEYS[1], 2**20)
    for values in (stream, stream[1:] - stream[:-1], stream[1:] ^ stream[:-1], stream[2:] + stream[:-2]):
        rolled = values >> np.uint32(shift) | values << np.uint32((32 - shift) % 32)
        expected = values.size / 256
        counts = np.bincount(rolled & np.uint32(255), minlength=256)
        assert abs(np.sum((counts - expected) ** 2 / expected) - 255) < 5 * np.sqrt(2 * 255)


@pytest.mark.parametrize("lag", [1, 2, 3, 16, 256, 672, 16384, 65536])  # 3: the next pixel; 672: the next row
def test_words_apart_share_no_bit(lag):
    signs = bits(words(KEYS[2], 2**19)) * np.float32(2) - 1
    correlations = signs[:-lag].T @ signs[lag:] / np.sqrt(len(signs) - lag)
    assert np.abs(correlations).max() < 5.5


def test_pairs_of_neighbours_fill_the_square():
    top = (words(KEYS[3], 2**22) >> np.uint32(24)).astype(np.int64)
    for lag in (1, 3, 672):
        counts = np.bincount(top[:-lag] * 256 + top[lag:], minlength=65536)
        expected = (top.size - lag) / 65536
        assert abs(np.sum((counts - expected) ** 2 / expected) - 65535) < 5 * np.sqrt(2 * 65535)


@pytest.mark.parametrize("channel", range(3))
def test_no_pattern_is_visible_in_a_field(channel):
    for key in KEYS[:8]:
        field = noise(key, 224 * 224 * 3).reshape(224, 224, 3)[..., channel]
        power = np.abs(np.fft.fft2(field)) ** 2 / field.size
        assert power.max() < np.log(field.size / 2) + 7  # the largest of n / 2 exponential values: chance 0.1 %


def test_no_pattern_is_common_to_many_fields():
    """The mean power of many streams is flat, and so is their mean correlation at every distance."""
    count = 2**16
    keys = np.random.RandomState(1).randint(0, 2**32, (300, 4), dtype=np.uint32)
    powers = np.array([np.abs(np.fft.rfft(noise(key, count))) ** 2 / count for key in keys])
    mean = powers.mean(axis=0)
    assert np.abs(mean[1:-1] - 1).max() < 6 / np.sqrt(len(keys))
    correlation = np.fft.irfft(mean)[1 : count // 2] * np.sqrt(count * len(keys))
    assert np.abs(correlation).max() < 5.5


def test_streams_of_neighbouring_conditions_are_unrelated():
    """Seeds, images, corruptions and severities next to each other; and keys next to each other, without the hash."""
    conditions = [
        *[(seed, "a.png", "fog", 3) for seed in range(4)],
        *[(0, f"a{number}.png", "fog", 3) for number in range(4)],
        *[(0, "a.png", name, 3) for name in ("gaussian_noise", "shot_noise", "speckle_noise")],
        *[(0, "a.png", "fog", severity) for severity in (1, 2, 3.0000001, 4, 5)],
    ]
    keys = [stream_key(*condition) for condition in conditions]
    keys += [np.array([i == which for i in range(4)], np.uint32) * step for which in range(4) for step in (1, 2, 3)]
    fields = np.array([noise(key, 150_528) for key in keys])
    for shift in (0, 1, 3, 672):
        correlations = fields[:, shift:] @ fields[:, : fields.shape[1] - shift].T / np.sqrt(fields.shape[1])
        if shift == 0:
            np.fill_diagonal(correlations, 0)
        assert np.abs(correlations).max() < 5


def test_no_two_conditions_have_one_key():
    keys = {
        stream_key(seed, f"{image}.png", corruption, severity).tobytes()
        for seed in range(10)
        for image in range(100)
        for corruption in ("fog", "snow", "gaussian_noise")
        for severity in (0.5, 1, 2, 3, 4, 5)
    }
    assert len(keys) == 10 * 100 * 3 * 6


def test_no_two_streams_overlap():
    """Two words in a row that occur in two streams would begin a common run; chance allows 0.02 of them here."""
    keys = np.random.RandomState(2).randint(0, 2**32, (10_000, 4), dtype=np.uint32)
    keys[1::2] = keys[::2]  # half are pairs of neighbours
    keys[1::2, 0] += np.arange(1, 5001, dtype=np.uint32)
    streams = np.array([words(key, 80) for key in keys]).astype(np.uint64)
    pairs = streams[:, :-1] << np.uint64(32) | streams[:, 1:]
    assert np.unique(pairs).size == pairs.size


PINNED = [1201952954, 35974615, 476912408]
