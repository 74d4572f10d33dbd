"""Whether a file is the one that was published."""

from __future__ import annotations

import hashlib
from pathlib import Path

from oodometer.errors import MissingDataError
from oodometer.progress import Observer
from oodometer.published import Archive

__all__ = ["check"]

CHUNK = 1 << 20


def check(file: Path, archive: Archive, observer: Observer) -> None:
    """Return if a file has the published checksum; the sizes are told only where it has not.

    The size alone refuses nothing: the checksum is the publisher's word, the size may be somebody else's.

    Raises
    ------
    MissingDataError
        If the checksum is another, with the expected and the found size and checksum.
    OSError
        If the file cannot be read.
    """
    algorithm, _, expected = archive.digest.lower().partition(":")
    found = hashlib.new(algorithm, usedforsecurity=False)
    size = file.stat().st_size
    observer.begin(f"{archive.file}: checksum", size, 0)
    with file.open("rb") as stream:
        while piece := stream.read(CHUNK):
            found.update(piece)
            observer.advance(len(piece))
    if found.hexdigest() != expected:
        published = "" if archive.size is None else f"{archive.size:,} bytes, "
        raise MissingDataError(
            f"{file} is not {archive.file} as published. Expected: {published}{algorithm} {expected}. Found: {size:,} "
            f"bytes, {algorithm} {found.hexdigest()}. Nothing was unpacked."
        )
