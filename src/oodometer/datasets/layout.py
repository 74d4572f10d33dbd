"""From the names of folders and files to class indices, and what to say when they do not fit."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath

from oodometer.datasets.label_spaces import imagenet1k
from oodometer.datasets.sequences import hint
from oodometer.errors import DatasetError
from oodometer.families import EXTRA, FAMILIES, IMAGENET_C, SEVERITIES
from oodometer.types import LabelSpace

__all__ = ["by_class_folder", "by_labels", "common_parent", "near", "positions", "some"]

_EXPECTED = (
    "Expected one folder per class, named by its wnid, with the images in it (n01443537/x.JPEG). For any other layout, "
    "and for a flat folder, give labels: a CSV file with the header name,label or a JSON object, from each folder or "
    "file to a wnid or a class index."
)
_IMAGENET_C = {*FAMILIES, "extra", *IMAGENET_C, *EXTRA}
_SEVERITIES = {str(severity) for severity in SEVERITIES}


def positions(space: LabelSpace) -> dict[str, int]:
    """Return the class index of each identifier that takes part in a label space."""
    columns = range(space.width) if space.columns is None else space.columns
    return {space.classes[index]: index for index in columns}


def by_class_folder(root: Path, folders: Sequence[str], ids: Sequence[str], space: LabelSpace) -> list[int]:
    """Return the class index of each id by the name of its top folder, never by the order of the folders.

    Raises
    ------
    DatasetError
        If there are no class folders, one has an unknown name, or images lie beside them.
    """
    known = positions(space)
    unknown = [folder for folder in folders if folder not in known]
    loose = [id_ for id_ in ids if "/" not in id_]
    if not folders or [folder.lower() for folder in unknown] == ["images"]:
        raise DatasetError(f"The images in {root} are not in class folders, so they have no labels. {_EXPECTED}")
    if unknown:
        raise DatasetError(
            f"{root} has {len(unknown)} folder(s) that are not classes of {space.name}: {some(unknown)}. "
            f"{_hint(root, unknown, space)}{hint(unknown)} {_EXPECTED}"
        )
    if loose:
        raise DatasetError(
            f"{len(loose)} image(s) lie beside the class folders in {root} and have no label: {some(loose)}. "
            "Move them into a class folder or away."
        )
    return [known[id_.split("/")[0]] for id_ in ids]


def by_labels(root: Path, ids: Sequence[str], where: str, known: Mapping[str, int]) -> list[int]:
    """Return the class index of each id by a table of labels, in which the most specific name counts.

    Raises
    ------
    DatasetError
        If the table has no label for an image; names in the table without an image are fine.
    """
    tops = {id_.partition("/")[0] for id_ in ids}
    wrapper = tops.pop() + "/" if len(tops) == 1 else ""
    found = [next((known[name] for name in _names(id_, wrapper) if name in known), None) for id_ in ids]
    missing = [id_ for id_, label in zip(ids, found, strict=True) if label is None]
    if missing:
        unlabelled = dict.fromkeys(id_ if wrapper else id_.partition("/")[0] for id_ in missing)
        raise DatasetError(
            f"{where} has no label for {len(missing)} of the {len(ids)} images in {root}: {some(list(unlabelled))}. "
            "Add them, as paths relative to that folder, or move the images away."
        )
    return [label for label in found if label is not None]


def common_parent(ids: Sequence[str]) -> str:
    """Return the folders, each with ``/``, that all ids lie in and that are no class: archives have such parents."""
    known = positions(imagenet1k())
    parent = ""
    while True:
        tops = {id_[len(parent) :].partition("/")[0] for id_ in ids}
        deep = all(id_.count("/", len(parent)) > 1 for id_ in ids)
        if len(tops) != 1 or not deep or not known.keys().isdisjoint(tops):
            return parent
        parent += tops.pop() + "/"


def some(names: Sequence[str], count: int = 5) -> str:
    """Return the first names and how many more there are."""
    rest = len(names) - count
    return ", ".join(names[:count]) + (f" and {rest} more" if rest > 0 else "")


def near(name: str, space: LabelSpace) -> str:
    """Return a sentence on the classes that an unknown name may have meant; empty if none is near."""
    if name in space.classes and space.columns is not None:
        return f"{name} is a class of the model, but not one of the {len(space.columns)} that {space.name} counts."
    meant = [space.classes[i] for i, words in enumerate(space.names) if words.casefold() == name.casefold()]
    close = meant or difflib.get_close_matches(name, space.classes, n=3)
    described = [f"{identifier} ({space.names[space.classes.index(identifier)]})" for identifier in close]
    return f"For {name!r}, did you mean {' or '.join(described)}?" if close else ""


def _names(id_: str, wrapper: str) -> Iterator[str]:
    """Yield the names under which a table may know an image: as a file, then its folders, innermost first."""
    full = PurePosixPath(id_)
    inner = PurePosixPath(id_.removeprefix(wrapper))
    yield from (str(full), str(inner))
    yield from (str(folder) for folder in (*full.parents, *inner.parents))


def _hint(root: Path, unknown: Sequence[str], space: LabelSpace) -> str:
    names = set(unknown)
    if names <= _IMAGENET_C:
        return "It looks like ImageNet-C: open it as imagenet-c:PATH, or the folder of one cell, such as fog/3."
    if names <= _SEVERITIES:
        return "It looks like one corruption of ImageNet-C with its severities: open one of them, such as 3."
    if all(name.isdecimal() for name in names):
        return "Open ImageNetV2 as imagenet-v2:PATH; other folders named by class indices need labels that say so."
    for folder in (root / name for name in unknown):
        if folder.is_dir() and any(entry.name in space.classes for entry in folder.iterdir()):
            return f"{folder} holds class folders: open that one."
    return near(unknown[0], space)
