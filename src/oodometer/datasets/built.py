"""What ``oodometer corrupt`` built as shards or arrays, as one data set; its trees are read as those of anyone."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import PIL.Image

from oodometer.datasets.arrays import open_block
from oodometer.datasets.folder import title
from oodometer.datasets.label_spaces import imagenet_a, imagenet_r, known_space
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.parquet import open_parquet
from oodometer.datasets.tar import open_tar
from oodometer.errors import ArgumentError, DatasetError
from oodometer.types import Condition, Dataset, LabelSpace, Orientation, Sample

__all__ = ["BuiltSet", "is_built_set", "open_built_set"]

_KIND = "oodometer-build"
_LAYOUTS = ("webdataset", "parquet", "npy")


@dataclass
class BuiltSet:
    """A build, as a ``CorruptedDataset``; cells are opened when they are asked for, and must hold the same images.

    ``samples`` have their sizes under the first condition.
    """

    root: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    conditions: tuple[Condition, ...]
    open_cell: Callable[[Condition], Any]
    notes: tuple[str, ...] = ()
    _opened: dict[Condition, tuple[Dataset, dict[str, Sample]]] = field(default_factory=dict, repr=False)

    def read(self, sample: Sample, condition: Condition) -> PIL.Image.Image:
        """Decode one image under one condition, as the reader of its cell does; thread-safe."""
        cell, samples = self._cell(condition)
        return cell.read(samples[sample.id])

    def cell(self, corruption: str, severity: int) -> Dataset:
        """Return the images under one condition as a data set of their own.

        Raises
        ------
        DatasetError
            If there is no such cell, or it holds other images than the first.
        """
        return self._cell(Condition(corruption, severity))[0]

    def _cell(self, condition: Condition) -> tuple[Dataset, dict[str, Sample]]:
        if condition not in self.conditions:
            raise DatasetError(f"{self.name} has no {condition}; it has {', '.join(map(str, self.conditions))}.")
        if condition not in self._opened:
            cell = self.open_cell(condition)
            samples = {sample.id: sample for sample in cell.samples}
            if samples.keys() != {sample.id for sample in self.samples}:
                raise DatasetError(
                    f"{self.root}: {condition} holds other images than {self.conditions[0]}. Run `oodometer check`, "
                    "and the command that built it again."
                )
            cell.name = f"{self.name}/{condition}"
            self._opened[condition] = cell, samples
        return self._opened[condition]


def is_built_set(root: Path) -> bool:
    """Return whether a folder holds shards or arrays that ``oodometer corrupt`` built."""
    return _manifest(root) is not None


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
    manifest = _manifest(root)
    try:
        assert manifest is not None, "asked for by is_built_set"
        corruptions, severities = manifest["protocol"]["corruptions"], manifest["severities"]
        space = _space(manifest["source"]["label_space"], tuple(manifest["source"]["classes"]))
        layout, complete = manifest["layout"].partition("-")[0], manifest["complete"]
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
    samples = open_cell(next(iter(places))).samples
    return BuiltSet(root, name or title(root), space, samples, tuple(places), open_cell, (said,))


def _space(name: str, classes: tuple[str, ...]) -> LabelSpace:
    masked = {space.name: space for space in (imagenet_r(), imagenet_a())}
    return masked.get(name) or known_space(classes) or LabelSpace(name, classes, classes)


def _open_cell(
    root: Path, layout: str, space: LabelSpace, places: dict[Condition, int], severities: int, condition: Condition
) -> Any:  # noqa: ANN401 - a reader's data set, whose name may be set
    if layout == "npy":
        array = root / f"{condition.corruption}.npy"
        return open_block(array, root / "labels.npy", Labelling(space=space), places[condition], severities)
    reader = open_tar if layout == "webdataset" else open_parquet
    return reader(root / str(condition), Labelling(space=space))


def _manifest(root: Path) -> dict[str, Any] | None:
    """Read the manifest of a build in shards or arrays; ``None`` for anything else."""
    try:
        found = json.loads((root / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return None
    ours = isinstance(found, dict) and found.get("kind") == _KIND
    return found if ours and str(found.get("layout")).partition("-")[0] in _LAYOUTS else None
