"""The fast blurs equal the plain ones within a level, whatever the image, and draw from the right distributions."""

import functools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pictures import textured
from scipy import stats

from oodometer import seeding
from oodometer.corruptions import EDITIONS, registry
from oodometer.corruptions import blur as plain
from oodometer.corruptions.fast import blur, defocus, glass, zoom
from oodometer.corruptions.rendering import _zoom_axis, streak

NAMES = ["defocus_blur", "glass_blur", "motion_blur", "zoom_blur", "gaussian_blur"]
SEVERITIES = [1, 2, 3, 4, 5, 1e-9, 0.4, 0.6, 1.5, 2.5, 3.3, 3.8, 4.5, 7.7, 10]


def stripes(height, width, period, axis):
    place = np.indices((height, width))[axis]
    return (place // period % 2 * 255).astype(np.uint8)[:, :, np.newaxis].repeat(3, axis=2)


def ramp(height, width, axis):
    place = np.indices((height, width))[axis]
    return (place * 255 // place.max()).astype(np.uint8)[:, :, np.newaxis].repeat(3, axis=2)


def dot(height, width):
    image = np.zeros((height, width, 3), np.uint8)
    image[height // 2, width // 3] = 255, 128, 1
    return image


def noise(height, width, seed, levels):
    drawn = np.random.RandomState(seed).randint(0, levels, (height, width, 3))
    return (drawn * (255 // (levels - 1))).astype(np.uint8)


def hard_images(height, width):
    """Yield what blurs stumble over: whole levels, saturated areas, and the steepest edges there can be."""
    for level in (0, 1, 128, 254, 255):
        yield np.full((height, width, 3), level, np.uint8)
    for axis in (0, 1):
        yield ramp(height, width, axis)
        for period in (1, 2, 5, 8, 13):
            yield stripes(height, width, period, axis)
    yield 255 - dot(height, width)
    yield dot(height, width)
    yield noise(height, width, 0, 2)
    yield noise(height, width, 0, 256)
    yield textured(height, width)


sizes = st.tuples(st.integers(16, 150), st.integers(16, 150))
images = st.one_of(
    st.builds(lambda size, seed: textured(*size, seed), sizes, st.integers(0, 99)),
    st.builds(
        lambda size, seed, levels: noise(*size, seed, levels), sizes, st.integers(0, 99), st.sampled_from([2, 256])
    ),
    st.builds(lambda size, period, axis: stripes(*size, period, axis), sizes, st.integers(1, 30), st.integers(0, 1)),
)


class Replayed:
    """A stand-in for ``RandomState`` that gives out what the fast kernel drew, in the terms of the plain one."""

    def __init__(self, shifts, delta):
        self.shifts, self.delta = shifts.astype(np.int64), delta

    def randint(self, low, high, size):
        assert (low, high) == (-self.delta, self.delta)
        side = 2 * self.delta
        return np.stack([self.shifts % side - self.delta, self.shifts // side - self.delta], axis=-1).reshape(size)

    def random_sample(self, n):
        return np.zeros(n)  # which pixels the last pass leaves alone is in the shifts already


def both(name, image, key, constants):
    """Return the results of the fast and of the plain kernel, the latter with what the former drew."""
    if name == "motion_blur":
        degrees = blur.draw_motion_blur(key)
        return blur.render_motion_blur(image, degrees, *constants), streak(image, *constants, degrees)
    if name == "glass_blur":
        sigma, delta, iterations = constants
        shifts = glass.draw_glass_blur(key, *image.shape[:2], delta, iterations)
        rendered = glass.render_glass_blur(image, shifts, sigma, delta)
        return rendered, plain.glass_blur(image, Replayed(shifts, delta), *constants)
    chosen = registry.find(name)
    return chosen.fast_kernel()(image, key, *constants), chosen.reference(image, None, *constants)


def largest_difference(name, image, key, constants):
    before = image.copy()
    fast, expected = both(name, image, key, constants)
    assert (fast.dtype, fast.shape) == (np.uint8, image.shape)
    assert np.array_equal(image, before)
    return int(np.max(np.abs(fast.astype(int) - expected)))


def key_of(seed, name="", severity=1.0):
    return seeding.stream_key(seed, "", name, severity)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_plain_kernel_on_hard_images(name, edition):
    for severity in SEVERITIES:
        constants = registry.find(name).table.row(edition, severity)
        for i, image in enumerate(hard_images(19, 33)):
            assert largest_difference(name, image, key_of(i, name, severity), constants) <= 1, (severity, i)


@pytest.mark.parametrize("severity", [1, 2, 3, 4, 5, 7, 10])
def test_glass_keeps_within_a_level_of_every_flat_area(severity):
    # It truncates twice, and both kernels' rounding decides whether a whole level stays what it is.
    constants = registry.find("glass_blur").table.row("imagenet224", severity)
    for level in range(128):
        image = np.empty((16, 17, 3), np.uint8)
        image[:] = level, 255 - level, level // 2
        assert largest_difference("glass_blur", image, key_of(level), constants) <= 1


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60, deadline=None)
@given(image=images, severity=st.floats(0.01, 10), edition=st.sampled_from(EDITIONS), seed=st.integers(0, 2**32))
def test_equals_the_plain_kernel_on_any_image(name, image, severity, edition, seed):
    constants = registry.find(name).table.row(edition, severity)
    assert largest_difference(name, image, key_of(seed, name, severity), constants) <= 1


@pytest.mark.parametrize("size", [(16, 600), (600, 16), (224, 224), (70, 257), (31, 513), (300, 20)])
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_plain_kernel_across_strips(name, size):
    for severity in (1, 5):
        constants = registry.find(name).table.row("imagenet224", severity)
        assert largest_difference(name, noise(*size, 1, 2), key_of(0), constants) <= 1


@pytest.mark.parametrize(
    ("name", "constants"),
    [
        ("gaussian_blur", (11.9,)),
        ("gaussian_blur", (17.3,)),
        ("gaussian_blur", (40.0,)),
        ("motion_blur", (45, 30.0)),
        ("motion_blur", (200, 100.0)),
        ("defocus_blur", (20.5, 0.5)),
        ("defocus_blur", (29.9, 0.5)),
        ("defocus_blur", (45.0, 0.5)),
        ("defocus_blur", (9.3, 2.0)),
        ("zoom_blur", (0.05, 1)),
        ("zoom_blur", (0.05, 31)),
        ("zoom_blur", (0.01, 90)),
        ("glass_blur", (3.6, 10, 2)),
        ("glass_blur", (20.0, 2, 1)),
    ],
)
def test_strengths_beyond_the_published_ones_hold_too(name, constants):
    for image in (noise(40, 61, 3, 2), np.full((40, 61, 3), 255, np.uint8), stripes(40, 61, 20, 1), ramp(40, 61, 0)):
        assert largest_difference(name, image, key_of(0), constants) <= 1


@settings(max_examples=200, deadline=None)
@given(st.floats(0, 29.99), st.floats(0.01, 0.5))
@example(8.0, 0.5)
@example(10.0, 0.5)
def test_a_disk_is_taken_apart_into_what_adds_up_to_it(radius, alias):
    disk = defocus.take_apart(radius, alias)
    assert disk is not None
    assert (2 * disk.spans + 1).sum() * disk.scale == pytest.approx(2**23, rel=2e-4)


def test_weights_are_those_of_the_bell_and_add_up():
    for sigma in (0.3, 1, 6, 12):
        weights = blur.pair_weights(sigma).astype(float)
        expected = np.exp(-(np.arange(len(weights)) ** 2) / (2 * sigma**2))
        expected[0] /= 2
        assert weights.sum() == 2**15
        assert np.allclose(weights / 2**15, expected / expected.sum(), atol=2e-4)
    assert blur.streak_weights(20, 15).sum() == 2**16 - 1


@pytest.mark.parametrize("zoomed", [1, 1.01, 1.11, 1.25, 1.2500000000000002, 1.3, 2.5])
@pytest.mark.parametrize("side", [16, 26, 32, 224, 375])
def test_zooms_read_where_the_plain_ones_do(side, zoomed):
    firsts, weights = np.empty(side, np.int64), np.empty(side, np.uint16)
    last = zoom.zoom_axis(side, zoomed, 0, firsts, weights)
    expected, after, ratios = _zoom_axis(side, zoomed)
    assert np.array_equal(firsts, expected)
    assert np.array_equal(np.minimum(firsts + 1, last), after)
    assert np.allclose(weights / 65536, ratios, atol=2e-5)


def test_angles_are_uniform_from_minus_45_to_45_degrees():
    angles = [blur.draw_motion_blur(key_of(seed)) for seed in range(4000)]
    assert stats.kstest(angles, stats.uniform(-45, 90).cdf).pvalue > 1e-3


@pytest.mark.parametrize("delta", [1, 2, 3, 4, 5, 9])
def test_shifts_are_uniform_and_independent(delta):
    shifts = glass.draw_glass_blur(key_of(delta), 600, 700, delta, 2)
    outcomes = 4 * delta**2
    assert shifts.shape == (2, (600 - 2 * delta) * (700 - 2 * delta))
    for drawn in shifts:
        counts = np.bincount(drawn, minlength=outcomes)
        assert len(counts) == outcomes
        assert stats.chisquare(counts).pvalue > 1e-3
    for a, b in ((shifts[0], shifts[1]), (shifts[0, :-1], shifts[0, 1:]), (shifts[1, :-700], shifts[1, 700:])):
        pairs = np.bincount(a.astype(int) * outcomes + b, minlength=outcomes**2)
        assert stats.chisquare(pairs).pvalue > 1e-3


def test_the_last_pass_of_a_fractional_number_moves_its_share():
    delta, stay = 2, 2 * 2 * 2 + 2
    whole, part = glass.draw_glass_blur(key_of(1), 300, 300, delta, 1.25)
    assert np.mean(whole == stay) == pytest.approx(1 / 16, abs=0.005)
    assert np.mean(part == stay) == pytest.approx(0.75 + 0.25 / 16, abs=0.005)
    moved = np.bincount(part[part != stay], minlength=16)
    assert stats.chisquare(np.delete(moved, stay)).pvalue > 1e-3


def test_images_too_small_to_be_shuffled_are_blurred():
    image = textured(16, 20)
    shifts = glass.draw_glass_blur(key_of(0), 16, 20, 8, 2)
    assert shifts.shape == (2, 0)
    blurred = glass.render_glass_blur(image, shifts, 1.0, 8)
    twice = functools.reduce(lambda x, _: blur.gaussian_blur(x, key_of(0), 1.0), range(2), image)
    assert np.max(np.abs(blurred.astype(int) - twice)) <= 1


@pytest.mark.parametrize("name", NAMES)
def test_plain_loops_give_the_same_bits_as_explicit_vectors(name, monkeypatch):
    kernel = registry.find(name).fast_kernel()
    modules = (blur, defocus, glass, zoom)
    for edition in ("imagenet224", "cifar32"):
        for severity in (1, 2.5, 4, 5):
            constants = registry.find(name).table.row(edition, severity)
            for image in (textured(61, 87), noise(16, 300, 5, 2), noise(17, 16, 6, 256), stripes(40, 45, 3, 1)):
                results = []
                for explicit in (True, None):
                    for module in modules:
                        monkeypatch.setattr(module, "explicit", lambda explicit=explicit: explicit)
                    results.append(kernel(image, key_of(3), *constants))
                assert np.array_equal(*results)
