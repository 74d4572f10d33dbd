"""ImageNet-P against hand-computed cases and plain loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import MetricError
from oodometer.metrics import flip_rate, mean_flip_rate, top5_distance
from oodometer.metrics.sequences import IMAGENET_P


def pairs(frames, noise):
    return [(0 if noise else later - 1, later) for later in range(1, frames)]


def flip_rate_by_loops(predictions, noise):
    rates = []
    for video in predictions:
        flips = [video[i] != video[j] for i, j in pairs(len(video), noise)]
        rates.append(sum(flips) / len(flips))
    return sum(rates) / len(rates)


def top5_distance_by_loops(ranks, noise):
    distances = []
    for video in ranks:
        of_video = []
        for i, j in pairs(len(video), noise):
            distance = 0
            for place in range(1, 6):
                best = list(video[i]).index(place)
                distance += abs((place - 1) - min(video[j][best] - 1, 5))
            of_video.append(distance)
        distances.append(sum(of_video) / len(of_video))
    return sum(distances) / len(distances)


def draw_ranks(seed, videos, frames, classes):
    rng = np.random.default_rng(seed)
    return np.argsort(rng.random((videos, frames, classes)), axis=2) + 1


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(2, 6), st.booleans())
def test_flip_rate_equals_plain_loops(seed, videos, frames, noise):
    predictions = np.random.default_rng(seed).integers(0, 3, (videos, frames))
    assert flip_rate(predictions, noise) == pytest.approx(flip_rate_by_loops(predictions.tolist(), noise))


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(2, 5), st.integers(5, 12), st.booleans())
def test_top5_distance_equals_plain_loops(seed, videos, frames, classes, noise):
    ranks = draw_ranks(seed, videos, frames, classes)
    assert top5_distance(ranks, noise) == pytest.approx(top5_distance_by_loops(ranks.tolist(), noise))
    assert top5_distance(ranks.astype(np.uint16), noise) == top5_distance(ranks, noise)


def test_noise_videos_are_compared_with_their_first_frame():
    predictions = np.array([[1, 2, 2, 2]])
    assert flip_rate(predictions) == pytest.approx(1 / 3)
    assert flip_rate(predictions, noise=True) == 1.0


def test_top5_distance_by_hand():
    same = [1, 2, 3, 4, 5, 6, 7]
    swapped = [2, 1, 3, 4, 5, 6, 7]
    best_falls_out = [7, 1, 2, 3, 4, 5, 6]
    assert top5_distance(np.array([[same, same]])) == 0
    assert top5_distance(np.array([[same, swapped]])) == 2
    # The best goes to place 7, which counts as 6, five places down; the four others go up by one.
    assert top5_distance(np.array([[same, best_falls_out]])) == 5 + 4


def test_mean_flip_rate_is_a_mean_of_ratios():
    rates = {name: 0.1 * (1 + i % 2) for i, name in enumerate(IMAGENET_P)}
    baseline = dict.fromkeys(reversed(IMAGENET_P), 0.2)
    assert mean_flip_rate(rates, baseline) == pytest.approx(0.75)
    assert mean_flip_rate(rates | {"shear": 9.0}, baseline) == pytest.approx(0.75)
    assert mean_flip_rate(rates, rates) == 1.0


@pytest.mark.parametrize("bad", [np.array([1, 2]), np.array([[1.0, 2.0]]), np.array([[1]]), np.zeros((0, 3), int)])
def test_predictions_of_another_form_are_refused(bad):
    with pytest.raises(MetricError, match="videos x frames, with at least 2 frames"):
        flip_rate(bad)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones((1, 2), int), "videos x frames x classes"),
        (draw_ranks(0, 1, 2, 4), "at least 5 classes"),
        (draw_ranks(0, 1, 2, 6) - 1, "1..classes once each"),
        (np.ones((1, 2, 6), int), "1..classes once each"),
    ],
)
def test_ranks_of_another_form_are_refused(bad, message):
    with pytest.raises(MetricError, match=message):
        top5_distance(bad)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rates", None, "rates: .*missing: tilt"),
        ("rates", -0.1, "rates: .*'tilt', found -0.1"),
        ("rates", math.nan, "rates: .*'tilt', found nan"),
        ("baseline_rates", None, "baseline_rates: .*missing: tilt"),
        ("baseline_rates", 0.0, "baseline_rates: the rate is 0 for tilt"),
    ],
)
def test_rates_that_define_no_mean_are_refused(name, value, message):
    tables = {"rates": dict.fromkeys(IMAGENET_P, 0.1), "baseline_rates": dict.fromkeys(IMAGENET_P, 0.2)}
    if value is None:
        del tables[name]["tilt"]
    else:
        tables[name]["tilt"] = value
    with pytest.raises(MetricError, match=message):
        mean_flip_rate(**tables)
