"""What a build would take: files, bytes and time, from a few of its images."""

from __future__ import annotations

import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from oodometer.arguments import is_url
from oodometer.building.cells import Item
from oodometer.building.recipe import Recipe
from oodometer.errors import ArgumentError, DatasetError, ImageError
from oodometer.threads import threads

__all__ = ["Estimate", "estimate"]

TRIED = 32
"""How many images are tried, spread over all of them, and for how many seconds at most."""
SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a build would take: ``seconds`` without those of the disk, on which ``free`` bytes are left now."""

    images: int
    conditions: int
    files: int
    bytes: int
    seconds: float
    free: int


def estimate(recipe: Recipe, out: str | os.PathLike[str], workers: int | None = None) -> Estimate:
    """Make the pictures of a few images, write nothing, and extrapolate.

    Raises
    ------
    StoreError
        If the output folder holds something else.
    DatasetError
        If none of the images tried can be read.
    """
    if is_url(out):
        raise ArgumentError(
            f"{out}: what a build takes is estimated for a folder. Leave --dry-run out, or name a folder."
        )
    folder, count = recipe.folder_type(out), threads(workers)
    folder.check_can_begin()
    if folder.exists():
        folder.check_same_plan(recipe.planned)
    images, conditions = len(recipe.items), len(recipe.cells)
    tried = recipe.items[:: max(1, images // TRIED)][:TRIED]
    if not any(_bytes_of(recipe, item) for item in tried):  # the first that can be read compiles the kernels
        raise DatasetError(f"None of the {len(tried)} images that were tried can be read.")
    start = time.perf_counter()
    with ThreadPoolExecutor(count, thread_name_prefix="oodometer") as pool:
        until = start + SECONDS
        sizes = list(pool.map(lambda item: _bytes_of(recipe, item) if time.perf_counter() < until else 0, tried))
    seconds, done = time.perf_counter() - start, sum(size > 0 for size in sizes)
    return Estimate(
        images=images,
        conditions=conditions,
        files=recipe.files,
        bytes=sum(sizes) * images // done,
        seconds=seconds / done * images,
        free=shutil.disk_usage(_existing(folder.path)).free,
    )


def _bytes_of(recipe: Recipe, item: Item) -> int:
    """Return the bytes of all pictures of an image; 0 if it cannot be read."""
    try:
        image = recipe.source_image(item)
    except ImageError:
        return 0
    return sum(len(recipe.format.encoding.encode(recipe.picture(image, item, cell))) for cell in recipe.cells)


def _existing(path: Path) -> Path:
    return path if path.exists() or path == path.parent else _existing(path.parent)
