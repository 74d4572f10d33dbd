"""Layouts that keep many pictures of one condition in one file: ``<corruption>/<severity>/<block>`` and an ending."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from pathlib import Path

from oodometer.building.cells import Cell, Item, Place
from oodometer.building.encodings import Encoding
from oodometer.building.layout import changed, listed
from oodometer.building.manifest import File, Picture
from oodometer.building.spool import Spool
from oodometer.building.verify import fault_of
from oodometer.errors import StoreError
from oodometer.outfolder import TEMPORARY, mapped_errors, renamed

__all__ = ["Shards", "file_of", "files_of"]


class Shards:
    """One file for each condition and block of images; see ``Layout``. A kind of file is a subclass."""

    images = 1000
    one_size = False
    ending: str

    def __init__(self, place: Place) -> None:
        self.place = place

    @staticmethod
    def name(stem: str, encoding: Encoding) -> str:
        """Return what the pictures of an image are called within a condition."""
        return stem + encoding.extension

    @classmethod
    def files(cls, images: int, cells: Sequence[Cell]) -> int:
        """Return one for each block and condition."""
        return -(-images // cls.images) * len(cells)

    def path(self, cell: Cell, number: int) -> str:
        """Return where the file of a condition and a block is, relative to the build, with ``/``."""
        return f"{cell.folder}/{number:05d}{self.ending}"

    def pack(self, path: Path, pictures: Iterable[tuple[Item, bytes]]) -> None:
        """Write one file."""
        raise NotImplementedError

    def is_whole(self, file: File) -> bool:
        """Return whether a file is as it was written."""
        return fault_of(self.place.folder.path, file.path, file.sha256, file.bytes) is None

    def open(self, number: int, items: Sequence[Item]) -> _ShardBlock:
        """Begin a block, or continue it."""
        return _ShardBlock(self, number, items)

    def finish(self) -> tuple[File, ...]:
        """Do nothing: each file was finished with its block."""
        return ()


class _ShardBlock:
    """A block whose pictures wait in a spool until all are there."""

    def __init__(self, layout: Shards, number: int, items: Sequence[Item]) -> None:
        self._layout, self._number, self._items = layout, number, items
        folder = layout.place.folder
        self._listed = listed(folder, number)
        self._images = {row.image for row in self._listed}
        self._positions = {cell: position for position, cell in enumerate(layout.place.cells)}
        self._kept = {cell: file for cell, file in files_of(self._listed).items() if layout.is_whole(file)}
        self._spool = Spool(folder.unfinished / f"{number:05d}.spool")
        self._dropped: set[int] = set()

    def missing(self, item: Item) -> list[Cell]:
        if item.sample.id not in self._images:
            # Never read so far, or not readable then: it is tried, and must then come under all conditions.
            wanted = list(self._positions)
        else:
            wanted = [cell for cell in self._positions if cell not in self._kept]
        return [cell for cell in wanted if (item.number, self._positions[cell]) not in self._spool]

    def put(self, item: Item, cell: Cell, data: bytes) -> None:
        if cell in self._kept:
            raise self._changed(item, "can be read now, and could not when its block was made")
        with mapped_errors(f"writing the pictures of {item.sample.id}"):
            self._spool.write((item.number, self._positions[cell]), data)

    def drop(self, item: Item) -> None:
        if item.sample.id in self._images:
            raise self._changed(item, "could be read when its block was made, and cannot now")
        self._dropped.add(item.number)

    def _changed(self, item: Item, how: str) -> StoreError:
        return changed(self._layout.place.folder, self._number, item, how)

    def close(self, pool: Executor) -> list[Picture]:
        items = [item for item in self._items if item.number not in self._dropped]
        made = [cell for cell in self._positions if cell not in self._kept] if items else []
        files = {**self._kept, **dict(zip(made, pool.map(lambda cell: self._pack(cell, items), made), strict=True))}
        rows = [
            Picture(item.sample.id, item.sample.label, *cell, file.path, file.sha256, file.bytes)
            for item in items
            for cell in self._positions
            for file in (files[cell],)
        ]
        folder = self._layout.place.folder
        if rows != self._listed or not folder.block_path(self._number).is_file():
            folder.write_block(self._number, rows)
        self._spool.remove()
        return rows

    def _pack(self, cell: Cell, items: Sequence[Item]) -> File:
        path = self._layout.place.folder.path / self._layout.path(cell, self._number)
        part = path.with_name(f".{self._number}{TEMPORARY}")
        with mapped_errors(f"writing {path}"), renamed(part, path) as temporary:
            self._layout.pack(temporary, self._waiting(cell, items))
            return file_of(temporary, self._layout.path(cell, self._number))

    def _waiting(self, cell: Cell, items: Sequence[Item]) -> Iterator[tuple[Item, bytes]]:
        return ((item, self._spool.read((item.number, self._positions[cell]))) for item in items)

    def release(self) -> None:
        self._spool.release()


def files_of(rows: Iterable[Picture]) -> dict[Cell, File]:
    """Return the file of each condition in the rows of a block."""
    return {Cell(row.corruption, row.severity): File(row.path, row.sha256, row.bytes) for row in rows}


def file_of(path: Path, name: str) -> File:
    """Describe a file that was just written."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return File(name, digest, path.stat().st_size)
