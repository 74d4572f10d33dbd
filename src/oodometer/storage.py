"""Files that are no local files: whatever fsspec reads and writes, such as ``s3://BUCKET/FOLDER``, each as a whole.

A file is there whole or not at all: object stores make an object visible when all of it has arrived.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oodometer.errors import ArgumentError, MissingDataError, StoreError

__all__ = ["Storage", "of_one_process"]


def of_one_process(url: str) -> bool:
    """Whether other processes find nothing of what one process writes there."""
    return url.startswith("memory://")


@dataclass(frozen=True, slots=True)
class Storage:
    """A folder of a store, by its URL; may be used from several threads and sent to other processes."""

    url: str

    def sizes(self) -> dict[str, int]:
        """Return the bytes of all files below, by their paths relative to the folder; none if there is no such folder.

        Raises
        ------
        StoreError
            If the store cannot be asked. So do the others.
        MissingDataError
            If fsspec, or its package for such URLs, is not installed. So do the others.
        """
        with self._reaching("") as (system, root):
            try:
                found = system.find(root, detail=True)
            except FileNotFoundError:
                return {}
        start = len(root.rstrip("/")) + 1
        return {path[start:]: int(entry["size"]) for path, entry in found.items() if len(path) > start}

    def read(self, path: str) -> bytes | None:
        """Read a file; ``None`` if there is none."""
        with self._reaching(path) as (system, place):
            try:
                content: bytes = system.cat_file(place)
            except FileNotFoundError:
                return None
        return content

    def size(self, path: str) -> int | None:
        """Return the bytes of one file; ``None`` if there is none."""
        with self._reaching(path) as (system, place):
            try:
                return int(system.info(place)["size"])
            except FileNotFoundError:
                return None

    def upload(self, path: str, file: Path) -> None:
        """Write a file from a local one, in the place of an earlier one."""
        with self._reaching(path) as (system, place):
            system.put_file(os.fspath(file), place)

    @contextlib.contextmanager
    def _reaching(self, path: str) -> Iterator[tuple[Any, str]]:
        """Give the file system and the place in it; turn what goes wrong there into an error that names the URL."""
        try:
            from fsspec.core import url_to_fs

            system, root = url_to_fs(self.url)
        except ImportError as error:
            raise MissingDataError(
                f"{self.url} cannot be reached without more packages: pip install 'oodometer[cloud]' (fsspec), and the "
                f"one for such URLs, such as s3fs or gcsfs. {error}"
            ) from error
        except ValueError as error:
            raise ArgumentError(f"{self.url} is no URL of a known kind: {error}.") from error
        except Exception as error:  # some kinds connect here, each with errors of its own
            raise StoreError(f"{self.url} cannot be reached: {type(error).__name__}: {error}.") from error
        place = f"{root.rstrip('/')}/{path}" if path else root
        try:
            yield system, place
        except Exception as error:  # each kind of store has its own, far from OSError
            where = f"{self.url}/{path}" if path else self.url
            raise StoreError(
                f"{where} cannot be read or written: {type(error).__name__}: {error}. What was finished is safe: mend "
                "that and run the same command again."
            ) from error
