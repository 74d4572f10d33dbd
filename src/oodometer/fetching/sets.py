"""A published set as a whole: what of it is missing, from where, and how it becomes visible.

Everything is made in a folder ``.oodometer-fetch`` beside the final one, on its disk: the download, then the unpacked
files with a marker among them. One rename gives them their final name, so a folder of that name is a whole one. What a
killed process leaves is continued by the next, or made again where that is cheap.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit
from urllib.request import url2pathname

import msgspec
from rich.filesize import decimal

from oodometer import arguments
from oodometer.errors import ArgumentError, MissingDataError
from oodometer.fetching.checksum import check
from oodometer.fetching.download import download
from oodometer.fetching.unpack import unpack
from oodometer.outfolder import LOCK, exclusive, mapped_errors
from oodometer.progress import Observer, ProgressBar, Silent
from oodometer.published import PUBLISHED, Archive, PublishedSet
from oodometer.textures import fetch_frost

__all__ = ["Marker", "fetch", "read_marker"]

MARKER = ".oodometer-fetched.json"
"""The file among the unpacked ones that says which archive they are of."""

STAGING = ".oodometer-fetch"
"""The folder of what is not finished, beside the one that it will be."""


class Marker(msgspec.Struct, frozen=True):
    """What a finished fetch leaves: the archive, where it came from, and when (ISO 8601, UTC)."""

    file: str
    digest: str
    source: str
    fetched: str


def fetch(
    name: str, to: str | os.PathLike[str] = ".", mirror: str | os.PathLike[str] | None = None, *, progress: bool = True
) -> Path:
    """Fetch a published set: download, check, unpack. What is there already is not fetched again.

    A call that was stopped, by whatever, is continued by the same call. A set is there whole or not at all.

    Parameters
    ----------
    name
        One of ``oodometer.published.PUBLISHED``, or ``"frost"``, whose textures go into the user's cache.
    to
        The folder in which the set's own folder is made, by default the current one: these are many gigabytes, which
        nobody looks for in a cache.
    mirror
        Where the archives lie under their published names: an ``http(s)://`` or ``file://`` address or a folder. The
        checksums hold all the same. From a folder they are unpacked without being copied.
    progress
        Whether to show a bar on stderr.

    Returns
    -------
    Path
        The set's folder: ``to/imagenet-r`` and the like, with ImageNet-C's groups as folders of ``to/imagenet-c``.

    Raises
    ------
    ArgumentError
        If the name or the mirror is none.
    MissingDataError
        If an archive cannot be had, or is not the published one, or holds what it should not; or the disk has too
        little room; or the set's folder is there but was not finished by a fetch.
    StoreError
        If the folder cannot be written, or another process is fetching the same into it.
    """
    arguments.choice("published set", name, [*PUBLISHED, "frost"])
    folder = arguments.path("The folder to fetch to", to)
    if name == "frost":
        if mirror is not None or folder != Path():
            raise ArgumentError("The textures of frost go into your cache, from a package index: no folder, no mirror.")
        return fetch_frost()
    wanted, folder = PUBLISHED[name], folder.absolute()
    with mapped_errors(f"fetching {name} into {folder}"):
        places = {archive: _place(archive, mirror) for archive in _missing(wanted, folder)}
        for archive in wanted.archives:
            if archive not in places:  # a process may have been killed right after the renaming
                shutil.rmtree(_staging(folder / archive.folder), ignore_errors=True)
        if places:
            with contextlib.ExitStack() as held:
                for archive in places:
                    held.enter_context(_alone(folder / archive.folder))
                _check_room(name, folder, places)
                with ProgressBar("bytes") if progress else contextlib.nullcontext(Silent()) as observer:
                    for archive in _missing(wanted, folder):  # another process may have finished one meanwhile
                        if archive in places:
                            _fetch_archive(archive, places[archive], folder / archive.folder, observer)
    return folder / wanted.folder


def read_marker(folder: Path) -> Marker | None:
    """Return what a finished fetch left in an archive's folder; ``None`` if it is not there or damaged."""
    try:
        return msgspec.json.decode((folder / MARKER).read_bytes(), type=Marker)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


