"""Archives unpacked so that nothing in them reaches outside: folders and plain files alone, by names that stay inside.

The published archives hold nothing else, so links, devices and the like are refused outright, and owners, modes and
times are not taken over. That is stricter than ``tarfile``'s own filter, and the same for tar and zip.
"""

from __future__ import annotations

import errno
import functools
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from oodometer.errors import MissingDataError
from oodometer.progress import Observer

__all__ = ["unpack"]

MOST_GROWTH = 4
"""How many times its own size an archive may grow to; pictures grow by a tenth at most, arrays not at all."""

SLACK = 1 << 20
"""Bytes beyond that, for small archives whose own structure weighs more than their contents."""

ENTRY = 512
"""Bytes that an entry counts for besides its contents, so that a flood of empty files has an end too."""

DEEPEST = 32
"""How many folders an entry may lie in; published sets need four."""

CHUNK = 1 << 20
_DAMAGE = (
    *(tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError),
    *(NotImplementedError, RuntimeError),  # a zip file of an unknown method, or encrypted
    *(ValueError, LookupError, OSError),  # a name that is no UTF-8 or none; gzip's and bz2's own
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """One entry: ``kind`` is ``"folder"``, ``"file"``, or in words what else it is."""

    name: str
    kind: str
    size: int
    open: Callable[[], IO[bytes] | None]


def unpack(archive: Path, into: Path, observer: Observer) -> Path:
    """Unpack a tar (plain or compressed, whatever its name) or zip file into a folder that must not exist yet.

    Returns
    -------
    Path
        The folder of the contents: ``into``, or the one folder in it if the archive holds a single one at its top.

    Raises
    ------
    MissingDataError
        If the archive is damaged, or holds what no published set does; the entry is named. What was unpacked before
        it stays in ``into``.
    OSError
        If it cannot be written.
    """
    into.mkdir(parents=True)
    writer = _Writer(archive, into)
    with archive.open("rb") as stream:
        observer.begin(f"{archive.name}: unpack", writer.compressed, 0)
        done = 0
        try:
            for entry in _zip_entries(stream) if archive.suffix.lower() == ".zip" else _tar_entries(stream):
                writer.write(entry)
                observer.advance(stream.tell() - done)
                done = stream.tell()
        except _DAMAGE as error:
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise  # the disk's; a number that is no place in the archive is EINVAL
            raise MissingDataError(f"{archive} is damaged: {error or type(error).__name__}.") from error
        observer.advance(writer.compressed - done)  # what an archive ends with belongs to no entry
    top = list(into.iterdir())
    return top[0] if len(top) == 1 and top[0].is_dir() else into


def _tar_entries(stream: BinaryIO) -> Iterator[_Entry]:
    with tarfile.open(fileobj=stream) as tar:
        while (member := tar.next()) is not None:
            kind = _KINDS.get(member.type, "special file")
            yield _Entry(member.name, kind, member.size, functools.partial(tar.extractfile, member))
            tar.members.clear()  # type: ignore[attr-defined]  # it would keep them all, a gigabyte for a million


_KINDS = {
    tarfile.REGTYPE: "file",
    tarfile.AREGTYPE: "file",
    tarfile.DIRTYPE: "folder",
    tarfile.SYMTYPE: "symbolic link",
    tarfile.LNKTYPE: "hard link",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
    tarfile.FIFOTYPE: "named pipe",
}


def _zip_entries(stream: BinaryIO) -> Iterator[_Entry]:
    with zipfile.ZipFile(stream) as archive:
        for info in archive.infolist():
            mode = stat.S_IFMT(info.external_attr >> 16)  # 0 where the archive was not made on Unix
            plain = mode in (0, stat.S_IFREG, stat.S_IFDIR)
            kind = "link or special file" if not plain else "folder" if info.is_dir() else "file"
            yield _Entry(info.orig_filename, kind, info.file_size, functools.partial(archive.open, info))


class _Writer:
    """Writes entries below a folder, and keeps count of them."""

    def __init__(self, archive: Path, into: Path) -> None:
        self.compressed = archive.stat().st_size
        self._archive, self._into = archive, into
        self._left = MOST_GROWTH * self.compressed + SLACK
        self._folders = {""}  # those made so far

    def write(self, entry: _Entry) -> None:
        parts = self._parts(entry)
        if entry.kind not in {"folder", "file"}:
            raise self._refused(entry, f"is a {entry.kind}; published sets hold folders and plain files alone")
        self._left -= ENTRY + max(entry.size, 0)
        if entry.size < 0 or self._left < 0:
            raise self._refused(entry, f"brings it to more than {MOST_GROWTH} times the size of the archive")
        try:
            self._make_folders(parts if entry.kind == "folder" else parts[:-1])
            if entry.kind == "file":
                self._write_file(entry, "/".join(parts))
        except FileExistsError:
            raise self._refused(entry, "is there twice, or by names that this disk does not tell apart") from None

    def _parts(self, entry: _Entry) -> list[str]:
        """Return the folders and the name of an entry, after checking that they stay inside on every system."""
        parts = [part for part in entry.name.split("/") if part not in ("", ".")]
        plain = entry.name.isprintable() and not set("\\:") & set(entry.name) and len(parts) <= DEEPEST
        if not plain or entry.name.startswith("/") or ".." in parts or (not parts and entry.kind == "file"):
            raise self._refused(entry, "has a name that leads outside, or that not every system can hold")
        return parts

    def _make_folders(self, parts: list[str]) -> None:
        if "/".join(parts) in self._folders:
            return
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if folder not in self._folders:
                (self._into / folder).mkdir()
                self._folders.add(folder)

    def _write_file(self, entry: _Entry, name: str) -> None:
        source = entry.open()
        if source is None:
            raise self._refused(entry, "has no contents")
        with source, (self._into / name).open("xb") as file:
            shutil.copyfileobj(source, file, CHUNK)
            if file.tell() != entry.size:
                raise self._refused(entry, f"has {file.tell():,} bytes of {entry.size:,}")

    def _refused(self, entry: _Entry, why: str) -> MissingDataError:
        return MissingDataError(f"{self._archive} was not unpacked: its entry {entry.name!r} {why}.")
