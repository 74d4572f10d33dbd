"""Tar files as a data set: WebDataset shards, and archives of class folders that need not be unpacked."""

from __future__ import annotations

import json
import posixpath
import re
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.datasets import layout
from oodometer.datasets.decode import decode
from oodometer.datasets.folder import title
from oodometer.datasets.label_spaces import imagenet1k
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.patterns import expand
from oodometer.datasets.scan import hidden, identifier, is_image_name
from oodometer.datasets.slices import read_at
from oodometer.errors import DatasetError
from oodometer.types import LabelSpace, Orientation, Sample

__all__ = ["PackedTar", "TarImages", "open_tar"]

_COMPRESSED = {b"\x1f\x8b": "gzip -d", b"BZh": "bzip2 -d", b"\xfd7zXZ": "xz -d", b"\x28\xb5\x2f\xfd": "zstd -d"}
_BLOCK = 512
_LARGEST_SIDECAR = 1 << 20
_JSON_LABELS = ("wnid", "label", "cls", "class")  # the first that is there counts


@dataclass
class TarImages:
    """The images in tar files, as a ``Dataset``; use ``open_dataset`` to find them and their labels.

    ``samples`` are in the order of the files; ``places`` holds the tar file and the first byte of each image.
    """

    root: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    places: Mapping[str, tuple[Path, int]]
    notes: tuple[str, ...] = ()
    orientation: Orientation = "ignore"

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Decode one image at full size, as RGB, by the rules in ``oodometer.datasets.decode``; thread-safe.

        Raises
        ------
        ImageError
            If the image cannot be read whole; the message names it.
        DatasetError
            If the tar file cannot be read, or is shorter than it was.
        """
        file, offset = self.places[sample.id]
        content = read_at(file, offset, sample.size)
        return decode(content, f"{sample.id} in {file}", orientation=self.orientation)

    def packed(self, ids: Sequence[str]) -> PackedTar:
        """Return a reader of these images by their numbers, which needs little memory."""
        files = list(dict.fromkeys(file for file, _ in self.places.values()))
        number = {file: k for k, file in enumerate(files)}
        sizes = {sample.id: sample.size for sample in self.samples}
        rows = np.array([(number[self.places[id_][0]], self.places[id_][1], sizes[id_]) for id_ in ids], np.int64)
        return PackedTar(files, rows, self.orientation)


@dataclass(frozen=True)
class PackedTar:
    """Images in tar files by their numbers; ``rows`` are file, first byte and size, int64 of shape (N, 3)."""

    files: Sequence[Path]
    rows: NDArray[np.int64]
    orientation: Orientation

    def read_row(self, row: int, id_: str) -> PIL.Image.Image:
        """Decode one image; see ``TarImages.read``."""
        number, offset, size = self.rows[row].tolist()
        content = read_at(self.files[number], offset, size)
        return decode(content, f"{id_} in {self.files[number]}", orientation=self.orientation)


@dataclass
class _Shard:
    """What a tar file holds: the place of each image by name, the label of each WebDataset key."""

    file: Path
    images: dict[str, tuple[int, int]] = field(default_factory=dict)
    labels: dict[str, int | str] = field(default_factory=dict)
    note: str = ""


def open_tar(
    pattern: Path, labelling: Labelling, orientation: Orientation = "ignore", name: str | None = None
) -> TarImages:
    """Index tar files, and label the images: by class folders with known names, else by ``.cls`` and ``.json`` files.

    Parameters
    ----------
    pattern
        A tar file, a folder of them, or a pattern such as ``shards/{000..012}.tar``.
    labelling, orientation, name
        As for the other readers.

    Returns
    -------
    TarImages
        Ids are the names in the archive, without parent folders that all share; with the stem of the tar file before
        them if shards use the same keys.

    Raises
    ------
    DatasetError
        If a file is missing, compressed, cut or no tar file, or if the labels do not fit.
    """
    shards = [_indexed(file) for file in expand(pattern, ".tar")]
    entries = [(shard, id_, *place) for shard in shards for id_, place in shard.images.items()]
    if not entries:
        raise DatasetError(f"There are no images in {pattern}.")
    own = _own_labels(shards)
    ids = _unique([(shard, id_) for shard, id_, *_ in entries], labelled=own is not None or labelling.table is not None)
    if own is None or _in_known_classes(ids, labelling):
        space, labels = labelling.by_folder(pattern, ids)
    else:
        space, labels = labelling.by_own(pattern, ids, own)
    samples = tuple(Sample(id_, label, entry[3]) for id_, label, entry in zip(ids, labels, entries, strict=True))
    places = {id_: (shard.file, offset) for id_, (shard, _, offset, _) in zip(ids, entries, strict=True)}
    notes = tuple(shard.note for shard in shards if shard.note)
    return TarImages(pattern, name or title(pattern), space, samples, places, notes, orientation)


def _own_labels(shards: Sequence[_Shard]) -> list[int | str | None] | None:
    """Return the label of each image by its WebDataset key, or ``None`` if the shards hold no labels."""
    if not any(shard.labels for shard in shards):
        return None
    for shard in shards:
        twice = [key for key, count in Counter(map(_key, shard.images)).items() if count > 1]
        if twice:
            raise DatasetError(f"{shard.file} has more than one image for the key(s) {layout.some(twice)}.")
    return [shard.labels.get(_key(id_)) for shard in shards for id_ in shard.images]


def _in_known_classes(ids: Sequence[str], labelling: Labelling) -> bool:
    """Return whether all images lie in folders of known classes: a name says more than an index of any numbering."""
    known = layout.positions(labelling.space or imagenet1k())
    return all(id_.partition("/")[0] in known for id_ in ids)


def _unique(entries: Sequence[tuple[_Shard, str]], *, labelled: bool) -> list[str]:
    """Return an id for each image: its name below the common parent folder, with its shard's stem if need be."""
    names = [name for _, name in entries]
    if len(set(names)) == len(names):
        parent = layout.common_parent(names)
        return [name.removeprefix(parent) for name in names]
    ids = [f"{shard.file.name.removesuffix('.tar')}/{name}" for shard, name in entries]
    twice = [name for name, count in Counter(ids if labelled else names).items() if count > 1]
    if twice:
        raise DatasetError(f"{len(twice)} image(s) are in more than one of the tar files: {layout.some(twice)}.")
    return ids


