"""What a built data set says of itself: its format on disk, the code that writes it, and the check.

The folder of a build::

    OUT/
      manifest.json             what was made and how: Manifest below, as JSON
      manifest/<block>.parquet  which pictures there are; a block is some images, in order, under all conditions
      <corruption>/<severity>/  the pictures, and clean/ if they were asked for; as the layout has it
      .unfinished/              only while a build is not finished

Columns of a block, one row for each picture:

===========  ========  ===============================================================================================
image        string    id of the source image: its path relative to the root of its data set, with ``/``
label        int32     position of its class in ``source.classes`` of the manifest; -1 without one
corruption   string    ``clean`` or the name of a corruption
severity     float64   0 for clean, else as asked for
path         string    the file that holds the picture, relative to OUT, with ``/``
sha256       string    of that file, 64 hexadecimal digits
bytes        int64     of that file
===========  ========  ===============================================================================================

The manifest of videos (``oodometer corrupt --sequence``) has the same form: a picture is a video then, its severity 0,
its corruption the published folder of its perturbation. Its path is that of the folder of its frames; sha256 and bytes
are of the files in that, in order, each after its length (``building.frames``).

A layout that keeps many pictures in one file has as many rows with one path, sha256 and bytes. Pictures stand in it in
the order of the rows of their condition. Nothing here depends on when, where or on how many threads a build was made,
so that two builds of one plan are equal to the byte.

Format history: 1 - first.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from oodometer import arguments
from oodometer.continuing import differences
from oodometer.datasets.manifest import BUILD, FORMAT, SEQUENCES
from oodometer.errors import StoreError
from oodometer.outfolder import LOCK, TEMPORARY, mapped_errors, write_atomically
from oodometer.store import Skipped
from oodometer.types import Protocol

__all__ = [
    "UNFINISHED",
    "BuildFolder",
    "File",
    "Manifest",
    "Picture",
    "SequenceFolder",
    "SequenceManifest",
    "Source",
]

UNFINISHED = ".unfinished"
"""The folder of what only an unfinished build needs."""

_MANIFEST = "manifest.json"
_BLOCKS = "manifest"
_MEANINGS = {BUILD: "a data set of corrupted images", SEQUENCES: "videos of perturbations"}


@dataclass(frozen=True, slots=True)
class Source:
    """The images that the build is made of.

    ``digest`` is of the ids, labels and sizes of all images of the data set, wherever it lies; ``images`` is how many
    of them are taken, and ``order`` is the SHA-256 of the ids of these, in their order. ``orientation``
    says whether tags were followed. ``classes`` and ``class_names`` are the label space's identifiers
    and words for people; empty if the images have no labels.
    """

    name: str
    digest: str
    images: int
    order: str
    orientation: str
    label_space: str
    classes: tuple[str, ...]
    class_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was written; ``path`` is relative to the folder of the build, with ``/``."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """What was made. The fields before ``environment`` are the plan, which a build that is continued must share.

    ``layout`` is the name of the format (``oodometer.building.FORMATS``) and ``quality`` that of its JPEGs, if it has
    any; ``clean`` says whether the uncorrupted pictures are there too. ``environment`` maps packages to versions. Until
    ``complete`` is true, what follows is empty: how many ``images`` could be read and how many ``pictures`` were made
    of them, the ``files`` that hold no picture, and the images that were ``skipped``, absent from every condition.
    """

    kind: str
    format: int
    protocol: Protocol
    severities: tuple[int | float, ...]
    layout: str
    quality: int | None
    clean: bool
    source: Source
    environment: dict[str, str]
    complete: bool = False
    images: int = 0
    pictures: int = 0
    files: tuple[File, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class SequenceManifest(Manifest):
    """What videos were made. ``frames`` is how many each has, if not as many as a published one.

    ``pictures`` counts videos, ``protocol.corruptions`` are the folders of their perturbations, and there are no
    severities. ``protocol.encoding`` and ``quality`` are of frames in folders: of the layout ``mp4`` x264 has quality
    20 (``building.mp4``).
    """

    frames: int | None = None


class Picture(NamedTuple):
    """One picture: a row of a block."""

    image: str
    label: int
    corruption: str
    severity: float
    path: str
    sha256: str
    bytes: int


class BuildFolder:
    """The folder of a build: its manifest and its blocks."""

    kind: ClassVar[str] = BUILD
    manifest_type: ClassVar[type[Manifest]] = Manifest

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = arguments.path("The output folder", path).absolute()

    @property
    def manifest_path(self) -> Path:
        """Where the manifest is or will be."""
        return self.path / _MANIFEST

    @property
    def unfinished(self) -> Path:
        """The folder of what only an unfinished build needs."""
        return self.path / UNFINISHED

    def exists(self) -> bool:
        """Whether a build was begun here."""
        return self.manifest_path.is_file()

    def check_can_begin(self) -> None:
        """Refuse a folder that holds something else, so that nothing of it is overwritten.

        Raises
        ------
        StoreError
            If there is something in the folder, and no build.
        """
        names = [p.name for p in self.path.iterdir()] if self.path.is_dir() else []
        others = [name for name in names if name != LOCK and not name.endswith(TEMPORARY)]
        if others and not self.exists():
            raise StoreError(
                f"{self.path} is not empty and holds no built data set ({', '.join(sorted(others)[:3])} ...). Choose a "
                "new folder."
            )

    def remove_leftovers(self) -> None:
        """Delete what a killed process had not finished writing; layouts of many pictures a file see to theirs."""
        with mapped_errors(f"clearing {self.path}"):
            for folder in (self.path, self.path / _BLOCKS, self.unfinished):
                for path in folder.glob(f".*{TEMPORARY}"):
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Delete a build that came to nothing, so that nothing is left of it."""
        with mapped_errors(f"clearing {self.path}"):
            shutil.rmtree(self.unfinished, ignore_errors=True)
            shutil.rmtree(self.path / _BLOCKS, ignore_errors=True)
            self.manifest_path.unlink()

    def read_manifest(self) -> Manifest:
        """Read the manifest.

        Raises
        ------
        StoreError
            If there is none, or if it is damaged, of something else, or of a format that this version does not know.
        """
        try:
            raw = self.manifest_path.read_bytes()
            found = msgspec.json.decode(raw)
            kind, version = found.get("kind"), found.get("format")
        except FileNotFoundError as error:
            raise StoreError(f"{self.path} holds no built data set: it has no {_MANIFEST}.") from error
        except OSError as error:
            raise StoreError(f"{self.manifest_path} cannot be read: {error.strerror or error}.") from error
        except (msgspec.DecodeError, AttributeError, UnicodeDecodeError, RecursionError) as error:
            raise StoreError(
                f"{self.manifest_path} is damaged: it is no JSON object of a built data set. Restore it, or build anew "
                "in another folder."
            ) from error
        if kind != self.kind and kind in _MEANINGS:
            raise StoreError(f"{self.path} holds {_MEANINGS[kind]}, not {_MEANINGS[self.kind]}. Choose another folder.")
        if kind != self.kind and self.blocks():
            raise StoreError(
                f"{self.manifest_path} is damaged: it describes no built data set, and parts of one lie beside it. "
                "Restore it, or build anew in another folder."
            )
        if kind != self.kind:
            raise StoreError(f"{self.manifest_path} is of something else than a built data set. Choose another folder.")
        if version != FORMAT:
            raise StoreError(
                f"{self.manifest_path} has format {version!r}; this version of Oodometer reads format {FORMAT}. Use "
                "the version named in its environment, or upgrade."
            )
        try:
            return msgspec.json.decode(raw, type=self.manifest_type)
        except msgspec.ValidationError as error:
            raise StoreError(f"{self.manifest_path} does not describe a built data set: {error}.") from error

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the manifest atomically; also makes the folder."""
        write_atomically(self.manifest_path, msgspec.json.format(msgspec.json.encode(manifest), indent=1) + b"\n")

    def check_same_plan(self, planned: Manifest) -> None:
        """Refuse to continue a build of another plan, or with packages that may give other pixels.

        Raises
        ------
        StoreError
            If something differs; the message says what.
        """
        there = self.read_manifest()
        found = differences(_plan(there), _plan(planned))
        if found:
            changed = " (images were added, removed, renamed, relabelled or replaced)" if ".digest:" in found else ""
            raise StoreError(
                f"{self.path} holds another build. {found}{changed} Choose another folder, or delete this one."
            )
        found = differences(there.environment, planned.environment)
        if found:
            raise StoreError(
                f"{self.path} was begun with other versions, which may give other pixels. {found} Continue with those "
                "versions, or build into another folder."
            )

    def block_path(self, number: int) -> Path:
        """Where a block is or will be."""
        return self.path / _BLOCKS / f"{number:05d}.parquet"

    def blocks(self) -> list[int]:
        """Return the numbers of the blocks that are there."""
        names = (p.stem for p in (self.path / _BLOCKS).glob("*.parquet"))
        return sorted(int(name) for name in names if name.isdecimal())

    def write_block(self, number: int, pictures: Sequence[Picture]) -> None:
        """Write the rows of one block atomically."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = list(zip(*pictures, strict=True)) or [()] * len(Picture._fields)
        table = pa.Table.from_arrays(
            [pa.array(column, field.type) for column, field in zip(columns, _schema(), strict=True)], schema=_schema()
        ).replace_schema_metadata({"oodometer.format": str(FORMAT), "oodometer.plan": self._plan_digest()})
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
        write_atomically(self.block_path(number), sink.getvalue().to_pybytes())

    def read_block(self, number: int) -> list[Picture]:
        """Read the rows of one block.

        Raises
        ------
        StoreError
            If it is damaged, or of another build.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.block_path(number)
        # From memory and without threads: one of Arrow's that is at work while the interpreter ends, aborts.
        with mapped_errors(f"reading {path}"):
            file = pq.ParquetFile(pa.BufferReader(path.read_bytes()), page_checksum_verification=True)
            metadata = file.schema_arrow.metadata or {}
            if metadata.get(b"oodometer.plan") != self._plan_digest().encode() or not file.schema_arrow.equals(
                _schema()
            ):
                raise StoreError(f"{path} is of another build, or of another version. Delete it to have it made again.")
            table = file.read(use_threads=False)
        return [Picture(*row) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]

    def _plan_digest(self) -> str:
        return hashlib.sha256(msgspec.json.encode(_plan(self.read_manifest()))).hexdigest()


class SequenceFolder(BuildFolder):
    """The folder of videos."""

    kind = SEQUENCES
    manifest_type = SequenceManifest


def _plan(manifest: Manifest) -> dict[str, Any]:
    """Return what two builds must share, as plain JSON values."""
    bare = replace(manifest, environment={}, complete=False, images=0, pictures=0, files=(), skipped=())
    plan: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(bare))
    del plan["source"]["name"]  # what the folder is called; its content has a digest
    del plan["protocol"]["stored"]  # which no build has, nor do builds of earlier versions name it
    return plan


def _schema() -> Any:  # noqa: ANN401 - pyarrow publishes no types
    import pyarrow as pa

    return pa.schema(
        [
            ("image", pa.string()),
            ("label", pa.int32()),
            ("corruption", pa.string()),
            ("severity", pa.float64()),
            ("path", pa.string()),
            ("sha256", pa.string()),
            ("bytes", pa.int64()),
        ]
    )
