"""``check_corruption`` finds every kind of broken promise."""

import random
import time

import numpy as np
import pytest

from oodometer import corruption
from oodometer.corruptions import weather
from oodometer.errors import ArgumentError
from oodometer.testing import check_corruption

pytestmark = pytest.mark.usefixtures("own")

LEVELS = (10, 20, 30, 40, 50)
CALLS = []
BUFFERS = {}


def darken(image, rng, levels):
    return np.clip(image - np.float64(levels), 0, 255).astype(np.uint8)


def noisy(image, rng, levels):
    return np.clip(image + rng.normal(0, levels, image.shape), 0, 255).astype(np.uint8)


def test_good_ones_pass_by_name_and_as_functions():
    corruption("darkness", severities=LEVELS, random=False)(darken)
    corruption("grain", severities=LEVELS)(noisy)
    for name in ("darkness", darken, "grain", noisy, weather.brightness, "contrast"):
        check_corruption(name)
        check_corruption(name, edition="cifar32", method="reference")


def for_square_images_only(image, rng, levels):
    return darken(image, rng, levels) + np.zeros(image.shape[1::-1], np.uint8)[:, :, np.newaxis]


def warn(image, rng, levels):
    return np.where(image / (image.max() - np.float64(image.min())) > 2, np.uint8(0), darken(image, rng, levels))


def forget(image, rng, levels):
    CALLS.append(levels)
    return np.roll(darken(image, rng, levels), len(CALLS), axis=0)


def share_a_buffer(image, rng, levels):
    buffer = BUFFERS.setdefault(image.shape, np.empty_like(image))
    buffer[:] = darken(image, rng, levels)
    time.sleep(0.001)
    return buffer


def draw_from_numpy(image, rng, levels):
    np.random.rand()
    return darken(image, rng, levels)


def draw_from_python(image, rng, levels):
    random.random()
    return darken(image, rng, levels)


def change(image, rng, levels):
    image //= 2
    return image


def ignore_severity(image, rng, levels):
    return darken(image, rng, 9)


def change_nothing_at_first(image, rng, levels):
    return darken(image, rng, levels - 10)


@pytest.mark.parametrize(
    ("function", "declared_random", "message"),
    [
        (lambda image, rng, levels: None, False, "raises ArgumentError: .*NoneType"),
        (lambda image, rng, levels: image / 255, False, "raises ArgumentError: .*float64"),
        (for_square_images_only, False, r"1 on 16 x 130 pixels raises ValueError"),
        (warn, False, "raises RuntimeWarning"),
        (change, False, "changed its input"),
        (forget, False, "gives (other pixels for the same seed|a view other pixels than its copy)"),
        (share_a_buffer, False, "gives other pixels on threads than alone"),
        (draw_from_numpy, False, "draws from a global random state"),
        (draw_from_python, False, "draws from a global random state"),
        (darken, True, "is declared random, and another seed gives the same pixels"),
        (noisy, False, "is declared not random, and another seed gives other pixels"),
        (ignore_severity, False, "2 .* equals severity 1"),
        (change_nothing_at_first, False, "1 .* equals severity 0"),
    ],
)
def test_a_broken_promise_is_one_clear_sentence(function, declared_random, message):
    corruption("broken", severities=LEVELS, random=declared_random)(function)
    with pytest.raises(AssertionError, match=rf"^broken \(edition imagenet224, method fast\) at severity .*{message}"):
        check_corruption("broken")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"corruption": "fogg"}, "Did you mean 'fog'"),
        ({"corruption": darken}, "darken.* is not registered as a corruption"),
        ({"corruption": "fog", "edition": "tiny"}, "Did you mean 'tiny64'"),
        ({"corruption": "fog", "method": "quick"}, "Known: fast, reference"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(ArgumentError, match=message):
        check_corruption(**arguments)
