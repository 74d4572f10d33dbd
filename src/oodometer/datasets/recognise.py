"""What a path holds, by its look: names of folders and files, and at most one picture's size. No image is decoded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import PIL.Image

from oodometer import arguments
from oodometer.datasets.label_spaces import imagenet1k, imagenet_a, imagenet_r
from oodometer.datasets.manifest import BUILD, is_build
from oodometer.datasets.scan import is_folder, is_image_name, visible
from oodometer.datasets.sequences import hint
from oodometer.errors import DatasetError
from oodometer.families import FAMILIES, GROUPS, SEVERITIES

__all__ = ["KINDS", "STYLES", "Look", "recognise"]

KINDS: dict[str, str] = {
    "folder": "images in class folders",
    "flat": "images without class folders",
    "image": "one image",
    "imagenet-c": "ImageNet-C or another tree <corruption>/<severity>/<class>/<image>",
    "tiny-imagenet-c": "Tiny-ImageNet-C",
    "imagenet-r": "ImageNet-R",
    "imagenet-a": "ImageNet-A",
    "imagenet-v2": "ImageNetV2, whose folders are named by class indices",
    "imagenet-sketch": "ImageNet-Sketch",
    "cifar10-c": "CIFAR-10-C",
    "cifar100-c": "CIFAR-100-C",
    "npy": "arrays of images and labels",
    "webdataset": "WebDataset shards or another tar file of images",
    "parquet": "Parquet files",
    "huggingface": "a data set that save_to_disk of Hugging Face datasets wrote",
}
"""What a path can be taken for, and how to say it."""

STYLES = (
    *("art", "cartoon", "deviantart", "embroidery", "graffiti", "graphic", "misc", "origami", "painting"),
    *("sculpture", "sketch", "sticker", "tattoo", "toy", "videogame"),
)
"""The prefixes that name the style in the published file names of ImageNet-R."""

_SEVERITIES = {str(severity) for severity in SEVERITIES}
_FAMILY_FOLDERS = {*FAMILIES, "extra"}
_WNID = re.compile(r"n\d{8}")
_STYLED = re.compile(rf"({'|'.join(STYLES)})_\d+\.\w+")
_SKETCH = re.compile(r"sketch_\d+\.JPEG")
_VALIDATION = re.compile(r"ILSVRC2012_val_\d+", re.IGNORECASE)
_FILES: tuple[tuple[str, str], ...] = (
    (r".*\.(tar|tar\.\w+|tgz|tbz2?|txz)", "webdataset"),
    (r".*\.parquet", "parquet"),
    (r".*\.npy", "npy"),
)


@dataclass(frozen=True, slots=True)
class Look:
    """What a path was taken for.

    ``kind`` is one of ``KINDS``, or ``oodometer-build``; ``root`` is the folder or file really meant, below the
    single parent folder that archives have; ``said`` is one sentence for people.
    """

    kind: str
    root: Path
    said: str


@dataclass(frozen=True, slots=True)
class _Contents:
    """The visible entries of a folder by kind; the names are sorted, so that every look at it is the same."""

    root: Path
    folders: tuple[str, ...]
    files: tuple[str, ...]

    def ending(self, extension: str) -> list[str]:
        return [name for name in self.files if name.lower().endswith(extension)]


def recognise(path: str | os.PathLike[str]) -> Look:
    """Say what kind of data set a path holds, by names and layout.

    Parameters
    ----------
    path
        A folder, a file, or the pattern of shards, such as ``shards/{000..012}.tar`` or ``shards/*.tar``.

    Returns
    -------
    Look
        The kind, the folder or file really meant, and a sentence that says so.

    Raises
    ------
    DatasetError
        If there is nothing, or nothing that can be read; the message says what was found.
    """
    place = arguments.path("The data", path)
    try:
        is_file = place.is_file()
    except OSError as error:  # a name too long, a fault of the disk
        raise DatasetError(f"Cannot read {place}: {error.strerror or error}.") from error
    if is_file:
        return _look(_kind_of_file(place), place)
    if not place.exists() and set("{*?[") & set(place.name):
        return _look("webdataset", place)
    found = _descend(place)
    if found is None:
        names = [entry.name for entry in visible(place)]
        raise DatasetError(
            f"{place} holds nothing that counts as a data set: no images, tar, Parquet, Arrow or npy files that are "
            "known. Known are: " + "; ".join(KINDS.values()) + "." + hint(names)
        )
    return _look(*found)


def _look(kind: str, root: Path) -> Look:
    words = "what oodometer corrupt built" if kind == BUILD else KINDS[kind]
    return Look(kind, root, f"{root} was taken for {words} ({kind}).")


def _kind_of_file(file: Path) -> str:
    for pattern, kind in _FILES:
        if re.fullmatch(pattern, file.name.lower()):
            return kind
    if is_image_name(file.name):
        return "image"
    raise DatasetError(
        f"The file {file} is no image, tar, Parquet or npy file by its name. An archive of another kind must be "
        "unpacked first."
    )


def _descend(root: Path) -> tuple[str, Path] | None:
    """Return what a folder is, or what its only folder is if that is known: archives have such a parent folder."""
    contents = _contents(root)
    kind = next((kind for kind, test in _TESTS if test(contents)), None)
    if kind in {None, "folder"} and len(contents.folders) == 1 and not _WNID.fullmatch(contents.folders[0]):
        inner = _descend(root / contents.folders[0])
        if inner and (kind is None or inner[0] not in {"folder", "flat"} or _has_wnids(_contents(inner[1]))):
            return inner
    return (kind, root) if kind else None


def _contents(root: Path) -> _Contents:
    entries = visible(root)
    folders = tuple(sorted(entry.name for entry in entries if is_folder(entry)))
    return _Contents(root, folders, tuple(sorted(entry.name for entry in entries if not is_folder(entry))))


def _is_huggingface(found: _Contents) -> bool:
    return "dataset_dict.json" in found.files or ("state.json" in found.files and bool(found.ending(".arrow")))


def _is_cifar(found: _Contents, classes: int) -> bool:
    arrays = set(found.ending(".npy"))
    return len(arrays) > 1 and "labels.npy" in arrays and not _is_npy(found) and classes == _cifar_classes(found.root)


def _cifar_classes(root: Path) -> int:
    try:
        labels = np.load(root / "labels.npy", mmap_mode="r", allow_pickle=False)
        return 100 if int(labels.max()) > 9 else 10
    except (OSError, ValueError, TypeError, EOFError):  # what is wrong with it, the reader says
        return 100 if "100" in root.name else 10


def _is_npy(found: _Contents) -> bool:
    return found.ending(".npy") == ["images.npy", "labels.npy"]


def _is_parquet(found: _Contents) -> bool:
    return bool(found.ending(".parquet")) or (
        "data" in found.folders and bool(_contents(found.root / "data").ending(".parquet"))
    )


def _is_corruption_tree(found: _Contents) -> bool:
    if _severities_in(found):
        return True
    families = [name for name in found.folders if name in _FAMILY_FOLDERS]
    return any(_severities_in(_contents(found.root / name)) for name in families)


def _severities_in(found: _Contents) -> bool:
    """Return whether one of the first folders holds folders named by severities alone, and these hold folders.

    Below the name of a published corruption there may be others, and images: 1 can be a class, but not one of fog.
    """
    for name in found.folders[:20]:
        inside = _contents(found.root / name)
        if name in GROUPS["all"] and _SEVERITIES & set(inside.folders):
            return True
        if inside.folders and _SEVERITIES.issuperset(inside.folders):
            return bool(_contents(inside.root / inside.folders[0]).folders)
    return False


def _is_tiny(found: _Contents) -> bool:
    """Return whether a corruption tree is of Tiny-ImageNet: 200 wnids in a cell, and pictures of 64 pixels."""
    if not _is_corruption_tree(found):
        return False
    trees = [_contents(found.root / name) for name in found.folders if name not in {"frost", *_FAMILY_FOLDERS}]
    trees += [_contents(found.root / a / b) for a in _FAMILY_FOLDERS & {*found.folders} for b in _inside(found, a)]
    for tree in trees:
        if tree.folders and _SEVERITIES.issuperset(tree.folders):
            cell = _contents(tree.root / tree.folders[0])
            return len(cell.folders) == 200 and _has_wnids(cell) and _side_of_first(cell) in {None, 64}
    return False


def _inside(found: _Contents, folder: str) -> list[str]:
    return [name for name in _contents(found.root / folder).folders if name != "frost"]


def _side_of_first(cell: _Contents) -> int | None:
    for folder in cell.folders[:3]:
        for name in _some_images(cell.root / folder, 1):
            try:
                with PIL.Image.open(cell.root / folder / name) as image:
                    return max(image.size)
            except (OSError, ValueError):
                continue
    return None


def _is_sketch(found: _Contents) -> bool:
    return _all_named(found, _SKETCH)


def _is_renditions(found: _Contents) -> bool:
    return _members(found, imagenet_r().columns) and _all_named(found, _STYLED)


def _is_adversarial(found: _Contents) -> bool:
    if not _members(found, imagenet_a().columns) or _all_named(found, _VALIDATION):
        return False
    return len(found.folders) == 200 or "imagenet-a" in found.root.name.lower()


def _is_v2(found: _Contents) -> bool:
    indices = {int(name) for name in found.folders if name.isdecimal()}
    if len(indices) != len(found.folders) or not indices or max(indices) > 999:
        return False
    return len(indices) == 1000 or "imagenetv2" in found.root.name.lower()


def _is_folder(found: _Contents) -> bool:
    return not _is_flat(found) and any(_holds_images(found.root / name) for name in found.folders)


def _is_flat(found: _Contents) -> bool:
    if not found.folders:
        return any(map(is_image_name, found.files))
    return [name.lower() for name in found.folders] == ["images"] and _is_flat(_contents(found.root / found.folders[0]))


def _holds_images(root: Path, deep: int = 8) -> bool:
    found = _contents(root)
    return any(map(is_image_name, found.files)) or (
        deep > 0 and any(_holds_images(root / name, deep - 1) for name in found.folders)
    )


def _has_wnids(found: _Contents) -> bool:
    return bool(found.folders) and all(_WNID.fullmatch(name) for name in found.folders)


def _members(found: _Contents, columns: Sequence[int] | None) -> bool:
    classes = imagenet1k().classes
    return bool(found.folders) and {classes[column] for column in columns or ()}.issuperset(found.folders)


def _all_named(found: _Contents, pattern: re.Pattern[str]) -> bool:
    """Return whether the first images of the first class folders all have names of one pattern."""
    if not _has_wnids(found):
        return False
    names = [name for folder in found.folders[:5] for name in _some_images(found.root / folder, 20)]
    return bool(names) and all(pattern.match(name) for name in names)


def _some_images(folder: Path, count: int) -> list[str]:
    return list(islice((name for name in _contents(folder).files if is_image_name(name)), count))


# The first that holds is the kind, so the particular ones stand before the general ones.
_TESTS: tuple[tuple[str, Callable[[_Contents], bool]], ...] = (
    (BUILD, lambda found: is_build(found.root)),
    ("huggingface", _is_huggingface),
    ("npy", _is_npy),
    ("cifar10-c", lambda found: _is_cifar(found, 10)),
    ("cifar100-c", lambda found: _is_cifar(found, 100)),
    ("tiny-imagenet-c", _is_tiny),
    ("imagenet-c", _is_corruption_tree),
    ("parquet", _is_parquet),
    ("webdataset", lambda found: bool(found.ending(".tar"))),
    ("imagenet-sketch", _is_sketch),
    ("imagenet-r", _is_renditions),
    ("imagenet-a", _is_adversarial),
    ("imagenet-v2", _is_v2),
    ("flat", _is_flat),
    ("folder", _is_folder),
)
