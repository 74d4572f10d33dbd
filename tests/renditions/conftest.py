"""A small collection to work on."""

import os
from pathlib import Path

import drawings
import pytest

from oodometer.renditions import collect, screen

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.fixture
def pool(tmp_path):
    """Make an empty folder for candidates."""
    folder = tmp_path / "pool"
    folder.mkdir()
    return folder


@pytest.fixture
def collected(pool, tmp_path):
    """Save pictures by path and list them; ``labels`` are by path, the goldfish unless given."""

    def make(pictures, *, rows=None, out="work", **options):
        for path, image in pictures.items():
            drawings.save(pool, path, image)
        named = [drawings.row(path) for path in pictures] if rows is None else rows
        return collect(drawings.table(pool, *named), tmp_path / out, **options)

    return make


@pytest.fixture
def screened(collected):
    """Collect and screen; gives the collection and the rows by path."""

    def make(pictures, *, rows=None, clean=(), smallest=16, workers=None, **options):
        collection = collected(pictures, rows=rows, **options)
        found = screen(collection, clean, smallest=smallest, workers=workers)
        return collection, {row.path: row for row in found}

    return make


@pytest.fixture(scope="session")
def candidates():
    """Find the pool of real candidates, whose pictures may not be copied into the repository."""
    shared = Path(os.environ.get("OODOMETER_SHARED") or CHECKOUT.parent / "shared")
    folder = shared / "data" / "renditions_candidates"
    if (folder / "truth.csv").is_file():
        return folder
    message = f"No candidates in {folder}: set OODOMETER_SHARED to the folder that holds data/renditions_candidates."
    if os.environ.get("OODOMETER_REQUIRE_GOLDEN") == "1":
        pytest.fail(message)
    pytest.skip(message)
