"""Whether a folder is what ``oodometer corrupt`` built, and the entries of its manifest that reading it needs."""

from __future__ import annotations

from pathlib import Path

import msgspec

from oodometer.errors import DatasetError
from oodometer.types import Condition, Protocol

__all__ = [
    "BUILD",
    "FORMAT",
    "PACKED",
    "SEQUENCES",
    "BuildManifest",
    "BuildSource",
    "is_build",
    "read_build",
    "refuse_build",
    "refuse_no_videos",
]

BUILD = "oodometer-build"
"""Tells the manifest of a built data set from that of a run."""

SEQUENCES = "oodometer-sequences"
"""Tells the manifest of built videos from both."""

FORMAT = 1
"""The version of the manifest, whose history is in ``oodometer.building.manifest``."""

PACKED = ("webdataset", "parquet", "npy")
"""The containers that hold many pictures a file."""

_TREES = ("jpeg", "png", "webp")


class BuildSource(msgspec.Struct, frozen=True):
    """The images that a build is made of; see ``oodometer.building.manifest.Source``."""

    digest: str
    label_space: str
    classes: tuple[str, ...]
    class_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if not len(self.classes) == len(self.class_names) == len(set(self.classes)):
            raise ValueError("classes must differ, and each have a name")


class BuildManifest(msgspec.Struct, frozen=True):
    """What was made and how; see ``oodometer.building.manifest.Manifest``."""

    format: int
    protocol: Protocol
    severities: tuple[int | float, ...]
    layout: str
    quality: int | None
    clean: bool
    source: BuildSource
    complete: bool

    def __post_init__(self) -> None:
        if self.container not in PACKED + _TREES:
            raise ValueError(f"the layout {self.layout!r} is unknown")
        if not self.severities or min(self.severities) <= 0:
            raise ValueError("severities must be above 0")

    @property
    def container(self) -> str:
        """What holds the pictures: one of ``PACKED``, or the format of the files of a tree."""
        return self.layout.partition("-")[0]

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions whose severities are whole numbers, which are those that can be evaluated."""
        whole = [int(severity) for severity in self.severities if severity == int(severity)]
        return tuple(Condition(corruption, severity) for corruption in self.protocol.corruptions for severity in whole)


def is_build(root: Path) -> bool:
    """Return whether a folder is what ``oodometer corrupt`` built, even if its manifest is damaged.

    Raises
    ------
    DatasetError
        If it holds videos.
    """
    _refuse_videos(root)
    try:
        return read_build(root) is not None
    except DatasetError:
        return True


def read_build(root: Path) -> BuildManifest | None:
    """Read the manifest of what ``oodometer corrupt`` built in any layout; ``None`` for anything else.

    Raises
    ------
    DatasetError
        If it is damaged or of a format that this version does not know, if what tells of the pictures of a build lies
        beside a manifest of something else, or if it is of videos.
    """
    _refuse_videos(root)
    path = root / "manifest.json"
    try:
        if not path.is_file():
            return None
        raw = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        found = msgspec.json.decode(raw)
        if not isinstance(found, dict) or found.get("kind") != BUILD:
            if _has_blocks(root):
                raise _damaged(path, "it describes no built data set, and parts of one lie beside it")
            return None
        if found.get("format", FORMAT) == FORMAT:
            return msgspec.convert(found, BuildManifest)
    except msgspec.ValidationError as error:
        raise _damaged(path, str(error)) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        if _has_blocks(root) or BUILD.encode() in raw:
            raise _damaged(path, f"it is no JSON ({error})") from error
        return None
    raise DatasetError(
        f"{path} has format {found['format']!r}; this version of Oodometer reads format {FORMAT}. Use the version "
        "named in its environment, or upgrade."
    )


def refuse_build(root: Path) -> None:
    """Refuse to take for clean images what was corrupted before.

    Raises
    ------
    DatasetError
        If the folder is a build, also of videos or a part of that, or if its manifest is damaged.
    """
    if read_build(root) is not None:
        raise DatasetError(
            f"{root} is what oodometer corrupt built, and no clean images. Give its path alone to evaluate it, or one "
            "of its cells, such as its folder fog/3."
        )


def refuse_no_videos(root: Path) -> None:
    """Refuse to take for videos what was built as images, or a build of videos that is not finished.

    Raises
    ------
    DatasetError
        If it is one, or the folder of one of its perturbations.
    """
    for folder in (root, root.absolute().parent):
        kind, complete = _kind_of_build(folder)
        if kind == BUILD:
            raise DatasetError(f"{folder} holds images that oodometer corrupt built, and no videos.")
        if kind == SEQUENCES and not complete:
            raise DatasetError(
                f"{folder} holds videos of a build that is not finished. Run the command that makes it again."
            )


def _kind_of_build(root: Path) -> tuple[object, bool]:
    """Return what the manifest says that was built, and whether it is complete; nothing if there is none."""
    try:
        found = msgspec.json.decode((root / "manifest.json").read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None, False
    return (found.get("kind"), found.get("complete") is True) if isinstance(found, dict) else (None, False)


def _refuse_videos(root: Path) -> None:
    """Refuse the build of videos, and the folder of one of its perturbations, whose frames look like images."""
    if any(_kind_of_build(folder)[0] == SEQUENCES for folder in (root, root.absolute().parent)):
        raise DatasetError(
            f"{root} holds videos that oodometer corrupt --sequence made, and no images: `oodometer sequences` "
            "evaluates them, and the command that made them checks and mends them."
        )


def _has_blocks(root: Path) -> bool:
    return any(file.stem.isdecimal() for file in (root / "manifest").glob("*.parquet"))


def _damaged(path: Path, why: str) -> DatasetError:
    return DatasetError(f"{path} is damaged: {why}. Restore it, or build anew in another folder.")
