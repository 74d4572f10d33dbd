"""The seam between making pictures and keeping them: a layout opens blocks of images, a block takes their pictures."""

from __future__ import annotations

import typing
from collections.abc import Sequence
from concurrent.futures import Executor

from oodometer.building.cells import Cell, Item, Place
from oodometer.building.encodings import Encoding
from oodometer.building.manifest import BuildFolder, File, Picture
from oodometer.errors import StoreError

__all__ = ["Block", "Layout", "changed", "listed"]


class Block(typing.Protocol):
    """Some images under all conditions; what an earlier process made of it is found again. Safe in several threads."""

    def missing(self, item: Item) -> list[Cell]:
        """Return the conditions under which a picture has to be made: it is not there, or not as it was written."""
        ...

    def put(self, item: Item, cell: Cell, data: bytes) -> None:
        """Keep one picture, so that it is still there after a kill."""
        ...

    def drop(self, item: Item) -> None:
        """Leave out an image that cannot be read, under all conditions alike."""
        ...

    def close(self, pool: Executor) -> list[Picture]:
        """Finish the block once all its images are through, and return its rows of the manifest."""
        ...

    def release(self) -> None:
        """Let go of open files, whatever happened."""
        ...


class Layout(typing.Protocol):
    """How the pictures of a build are kept in files."""

    images: int
    """How many images a block has."""

    one_size: bool
    """Whether all pictures must have one size."""

    def __init__(self, place: Place) -> None: ...

    @staticmethod
    def name(stem: str, encoding: Encoding) -> str:
        """Return what the pictures of an image are called within a condition; two images may not share it."""
        ...

    @staticmethod
    def files(images: int, cells: Sequence[Cell]) -> int:
        """Return how many files a build has."""
        ...

    def open(self, number: int, items: Sequence[Item]) -> Block:
        """Begin a block, or continue it."""
        ...

    def finish(self) -> tuple[File, ...]:
        """Finish the build once all blocks are closed; return the files that hold no picture."""
        ...


def changed(folder: BuildFolder, number: int, item: Item, how: str) -> StoreError:
    """Return the error for an image that can be read now and could not when its block was closed, or the reverse."""
    return StoreError(
        f"The image {item.sample.id} {how}. Delete {folder.block_path(number)} to have the block made again of what "
        "can be read now."
    )


def listed(folder: BuildFolder, number: int) -> list[Picture]:
    """Return the rows of a block that an earlier process closed; none if there are none that can be read."""
    try:
        return folder.read_block(number) if folder.block_path(number).is_file() else []
    except StoreError:
        return []  # damaged: the block is made again
