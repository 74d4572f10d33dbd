"""What holds for every perturbation: chance, order, the number of frames, what comes in, and what is refused."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer.errors import ArgumentError
from oodometer.families import IMAGENET_P
from oodometer.perturbations import FOLDERS, GROUPS, PERTURBATIONS, perturb
from oodometer.perturbations.registry import REGISTRY

DRAWING = {"gaussian_noise", "shot_noise", "speckle_noise", "snow", "spatter"}
PICTURE = np.random.default_rng(1).integers(0, 256, (40, 52, 3)).astype(np.uint8)


def made(name, **options):
    return perturb(PICTURE, name, **{"side": 36, **options})


def test_the_names_are_the_published_ones():
    assert PERTURBATIONS[:10] == IMAGENET_P == GROUPS["imagenet-p"]
    assert len(PERTURBATIONS) == 14
    assert sorted(FOLDERS) == sorted(
        [*PERTURBATIONS, *(f"{kind}_noise_{d}" for kind in ("gaussian", "shot", "speckle") for d in (2, 3))]
    )
    assert oodometer.perturb is perturb


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_frames_are_as_many_and_as_large_as_published(name):
    frames = perturb(np.zeros((256, 300, 3), np.uint8), name)
    assert frames.dtype == np.uint8
    assert frames.shape == (41 if name == "translate" else 31, 224, 224, 3)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(PERTURBATIONS), st.data(), st.integers(-(2**63), 2**64 - 1), st.text(max_size=9))
def test_a_frame_does_not_depend_on_how_many_there_are(name, data, seed, image_id):
    options = {"seed": seed, "image_id": image_id}
    count = data.draw(st.integers(1, REGISTRY[name].frames))
    np.testing.assert_array_equal(made(name, frames=count, **options), made(name, **options)[:count])


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_chance_is_of_seed_and_image_alone(name):
    first = made(name, seed=1, image_id="a")
    np.testing.assert_array_equal(made(name, seed=1, image_id="a"), first)
    for other in ({"seed": 2, "image_id": "a"}, {"seed": 1, "image_id": "b"}):
        assert np.array_equal(made(name, **other), first) == (name not in DRAWING)


def test_threads_change_no_pixel():
    jobs = [(name, seed) for seed in range(2) for name in PERTURBATIONS]
    alone = [made(name, seed=seed) for name, seed in jobs]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda job: made(job[0], seed=job[1]), jobs))
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_any_form_of_a_picture_gives_the_same_frames(name):
    expected = made(name, frames=3)
    before = PICTURE.copy()
    before.flags.writeable = False
    flipped = np.ascontiguousarray(PICTURE[:, ::-1])[:, ::-1]
    for form in (before, flipped, PICTURE / 255, PIL.Image.fromarray(PICTURE)):
        np.testing.assert_array_equal(perturb(form, name, frames=3, side=36), expected)
    gray = perturb(PICTURE[..., 0], name, frames=3, side=36)
    repeated = np.repeat(PICTURE[..., :1], 3, axis=2)
    np.testing.assert_array_equal(gray, perturb(repeated, name, frames=3, side=36))


def test_without_a_side_a_frame_shows_the_whole_picture():
    assert made("rotate", side=None).shape == (31, 40, 52, 3)
    np.testing.assert_array_equal(made("rotate", side=None)[15], PICTURE)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": "rotation"}, "Did you mean 'rotate'"),
        ({"name": "fog"}, "Unknown perturbation 'fog'"),
        ({"name": "gaussian_noise_2"}, "Did you mean 'gaussian_noise'"),
        ({"frames": 0}, "frames of rotate must be a whole number from 1 to 31"),
        ({"frames": 32}, "from 1 to 31"),
        ({"frames": 2.5}, "whole number"),
        ({"name": "translate", "frames": 42}, "from 1 to 41"),
        ({"difficulty": 2}, "rotate has difficulty 1 alone"),
        ({"name": "shot_noise", "difficulty": 4}, "difficulty must be a whole number from 1 to 3"),
        ({"name": "shot_noise", "difficulty": None}, "difficulty must be a whole number"),
        ({"seed": 2**64}, "seed must be a whole number"),
        ({"seed": "1"}, "seed must be a whole number"),
        ({"image_id": 7}, "image_id must be a string"),
        ({"side": 41}, "Resize the picture first"),
        ({"side": 8}, "side must be a whole number from 16"),
        ({"side": 224}, "no part of a picture of 40 x 52"),
        ({"image": np.zeros((2, 40, 40, 3), np.uint8)}, "not of a batch"),
        ({"image": np.zeros((40, 40, 4), np.uint8)}, "alpha"),
        ({"image": np.zeros((40, 8, 3), np.uint8)}, "at least 16 pixels"),
        ({"image": "photo.jpg"}, "not str"),
    ],
)
def test_wrong_arguments_are_named(arguments, words):
    given = {"image": PICTURE, "name": "rotate", "side": 36, **arguments}
    with pytest.raises(ArgumentError) as told:
        perturb(given.pop("image"), given.pop("name"), **given)
    assert words in str(told.value)
