"""Whether the files of a built data set are what its manifest says."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from oodometer.building.manifest import UNFINISHED, BuildFolder
from oodometer.errors import StoreError
from oodometer.outfolder import LOCK
from oodometer.progress import Observer, Silent
from oodometer.threads import ahead, threads

__all__ = ["Fault", "fault_of", "verify"]

Problem = Literal["unfinished", "manifest", "missing", "size", "content", "unknown"]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: ``path`` is relative to the build's folder, with ``/``; ``detail`` is a sentence."""

    path: str
    problem: Problem
    detail: str


def verify(root: str | os.PathLike[str], observer: Observer | None = None, workers: int | None = None) -> list[Fault]:
    """Compare every file of a build with the manifest: there, of the right size, of the right content.

    Parameters
    ----------
    root
        The folder of the build.
    observer
        Is told of each picture that was compared.
    workers
        Threads; by default one for each processor.

    Returns
    -------
    list of Fault
        Empty if all is well. Mended by the command that made the build, run again with the same sources: it makes what
        is missing or damaged, and nothing else. Files that the manifest does not know are faults too.

    Raises
    ------
    StoreError
        If there is no build, or its manifest cannot be read at all.
    """
    folder, observer = BuildFolder(root), observer or Silent()
    manifest = folder.read_manifest()
    faults = []
    if not manifest.complete:
        faults.append(Fault("manifest.json", "unfinished", "The build was not finished: run its command again."))
    observer.begin("files", manifest.pictures, 0)
    others = [(file.path, file.sha256, file.bytes) for file in manifest.files]
    faults += [fault for file in others if (fault := fault_of(folder.path, *file))]
    known = [_hashes([f"manifest/{number:05d}.parquet" for number in folder.blocks()])]
    known.append(_hashes([path for path, _, _ in others]))
    count, earlier = 0, set[tuple[str, str, int]]()
    with ThreadPoolExecutor(threads(workers), thread_name_prefix="oodometer") as pool:
        for number in folder.blocks():
            try:
                pictures = folder.read_block(number)
            except StoreError as error:
                faults.append(Fault(f"manifest/{number:05d}.parquet", "manifest", str(error)))
                continue
            listed = dict.fromkeys((p.path, p.sha256, p.bytes) for p in pictures)
            files = [file for file in listed if file not in earlier]
            earlier = set(listed)  # arrays are those of the block before
            known.append(_hashes([path for path, _, _ in files]))
            count += len(pictures)
            faults += [f for f in ahead(pool, lambda file: fault_of(folder.path, *file), files, depth=256) if f]
            observer.advance(len(pictures))
    if manifest.complete and count != manifest.pictures:
        detail = f"Its blocks list {count} pictures of {manifest.pictures}: run the command of the build again."
        faults.append(Fault("manifest", "manifest", detail))
    if any(fault.problem == "manifest" for fault in faults):
        return faults  # what else is known cannot be said
    return faults + list(_unknown(folder.path, np.unique(np.concatenate(known))))


def fault_of(root: Path, path: str, sha256: str, size: int) -> Fault | None:
    """Return what is wrong with one file; ``None`` if nothing is."""
    try:
        with (root / path).open("rb") as file:
            found = os.fstat(file.fileno()).st_size
            if found != size:
                return Fault(path, "size", f"It has {found} bytes where there were {size}.")
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                return Fault(path, "content", "Its content has changed since it was written.")
    except FileNotFoundError:
        return Fault(path, "missing", "It is not there.")
    except OSError as error:
        return Fault(path, "content", f"It cannot be read: {error.strerror or error}.")
    return None


def _hashes(paths: list[str]) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Return 64 bits of each path: the paths of millions of files would take hundreds of megabytes."""
    digests = b"".join(hashlib.blake2b(os.fsencode(path), digest_size=8).digest() for path in paths)
    return np.frombuffer(digests, dtype=np.uint64)


def _unknown(root: Path, known: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Iterator[Fault]:
    own = {"manifest.json", LOCK}
    for place, folders, files in os.walk(root):
        above = Path(place).relative_to(root).as_posix() + "/" if place != str(root) else ""
        folders[:] = sorted(folder for folder in folders if above or folder != UNFINISHED)
        paths = [above + name for name in sorted(files) if above or name not in own]
        hashes = _hashes(paths)
        # np.isin would sort all that is known anew for each folder, which takes hours for a full build.
        there = np.searchsorted(known, hashes, "right") > np.searchsorted(known, hashes, "left")
        for path, is_known in zip(paths, there, strict=True):
            if not is_known:
                yield Fault(path, "unknown", "The manifest does not know it.")
