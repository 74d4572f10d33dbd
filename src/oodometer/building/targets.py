"""Where parts of a build are brought to, whoever made them: a folder that all can write to, or a store."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import typing
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from oodometer.building.manifest import UNFINISHED, File
from oodometer.building.verify import fault_of
from oodometer.outfolder import mapped_errors
from oodometer.storage import Storage

__all__ = ["FolderTarget", "StoreTarget", "Target"]

AT_ONCE = 16
"""How many files are on their way to a store at once: each waits for an answer most of the time."""


class Target(typing.Protocol):
    """A place for the files of a build. It may be sent to other processes, and used by several at once."""

    @property
    def where(self) -> str:
        """What people call it."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return a small file; ``None`` if it is not there."""
        ...

    def holds(self, file: File) -> bool:
        """Whether a file is there as it was brought, as far as the place can tell at a bearable cost."""
        ...

    def workspace(self) -> contextlib.AbstractContextManager[Path]:
        """Give a folder of one's own to make files in, which is deleted in the end."""
        ...

    def bring(self, made: Path, paths: Iterable[str]) -> None:
        """Bring files, or folders of files, to the place from the folder in which they were made."""
        ...


@dataclass(frozen=True, slots=True)
class FolderTarget:
    """A folder, on one machine or on a file system that all nodes share under one path."""

    root: Path

    @property
    def where(self) -> str:
        """The path."""
        return str(self.root)

    def read(self, path: str) -> bytes | None:
        """Return a small file; ``None`` if it is not there."""
        with mapped_errors(f"reading {self.root / path}"), contextlib.suppress(FileNotFoundError):
            return (self.root / path).read_bytes()
        return None

    def holds(self, file: File) -> bool:
        """Whether a file has its checksum; of a folder of frames, whether it is there."""
        place = self.root / file.path
        return place.is_dir() or fault_of(self.root, file.path, file.sha256, file.bytes) is None

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """Give a folder within that of the build, so that files are brought by renaming."""
        above = self.root / UNFINISHED
        with mapped_errors(f"writing to {above}"):
            above.mkdir(exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix="part-", dir=above))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def bring(self, made: Path, paths: Iterable[str]) -> None:
        """Give files their names, one after the other; a folder takes the place of an earlier one."""
        for path in paths:
            place = self.root / path
            with mapped_errors(f"writing {place}"):
                place.parent.mkdir(parents=True, exist_ok=True)
                if place.is_dir():
                    shutil.rmtree(place)
                os.replace(made / path, place)  # noqa: PTH105 - as the tree does


@dataclass(frozen=True, slots=True)
class StoreTarget:
    """A folder of a store, by its URL. Of files that are there, only the size is compared: reading them would cost."""

    storage: Storage

    @property
    def where(self) -> str:
        """The URL."""
        return self.storage.url

    def read(self, path: str) -> bytes | None:
        """Return a small file; ``None`` if it is not there."""
        return self.storage.read(path)

    def holds(self, file: File) -> bool:
        """Whether a file is there with its size."""
        return self.storage.size(file.path) == file.bytes

    @contextlib.contextmanager
    def workspace(self) -> Iterator[Path]:
        """Give a temporary folder of this machine."""
        with tempfile.TemporaryDirectory(prefix="oodometer-") as folder:
            yield Path(folder)

    def bring(self, made: Path, paths: Iterable[str]) -> None:
        """Write files to the store, several at once."""
        files = [file for path in paths for file in _files(made / path)]
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="oodometer") as pool:
            for _ in pool.map(lambda file: self.storage.upload(file.relative_to(made).as_posix(), file), files):
                pass


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
