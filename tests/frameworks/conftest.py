"""The adapters against their frameworks, which only an environment of constraints-frameworks.txt has."""

import importlib.util

import numpy as np
import PIL.Image
import pytest

# Elsewhere these files cannot even be imported. Where it is, a framework that is missing is an error.
collect_ignore_glob = [] if importlib.util.find_spec("torchvision") else ["test_*.py"]

CLOSE = 1e-4
"""How near the logits must be to those of the framework itself, where pictures differ by 1 at most."""


@pytest.fixture(scope="session")
def pictures():
    """Make four pictures of 224 x 224 with structure of several sizes."""
    rng = np.random.default_rng(0)
    made = []
    for side in (7, 14, 56, 112):
        coarse = PIL.Image.fromarray(rng.integers(0, 256, (side, side, 3)).astype(np.uint8))
        made.append(np.asarray(coarse.resize((224, 224), PIL.Image.Resampling.BICUBIC)))
    return np.stack(made)


@pytest.fixture
def agree():
    """Return a check that two arrays of logits agree, by the scale on which they tell the pictures apart."""

    def check(found, expected):
        expected = np.asarray(expected)
        apart = np.abs(expected - expected[0]).max()
        assert apart > 0.05 * np.abs(expected).max()
        assert found.shape == expected.shape
        np.testing.assert_allclose(found / apart, expected / apart, rtol=0, atol=CLOSE)

    return check


@pytest.fixture
def resize():
    """Return a function that resizes pictures as Pillow does, which is what the frameworks' own evaluations use."""

    def made(pictures, side, filter_):
        return np.stack([np.asarray(PIL.Image.fromarray(p).resize((side, side), filter_)) for p in pictures])

    return made
