"""Arrays as CIFAR-10-C has them: ``<corruption>.npy``, the images at severity 1, then at 2, and ``labels.npy``."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

import numpy as np

from oodometer.building.cells import Cell, Item, Place
from oodometer.building.encodings import Encoding
from oodometer.building.manifest import UNFINISHED, File
from oodometer.building.shards import Shards, file_of, files_of
from oodometer.outfolder import TEMPORARY, mapped_errors, renamed
from oodometer.types import UNLABELLED

__all__ = ["Arrays"]

LABELS = "labels.npy"


class Arrays(Shards):
    """uint8 arrays of shape (severities x images, height, width, 3), and ``clean.npy`` of (images, height, width, 3).

    Blocks leave parts, which are put together in the end, when it is known how many images could be read. So twice the
    room of the result is needed for a time.
    """

    one_size = True
    ending = ".pixels"

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._whole: dict[File, bool] = {}

    @staticmethod
    def name(stem: str, encoding: Encoding) -> str:
        """Return what tells two images apart; arrays have no names."""
        return stem

    @classmethod
    def files(cls, images: int, cells: Sequence[Cell]) -> int:
        """Return one for each corruption, and that of the labels."""
        return len({cell.corruption for cell in cells}) + 1

    def path(self, cell: Cell, number: int) -> str:
        """Return where the part of a block is until the end."""
        return f"{UNFINISHED}/{super().path(cell, number)}"

    def pack(self, path: Path, pictures: Iterable[tuple[Item, bytes]]) -> None:
        """Write one part: pixels alone."""
        with path.open("wb") as file:
            for _, data in pictures:
                file.write(data)

    def is_whole(self, file: File) -> bool:
        """Return whether a file is as it was written; an array is read once, though it has rows in all blocks."""
        if file not in self._whole:
            self._whole[file] = super().is_whole(file)
        return self._whole[file]

    def finish(self) -> tuple[File, ...]:
        """Put the parts together, and let the manifest name the arrays instead."""
        folder = self.place.folder
        labels: list[int] = []
        parts: dict[Cell, list[Path]] = {cell: [] for cell in self.place.cells}
        arrays: dict[str, File] = {}
        for number in folder.blocks():
            rows = folder.read_block(number)
            labels += [row.label for row in rows if Cell(row.corruption, row.severity) == self.place.cells[0]]
            for cell, file in files_of(rows).items():
                parts[cell].append(folder.path / self.path(cell, number))
                if file.path == _array(cell.corruption) and self.is_whole(file):
                    arrays[cell.corruption] = file  # of an earlier process
        severities = Counter(cell.corruption for cell in self.place.cells)
        for name in severities:
            if name not in arrays:
                own = [path for cell in self.place.cells if cell.corruption == name for path in parts[cell]]
                arrays[name] = self._join(name, own, len(labels) * severities[name])
        self._list(arrays)
        if UNLABELLED in labels:
            return ()
        kind = np.uint8 if len(self.place.source.classes) <= 256 else np.int32
        repeated = np.tile(np.array(labels, kind), max(severities.values()))
        return (self._write(LABELS, lambda file: np.save(file, repeated)),)

    def _join(self, corruption: str, parts: Sequence[Path], rows: int) -> File:
        """Write the array of one corruption."""
        header = {"descr": "|u1", "fortran_order": False, "shape": (rows, *(self.place.shape or ()))}

        def write(file: BinaryIO) -> None:
            np.lib.format.write_array_header_1_0(file, header)
            for path in parts:
                with path.open("rb") as part:
                    shutil.copyfileobj(part, file, 1 << 20)

        return self._write(_array(corruption), write)

    def _write(self, name: str, write: Callable[[BinaryIO], None]) -> File:
        path = self.place.folder.path / name
        with mapped_errors(f"writing {path}"), renamed(path.with_name(f".{name}{TEMPORARY}"), path) as temporary:
            with temporary.open("wb") as file:
                write(file)
            return file_of(temporary, name)

    def _list(self, arrays: Mapping[str, File]) -> None:
        """Name the arrays in the blocks of the manifest."""
        folder = self.place.folder
        for number in folder.blocks():
            rows = folder.read_block(number)
            final = [row._replace(**asdict(arrays[row.corruption])) for row in rows]
            if final != rows:
                folder.write_block(number, final)


def _array(corruption: str) -> str:
    return f"{corruption}.npy"
