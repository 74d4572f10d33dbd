"""Where the pictures of a block wait until all are there, for layouts that keep many pictures in one file."""

from __future__ import annotations

import struct
import threading
import zlib
from pathlib import Path
from typing import BinaryIO

__all__ = ["Spool"]

_HEADER = struct.Struct("<IIII")
"""Number of the image, position of the cell, bytes of the picture, CRC-32 of the three numbers and the picture."""


class Spool:
    """A file of pictures in any order, each with a checksum; what a killed process left is found again.

    Pictures are known by the number of the image and the position of the cell. Safe in several threads.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._places: dict[tuple[int, int], tuple[int, int]] = {}
        self._file: BinaryIO | None = None
        self._end = 0
        if path.is_file():
            self._file = path.open("r+b", buffering=0)
            self._scan(self._file)

    def _scan(self, file: BinaryIO) -> None:
        """Find the whole pictures; what follows the first that is torn or damaged is cut off."""
        with self._path.open("rb") as reader:
            while len(header := reader.read(_HEADER.size)) == _HEADER.size:
                number, position, size, check = _HEADER.unpack(header)
                data = reader.read(size)
                if len(data) < size or _check(header, data) != check:
                    break
                self._places[number, position] = self._end + _HEADER.size, size
                self._end += _HEADER.size + size
        file.truncate(self._end)

    def __contains__(self, key: tuple[int, int]) -> bool:
        return key in self._places

    def write(self, key: tuple[int, int], data: bytes) -> None:
        """Append one picture; raises ``OSError`` if the disk is full or fails."""
        header = _HEADER.pack(*key, len(data), 0)
        header = _HEADER.pack(*key, len(data), _check(header, data))
        with self._lock:
            if self._file is None:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self._path.open("w+b", buffering=0)
            self._file.seek(self._end)
            left = memoryview(header + data)
            while left:
                left = left[self._file.write(left) :]
            self._places[key] = self._end + _HEADER.size, len(data)
            self._end += _HEADER.size + len(data)

    def read(self, key: tuple[int, int]) -> bytes:
        """Return one picture."""
        start, size = self._places[key]
        assert self._file is not None  # there is a picture
        with self._lock:
            self._file.seek(start)
            return self._file.read(size)

    def remove(self) -> None:
        """Delete the file, once the pictures are elsewhere."""
        self.release()
        self._path.unlink(missing_ok=True)

    def release(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _check(header: bytes, data: bytes) -> int:
    return zlib.crc32(data, zlib.crc32(header[: _HEADER.size - 4]))
