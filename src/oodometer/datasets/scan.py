"""What lies in a folder: its visible entries, and the images below it. Nothing is opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from oodometer.datasets.decode import EXTENSIONS
from oodometer.errors import DatasetError

__all__ = ["hidden", "images_below", "is_image_name", "visible"]


def hidden(name: str) -> bool:
    """Return whether a file or folder of this name is the system's own: ``.DS_Store``, ``._x.JPEG``, ``__MACOSX``."""
    return name.startswith(".") or name == "__MACOSX"


def is_image_name(name: str) -> bool:
    """Return whether a file of this name counts as an image; what it holds is seen when it is read."""
    return os.path.splitext(name)[1].lower() in EXTENSIONS  # noqa: PTH122  # ten times as fast as a Path of each name


def visible(root: Path) -> list[os.DirEntry[str]]:
    """Return the entries of a folder that are not hidden, in the order of the system.

    Raises
    ------
    DatasetError
        If it is no folder, or cannot be read.
    """
    try:
        with os.scandir(root) as entries:
            return [entry for entry in entries if not hidden(entry.name)]
    except OSError as error:
        raise DatasetError(f"Cannot read the folder {root}: {error.strerror or error}.") from error


def images_below(root: Path, prefix: str = "", above: frozenset[str] = frozenset()) -> Iterator[tuple[str, int]]:
    """Yield (id, bytes) of every image below a folder; links are followed, but never back into a folder above.

    Parameters
    ----------
    root
        The folder.
    prefix, above
        What stands before each id, and the folders that hold this one; for the descent.

    Raises
    ------
    DatasetError
        If a folder cannot be read or is a link to one that holds it, or if a name is not UTF-8.
    """
    place = os.path.realpath(root)
    if place in above:
        raise DatasetError(f"The folder {root} links back to a folder that holds it; remove the link.")
    for entry in visible(root):
        id_ = prefix + entry.name
        if entry.is_dir():
            yield from images_below(root / entry.name, id_ + "/", above | {place})
        elif is_image_name(entry.name):
            if not id_.isascii() and id_.encode("utf-8", "replace").decode() != id_:
                raise DatasetError(f"The file {id_!r} in {root} has a name that is not UTF-8. Rename it.")
            if (size := _size(entry)) is not None:
                yield id_, size


def _size(entry: os.DirEntry[str]) -> int | None:
    """Return the bytes of a file, or ``None`` for what is no file: to open a pipe, say, would wait for ever."""
    try:
        status = entry.stat()
    except OSError:  # a link to nowhere still stands for an image: reading it will name it, instead of losing it here
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else None
