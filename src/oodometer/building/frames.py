"""The layout of videos as folders of frames: ``<perturbation>/<class>/<name>/<frame>``, a folder whole or not there."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from oodometer.building.encodings import Encoding
from oodometer.building.tree import Claim, Tree
from oodometer.outfolder import TEMPORARY
from oodometer.types import Images

__all__ = ["FrameFolders", "of_frames"]

_LENGTH = struct.Struct("<Q")


def of_frames(encoding: Encoding) -> Encoding:
    """Return how a video is kept whose frames are kept so: the frames' files in order, each after its length."""

    def encode(frames: Images) -> bytes:
        return _packed(map(encoding.encode, frames))

    return replace(encoding, encode=encode)


class FrameFolders(Tree):
    """A folder of frames for each video, in the folder of its class; see ``Layout``."""

    images = 25

    @staticmethod
    def name(stem: str, encoding: Encoding) -> str:
        """Return the path within a perturbation; raises ``DatasetError`` if a part of it is too long."""
        return Tree.name(stem, replace(encoding, extension=""))

    def holds(self, path: str, claim: Claim) -> bool:
        """Return whether a folder has the frames that were written, and nothing else."""
        folder = self.place.folder.path / path
        try:
            names = sorted(file.name for file in folder.iterdir())
            if names != [self._name(i) for i in range(len(names))]:
                return False
            files = [(folder / name).read_bytes() for name in names]
        except OSError:
            return False
        data = _packed(files)
        return (sha256(data).hexdigest(), len(data)) == claim

    def write(self, temporary: str, path: str, data: bytes) -> None:
        """Write the frames into another folder, which then takes the place of whatever was there."""
        begun, final, damaged = Path(temporary), Path(path), Path(f"{temporary}.old{TEMPORARY}")
        for folder in (begun, damaged):
            _delete(folder)
        begun.mkdir()
        for i, file in enumerate(_unpacked(data)):
            (begun / self._name(i)).write_bytes(file)
        final.parent.mkdir(parents=True, exist_ok=True)
        if os.path.lexists(final):
            final.replace(damaged)
        begun.replace(final)
        _delete(damaged)

    def remove(self, path: str) -> None:
        """Delete a folder with its frames, if it is there."""
        _delete(Path(path))

    def _name(self, frame: int) -> str:
        return f"{frame:02d}{self.place.encoding.extension}"


def _delete(path: Path) -> None:
    """Delete a folder, or what is there in its place: a file, or a link."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _packed(files: Iterable[bytes]) -> bytes:
    return b"".join(part for file in files for part in (_LENGTH.pack(len(file)), file))


def _unpacked(data: bytes) -> Iterable[bytes]:
    start = 0
    while start < len(data):
        (length,) = _LENGTH.unpack_from(data, start)
        start += _LENGTH.size + length
        yield data[start - length : start]
