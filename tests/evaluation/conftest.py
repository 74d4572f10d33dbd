"""Small data sets for the tests of an evaluation."""

import json

import numpy as np
import PIL.Image
import pytest

from oodometer.datasets import imagenet1k


@pytest.fixture(autouse=True)
def _with_frost(frost):
    """Have the textures: without them an evaluation leaves frost out."""


@pytest.fixture
def textured():
    """Return a function that makes a picture with strong texture, a different one for each number."""

    def make(number, side=64):
        rng = np.random.default_rng(number)
        coarse = rng.integers(0, 256, (side // 8, side // 8, 3)).astype(np.uint8)
        return np.asarray(PIL.Image.fromarray(coarse).resize((side, side), PIL.Image.Resampling.BICUBIC))

    return make


@pytest.fixture
def photographs(tmp_path, textured):
    """Return a function that writes n pictures, two to a class, in folders named by wnid."""

    def write(n, side=64, folder="val"):
        root = tmp_path / folder
        for i in range(n):
            place = root / imagenet1k().classes[i // 2 * 7]
            place.mkdir(parents=True, exist_ok=True)
            PIL.Image.fromarray(textured(i, side)).save(place / f"{i:04d}.png")
        return root

    return write


@pytest.fixture
def ten_classes(tmp_path, textured):
    """Write ten pictures of ten classes of one's own, and the labels file that goes with them."""
    root = tmp_path / "mine"
    labels = {}
    for i in range(10):
        (root / f"class{i}").mkdir(parents=True)
        PIL.Image.fromarray(textured(i)).save(root / f"class{i}" / "a.png")
        labels[f"class{i}"] = i
    file = tmp_path / "labels.json"
    file.write_text(json.dumps(labels))
    return root, file
