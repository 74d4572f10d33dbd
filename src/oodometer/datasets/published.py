"""The published sets of class folders: ImageNet-R, ImageNet-A, ImageNetV2 and ImageNet-Sketch."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from oodometer.datasets.folder import ImageFolder, label_folder
from oodometer.datasets.label_spaces import imagenet1k, imagenet_a, imagenet_r
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.layout import some
from oodometer.datasets.scan import class_and_file, is_folder, visible
from oodometer.errors import ArgumentError, DatasetError
from oodometer.types import LabelSpace, Orientation

__all__ = ["PUBLISHED", "open_published", "style"]

PUBLISHED: dict[str, tuple[Callable[[], LabelSpace], int]] = {
    "imagenet-r": (imagenet_r, 30_000),
    "imagenet-a": (imagenet_a, 7_500),
    "imagenet-v2": (imagenet1k, 10_000),
    "imagenet-sketch": (imagenet1k, 50_889),
}
"""The label space of each set, and how many images it has as published."""


def open_published(
    kind: str, root: Path, labelling: Labelling, orientation: Orientation, name: str | None
) -> ImageFolder:
    """Open one of ``PUBLISHED``, whose label space is its own; a part of it is taken with a note.

    Raises
    ------
    ArgumentError
        If other labels are given.
    DatasetError
        If its folders are not the set's classes.
    """
    if (labelling.table, labelling.classes, labelling.space) != (None, None, None):
        raise ArgumentError(f"labels, classes and label_space do not go with {kind}, whose classes are known.")
    space, count = PUBLISHED[kind]
    table = _indices(root) if kind == "imagenet-v2" else None
    found = label_folder(root, Labelling(table, space=space()), orientation, name)
    if len(found.samples) == count:
        return found
    note = f"{kind} as published has {count:,} images; these are {len(found.samples):,}."
    return replace(found, notes=(*found.notes, note))


def style(id_: str) -> str:
    """Return the style that a file name of ImageNet-R begins with: what stands before the last ``_`` and a number.

    The published ones are ``oodometer.datasets.recognise.STYLES``; another one is a style of its own, and a name
    without a number is of the style ``""``.
    """
    found = re.match(r"(.+)_\d+\.\w+", class_and_file(id_)[1])
    return found[1] if found else ""


def _indices(root: Path) -> dict[str, int | str]:
    """Return the class index of each folder of ImageNetV2, which is its name as a number, never its place."""
    folders = sorted(entry.name for entry in visible(root) if is_folder(entry))
    wrong = [folder for folder in folders if not re.fullmatch(r"[0-9]{1,4}", folder) or int(folder) > 999]
    if wrong:
        raise DatasetError(f"The folders of ImageNetV2 are named 0 to 999; {root} also has: {some(wrong)}.")
    if not folders:
        raise DatasetError(f"The folders of ImageNetV2 are named 0 to 999; {root} has no folders.")
    return {folder: int(folder) for folder in folders}
