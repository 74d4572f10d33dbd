"""Scores per video against ranks, the published loop and brute force; intervals against the bootstrap."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import MetricError
from oodometer.metrics import Sample, flip_rate, top5_distance
from oodometer.metrics.sequence_estimates import mean_score_estimate, relative_score_estimate, score_estimate
from oodometer.metrics.sequences import FARTHEST, is_noise, video_flip_rates, video_top5_distances


def published_flip_probability(predictions, noise, difficulty):
    """Do as the loop of the public evaluation code (hendrycks/robustness, ImageNet-P/test.py) does."""
    result = 0.0
    step_size = 1 if noise else difficulty
    for video in predictions:
        of_video = []
        for i in range(step_size):
            previous = video[i]
            for prediction in video[i::step_size][1:]:
                of_video.append(int(previous != prediction))
                if not noise:
                    previous = prediction
        result += sum(of_video) / len(of_video) / len(predictions)
    return result


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(4, 9), st.booleans(), st.integers(1, 3))
def test_flip_rates_are_those_of_the_published_loop(seed, videos, frames, noise, difficulty):
    predictions = np.random.default_rng(seed).integers(0, 3, (videos, frames))
    scores = video_flip_rates(predictions, noise, difficulty)
    expected = published_flip_probability(predictions.tolist(), noise, difficulty)
    assert scores.mean() == pytest.approx(expected)
    if difficulty == 1:
        assert flip_rate(predictions, noise) == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(2, 5), st.integers(5, 12), st.booleans())
def test_five_best_classes_give_the_distance_of_all_ranks(seed, videos, frames, classes, noise):
    ranks = np.argsort(np.random.default_rng(seed).random((videos, frames, classes)), axis=2) + 1
    top5 = np.argsort(ranks, axis=2)[:, :, :5]
    scores = video_top5_distances(top5, noise)
    assert scores.shape == (videos,)
    assert scores.mean() == pytest.approx(top5_distance(ranks, noise))


def test_distances_at_a_step_skip_the_frames_between():
    one, other = [0, 1, 2, 3, 4], [1, 0, 2, 3, 4]
    video = np.array([[one, other, one, other]])
    assert video_top5_distances(video).tolist() == [2.0]
    assert video_top5_distances(video, step=2).tolist() == [0.0]
    assert video_top5_distances(video, noise=True, step=2).tolist() == [pytest.approx(4 / 3)]


def test_the_greatest_distance_is_that_of_all_rearrangements():
    """Of every way to place five known classes and any strangers, in five places."""
    before = np.arange(5)
    later = np.array(list(itertools.permutations(range(10), 5)))
    pairs = np.stack([np.broadcast_to(before, later.shape), later], axis=1)
    assert video_top5_distances(pairs).max() == FARTHEST


@pytest.mark.parametrize(
    ("top5", "message"),
    [
        (np.zeros((1, 2, 5), int), "5 different classes"),
        (np.arange(8).reshape(1, 2, 4), "5 different classes"),
        (np.arange(5).reshape(1, 1, 5), "at least 2 frames"),
        (np.zeros((1, 2, 5)), "Expected integers"),
    ],
)
def test_what_is_no_list_of_five_is_refused(top5, message):
    with pytest.raises(MetricError, match=message):
        video_top5_distances(top5)


@pytest.mark.parametrize("step", [0, 3])
def test_a_step_that_leaves_no_pair_is_refused(step):
    with pytest.raises(MetricError, match="expected 1 to 2 frames of 3"):
        video_flip_rates(np.array([[1, 2, 3]]), step=step)


def test_noises_are_known_by_name():
    assert [is_noise(name) for name in ("speckle_noise", "shot_noise", "gaussian_blur", "tilt")] == [True] * 2 + [
        False
    ] * 2


def draw_scores(rng, n, names, spread=1.0):
    """Scores that go together within an image, as flips of one image do."""
    of_image = rng.beta(1, 4, n)
    return {name: np.clip(of_image * rng.uniform(0.5, 1.5, n) + 0.1 * k * spread, 0, 1) for k, name in enumerate(names)}


def masked(rng, scores, share):
    return {name: np.ma.array(column, mask=rng.random(len(column)) < share) for name, column in scores.items()}


def bootstrap_se(rng, number, n, draws=2000):
    return np.std([number(rng.integers(0, n, n)) for _ in range(draws)])


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_error_of_a_mean_is_that_of_the_bootstrap_over_images(share):
    rng = np.random.default_rng(1)
    scores = masked(rng, draw_scores(rng, 300, "abc"), share)
    estimate = mean_score_estimate(scores, 1)

    def number(rows):
        return np.mean([np.ma.mean(column[rows]) for column in scores.values()])

    assert estimate.value == pytest.approx(number(np.arange(300)))
    assert estimate.se == pytest.approx(bootstrap_se(rng, number, 300), rel=0.08)
    assert estimate.low < estimate.value < estimate.high


@pytest.mark.parametrize("greatest", [1, FARTHEST])
def test_the_error_of_a_ratio_of_two_runs_is_that_of_the_bootstrap(greatest):
    """Both runs saw the same images, and go together on them."""
    rng = np.random.default_rng(2)
    mine = draw_scores(rng, 300, "abc")
    theirs = {name: np.clip(column * rng.uniform(0.7, 1.6, 300), 0, 1) for name, column in mine.items()}
    scores = {name: greatest * column for name, column in mine.items()}
    divisors = {name: greatest * column.mean() for name, column in theirs.items()}
    images = tuple(map(str, range(300)))
    sample = Sample(images, {name: column[:, None] for name, column in theirs.items()}, None)

    def number(rows):
        return np.mean([mine[name][rows].mean() / theirs[name][rows].mean() for name in mine])

    paired = relative_score_estimate(scores, divisors, greatest, images, sample)
    assert paired.value == pytest.approx(number(np.arange(300)))
    assert paired.se == pytest.approx(bootstrap_se(rng, number, 300), rel=0.08)
    exact = relative_score_estimate(scores, divisors, greatest)
    fixed = {name: column.mean() for name, column in theirs.items()}

    def with_exact(rows):
        return np.mean([mine[name][rows].mean() / fixed[name] for name in mine])

    assert exact.value == pytest.approx(paired.value)
    assert exact.se == pytest.approx(bootstrap_se(rng, with_exact, 300), rel=0.08)


def draw_benchmark(rng, images, rate=0.15, pairs=30):
    """Draw flip rates of ten perturbations, where few images flicker, but under everything; and of a worse model."""
    prone = np.minimum(rng.gamma(0.3, rate / 0.3, images), 1)
    shares = [np.clip(prone * rng.uniform(0.3, 1.7, images), 0, 1) for _ in range(10)]
    mine = {f"p{k}": rng.binomial(pairs, share) / pairs for k, share in enumerate(shares)}
    worse = {name: np.clip(scores + rng.binomial(pairs, 0.02, images) / pairs, 0, 1) for name, scores in mine.items()}
    return mine, worse


def test_the_intervals_hold_the_truth():
    rng = np.random.default_rng(0)
    mine, worse = draw_benchmark(rng, 200_000)
    mean, first = np.mean([scores.mean() for scores in mine.values()]), mine["p0"].mean()
    ratio = np.mean([mine[name].mean() / worse[name].mean() for name in mine])
    images = tuple(map(str, range(100)))
    held = np.zeros(3)
    for _ in range(300):
        mine, worse = draw_benchmark(rng, 100)
        divisors = {name: scores.mean() for name, scores in worse.items()}
        sample = Sample(images, {name: scores[:, None] for name, scores in worse.items()}, None)
        relative = relative_score_estimate(mine, divisors, 1, images, sample)
        found = (mean_score_estimate(mine, 1), score_estimate(mine["p0"], 1, 30), relative)
        held += [one.low <= truth <= one.high for one, truth in zip(found, (mean, first, ratio), strict=True)]
    # 95 % is promised; of 300 draws the share is known to within 2.5 points.
    assert (held / 300 > 0.92).all()
    assert (held / 300 < 0.995).all()


def test_one_perturbation_has_the_mean_of_its_videos_alone():
    column = np.ma.array([0.5, 0.25, 9.0], mask=[False, False, True])
    estimate = score_estimate(column, 1)
    assert (estimate.value, estimate.n) == (0.375, 2)
    assert score_estimate(np.array([3.0, 9.0]), FARTHEST).value == 6.0


@pytest.mark.parametrize(
    ("divisors", "message"), [({"a": 0.5}, "no number for b"), ({"a": 0.5, "b": 0.0}, "number is 0 for b")]
)
def test_a_baseline_that_cannot_divide_is_refused(divisors, message):
    with pytest.raises(MetricError, match=message):
        relative_score_estimate({"a": np.array([0.5]), "b": np.array([0.5])}, divisors, 1)
