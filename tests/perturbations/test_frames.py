"""What the perturbations that change values do from frame to frame, against closed forms and the plain kernels."""

import math
import warnings

import numpy as np
import pytest
from scipy import ndimage

from oodometer.corruptions import weather
from oodometer.corruptions.rendering import central_zoom, streak
from oodometer.perturbations import PERTURBATIONS, perturb

BLURS = ("motion_blur", "zoom_blur", "gaussian_blur")
NOISES = ("gaussian_noise", "shot_noise", "speckle_noise")


@pytest.fixture(scope="module")
def textured():
    rng = np.random.default_rng(3)
    coarse = rng.integers(20, 236, (12, 14, 3)).astype(float)
    return ndimage.zoom(coarse, (8, 8, 1), order=1).astype(np.uint8)


def off(frame, expected):
    return np.abs(frame.astype(int) - expected.astype(int)).max()


@pytest.mark.parametrize("name", BLURS)
@pytest.mark.parametrize("level", [0, 100, 255])
def test_a_blur_of_a_constant_stays_constant(name, level):
    frames = perturb(np.full((64, 72, 3), level, np.uint8), name, side=48)
    values = frames[:, 0, 0, 0].astype(int)
    assert (frames == frames[:, :1, :1, :1]).all()
    # The kernels of two of our corruptions cut off what rounding leaves a hair under a whole level.
    assert set(values) <= ({level} if name == "zoom_blur" else {level, max(level - 1, 0)})


def test_motion_blur_turns_a_streak_of_one_strength(textured):
    for i, frame in enumerate(perturb(textured, "motion_blur", side=None)):
        assert off(frame, streak(textured, 10, 3, -120 + 4 * i)) <= 1


def test_gaussian_blur_widens_by_0_035(textured):
    for i, frame in enumerate(perturb(textured, "gaussian_blur", side=None)):
        sigma = 0.25 + 0.035 * i
        plain = ndimage.gaussian_filter(textured / 255, (sigma, sigma, 0), mode="nearest", truncate=6)
        assert off(frame, (255 * plain).astype(np.uint8)) <= 1


def test_zoom_blur_is_the_mean_of_growing_copies(textured):
    height, width = textured.shape[:2]
    y, x = np.mgrid[0:height, 0:width].astype(float)
    total = np.zeros(textured.shape)
    for i, frame in enumerate(perturb(textured, "zoom_blur", side=None)):
        places = [(y - height / 2) / (1 + 0.004 * i) + height / 2, (x - width / 2) / (1 + 0.004 * i) + width / 2]
        for k in range(3):
            total[..., k] += ndimage.map_coordinates(textured[..., k].astype(float), places, order=1, mode="nearest")
        # Each copy, and their mean, is cut to whole levels.
        difference = total / (i + 1) - frame
        assert difference.min() > -0.01
        assert difference.max() < 2
    np.testing.assert_array_equal(perturb(textured, "zoom_blur", side=None, frames=1)[0], textured)


def test_brightness_rises_by_a_fiftieth(textured):
    frames = perturb(textured, "brightness", side=None)
    for i, frame in enumerate(frames):
        assert off(frame, weather.brightness(textured, None, (i - 15) / 50)) <= 1
    np.testing.assert_array_equal(frames[15], textured)
    assert (np.diff(frames.mean(axis=(1, 2, 3))) > 1).all()


def test_brightness_makes_gray_of_black():
    frames = perturb(np.zeros((16, 16, 3), np.uint8), "brightness", side=None)
    assert frames[:, 0, 0, 0].tolist() == [max(math.floor(5.1 * (i - 15) + 1e-9), 0) for i in range(31)]
    assert (frames == frames[:, :1, :1, :1]).all()


@pytest.mark.parametrize(
    ("name", "difficulty", "deviation"),
    [
        *(("gaussian_noise", d, 255 * s) for d, s in ((1, 0.03), (2, 0.05), (3, 0.08))),
        *(("shot_noise", d, 255 * math.sqrt(100 / 255 / n)) for d, n in ((1, 300), (2, 120), (3, 60))),
        *(("speckle_noise", d, 100 * s) for d, s in ((1, 0.05), (2, 0.10), (3, 0.15))),
    ],
)
def test_noise_has_the_published_deviation(name, difficulty, deviation):
    gray = np.full((64, 64, 3), 100, np.uint8)
    frames = perturb(gray, name, side=None, difficulty=difficulty, frames=16).astype(float)
    assert (frames[0] == 100).all()
    noise = frames[1:]
    if name != "shot_noise":  # whose values are few and far between: cutting them off adds no evenly spread error
        assert noise.std() == pytest.approx(math.sqrt(deviation**2 + 1 / 12), rel=0.01)
    assert noise.std() == pytest.approx(deviation, rel=0.03)
    assert abs(noise.mean() + 0.5 - 100) < 0.5 + 5 * deviation / math.sqrt(noise.size)


