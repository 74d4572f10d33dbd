"""What ``oodometer corrupt`` built as shards or arrays, as one data set; its trees are read as those of anyone."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import PIL.Image

from oodometer.datasets.arrays import open_alike, open_block
from oodometer.datasets.folder import title
from oodometer.datasets.label_spaces import imagenet_a, imagenet_r, known_space
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.parquet import open_parquet
from oodometer.datasets.tar import open_tar
from oodometer.errors import ArgumentError, DatasetError
from oodometer.types import CLEAN, Condition, Dataset, LabelSpace, Orientation, Sample

__all__ = ["BuiltSet", "build_manifest", "is_built_set", "open_built_set", "space_of_build"]

_KIND = "oodometer-build"
_LAYOUTS = ("webdataset", "parquet", "npy")


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


def is_built_set(root: Path) -> bool:
    """Return whether a folder holds shards or arrays that ``oodometer corrupt`` built."""
    found = build_manifest(root)
    return found is not None and str(found.get("layout")).partition("-")[0] in _LAYOUTS


def open_built_set(root: Path, labelling: Labelling, orientation: Orientation, name: str | None) -> BuiltSet:
    """Open a build by its manifest, which knows the classes and the severities.

    Raises
    ------
    ArgumentError
        If other labels or an orientation are given: the pictures are as they were made.
    DatasetError
        If the manifest is damaged, the build is not finished, or none of its severities is a whole number.
    """
    if (labelling.table, labelling.classes, labelling.space) != (None, None, None) or orientation != "ignore":
        raise ArgumentError(f"{root} is a build, whose labels and orientation are settled; leave those arguments out.")
    manifest = build_manifest(root)
    try:
        assert manifest is not None, "asked for by is_built_set"
        corruptions, severities = manifest["protocol"]["corruptions"], manifest["severities"]
        space = _space(manifest["source"])
        layout, complete = manifest["layout"].partition("-")[0], manifest["complete"]
        has_clean = manifest["clean"]
    except (KeyError, TypeError, AttributeError) as error:
        raise DatasetError(f"{root / 'manifest.json'} is damaged: it lacks {error}. Restore it.") from error
    if not space.classes:
        raise DatasetError(f"{root} was built from images without labels; open its cells with unlabelled=True.")
    if not complete:
        raise DatasetError(f"{root} is a build that is not finished. Run the command that makes it again.")
    places = {Condition(c, int(s)): row for c in corruptions for row, s in enumerate(severities) if int(s) == s}
    if not places:
        raise DatasetError(f"{root} has no severity that is a whole number; open its cells one by one.")
    open_cell = functools.partial(_open_cell, root, layout, space, places, len(severities))
    said = f"{root} was taken for what oodometer corrupt built ({manifest['layout']})."
    broken = [str(severity) for severity in severities if int(severity) != severity]
    said += f" Its severities that are no whole numbers are left out: {', '.join(broken)}." if broken else ""
    samples = open_cell(next(iter(places))).samples
    return BuiltSet(root, name or title(root), space, samples, tuple(places), open_cell, has_clean, (said,))


def space_of_build(root: Path) -> LabelSpace | None:
    """Return the classes of a build by its manifest; ``None`` without a manifest that has any."""
    try:
        found = _space((build_manifest(root) or {})["source"])
    except (KeyError, TypeError):
        return None
    return found if found.classes else None


def _space(source: Mapping[str, Any]) -> LabelSpace:
    name, classes, names = source["label_space"], tuple(source["classes"]), tuple(source["class_names"])
    masked = {space.name: space for space in (imagenet_r(), imagenet_a())}
    return masked.get(name) or known_space(classes) or LabelSpace(name, classes, names)


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


def build_manifest(root: Path) -> dict[str, Any] | None:
    """Read the manifest of what ``oodometer corrupt`` built in any layout; ``None`` for anything else."""
    try:
        found = json.loads((root / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("kind") == _KIND else None
