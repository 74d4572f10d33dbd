"""Who may write into the folder of a build: one process alone, or several shards at once, each its own blocks.

A shard writes what the whole build would write of its blocks, and nothing else, so that shards never meet; what is left
to do is found and finished by the whole build. A shard holds a lock of its own while it is at work. The folder's lock
is held by the whole build all the time, and by a shard only while it begins, so that of two that begin one sees the
other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import filelock

from oodometer.building.manifest import BuildFolder, Manifest
from oodometer.errors import StoreError
from oodometer.outfolder import exclusive, mapped_errors
from oodometer.sharding import Shard

__all__ = ["alone", "as_shard"]

PATIENCE = 60.0
"""How many seconds a shard waits for others that begin: more than a few hundred of them take."""

_LOCKS = "shard-*.lock"


@contextlib.contextmanager
def alone(folder: BuildFolder, planned: Manifest) -> Iterator[None]:
    """Begin or continue a build as the only process that writes into its folder.

    Raises
    ------
    StoreError
        If another process or a shard is at work there, or if the folder holds something else, or another build.
    """
    with exclusive(folder.path, "building", folder.exists, folder.check_can_begin):
        _check_idle(folder, folder.unfinished.glob(_LOCKS))
        _begin(folder, planned)
        folder.remove_leftovers()
        yield


@contextlib.contextmanager
def as_shard(folder: BuildFolder, planned: Manifest, shard: Shard) -> Iterator[None]:
    """Begin or continue one shard of a build, beside the others.

    Raises
    ------
    StoreError
        If the whole build, the same shard, or one of another number of shards is at work there, or if the folder holds
        something else, or another build.
    """
    path = folder.unfinished / f"{shard.folder}.lock"
    with contextlib.ExitStack() as held:
        with exclusive(folder.path, "building", folder.exists, folder.check_can_begin, PATIENCE):
            _begin(folder, planned)
            with mapped_errors(f"writing {path}"):
                folder.unfinished.mkdir(exist_ok=True)
            held.enter_context(_held(folder, path))
            others = (other for other in folder.unfinished.glob(_LOCKS) if _count(other) != _count(path))
            _check_idle(folder, others)
        yield


def _begin(folder: BuildFolder, planned: Manifest) -> None:
    if folder.exists():
        folder.check_same_plan(planned)
    else:
        folder.write_manifest(planned)


def _count(lock: Path) -> str:
    """Return of how many shards a lock is."""
    return lock.stem.rpartition("-")[2]


def _check_idle(folder: BuildFolder, locks: Iterable[Path]) -> None:
    """Refuse to begin while a shard holds one of these locks."""
    for path in sorted(locks):
        with _held(folder, path):
            pass


@contextlib.contextmanager
def _held(folder: BuildFolder, path: Path) -> Iterator[None]:
    """Hold the lock of a shard; it goes with the process, however that ends."""
    lock = filelock.FileLock(path, timeout=0)
    try:
        lock.acquire()
    except filelock.Timeout as error:
        raise StoreError(
            f"A process is building {path.stem} of {folder.path}. Wait for it, or choose another folder."
        ) from error
    try:
        yield
    finally:
        lock.release()
