"""Endpoints and pictures for the tests of vision-language models."""

import json

import numpy as np
import PIL.Image
import pytest
from endpoint import NAMES, Endpoint

from oodometer.datasets import imagenet1k


@pytest.fixture(autouse=True)
def _no_key(monkeypatch):
    """Send no key of whoever runs the tests, and use no proxy of theirs."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def serve():
    """Return a function that starts an endpoint with a rule of what to say."""
    started = []

    def start(say):
        started.append(Endpoint(say))
        return started[-1]

    yield start
    for endpoint in started:
        endpoint.close()


@pytest.fixture
def picture():
    """Return a function that makes a picture: strong texture around a level of red."""

    def make(number, level, side=24):
        rng = np.random.default_rng(number)
        made = rng.integers(0, 256, (side, side, 3)).astype(np.uint8)
        made[..., 0] = np.clip(made[..., 0] // 8 + level, 0, 255)
        return made

    return make


@pytest.fixture
def five_classes(tmp_path, picture):
    """Return a function that writes n pictures of five classes, and gives the folder and its labels."""

    def write(n):
        root = tmp_path / "mine"
        for i in range(n):
            place = root / NAMES[i % 5]
            place.mkdir(parents=True, exist_ok=True)
            PIL.Image.fromarray(picture(i, 32 * (i % 5))).save(place / f"{i:03d}.png")
        file = tmp_path / "labels.json"
        file.write_text(json.dumps({name: k for k, name in enumerate(NAMES)}))
        return root, file

    return write


@pytest.fixture
def of_imagenet(tmp_path, picture):
    """Return a function that writes a picture for each of some classes of ImageNet, by their positions."""

    def write(folder, positions):
        for number, position in enumerate(positions):
            place = tmp_path / folder / imagenet1k().classes[position]
            place.mkdir(parents=True, exist_ok=True)
            made = picture(100 * len(folder) + number, 40)  # another picture in every folder
            PIL.Image.fromarray(made).save(place / f"{number:03d}.png")
        return tmp_path / folder

    return write
