"""The layout of the published files: ``<corruption>/<severity>/<class>/<name>.JPEG``, one file a picture."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import threading
from collections.abc import Sequence
from concurrent.futures import Executor
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias

from oodometer.building.cells import Cell, Item, Place
from oodometer.building.encodings import Encoding
from oodometer.building.layout import changed, listed
from oodometer.building.manifest import File, Picture
from oodometer.building.verify import fault_of
from oodometer.errors import DatasetError
from oodometer.outfolder import TEMPORARY, mapped_errors, write_atomically

__all__ = ["Claim", "Tree"]

LONGEST_NAME = 255
"""How many bytes the usual file systems allow in the name of one file or folder."""

Claim: TypeAlias = tuple[str, int]
"""SHA-256 and bytes of a picture."""

Claims: TypeAlias = dict[tuple[int, int], Claim]
"""Those of pictures, by number of the image and position of the cell."""


class Tree:
    """One file a picture, in the folder of its class; see ``Layout``."""

    images = 250
    one_size = False

    def __init__(self, place: Place) -> None:
        self.place = place

    @staticmethod
    def name(stem: str, encoding: Encoding) -> str:
        """Return the path within a condition.

        Raises
        ------
        DatasetError
            If a part of it is longer than file systems take.
        """
        path = stem + encoding.extension
        if any(len(os.fsencode(part)) > LONGEST_NAME for part in path.split("/")):
            raise DatasetError(
                f"The name {path} is too long for a file: a file system takes {LONGEST_NAME} bytes. Rename the source "
                "image. Nothing was written."
            )
        return path

    @staticmethod
    def files(images: int, cells: Sequence[Cell]) -> int:
        """Return one for each picture."""
        return images * len(cells)

    def open(self, number: int, items: Sequence[Item]) -> _TreeBlock:
        """Begin a block, or continue it."""
        return _TreeBlock(self, number, items)

    def finish(self) -> tuple[File, ...]:
        """Do nothing: each file was finished when it was written."""
        return ()

    def holds(self, path: str, claim: Claim) -> bool:
        """Return whether a picture is there as it was written; the path is relative to the build."""
        return fault_of(self.place.folder.path, path, *claim) is None

    def write(self, temporary: str, path: str, data: bytes) -> None:
        """Write a picture so that it never has its name in part."""
        _write(temporary, path, data)

    def remove(self, path: str) -> None:
        """Delete a picture, if it is there."""
        Path(path).unlink(missing_ok=True)


class _TreeBlock:
    """A block whose pictures are written as they come; each is then entered in a journal."""

    def __init__(self, tree: Tree, number: int, items: Sequence[Item]) -> None:
        place = tree.place
        self._tree, self._place, self._number, self._items = tree, place, number, items
        self._listed = listed(place.folder, number)
        self._journal = _Journal(place.folder.unfinished / f"{number:05d}.journal")
        self._root = os.fspath(place.folder.path)
        # Files are begun in one folder for all, so that no kill leaves a strange name among the pictures. Linux's ext4
        # also makes files a little faster there than in many folders.
        self._unfinished = os.fspath(place.folder.unfinished)
        self._positions = {cell: position for position, cell in enumerate(place.cells)}
        self._claims = {**self._claims_of_rows(), **self._journal.read()}
        self._whole: Claims = {}

    def _claims_of_rows(self) -> Claims:
        numbers = {item.sample.id: item.number for item in self._items}
        return {
            (numbers[row.image], self._positions[Cell(row.corruption, row.severity)]): (row.sha256, row.bytes)
            for row in self._listed
            if row.image in numbers
        }

    def missing(self, item: Item) -> list[Cell]:
        return [cell for position, cell in enumerate(self._place.cells) if not self._is_whole(item, position, cell)]

    def _is_whole(self, item: Item, position: int, cell: Cell) -> bool:
        claim = self._claims.get((item.number, position))
        if claim is None or not self._tree.holds(_path(item, cell), claim):
            return False
        self._whole[item.number, position] = claim
        return True

    def put(self, item: Item, cell: Cell, data: bytes) -> None:
        path = f"{self._root}/{_path(item, cell)}"
        with mapped_errors(f"writing {path}"):
            self._journal.begin()
            self._tree.write(f"{self._unfinished}/.{item.number}{TEMPORARY}", path, data)
            claim = sha256(data).hexdigest(), len(data)
            key = item.number, self._positions[cell]
            self._journal.append(key, claim)
        self._whole[key] = claim

    def drop(self, item: Item) -> None:
        if any(row.image == item.sample.id for row in self._listed):
            how = "could be read when its block was made, and cannot now"
            raise changed(self._place.folder, self._number, item, how)
        for cell in self._place.cells:
            self._tree.remove(f"{self._root}/{_path(item, cell)}")

    def close(self, pool: Executor) -> list[Picture]:
        rows = [
            Picture(item.sample.id, item.sample.label, *cell, _path(item, cell), *claim)
            for item in self._items
            for position, cell in enumerate(self._place.cells)
            if (claim := self._whole.get((item.number, position)))
        ]
        if rows != self._listed or not self._place.folder.block_path(self._number).is_file():
            self._place.folder.write_block(self._number, rows)
        self._journal.remove()
        return rows

    def release(self) -> None:
        self._journal.release()


def _path(item: Item, cell: Cell) -> str:
    return f"{cell.folder}/{item.name}"


def _write(temporary: str, path: str, data: bytes) -> None:
    """Write a file so that it never has its name in part.

    It is not flushed to the disk, which would take most of the time: what a power failure leaves damaged is found by
    its checksum.
    """
    # Names are text here: paths as objects would take as long as the file itself.
    try:
        with open(temporary, "wb", buffering=0) as file:  # noqa: PTH123
            if file.write(data) < len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        try:
            os.replace(temporary, path)  # noqa: PTH105
        except FileNotFoundError:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            os.replace(temporary, path)  # noqa: PTH105
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink(missing_ok=True)
        raise


class _Journal:
    """Which pictures of a block are written, a line for each; the last line may be torn."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        self._lock = threading.Lock()

    def read(self) -> Claims:
        """Read what an earlier process entered; what is no whole line is passed over."""
        if not self._path.is_file():
            return {}
        lines = re.findall(rb"^(\d+) (\d+) (\d+) ([0-9a-f]{64})\n", self._path.read_bytes(), re.MULTILINE)
        claims = {(int(n), int(position)): (digest.decode(), int(size)) for n, position, size, digest in lines}
        write_atomically(self._path, b"".join(_line(key, claim) for key, claim in claims.items()))
        return claims

    def begin(self) -> int:
        """Make the file and its folder, unless that was done."""
        with self._lock:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
            return self._file

    def append(self, key: tuple[int, int], claim: tuple[str, int]) -> None:
        file, line = self.begin(), _line(key, claim)
        with self._lock:
            if os.write(file, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def remove(self) -> None:
        self.release()
        self._path.unlink(missing_ok=True)

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _line(key: tuple[int, int], claim: tuple[str, int]) -> bytes:
    return b"%d %d %d %s\n" % (*key, claim[1], claim[0].encode())
