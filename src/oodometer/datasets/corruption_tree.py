"""Trees of corrupted images, ``<corruption>/<severity>/<class>/<image>``: ImageNet-C and its kin, Tiny-ImageNet-C."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

import PIL.Image

from oodometer.datasets import layout
from oodometer.datasets.built import space_of_build
from oodometer.datasets.decode import decode
from oodometer.datasets.folder import ImageFolder, title
from oodometer.datasets.label_spaces import imagenet1k
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.manifest import is_build, read_build
from oodometer.datasets.scan import image_ids, images_below, is_folder, visible
from oodometer.errors import DatasetError
from oodometer.families import EXTRA, FAMILIES, IMAGENET_C, SEVERITIES
from oodometer.types import CLEAN, Condition, LabelSpace, Orientation, Sample

__all__ = ["CorruptionTree", "find_corruptions", "open_corruption_tree", "open_tiny_imagenet_c"]

_SEVERITIES = frozenset(str(severity) for severity in SEVERITIES)
_PUBLISHED_ORDER = {name: place for place, name in enumerate(IMAGENET_C + EXTRA)}
_TINY_CLASSES = 200


@dataclass
class CorruptionTree:
    """The images of a tree, as a ``CorruptedDataset``; use ``open_dataset`` to find them and their labels.

    ``cells`` holds the folder of each condition, the published corruptions first and in their order. Ids are paths
    below a cell, the same in all cells, and ``samples`` are sorted by them.
    """

    root: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    conditions: tuple[Condition, ...]
    cells: Mapping[Condition, Path]
    notes: tuple[str, ...] = ()
    orientation: Orientation = "ignore"

    def read(self, sample: Sample, condition: Condition) -> PIL.Image.Image:
        """Decode one image under one condition; see ``ImageFolder.read``."""
        file = self._cell(condition) / sample.id
        return decode(file, name=f"{condition}/{sample.id}", orientation=self.orientation)

    def cell(self, corruption: str, severity: int) -> ImageFolder:
        """Return the images under one condition as a data set of their own, with the sizes of its files.

        Raises
        ------
        DatasetError
            If there is no such cell, or it has lost an image since the tree was opened.
        """
        condition = Condition(corruption, severity)
        return self._folder(self._cell(condition), condition)

    def clean(self) -> ImageFolder | None:
        """Return the uncorrupted pictures, if there is a folder ``clean`` of them, as ``oodometer corrupt`` makes it.

        Raises
        ------
        DatasetError
            If it holds other images than the cells.
        """
        root = self.root / CLEAN.corruption
        return self._folder(root, CLEAN) if root.is_dir() else None

    def _folder(self, root: Path, condition: Condition) -> ImageFolder:
        sizes = dict(images_below(root))
        _compare(sizes.keys(), {sample.id for sample in self.samples}, root, "the tree as it was opened")
        samples = tuple(Sample(sample.id, sample.label, sizes[sample.id]) for sample in self.samples)
        return ImageFolder(root, f"{self.name}/{condition}", self.label_space, samples, (), self.orientation)

    def _cell(self, condition: Condition) -> Path:
        if condition not in self.cells:
            why = [note for note in self.notes if condition.corruption in note]
            raise DatasetError(" ".join([f"{self.name} has no {condition}; it has {_named(self.conditions)}.", *why]))
        return self.cells[condition]


def open_corruption_tree(
    root: Path, labelling: Labelling, orientation: Orientation, name: str | None
) -> CorruptionTree:
    """Find the cells of a tree, check by name that all hold the same images, and label these.

    Every folder of every cell is listed, which is a matter of seconds for the 3.75 million files of ImageNet-C on a
    local disk; sizes are asked for in the first cell alone, and in a cell that ``cell`` opens.

    Raises
    ------
    DatasetError
        If there are no cells, if they hold different images (the message names the cell and the images), or if the
        labels do not fit.
    """
    folders = find_corruptions(root)
    if not folders:
        raise DatasetError(
            f"{root} holds no folders of corruptions, <corruption>/<1 to 5>/<class>/<image>, nor below the families "
            f"{', '.join([*FAMILIES, 'extra'])}."
        )
    if (labelling.table, labelling.classes, labelling.space) == (None, None, None) and not labelling.optional:
        labelling = Labelling(space=space_of_build(root))
    return _open(root, folders, labelling, orientation, name, _unused(root, folders))


def open_tiny_imagenet_c(
    root: Path, labelling: Labelling, orientation: Orientation, name: str | None
) -> CorruptionTree:
    """Open Tiny-ImageNet-C: its 200 classes are those found, in the order of their wnids.

    A frost of other classes than the 200, as in the archive that was published first, is left out, and a note says so.

    Raises
    ------
    DatasetError
        As ``open_corruption_tree``, and if there are not 200 classes.
    """
    folders = find_corruptions(root)
    others = {corruption: folder for corruption, folder in folders.items() if corruption != "frost"}
    classes = _classes(next(iter(others.values()), root))
    if len(classes) != _TINY_CLASSES:
        raise DatasetError(f"{root} has {len(classes)} class folders in its first cell; Tiny-ImageNet-C has 200.")
    notes = list(_unused(root, folders))
    if "frost" in folders and _classes(folders["frost"]) != classes:
        notes.append(
            f"{folders['frost']} has {len(_classes(folders['frost']))} class folders that are not the 200 of the other "
            "corruptions: the known fault of the archive that was published first. frost is left out; replace it by "
            "that of the corrected archive (Zenodo 8206060)."
        )
        folders = others
    if labelling.space is None and labelling.table is None:
        words = dict(zip(imagenet1k().classes, imagenet1k().names, strict=True))
        names = tuple(words.get(wnid, wnid) for wnid in classes)
        labelling = Labelling(space=LabelSpace("tiny-imagenet-200", classes, names))
    return _open(root, folders, labelling, orientation, name, tuple(notes))


def find_corruptions(root: Path) -> dict[str, Path]:
    """Return the folder of each corruption: those that hold folders ``1`` to ``5``, also below folders of families.

    In what ``oodometer corrupt`` built there are the severities of its manifest instead, as far as they are whole.

    Raises
    ------
    DatasetError
        If two families hold a corruption of one name.
    """
    found: dict[str, Path] = {}
    known = _known(root)
    for folder in _folders(root):
        inner = (
            [folder] if _severities(folder, known) else _folders(folder) if folder.name in {*FAMILIES, "extra"} else []
        )
        for corruption in inner:
            if _severities(corruption, known) and found.setdefault(corruption.name, corruption) != corruption:
                raise DatasetError(f"{found[corruption.name]} and {corruption} are one corruption twice; remove one.")
    order = sorted(found, key=lambda name: (_PUBLISHED_ORDER.get(name, len(_PUBLISHED_ORDER)), name))
    return {name: found[name] for name in order}


def _open(
    root: Path,
    folders: Mapping[str, Path],
    labelling: Labelling,
    orientation: Orientation,
    name: str | None,
    notes: tuple[str, ...],
) -> CorruptionTree:
    known = _known(root)
    cells = {Condition(c, s): folder / str(s) for c, folder in folders.items() for s in _severities(folder, known)}
    first, *others = cells.values()
    sizes = dict(sorted(images_below(first)))
    if not sizes:
        raise DatasetError(f"There are no images in {first}.{_shards_in(first)}")
    listing = {
        os.path.relpath(folder, first): {*inner, *files} for folder, inner, files in os.walk(first, followlinks=True)
    }
    for cell in others:
        if not _has_listing(cell, listing):
            _compare(set(image_ids(cell)), sizes.keys(), cell, str(first))
    space, labels = labelling.by_folder(first, list(sizes))
    samples = tuple(Sample(id_, label, size) for (id_, size), label in zip(sizes.items(), labels, strict=True))
    partly = [c for c in folders if not {Condition(c, s) for s in SEVERITIES} <= cells.keys()]
    if partly:
        notes += (f"Not all of the five severities are there of: {layout.some(partly)}.",)
    return CorruptionTree(root, name or title(root), space, samples, tuple(cells), cells, notes, orientation)


def _shards_in(cell: Path) -> str:
    """Say how to open a cell that is kept in shards, as ``oodometer corrupt`` writes them if asked to."""
    names = [entry.name for entry in visible(cell)]
    kinds = (("webdataset", ".tar"), ("parquet", ".parquet"))
    found = [kind for kind, ending in kinds if any(name.endswith(ending) for name in names)]
    return f" It holds shards: open one cell at a time, such as {found[0]}:{cell}." if found else ""


def _has_listing(cell: Path, listing: Mapping[str, Set[str]]) -> bool:
    """Return whether the folders of a cell hold exactly these names: the quick way to see that nothing is missing."""
    try:
        return all(set(os.listdir(cell / folder)) == names for folder, names in listing.items())  # noqa: PTH208
    except OSError:
        return False


def _compare(ids: Set[str], expected: Set[str], cell: Path, other: str) -> None:
    """Refuse a cell whose images are not those of another; both are sets of ids."""
    missing, more = sorted(expected - ids), sorted(ids - expected)
    if missing:
        raise DatasetError(
            f"The cell {cell} lacks {len(missing)} of the {len(expected)} images of {other}: {layout.some(missing)}. "
            "All cells must hold the same images: put them there, or remove them from every cell. `oodometer check` "
            "says what else is wrong."
        )
    if more:
        raise DatasetError(
            f"The cell {cell} has {len(more)} image(s) that {other} lacks: {layout.some(more)}. All cells must hold "
            "the same images: remove them, or add them to every cell. `oodometer check` says what else is wrong."
        )


def _folders(root: Path) -> list[Path]:
    return sorted(Path(entry.path) for entry in visible(root) if is_folder(entry))


def _known(root: Path) -> frozenset[str]:
    """Return the names that folders of severities may have."""
    manifest = read_build(root)
    return _SEVERITIES if manifest is None else frozenset(str(condition.severity) for condition in manifest.conditions)


def _severities(folder: Path, known: Set[str]) -> list[int]:
    """Return the severities of a corruption's folder; none if it is no corruption's, for then it holds others too."""
    names = {inner.name for inner in _folders(folder)}
    alone = known >= names or folder.name in _PUBLISHED_ORDER
    return sorted(int(name) for name in names if name in known) if alone else []


def _classes(corruption: Path) -> tuple[str, ...]:
    return tuple(f.name for cell in _folders(corruption)[:1] for f in _folders(cell) if re.fullmatch(r"n\d+", f.name))


def _unused(root: Path, folders: Mapping[str, Path]) -> tuple[str, ...]:
    """Say which folders were passed over, since a misspelt one would be missed without a word."""
    used = {*folders.values(), *(folder.parent for folder in folders.values()), root / CLEAN.corruption}
    if is_build(root):
        used.add(root / "manifest")  # of a build
    unused, known = [folder for folder in _folders(root) if folder not in used], _known(root)
    unused += [inner for folder in folders.values() for inner in _folders(folder) if inner.name not in known]
    if not unused:
        return ()
    names = [folder.relative_to(root).as_posix() for folder in unused]
    severities = ", ".join(sorted(known, key=int))
    return (
        f"Folders of {root} that are not severities {severities} of a corruption and were passed over: "
        f"{layout.some(names)}.",
    )


def _named(conditions: Sequence[Condition]) -> str:
    corruptions = dict.fromkeys(condition.corruption for condition in conditions)
    return ", ".join(
        f"{name}/{{{','.join(str(c.severity) for c in conditions if c.corruption == name)}}}" for name in corruptions
    )
