"""What lies in folders and how it is named: visible entries, images, identifiers. Nothing is opened."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from oodometer.datasets.decode import EXTENSIONS
from oodometer.errors import DatasetError

__all__ = [
    "class_and_file",
    "hidden",
    "identifier",
    "image_ids",
    "images_below",
    "is_folder",
    "is_image_name",
    "visible",
]


def hidden(name: str) -> bool:
    """Return whether a file or folder of this name is the system's own: ``.DS_Store``, ``._x.JPEG``, ``__MACOSX``."""
    return name.startswith(".") or name == "__MACOSX"


def is_image_name(name: str) -> bool:
    """Return whether a file of this name counts as an image; what it holds is seen when it is read."""
    return name[name.rfind(".") :].lower() in EXTENSIONS  # far quicker than a Path of each of millions of names


def identifier(name: str) -> str:
    r"""Return a path that stands in an archive or a table as an id: with ``/`` alone, relative, without ``.``.

    Parameters
    ----------
    name
        As any system writes it, such as ``C:\\val\\n01443537\\x.JPEG`` or ``./n01443537/x.JPEG``.

    Raises
    ------
    DatasetError
        If it leads out of the data set by ``..``, or names nothing.
    """
    parts = re.sub(r"^[A-Za-z]:(?=[\\/])", "", name).replace("\\", "/").split("/")
    kept = [part for part in parts if part not in {"", "."}]
    if ".." in kept or not kept:
        raise DatasetError(f"The name {name!r} leads out of the data set, or names no file: it could not be written.")
    return "/".join(kept)


def class_and_file(path: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the class folder (empty if there is none) and the file of a path that Windows or any system wrote."""
    folder, _, file = identifier(os.fspath(path)).rpartition("/")
    return folder.rpartition("/")[2], file


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder or a link to one; a link that leads in a circle is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False


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


def images_below(root: Path) -> Iterator[tuple[str, int]]:
    """Yield (id, bytes) of every image below a folder; links are followed, but never back into a folder above.

    Raises
    ------
    DatasetError
        If a folder cannot be read or is a link to one that holds it, or if a name is not UTF-8.
    """
    for id_, entry in _image_entries(root):
        if (size := _size(entry)) is not None:
            yield id_, size


def image_ids(root: Path) -> Iterator[str]:
    """Yield the id of every image below a folder as ``images_below`` does, without asking for sizes: far faster."""
    return (id_ for id_, _ in _image_entries(root))


def _image_entries(
    root: Path, prefix: str = "", above: tuple[Path, ...] = ()
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    within = (*above, root)
    for entry in visible(root):
        id_ = prefix + entry.name
        if is_folder(entry):
            if entry.is_symlink() and os.path.realpath(entry.path) in map(os.path.realpath, within):
                raise DatasetError(f"The folder {entry.path} links back to a folder that holds it; remove the link.")
            yield from _image_entries(root / entry.name, id_ + "/", within)
        elif is_image_name(entry.name):
            if not id_.isascii() and id_.encode("utf-8", "replace").decode() != id_:
                raise DatasetError(f"The file {id_!r} in {root} has a name that is not UTF-8. Rename it.")
            yield id_, entry


def _size(entry: os.DirEntry[str]) -> int | None:
    """Return the bytes of a file, or ``None`` for what is no file: to open a pipe, say, would wait for ever."""
    try:
        status = entry.stat()
    except OSError:  # a link to nowhere still stands for an image: reading it will name it, instead of losing it here
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else None
