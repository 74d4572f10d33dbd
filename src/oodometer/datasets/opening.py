"""One call for any data set: what a specification such as ``imagenet-c:PATH`` means, and which reader takes it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from oodometer import arguments
from oodometer.datasets.arrays import open_arrays, open_cifar_c
from oodometer.datasets.built import open_built_set
from oodometer.datasets.cloud import cloud_url, open_cloud
from oodometer.datasets.corruption_tree import open_corruption_tree, open_tiny_imagenet_c
from oodometer.datasets.folder import ImageFolder, label_folder, title
from oodometer.datasets.huggingface import open_huggingface
from oodometer.datasets.label_spaces import LABEL_SPACES
from oodometer.datasets.labelling import Labelling, Table
from oodometer.datasets.manifest import BUILD, PACKED, is_build, read_build, refuse_build
from oodometer.datasets.parquet import open_parquet
from oodometer.datasets.published import PUBLISHED, open_published
from oodometer.datasets.recognise import KINDS, Look, recognise
from oodometer.datasets.tar import open_tar
from oodometer.errors import ArgumentError, DatasetError, unknown_name
from oodometer.types import CorruptedDataset, Dataset, LabelSpace, Orientation, Sample

__all__ = ["open_dataset", "path_of"]


def open_dataset(
    spec: str | os.PathLike[str],
    *,
    labels: Table | None = None,
    classes: int | None = None,
    label_space: str | LabelSpace | None = None,
    orientation: Orientation = "ignore",
    unlabelled: bool = False,
    name: str | None = None,
) -> Dataset | CorruptedDataset:
    """Open a data set of any kind; no image is decoded until it is read.

    Parameters
    ----------
    spec
        ``KIND:PATH``, or a path alone, whose kind is then guessed by its look; the guess is the first of the data set's
        ``notes``. Where an archive has a single parent folder, the folder above it will do.

        - ``folder:PATH``: class folders, or a flat folder with ``labels``, also by its URL, such as ``s3://BUCKET/val``,
          in whatever fsspec reads; ``image:PATH``: one image
        - ``imagenet-r:PATH``, ``imagenet-a:PATH``, ``imagenet-v2:PATH``, ``imagenet-sketch:PATH``
        - ``webdataset:PATTERN``: tar files, also of class folders; a file, a folder or ``shards/{000..012}.tar``
        - ``parquet:PATTERN``, and ``huggingface:PATH`` for what ``save_to_disk`` wrote
        - ``npy:IMAGES,LABELS``, two files; or ``npy:PATH``, a folder with images.npy and labels.npy
        - ``imagenet-c:PATH`` (any tree ``<corruption>/<1 to 5>/<class>/<image>``, also below folders of families),
          ``tiny-imagenet-c:PATH``, ``cifar10-c:PATH``, ``cifar100-c:PATH``: a ``CorruptedDataset``, of which
          ``cell("fog", 3)`` is a data set like the others
    labels
        The class of each folder or file, as for ``open_folder``, instead of what the data set says.
    classes
        How many classes the model has, if class indices cover only some of your own.
    label_space
        The classes of the model, or their name (``imagenet-1k``, ``cifar-10``, ``cifar-100``): by default ImageNet-1k
        for wnids, what the data set names, and one's own classes for indices without names.
    orientation
        ``"ignore"``, or ``"apply"`` to turn the pictures as their tags ask for.
    unlabelled
        Whether images need no label and classes no known name: then unknown class folders are classes of their own, and
        an image without a label has ``oodometer.types.UNLABELLED``.
    name
        What to call the data set; the name of its folder or file by default.

    Returns
    -------
    Dataset or CorruptedDataset
        With at least one sample. Labels come from names, never from the order of folders.

    Raises
    ------
    DatasetError
        If there is no usable data set; the message says where and what to do.
    ArgumentError
        If an argument is wrong, or does not go with this kind.

    Examples
    --------
    >>> foggy = open_dataset("imagenet-c:ImageNet-C").cell("fog", 3)  # doctest: +SKIP
    """
    if label_space is not None and not isinstance(label_space, LabelSpace):
        label_space = LABEL_SPACES[arguments.choice("label space", label_space, LABEL_SPACES)]()
    labelling = Labelling(labels, classes, label_space, unlabelled)
    arguments.choice("orientation", orientation, get_args(Orientation))
    if (url := cloud_url(spec)) is not None:
        return open_cloud(url, labelling, orientation, name)
    kind, path = _parsed(spec)
    said: tuple[str, ...] = ()
    if kind is None:
        look = recognise(path)
        kind, place, said = look.kind, _place(look, Path(path), labelling), (look.said,)
    else:
        place = _meant(kind, path, labelling)
        kind = BUILD if kind == "imagenet-c" and is_build(place) else kind
    if kind not in _CORRUPTED:
        refuse_build(place)
    found: Any = _READERS[kind](place, labelling, orientation, name)
    found.notes = (*said, *found.notes, *_note_on_indices(found.label_space, labelling))
    return found  # type: ignore[no-any-return]  # notes are of every reader, not of the protocols


def _note_on_indices(space: LabelSpace, labelling: Labelling) -> tuple[str, ...]:
    if labelling.table or labelling.classes or space.classes != tuple(map(str, range(space.width))) or not space.width:
        return ()
    return (
        f"The labels are class indices without names, taken for {space.width} classes of your own; say so "
        "(label_space) if they are those of ImageNet or another known set.",
    )


def path_of(spec: str | os.PathLike[str]) -> Path:
    """Return the path in a specification, without the kind; raises ``ArgumentError`` for a kind that is not known."""
    return Path(_parsed(spec)[1])


def _parsed(spec: str | os.PathLike[str]) -> tuple[str | None, str]:
    """Return the kind that a specification names, if it names one, and the path; ``C:`` is a drive and no kind."""
    text = os.fspath(arguments.path("The data", spec))
    found = re.fullmatch(r"([A-Za-z][\w-]+):(.+)", os.fspath(spec), re.DOTALL) if isinstance(spec, str) else None
    if found and found[1] in KINDS:
        return found[1], found[2]
    if found and not Path(text).exists():
        raise unknown_name("kind of data set", found[1], KINDS)
    return None, text


def _meant(kind: str, path: str, labelling: Labelling) -> Path:
    """Return the folder that a path of a named kind means: below a single parent folder, if it looks like that."""
    if kind in {"webdataset", "parquet", "npy", "image"}:
        return Path(path)
    try:
        return _place(recognise(path), Path(path), labelling)
    except DatasetError:  # the reader says what it misses
        return Path(path)


def _place(look: Look, path: Path, labelling: Labelling) -> Path:
    """Return where to open; a table of labels is relative to the path that the caller gave."""
    return path if labelling.table is not None and look.kind in {"folder", "flat"} else look.root


def _open_build(
    root: Path, labelling: Labelling, orientation: Orientation, name: str | None
) -> Dataset | CorruptedDataset:
    manifest = read_build(root)
    assert manifest is not None, "recognised by its manifest"
    if not manifest.conditions:
        raise DatasetError(f"{root} has no severity that is a whole number; open its cells one by one.")
    if manifest.container in PACKED:
        return open_built_set(root, manifest, labelling, orientation, name)
    return open_corruption_tree(root, labelling, orientation, name)


def _open_image(path: Path, labelling: Labelling, orientation: Orientation, name: str | None) -> ImageFolder:
    if not path.is_file():
        raise DatasetError(f"There is no file {path}.")
    space, labels = labelling.by_folder(path.parent, [path.name])
    sample = Sample(path.name, labels[0], path.stat().st_size)
    return ImageFolder(path.parent, name or title(path), space, (sample,), (), orientation)


def _open_npy(path: Path, labelling: Labelling, _: Orientation, name: str | None) -> Dataset:
    if path.is_dir():
        return open_arrays(path / "images.npy", path / "labels.npy", labelling, name or title(path))
    if path.is_file() or "," not in str(path):
        if labelling.table is None and not labelling.optional:
            raise ArgumentError(f"{path} has no labels: give npy:IMAGES,LABELS, or a table of labels.")
        return open_arrays(path, None, labelling, name)
    images, labels = _pair(str(path))
    return open_arrays(images, labels, labelling, name)


def _pair(text: str) -> tuple[Path, Path]:
    """Return the two files that a text names with a comma between; others may be in the names."""
    commas = [place for place, letter in enumerate(text) if letter == ","]
    pairs = [(Path(text[:place]), Path(text[place + 1 :])) for place in commas]
    return next((pair for pair in pairs if pair[0].is_file()), pairs[0])


_Reader = Callable[[Path, Labelling, Orientation, str | None], Dataset | CorruptedDataset]


def _published(kind: str) -> _Reader:
    return lambda path, *rest: open_published(kind, path, *rest)


def _cifar(kind: str) -> _Reader:
    return lambda path, labelling, _, name: open_cifar_c(kind, path, labelling, name)


_READERS: dict[str, _Reader] = {
    BUILD: _open_build,
    "folder": label_folder,
    "flat": label_folder,
    "image": _open_image,
    "imagenet-c": open_corruption_tree,
    "tiny-imagenet-c": open_tiny_imagenet_c,
    "webdataset": open_tar,
    "parquet": open_parquet,
    "huggingface": open_huggingface,
    "npy": _open_npy,
    **{kind: _published(kind) for kind in PUBLISHED},
    **{kind: _cifar(kind) for kind in ("cifar10-c", "cifar100-c")},
}

_CORRUPTED = {BUILD, "imagenet-c", "tiny-imagenet-c", "cifar10-c", "cifar100-c"}
"""The kinds whose pictures were corrupted before; anything else is taken for clean images."""
