"""Some bytes of a large file, by their place."""

from __future__ import annotations

from pathlib import Path

from oodometer.errors import DatasetError

__all__ = ["read_at"]


def read_at(file: Path, offset: int, size: int) -> bytes:
    """Return some bytes of a file, which is opened anew: threads, forks and pickles then have no handle to share.

    Raises
    ------
    DatasetError
        If the system cannot give them, or the file ends before.
    """
    try:
        with file.open("rb", buffering=0) as opened:
            opened.seek(offset)
            content = opened.read(size)
    except OSError as error:
        raise DatasetError(f"Cannot read the file {file}: {error.strerror or error}.") from error
    if len(content) < size:
        raise DatasetError(f"The file {file} is shorter than it was: {size} bytes from {offset} on are not there.")
    return content