def _place(archive: Archive, mirror: str | os.PathLike[str] | None) -> str | Path:
    """Return the address of an archive, or the file that it is on this machine."""
    if mirror is None:
        return archive.url
    text = mirror if isinstance(mirror, str) else os.fspath(arguments.path("The mirror", mirror))
    wrong = ArgumentError(f"The mirror must be an http://, https:// or file:// address or a folder, not {mirror!r}.")
    try:
        scheme, host, path, query, _ = urlsplit(text) if "://" in text else ("", "", text, "", "")
    except ValueError:
        raise wrong from None
    if scheme in {"http", "https"} and host:
        return urlunsplit((scheme, host, f"{path.rstrip('/')}/{quote(archive.file)}", query, ""))
    if scheme not in {"", "file"} or host not in {"", "localhost"}:
        raise wrong
    file = arguments.path("The mirror", url2pathname(path) if scheme else path).absolute() / archive.file
    if not file.is_file():
        raise MissingDataError(f"The mirror {mirror} has no {archive.file}. It must hold it under this very name.")
    return file


def _missing(wanted: PublishedSet, folder: Path) -> list[Archive]:
    """Return the archives whose folders are not there; raises if one is there that no fetch has finished."""
    missing = []
    for archive in wanted.archives:
        final = folder / archive.folder
        if not os.path.lexists(final) or (_is_real_folder(final) and not any(final.iterdir())):
            missing.append(archive)
            continue
        marker = read_marker(final)
        if marker is None or marker.digest.lower() != archive.digest.lower():
            why = "its marker is missing or damaged" if marker is None else f"it came from a file with {marker.digest}"
            raise MissingDataError(
                f"{final} is there already, but it is no finished fetch of {archive.file} ({why}). Use it as it is, "
                "move it away to have it fetched, or fetch to another folder."
            )
    return missing


def _is_real_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _staging(final: Path) -> Path:
    return final.parent / STAGING / final.name


@contextlib.contextmanager
def _alone(final: Path) -> Iterator[None]:
    """Keep other processes from fetching the same; what is not finished stays for the next."""
    staging = _staging(final)

    def begun() -> bool:
        return staging.is_dir() and any(entry.name != LOCK for entry in staging.iterdir())

    try:
        with exclusive(staging, "fetching", begun, lambda: None):
            yield
    finally:
        for empty in (staging, staging.parent):
            with contextlib.suppress(OSError):  # it is not empty, or gone already
                empty.rmdir()


def _check_room(name: str, folder: Path, places: dict[Archive, str | Path]) -> None:
    """Refuse before the first byte what the disk cannot hold: all files unpacked, and the largest archive meanwhile."""
    remote = [archive for archive, place in places.items() if isinstance(place, str)]
    there = 0
    for archive in places:
        staging = _staging(folder / archive.folder)
        shutil.rmtree(staging / "unpacked", ignore_errors=True)  # of a process that was killed
        there += sum(file.stat().st_size for file in staging.iterdir())
    needed = sum(archive.unpacked for archive in places) + max((a.size or 0 for a in remote), default=0) - there
    free = shutil.disk_usage(staging).free
    if needed > free:
        raise MissingDataError(
            f"{name} needs about {decimal(needed)} in {folder}, where {decimal(free)} are free. Make room, or fetch to "
            "a folder on another disk. Nothing was downloaded."
        )


def _fetch_archive(archive: Archive, place: str | Path, final: Path, observer: Observer) -> None:
    staging = _staging(final)
    with _checked(archive, place, staging, observer) as file:
        try:
            contents = unpack(file, staging / "unpacked", observer)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            marker = Marker(archive.file, archive.digest.lower(), _source(place), now)
            (contents / MARKER).write_bytes(msgspec.json.encode(marker))
            _publish(contents, final)
        finally:
            shutil.rmtree(staging / "unpacked", ignore_errors=True)


@contextlib.contextmanager
def _checked(archive: Archive, place: str | Path, staging: Path, observer: Observer) -> Iterator[Path]:
    """Yield the archive as a file that has the published checksum; one of our own is deleted once it was used."""
    file = place if isinstance(place, Path) else staging / archive.file
    ours = file != place
    if isinstance(place, str) and not file.exists():
        download(place, file, observer)
    try:
        check(file, archive, observer)
    except MissingDataError as error:
        if not ours:
            raise
        file.unlink(missing_ok=True)
        raise MissingDataError(f"{error} It was deleted; the next call downloads it anew from {place}.") from error
    yield file
    if ours:
        file.unlink(missing_ok=True)


def _source(place: str | Path) -> str:
    """Return where an archive came from, without the password that a mirror may need."""
    parts = urlsplit(place if isinstance(place, str) else place.as_uri())
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _publish(contents: Path, final: Path) -> None:
    """Give a folder its final name once all of it is on the disk, where a power cut cannot undo it."""
    if hasattr(os, "sync"):
        os.sync()  # for a million files one call; not on Windows, which orders its own
    if final.is_dir():
        final.rmdir()  # it is empty
    contents.rename(final)