def _indexed(file: Path) -> _Shard:
    shard = _Shard(file)
    places: dict[str, tuple[int, int]] = {}
    links: dict[str, str] = {}
    for member in _members(file, shard):
        if not (member.isreg() or member.issym() or member.islnk()):
            continue
        name = identifier(member.name)
        if any(map(hidden, name.split("/"))):
            continue
        if name in places or name in links:
            raise DatasetError(f"{file} holds {name} more than once; write the tar file anew.")
        if member.isreg():
            places[name] = (member.offset_data, member.size)
        else:
            base = posixpath.dirname(name) if member.issym() else ""
            links[name] = posixpath.normpath(posixpath.join(base, member.linkname.replace("\\", "/")))
    places |= {name: _linked(file, name, links, places) for name in links if is_image_name(name)}
    shard.images.update({name: place for name, place in places.items() if is_image_name(name)})
    for name, place in places.items():
        _take_label(shard, name, place)
    return shard


def _members(file: Path, shard: _Shard) -> Iterator[tarfile.TarInfo]:
    """Yield the members of a tar file one by one, and make sure that it was read to its end."""
    try:
        with file.open("rb") as head:
            start = head.read(8)
        packed = [command for magic, command in _COMPRESSED.items() if start.startswith(magic)]
        if packed:
            raise DatasetError(
                f"{file} is compressed, and cannot be read by place. Unpack it first: {packed[0]} {file}"
            )
        with tarfile.open(file, "r:", errorlevel=2) as tar:
            while (member := tar.next()) is not None:
                if member.issparse():
                    raise DatasetError(f"{file} holds {member.name} as a sparse file; write the tar file without them.")
                yield member
            end = tar.offset
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise DatasetError(f"{file} is damaged, cut or no tar file: {error}.") from error
    except OSError as error:
        raise DatasetError(f"Cannot read the file {file}: {error.strerror or error}.") from error
    size = file.stat().st_size
    if any(read_at(file, end, min(_BLOCK, max(size - end, 0)))):
        raise DatasetError(f"{file} is damaged: what stands at byte {end} is no header of a member.")
    if size <= end:
        shard.note = f"{file} has no end mark after its last member: if it was cut there, images are missing."


def _linked(file: Path, name: str, links: Mapping[str, str], places: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
    target = name
    for _ in range(len(links)):
        target = links.get(target, target)
    if target not in places:
        raise DatasetError(f"In {file}, {name} is a link to {links[name]}, which is not in it.")
    return places[target]


def _key(name: str) -> str:
    """Return the key of a file by the convention of WebDataset: its path up to the first dot of its last part."""
    folder, slash, file = name.rpartition("/")
    return folder + slash + file.partition(".")[0]


def _take_label(shard: _Shard, name: str, place: tuple[int, int]) -> None:
    extension = name.rpartition("/")[2].partition(".")[2].lower()
    if extension not in {"cls", "json"} or place[1] > _LARGEST_SIDECAR:
        return
    content = read_at(shard.file, *place)
    try:
        label = _json_label(json.loads(content)) if extension == "json" else _text_label(content.decode())
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"In {shard.file}, {name} holds no label: {error}.") from error
    # The name of a class says more than an index.
    if label is not None and not isinstance(shard.labels.get(_key(name)), str):
        shard.labels[_key(name)] = label


def _text_label(text: str) -> int | str | None:
    word = text.strip()
    return int(word) if re.fullmatch(r"-?[0-9]{1,9}", word) else word or None


def _json_label(value: Any) -> int | str | None:  # noqa: ANN401
    found = [value[key] for key in _JSON_LABELS if key in value] if isinstance(value, dict) else []
    usable = [label for label in found if isinstance(label, int | str) and not isinstance(label, bool)]
    return (_text_label(usable[0]) if isinstance(usable[0], str) else usable[0]) if usable else None
