"""A folder of runs, the images that they were made on, and the live page over them, asked without a network."""

import pytest
from live import Recorder, photograph
from starlette.testclient import TestClient

import oodometer
from oodometer.datasets import imagenet1k
from oodometer.viewing.app import make_app
from synthetic_runs import write_run


@pytest.fixture(scope="session")
def photographs(tmp_path_factory):
    """Write six pictures of three classes."""
    root = tmp_path_factory.mktemp("images") / "val"
    for number in range(6):
        place = root / imagenet1k().classes[7 * (number // 2)]
        place.mkdir(parents=True, exist_ok=True)
        photograph(number, (300 - 10 * number, 260)).save(place / f"{number}.png")
    return root


@pytest.fixture(scope="session")
def seen(tmp_path_factory, photographs):
    """Evaluate a model on them, twice, and keep what it was shown: the run's folder and pictures by encoding."""
    runs = {}
    for encoding in ("memory", "jpeg85"):
        recorder, place = Recorder(), tmp_path_factory.mktemp("seen") / encoding
        oodometer.evaluate(
            recorder,
            photographs,
            place,
            corruptions="fog,glass_blur,contrast",
            encoding=encoding,
            seed=5,
            batch_size=6,
            progress=False,
        )
        runs[encoding] = (place, recorder.seen)
    return runs


@pytest.fixture
def ask():
    """Return a function that makes the live page of a folder and gives what asks it, as a browser on this machine."""

    def make(root, **options):
        client = TestClient(make_app(root, **options), base_url="http://127.0.0.1:8765")
        client.headers["accept"] = "text/html"
        return client

    return make


@pytest.fixture
def two_runs(tmp_path):
    """Write two synthetic runs that can be compared, and one whose images are others."""
    root = tmp_path / "runs"
    write_run(root / "a", error=0.3, masked=20, renditions=40)
    write_run(root / "deep" / "b", error=0.6)
    write_run(root / "other", digest="1")
    return root
