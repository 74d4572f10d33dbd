"""Images in npy files: one array with its labels, and CIFAR-10-C and CIFAR-100-C with an array for each corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.datasets.folder import title
from oodometer.datasets.label_spaces import cifar10, cifar100
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.layout import some
from oodometer.datasets.slices import read_at
from oodometer.errors import ArgumentError, DatasetError
from oodometer.families import EXTRA, IMAGENET_C, SEVERITIES
from oodometer.types import Condition, LabelSpace, Sample

__all__ = ["CifarC", "ImageArray", "PackedArray", "open_alike", "open_arrays", "open_block", "open_cifar_c"]

_OTHER_NAMES = {"frosted_glass_blur": "glass_blur", "elastic": "elastic_transform"}  # those of TensorFlow Datasets
_ORDER = {name: place for place, name in enumerate(IMAGENET_C + EXTRA)}


@dataclass(frozen=True, slots=True)
class _Rows:
    """Images in an npy file, read row by row: uint8, ``shape`` is N x height x width, and x 3 if in colour."""

    file: Path
    shape: tuple[int, ...]
    offset: int

    def image(self, row: int) -> PIL.Image.Image:
        size = int(np.prod(self.shape[1:]))
        pixels = np.frombuffer(read_at(self.file, self.offset + row * size, size), np.uint8)
        return PIL.Image.fromarray(pixels.reshape(self.shape[1:])).convert("RGB")


@dataclass
class ImageArray:
    """Rows of an npy file from ``first`` on, as a ``Dataset``; ids are the numbers of the rows from 0 on."""

    rows: _Rows
    first: int
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    notes: tuple[str, ...] = ()

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Return one image as RGB; thread-safe.

        Raises
        ------
        DatasetError
            If the file cannot be read, or is shorter than it was.
        """
        return self.rows.image(self.first + int(sample.id))

    def packed(self, ids: Sequence[str]) -> PackedArray:
        """Return a reader of these images by their numbers, which needs little memory."""
        return PackedArray(self.rows, self.first + np.array(ids, np.int64))


@dataclass(frozen=True)
class PackedArray:
    """Rows of an npy file by the numbers of the images; ``places`` is int64 of length N."""

    rows: _Rows
    places: NDArray[np.int64]

    def read_row(self, row: int, _: str) -> PIL.Image.Image:
        """Return one image as RGB; see ``ImageArray.read``."""
        return self.rows.image(int(self.places[row]))


@dataclass
class CifarC:
    """CIFAR-10-C or CIFAR-100-C, as a ``CorruptedDataset``: severity s of N images is the rows (s - 1) N to s N - 1."""

    root: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    conditions: tuple[Condition, ...]
    rows: Mapping[str, _Rows]
    notes: tuple[str, ...] = ()

    def read(self, sample: Sample, condition: Condition) -> PIL.Image.Image:
        """Return one image under one condition as RGB; see ``ImageArray.read``."""
        return self.cell(condition.corruption, condition.severity).read(sample)

    def cell(self, corruption: str, severity: int) -> ImageArray:
        """Return the images under one condition as a data set of their own.

        Raises
        ------
        DatasetError
            If there is no such cell.
        """
        condition = Condition(corruption, severity)
        if corruption not in self.rows or severity not in SEVERITIES:
            raise DatasetError(f"{self.name} has no {condition}; it has severities 1 to 5 of {', '.join(self.rows)}.")
        first = (severity - 1) * len(self.samples)
        return ImageArray(self.rows[corruption], first, f"{self.name}/{condition}", self.label_space, self.samples)


def open_arrays(images: Path, labels: Path | None, labelling: Labelling, name: str | None = None) -> ImageArray:
    """Open an npy file of images and one of their labels.

    Parameters
    ----------
    images
        uint8, N x height x width x 3, or without the last axis (or 1 long) for gray.
    labels
        Whole numbers, N; may be left out with a table of labels (names are the numbers of the rows) or without need.
    labelling, name
        As for the other readers.

    Raises
    ------
    DatasetError
        If a file is not such an array, or the two do not fit together.
    """
    rows = _rows(images)
    own = None if labels is None else _labels(labels, rows)
    ids = [str(row) for row in range(rows.shape[0])]
    where = images if labels is None else labels
    space, indices = labelling.by_folder(where, ids) if own is None else labelling.by_own(where, ids, own.tolist())
    samples = _samples(rows, indices)
    notes: tuple[str, ...] = ()
    if own is not None and len(own) >= 2 * len(SEVERITIES) and _repeat(own):
        notes = (
            f"The labels in {labels} repeat five times: if these are the five severities of a CIFAR-C file, open its "
            "folder as cifar10-c:PATH or cifar100-c:PATH, or they will be taken for images of one kind.",
        )
    return ImageArray(rows, 0, name or title(images), space, samples, notes)


def open_block(images: Path, labels: Path, labelling: Labelling, block: int, blocks: int) -> ImageArray:
    """Open one of several equal blocks of rows of an npy file, such as the images of one severity.

    Raises
    ------
    DatasetError
        If a file is no such array, or its rows are not ``blocks`` times a number of images.
    """
    rows = _rows(images)
    count, rest = divmod(rows.shape[0], blocks)
    if rest:
        raise DatasetError(f"{images} has {rows.shape[0]} rows, which are not {blocks} times a number of images.")
    own = _labels(labels, rows)[block * count : (block + 1) * count]
    space, indices = labelling.by_own(labels, [str(row) for row in range(count)], own.tolist())
    return ImageArray(rows, block * count, title(images), space, _samples(rows, indices))


