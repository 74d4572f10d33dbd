"""Image folders: which files there are, and which class each one has. Their pictures are decoded one by one, later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import PIL.Image

from oodometer import arguments
from oodometer.datasets import layout
from oodometer.datasets.decode import EXTENSIONS, decode
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.manifest import refuse_build
from oodometer.datasets.scan import images_below, is_folder, visible
from oodometer.errors import DatasetError, ImageError
from oodometer.types import LabelSpace, Orientation, Sample

__all__ = ["ImageFolder", "label_folder", "open_folder", "title"]


@dataclass
class ImageFolder:
    """Images in a folder, as a ``Dataset``; use ``open_folder`` to find them and their labels.

    ``samples`` are sorted by id. ``notes`` are sentences for a log about what is allowed but may surprise.
    """

    root: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    notes: tuple[str, ...] = ()
    orientation: Orientation = "ignore"

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Decode one image at full size, as RGB, by the rules in ``oodometer.datasets.decode``; thread-safe.

        Raises
        ------
        ImageError
            If the file cannot be read whole; the message names it.
        DatasetError
            If Pillow is set to accept truncated images, which would go unseen, or if the system cannot give the file.
        """
        if sample.size == 0:
            raise ImageError(f"Cannot read the image {sample.id}: the file is empty, or a link to nowhere.")
        return decode(self.root / sample.id, name=sample.id, orientation=self.orientation)


def open_folder(
    root: str | Path,
    *,
    labels: str | Path | Mapping[str, int | str] | None = None,
    classes: int | None = None,
    label_space: LabelSpace | None = None,
    orientation: Orientation = "ignore",
    unlabelled: bool = False,
    name: str | None = None,
) -> ImageFolder:
    """Find the images below a folder and the class of each one; no image is opened.

    Parameters
    ----------
    root
        The folder. Without ``labels`` it holds one sub-folder per class, named by its identifier in ``label_space``
        (for ImageNet the wnid). Images may lie deeper within a class. Hidden files and folders, ``__MACOSX`` and
        whatever has no image extension are ignored.
    labels
        The class of each folder or file: a mapping, a CSV file with the header ``name,label`` or a JSON object. Names
        are paths relative to ``root`` (for a single sub-folder, relative to that as well); the most specific one
        counts. Labels are identifiers of ``label_space``, or indices from 0 up; a number is always an index.
    classes
        How many classes the model has, if the indices in ``labels`` cover only some of them.
    label_space
        The classes of the model; ImageNet-1k by default, or with indices in ``labels`` as many classes as they name.
    orientation
        ``"ignore"``, or ``"apply"`` to turn the pictures as their tags ask for.
    unlabelled
        Whether images need no label and class folders no known name: then unknown folders are classes of their own,
        and images in none have the label ``oodometer.types.UNLABELLED``.
    name
        What to call the data set; the name of the folder by default.

    Returns
    -------
    ImageFolder
        With at least one sample; ids are paths relative to ``root`` with ``/``, labels index ``label_space.classes``.

    Raises
    ------
    DatasetError
        If the folder or the labels do not describe a usable data set; the message says where and what to do.
    ArgumentError
        If ``classes`` is not a positive number, or is given without a use for it.
    """
    return label_folder(root, Labelling(labels, classes, label_space, unlabelled), orientation, name)


def label_folder(
    root: str | Path, labelling: Labelling, orientation: Orientation = "ignore", name: str | None = None
) -> ImageFolder:
    """Do what ``open_folder`` does, with what was said about labels in one object."""
    folder = arguments.path("The data", root)
    refuse_build(folder)
    found = sorted(images_below(folder))
    if not found:
        raise DatasetError(f"There are no images in {folder}. Extensions that count: {', '.join(sorted(EXTENSIONS))}.")
    folders = sorted(entry.name for entry in visible(folder) if is_folder(entry))
    for inner in folders if labelling.optional else ():  # by their names they are classes then
        refuse_build(folder / inner)
    ids = [id_ for id_, _ in found]
    space, indices = labelling.by_folder(folder, ids, folders)
    samples = tuple(Sample(id_, label, size) for (id_, size), label in zip(found, indices, strict=True))
    return ImageFolder(folder, name or title(folder), space, samples, _notes(folders, ids), orientation)


def title(path: Path) -> str:
    """Return what to call a data set that lies at a path: its last part, as text that can be written anywhere."""
    return path.resolve().name.encode("utf-8", "backslashreplace").decode()


def _notes(folders: list[str], ids: list[str]) -> tuple[str, ...]:
    counts = Counter(id_.split("/")[0] for id_ in ids)
    empty = [folder for folder in folders if not counts[folder]]
    return (f"{len(empty)} folder(s) hold no images: {layout.some(empty)}.",) if empty else ()
