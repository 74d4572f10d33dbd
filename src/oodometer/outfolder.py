"""The folder that a command writes into: whole files or none, one process at a time, apart from the sources."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import filelock

from oodometer.errors import ArgumentError, StoreError

__all__ = [
    "LOCK",
    "TEMPORARY",
    "check_apart",
    "check_file_place",
    "exclusive",
    "mapped_errors",
    "renamed",
    "write_atomically",
]

MANIFEST = "manifest.json"
"""What a run and a data set of our own are known by."""

LOCK = ".lock"
"""The file by which processes exclude each other from a folder."""

TEMPORARY = ".oodometer-tmp"
"""How the name of a file ends that is not finished."""


@contextlib.contextmanager
def mapped_errors(doing: str) -> Iterator[None]:
    """Turn the operating system's and the Parquet reader's errors into ours, naming what was being done."""
    import pyarrow

    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise StoreError(
                f"The disk is full while {doing}. What was written before is safe: free some space and run the same "
                "command again to continue."
            ) from error
        raise StoreError(
            f"Failed while {doing}: {error.strerror or error}. Mend that and run the same command again."
        ) from error
    except pyarrow.ArrowException as error:
        raise StoreError(f"Failed while {doing}: it is damaged ({error}). Delete it to have it made again.") from error


def check_file_place(path: Path) -> Path:
    """Refuse a place where no file can be, before the work whose result it is to hold; returns the path.

    Raises
    ------
    ArgumentError
        If it is a folder, lies below something that is none, or is the manifest of a run or of a data set, without
        which these are lost.
    """
    if path.is_dir():
        raise ArgumentError(f"The output {path} is a folder. Name a file.")
    if path.name == MANIFEST and path.exists():
        raise ArgumentError(f"The output {path} is the manifest of what lies in its folder. Name another file.")
    above = next(parent for parent in path.absolute().parents if parent.exists())
    if not above.is_dir():
        raise ArgumentError(f"The output {path} cannot be made: {above} is no folder.")
    return path


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all, even if the process is killed or the disk fills up.

    Raises
    ------
    StoreError
        If it cannot be written; nothing is left behind then.
    """
    with (
        mapped_errors(f"writing {path}"),
        renamed(path.with_name(f".{uuid.uuid4().hex}{TEMPORARY}"), path) as temporary,
        temporary.open("wb") as file,
    ):
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextlib.contextmanager
def renamed(temporary: Path, path: Path) -> Iterator[Path]:
    """Give a file its name once it is whole; make its folder; leave nothing behind if writing it fails.

    Parameters
    ----------
    temporary
        What the file is called until then, in the same folder.
    path
        Its name, under which an earlier file is replaced.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def exclusive(
    folder: Path, doing: str, begun: Callable[[], bool], check: Callable[[], None], patience: float = 0.0
) -> Iterator[None]:
    """Make a folder and keep other processes out of it; the lock goes with the process, however that ends.

    Parameters
    ----------
    folder
        The folder. If nothing was begun in it at the end, a folder of our making is removed again.
    doing
        What the other process would be doing, such as ``"evaluating"``.
    begun
        Says whether there is something to continue.
    check
        Raises if the folder holds something else; called before the lock is written.
    patience
        How many seconds to wait for another process to leave.

    Raises
    ------
    StoreError
        If another process holds the folder, or if it cannot be written to.
    """
    try:
        made = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        check()
        lock = filelock.FileLock(folder / LOCK, timeout=patience)
        lock.acquire()
    except filelock.Timeout as error:
        raise StoreError(f"Another process is {doing} into {folder}. Wait for it, or choose another folder.") from error
    except OSError as error:
        raise StoreError(
            f"Cannot write to the output folder {folder}: {error.strerror or error}. Choose another, or mend that."
        ) from error
    try:
        yield
    finally:
        lock.release()
        if not begun():
            (folder / LOCK).unlink(missing_ok=True)
            if made:
                with contextlib.suppress(OSError):
                    folder.rmdir()


def check_apart(out: Path, source: Path) -> None:
    """Refuse to write where the sources lie: the next reading would take the results for a class.

    Raises
    ------
    ArgumentError
        If the output folder lies within the folder of the sources, or is it.
    """
    if out.resolve().is_relative_to(source.resolve()):
        raise ArgumentError(f"The output folder {out} lies within the data {source}. Choose one outside.")