def open_alike(images: Path, other: ImageArray) -> ImageArray:
    """Open an npy file of the same images as another holds, in the same order.

    Raises
    ------
    DatasetError
        If it is no such array, or has not as many rows as there are images.
    """
    rows = _rows(images)
    if rows.shape[0] != len(other.samples):
        raise DatasetError(f"{images} has {rows.shape[0]} rows, and {other.rows.file} {len(other.samples)} images.")
    return ImageArray(rows, 0, title(images), other.label_space, other.samples)


def open_cifar_c(kind: str, root: Path, labelling: Labelling, name: str | None = None) -> CifarC:
    """Open CIFAR-10-C (``kind`` is ``cifar10-c``) or CIFAR-100-C: an npy file for each corruption, and labels.npy.

    Raises
    ------
    ArgumentError
        If other labels are given.
    DatasetError
        If a file is no such array, holds rows that are not five times the images, or other labels than the classes.
    """
    if (labelling.table, labelling.classes, labelling.space) != (None, None, None):
        raise ArgumentError(f"labels, classes and label_space do not go with {kind}, whose classes are known.")
    files = sorted(file for file in root.glob("*.npy") if file.name != "labels.npy" and not file.name.startswith("."))
    if not files or not (root / "labels.npy").is_file():
        raise DatasetError(f"{root} must hold labels.npy and <corruption>.npy for each corruption, as CIFAR-C does.")
    found = {_OTHER_NAMES.get(file.stem, file.stem): _rows(file) for file in files}
    rows = {corruption: found[corruption] for corruption in sorted(found, key=lambda c: (_ORDER.get(c, 99), c))}
    _check_severities(rows)
    one = next(iter(rows.values()))
    labels = _labels(root / "labels.npy", one)
    if not _repeat(labels):
        raise DatasetError(f"{root / 'labels.npy'} must hold the labels of the images five times, once a severity.")
    count = one.shape[0] // len(SEVERITIES)
    space = cifar10() if kind == "cifar10-c" else cifar100()
    _, indices = Labelling(space=space).by_own(root, [str(row) for row in range(count)], labels[:count].tolist())
    conditions = tuple(Condition(corruption, severity) for corruption in rows for severity in SEVERITIES)
    notes = _renamed(files)
    return CifarC(root, name or title(root), space, _samples(one, indices), conditions, rows, notes)


def _samples(rows: _Rows, labels: Sequence[int]) -> tuple[Sample, ...]:
    size = int(np.prod(rows.shape[1:]))
    return tuple(Sample(str(row), label, size) for row, label in enumerate(labels))


def _check_severities(rows: Mapping[str, _Rows]) -> None:
    one = next(iter(rows.values()))
    for array in rows.values():
        if array.shape[0] % len(SEVERITIES) or not array.shape[0]:
            raise DatasetError(
                f"{array.file} has {array.shape[0]} rows, which are not five times a number of images: severity s of N "
                "images is the rows (s - 1) N to s N - 1."
            )
        if array.shape != one.shape:
            raise DatasetError(
                f"{array.file} has the shape {array.shape} and {one.file} has {one.shape}: all corruptions must hold "
                "the same images. `oodometer check` says what else is wrong."
            )


def _renamed(files: Sequence[Path]) -> tuple[str, ...]:
    other = [f"{file.stem} is {_OTHER_NAMES[file.stem]}" for file in files if file.stem in _OTHER_NAMES]
    twice = [name for name in other if name.split(" is ")[1] in {file.stem for file in files}]
    if twice:
        raise DatasetError(f"One corruption is there twice, under two names: {some(twice)}. Remove one of the files.")
    return (f"Names that were taken for the published ones: {some(other)}.",) if other else ()


def _repeat(labels: NDArray[np.integer]) -> bool:
    """Return whether labels are the same ones five times over."""
    count, rest = divmod(len(labels), len(SEVERITIES))
    return rest == 0 and bool((labels.reshape(-1, count) == labels[:count]).all())


def _load(file: Path) -> np.memmap:
    try:
        return np.lib.format.open_memmap(file, mode="r")
    except OSError as error:
        raise DatasetError(f"Cannot read the file {file}: {error.strerror or error}.") from error
    except (ValueError, EOFError, SyntaxError, OverflowError, TypeError) as error:  # of headers that claim anything
        raise DatasetError(f"{file} is damaged, cut, or no npy file of numbers: {error}.") from error


def _rows(file: Path) -> _Rows:
    array = _load(file)
    colour = array.ndim == 4 and array.shape[3] == 3
    gray = array.ndim == 3 or (array.ndim == 4 and array.shape[3] == 1)
    if array.dtype != np.uint8 or not (colour or gray) or 0 in array.shape:
        raise DatasetError(
            f"{file} holds {array.dtype} of the shape {array.shape}; images must be uint8, N x height x width x 3, or "
            "without the 3 for gray."
        )
    if not array.flags.c_contiguous:
        raise DatasetError(f"{file} is in the order of Fortran; save numpy.ascontiguousarray of it.")
    return _Rows(file, array.shape if colour else array.shape[:3], array.offset)


def _labels(file: Path, rows: _Rows) -> NDArray[np.integer]:
    labels = np.array(_load(file))
    if labels.shape != rows.shape[:1] or not np.issubdtype(labels.dtype, np.integer):
        raise DatasetError(
            f"{file} holds {labels.dtype} of the shape {labels.shape}; for {rows.file} it must hold "
            f"{rows.shape[0]} whole numbers."
        )
    return labels