@pytest.mark.parametrize("name", NOISES)
def test_each_later_frame_of_noise_is_a_draw_of_its_own(textured, name):
    frames = perturb(textured, name, side=None, frames=6).astype(float)
    np.testing.assert_array_equal(frames[0], textured)
    noise = (frames[1:] - frames[1:].mean(axis=0)).reshape(5, -1)
    # Of independent draws, what is left after their mean is taken away correlates by -1/4.
    between = np.corrcoef(noise)[np.triu_indices(5, 1)]
    assert np.abs(between + 0.25).max() < 6 / math.sqrt(noise.shape[1])


def test_difficulties_of_noise_do_not_share_draws():
    gray = np.full((64, 64, 3), 128, np.uint8)
    noise = [perturb(gray, "gaussian_noise", side=None, frames=2, difficulty=d)[1].ravel() - 128.0 for d in (1, 2, 3)]
    assert np.abs(np.corrcoef(noise)[np.triu_indices(3, 1)]).max() < 6 / math.sqrt(gray.size)


def test_snow_is_one_layer_of_flakes_in_a_turning_wind():
    """On black: the whitening alone is 0.15 / 2, and the flakes are those of one field, smeared as plainly."""
    black = np.zeros((96, 96, 3), np.uint8)
    frames = perturb(black, "snow", side=None, seed=5, image_id="a")
    layers = frames[..., 0].astype(int) - 19
    assert (frames == frames[..., :1]).all()
    assert layers.min() == 0
    assert (layers == layers[:, ::-1, ::-1]).all()  # laid over it twice, once turned
    flakes = _field(96, seed=5, image_id="a")
    for i in (0, 1, 17, 30):
        fallen = streak(flakes, 14, 4, -150 + 4 * i) / 255
        plain = np.clip(0.075 + fallen + fallen[::-1, ::-1], 0, 1) * 255
        assert np.abs(frames[i, ..., 0] - np.floor(plain)).max() <= 2


def _field(side, seed, image_id):
    """Return the flakes before they are smeared, from the same draws."""
    from oodometer.corruptions.fast.weather import draw_snow
    from oodometer.seeding import stream_key

    drawn, _ = draw_snow(stream_key(seed, image_id, "sequence/snow", 0), (side, side), 0.05, 0.3, 3)
    crop = math.ceil(side / 3)
    whole = np.zeros((side, side))
    start = (side - crop) // 2
    whole[start : start + crop, start : start + crop] = drawn
    layer = central_zoom(whole, 3)
    layer[layer < 0.5] = 0
    return (np.clip(layer, 0, 1) * 255).astype(np.uint8)


def test_drops_run_down_a_pixel_and_a_half_a_frame():
    gray = np.full((120, 120, 3), 40, np.uint8)
    water = perturb(gray, "spatter", side=None)[..., 1].astype(float) - 40
    assert water[0].max() > 50  # there are drops

    def best(one, other):
        return max(range(-30, 31), key=lambda s: np.corrcoef(one[40:-40].ravel(), other[40 + s : 80 + s].ravel())[0, 1])

    assert best(water[0], water[1]) in (1, 2)
    assert 12 <= best(water[0], water[10]) <= 16


def test_slow_perturbations_change_little_from_frame_to_frame(textured):
    """Nothing flickers: frames that follow each other are nearer than the ends of the video."""
    for name in PERTURBATIONS:
        if name not in NOISES:
            frames = perturb(textured, name, side=64).astype(float)
            steps = np.abs(np.diff(frames, axis=0)).mean(axis=(1, 2, 3))
            assert steps.max() < np.abs(frames[-1] - frames[0]).mean(), name


def test_errors_that_numpy_is_asked_for_are_none_of_ours(textured):
    with np.errstate(all="raise"), warnings.catch_warnings():
        for name in PERTURBATIONS:
            perturb(textured, name, side=64, frames=3)
