"""What ``oodometer corrupt`` built as shards or arrays, as one data set; its trees are read as those of anyone."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import PIL.Image

from oodometer.datasets.arrays import open_alike, open_block
from oodometer.datasets.folder import title
from oodometer.datasets.label_spaces import imagenet_a, imagenet_r, known_space
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.manifest import BuildManifest, BuildSource, read_build
from oodometer.datasets.parquet import open_parquet
from oodometer.datasets.tar import open_tar
from oodometer.errors import ArgumentError, DatasetError
from oodometer.types import CLEAN, Condition, Dataset, LabelSpace, Orientation, Sample

__all__ = ["BuiltSet", "lost_cells", "open_built_set", "space_of_build"]


class _Packed(Protocol):
    """The pictures of a cell by their numbers."""

    def read_row(self, row: int, id_: str) -> PIL.Image.Image: ...


_OPENING = threading.Lock()
"""Held while a cell is opened, so that threads do not open it twice."""


@dataclass
class BuiltSet:
    """A build, as a ``CorruptedDataset``; cells are opened when they are asked for, and must hold the same images.

    ``samples`` have their sizes under the first condition. ``has_clean`` says whether the uncorrupted pictures are
    there too.
    """

    root: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    conditions: tuple[Condition, ...]
    open_cell: Callable[[Condition], Any]
    has_clean: bool = False
    notes: tuple[str, ...] = ()
    _packed: dict[Condition, _Packed] = field(default_factory=dict, repr=False)
    _rows: dict[str, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self._rows = {sample.id: row for row, sample in enumerate(self.samples)}

    def read(self, sample: Sample, condition: Condition) -> PIL.Image.Image:
        """Decode one image under one condition, as the reader of its cell does; thread-safe."""
        if condition not in self._packed:
            with _OPENING:
                if condition not in self._packed:
                    # The samples of all cells would take gigabytes for a whole ImageNet-C.
                    self._packed[condition] = self._cell(condition).packed([*self._rows])
        return self._packed[condition].read_row(self._rows[sample.id], sample.id)

    def cell(self, corruption: str, severity: int) -> Dataset:
        """Return the images under one condition as a data set of their own.

        Raises
        ------
        DatasetError
            If there is no such cell, or it holds other images than the first.
        """
        found: Dataset = self._cell(Condition(corruption, severity))
        return found

    def clean(self) -> Dataset | None:
        """Return the uncorrupted pictures, if they were built too; raises ``DatasetError`` like ``cell``."""
        return self._cell(CLEAN) if self.has_clean else None

    def _cell(self, condition: Condition) -> Any:  # noqa: ANN401 - a reader's data set
        if condition not in self.conditions and not (condition == CLEAN and self.has_clean):
            raise DatasetError(f"{self.name} has no {condition}; it has {', '.join(map(str, self.conditions))}.")
        cell = self.open_cell(condition)
        if {sample.id for sample in cell.samples} != self._rows.keys():
            raise DatasetError(
                f"{self.root}: {condition} holds other images than {self.conditions[0]}. Run `oodometer check`, "
                "and the command that built it again."
            )
        cell.name = f"{self.name}/{condition}"
        return cell


def open_built_set(
    root: Path, manifest: BuildManifest, labelling: Labelling, orientation: Orientation, name: str | None
) -> BuiltSet:
    """Open a build by its manifest, which knows the classes and the severities.

    Raises
    ------
    ArgumentError
        If other labels or an orientation are given: the pictures are as they were made.
    DatasetError
        If its images have no labels, the build is not finished, or none of its severities is a whole number.
    """
    if (labelling.table, labelling.classes, labelling.space) != (None, None, None) or orientation != "ignore":
        raise ArgumentError(f"{root} is a build, whose labels and orientation are settled; leave those arguments out.")
    space = _space(manifest.source)
    if not space.classes:
        raise DatasetError(
            f"{root} was built from images without labels, so nothing in it can be right or wrong. Evaluate the images "
            "that it was built from, as images without labels; or open its cells, each as a data set of its own."
        )
    if not manifest.complete:
        raise DatasetError(f"{root} is a build that is not finished. Run the command that makes it again.")
    places = {
        Condition(corruption, int(severity)): row
        for corruption in manifest.protocol.corruptions
        for row, severity in enumerate(manifest.severities)
        if int(severity) == severity
    }
    broken = [str(severity) for severity in manifest.severities if int(severity) != severity]
    notes = (f"Its severities that are no whole numbers are left out: {', '.join(broken)}.",) if broken else ()
    open_cell = functools.partial(_open_cell, root, manifest.container, space, places, len(manifest.severities))
    samples = open_cell(next(iter(places))).samples
    return BuiltSet(root, name or title(root), space, samples, tuple(places), open_cell, manifest.clean, notes)


def lost_cells(root: Path, manifest: BuildManifest) -> list[Condition]:
    """Return the conditions of a build, clean last, of which nothing is there any more."""
    conditions = [*manifest.conditions, *([CLEAN] if manifest.clean else [])]
    arrays = manifest.container == "npy"
    return [c for c in conditions if not (root / (f"{c.corruption}.npy" if arrays else str(c))).exists()]


def space_of_build(root: Path) -> LabelSpace | None:
    """Return the classes of a build by its manifest; ``None`` without a manifest that has any."""
    manifest = read_build(root)
    return _space(manifest.source) if manifest is not None and manifest.source.classes else None


def _space(source: BuildSource) -> LabelSpace:
    masked = {space.name: space for space in (imagenet_r(), imagenet_a())}
    return (
        masked.get(source.label_space)
        or known_space(source.classes)
        or LabelSpace(source.label_space, source.classes, source.class_names)
    )


def _open_cell(
    root: Path, layout: str, space: LabelSpace, places: dict[Condition, int], severities: int, condition: Condition
) -> Any:  # noqa: ANN401 - a reader's data set, whose name may be set
    labelling = Labelling(space=space)
    if layout == "npy":
        array, (first, *_) = root / f"{condition.corruption}.npy", places
        if condition == CLEAN:
            corrupted = root / f"{first.corruption}.npy"
            return open_alike(array, open_block(corrupted, root / "labels.npy", labelling, 0, severities))
        return open_block(array, root / "labels.npy", labelling, places[condition], severities)
    if layout == "webdataset":
        return open_tar(root / str(condition), labelling)
    return open_parquet(root / str(condition), labelling, share=len(places) + 1)
