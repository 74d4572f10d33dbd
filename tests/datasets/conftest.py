"""Fixtures of the data set tests: the shared test data, and small image folders."""

import os
from pathlib import Path

import PIL.Image
import pytest


@pytest.fixture(scope="session")
def shared():
    """Return the folder of test data beside the checkout, or the one that OODOMETER_SHARED names."""
    checkout = Path(__file__).parents[2]
    folder = Path(os.environ.get("OODOMETER_SHARED", checkout.parent / "shared"))
    if not (folder / "data" / "photos").is_dir():
        missing = f"test data absent: no {folder}/data/photos"
        if os.environ.get("OODOMETER_REQUIRE_GOLDEN") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    return folder


@pytest.fixture
def tree(tmp_path):
    """Return a function that writes small images under a new root, one for each relative path."""
    root = tmp_path / "val"

    def write(*paths):
        root.mkdir(exist_ok=True)
        for number, path in enumerate(paths):
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            PIL.Image.new("RGB", (8, 6), (number % 256, 0, 0)).save(file, "PNG")
        return root

    return write
