"""What is to be evaluated: data sets opened as an evaluation takes them, and apart from the folder of the run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from oodometer import arguments
from oodometer.datasets import (
    AmongClasses,
    Unlabelled,
    imagenet1k,
    imagenet_a,
    imagenet_r,
    open_dataset,
    path_of,
    recognise,
)
from oodometer.datasets.cloud import cloud_url
from oodometer.errors import ArgumentError, DatasetError, OodometerError
from oodometer.outfolder import check_apart
from oodometer.shifts import SHIFTED_SETS, name_of, title_of
from oodometer.types import UNLABELLED, CorruptedDataset, Dataset, LabelSpace

__all__ = ["open_clean", "open_data", "open_shifted"]


_OR_UNLABELLED = " Or say that there are no labels (--unlabelled, unlabelled=True)."


def open_data(
    data: str | os.PathLike[str] | Dataset | CorruptedDataset,
    out: str | os.PathLike[str] | None = None,
    *,
    labels: str | Path | Mapping[str, int | str] | None,
    classes: int | None,
    label_space: str | None,
    unlabelled: bool | None = False,
) -> Dataset | CorruptedDataset:
    """Open images, clean or corrupted, whatever they are kept as, or take a data set as it is; see ``evaluate``.

    ``unlabelled`` is ``None`` where labels are needed, so that doing without is not to be offered.
    """
    # Without labels these two say what the model's classes are, not what the images show.
    of_images = (None, None) if unlabelled else (classes, label_space)
    found: Any = data
    if isinstance(data, (str, os.PathLike)):
        _check_apart(out, data)
        try:
            found = open_dataset(
                data, labels=labels, classes=of_images[0], label_space=of_images[1], unlabelled=bool(unlabelled)
            )
        except DatasetError as error:
            said = (labels, classes, label_space) != (None, None, None)
            if unlabelled is False and not said and _opens_unlabelled(data):
                raise DatasetError(f"{error}{_OR_UNLABELLED}") from error
            raise
        if found.label_space == imagenet_r():
            # Renditions as clean images are scored among all classes; a shifted set of a suite is masked.
            found.label_space = imagenet1k()
    elif not hasattr(data, "samples"):
        raise ArgumentError(f"The data must be a folder or a Dataset, not {data!r}.")
    elif (labels, *of_images) != (None, None, None):
        raise ArgumentError("labels, classes and label_space belong to a folder; a Dataset has its own.")
    if not unlabelled:
        offered = unlabelled is False and not isinstance(found, CorruptedDataset)
        _check_labelled(found, _OR_UNLABELLED if offered else "")
        return found  # type: ignore[no-any-return]  # one of the two
    if isinstance(found, CorruptedDataset):
        raise ArgumentError(
            f"{found.name} holds corrupted images. --unlabelled (unlabelled=True) goes with clean images only, which "
            "are corrupted on the way: leave it out, or give the clean images as the data."
        )
    return Unlabelled(found, classes, label_space)


def open_clean(
    data: str | os.PathLike[str] | Dataset,
    out: str | os.PathLike[str] | None = None,
    *,
    labels: str | Path | Mapping[str, int | str] | None,
    classes: int | None,
    label_space: str | None,
) -> Dataset:
    """Open clean images as ``open_data`` does, where corrupted ones are of no use."""
    found = open_data(data, out, labels=labels, classes=classes, label_space=label_space, unlabelled=None)
    if isinstance(found, CorruptedDataset):
        raise ArgumentError(
            f"{found.name} holds corrupted images ({found.conditions[0]}, ...), and the data are clean images, "
            "which are corrupted on the way. Give the clean ones."
        )
    return found


def open_shifted(
    key: str,
    data: str | os.PathLike[str] | Dataset,
    out: str | os.PathLike[str] | None,
    whole: LabelSpace,
    labels: str | Path | Mapping[str, int | str] | None = None,
) -> Dataset:
    """Open a set of shifted images as a suite names it, in the label space among whose classes it is scored.

    Those are the 200 of ImageNet-R or of ImageNet-A, all 1000 for V2 and Sketch, and else the classes that it has; all,
    if that is one alone, among which every answer would be right.

    Parameters
    ----------
    key
        ``"r"``, ``"a"``, ``"v2"``, ``"sketch"``, ``"o"``, or the name of a set of one's own.
    data
        Where it lies, in any form that ``open_dataset`` takes, or a ``Dataset``.
    out
        The run's folder, which must lie apart from it.
    whole
        The classes of the model.
    labels
        What the names of folders or files mean in a set of one's own; the published ones have names that are known.

    Raises
    ------
    ArgumentError, DatasetError
        If it is no such set, or of other classes than the model.
    """
    known = SHIFTED_SETS.get(key)
    if known is not None and whole != imagenet1k():
        raise ArgumentError(
            f"{known.title} is for models of the 1000 classes of ImageNet; the label space of the other images is "
            f"{whole.name}. Evaluate them without {known.title}."
        )
    if key == whole.name:
        raise ArgumentError(f"{key!r} is what the classes of the model are called: give the set another name.")
    found: Any = data
    if isinstance(data, (str, os.PathLike)):
        _check_apart(out, data)
        found = _opened_shifted(key, data, whole, labels)
    elif not hasattr(data, "samples"):
        raise ArgumentError(f"{title_of(name_of(key))} must be a folder or a Dataset, not {data!r}.")
    if isinstance(found, CorruptedDataset):
        raise ArgumentError(f"{found.name} holds corrupted images: give them as the data, or as c in a suite.")
    _check_labelled(found, "")
    if found.label_space.classes != whole.classes:
        raise DatasetError(
            f"{found.name} is of the classes {found.label_space.name}, and the model, as far as is known, of those of "
            f"{whole.name}: all sets of a run are of one model's classes, which --data or --clean tells (data, clean)."
        )
    space = _SPACES[key]() if key in _SPACES else _among(whole, [sample.label for sample in found.samples], key)
    if known is None and whole.width > 1 and len({sample.label for sample in found.samples}) == 1:
        note = f"{found.name} has images of one class alone, so it is scored among all classes of the model."
        return AmongClasses(found, whole, (note,))
    return AmongClasses(found, space)


_SPACES = {"r": imagenet_r, "a": imagenet_a, "v2": imagenet1k, "sketch": imagenet1k}
_OF_KNOWN_CLASSES = tuple(f"{known.benchmark}:" for known in SHIFTED_SETS.values())
_CONTAINERS = {"webdataset", "parquet", "huggingface", "npy"}
_FORMS = {"r": "folder", "a": "imagenet-a", "v2": "imagenet-v2", "sketch": "imagenet-sketch", "o": "folder"}


def _spec(key: str, data: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Name the kind of a path, which its look might not tell, if the set has one and the caller named none."""
    path = path_of(data)
    if key not in _FORMS or os.fspath(data) != os.fspath(path) or _is_container(path):
        return data
    return f"{_FORMS[key]}:{os.fspath(data)}"


def _opened_shifted(
    key: str, data: str | os.PathLike[str], whole: LabelSpace, labels: str | Path | Mapping[str, int | str] | None
) -> Dataset | CorruptedDataset:
    """Open a set; one of one's own by its wnids, and by the labels that were given where it has none."""
    try:
        spec = _spec(key, data)
        return open_dataset(spec, **_classes(key, spec, whole, labels))
    except DatasetError:
        if labels is None or key in SHIFTED_SETS or whole != imagenet1k():
            raise
        return open_dataset(data, labels=labels, label_space=None)


def _is_container(path: Path) -> bool:
    """Return whether images lie in files of several, which are told by their look."""
    try:
        return recognise(path).kind in _CONTAINERS
    except DatasetError:  # the reader says what it misses
        return False


def _classes(
    key: str, spec: str | os.PathLike[str], whole: LabelSpace, labels: str | Path | Mapping[str, int | str] | None
) -> dict[str, Any]:
    """Return what to tell a reader of the classes: nothing of those of ImageNet, which are known by their wnids."""
    if key == "r":
        return {} if os.fspath(spec).startswith(_OF_KNOWN_CLASSES) else {"label_space": imagenet_r()}
    if whole == imagenet1k():
        return {}
    return {"label_space": whole} if labels is None else {"labels": labels, "classes": whole.width}


def _among(whole: LabelSpace, labels: Sequence[int], key: str) -> LabelSpace:
    """Return the classes that occur, as a mask over all."""
    there = tuple(sorted(set(labels)))
    return whole if len(there) == whole.width else LabelSpace(name_of(key), whole.classes, whole.names, there)


def _opens_unlabelled(data: str | os.PathLike[str]) -> bool:
    """Return whether clean images are there that lack but their labels."""
    try:
        return not isinstance(open_dataset(data, unlabelled=True), CorruptedDataset)
    except OodometerError:
        return False


def _check_labelled(dataset: Dataset | CorruptedDataset, otherwise: str) -> None:
    """Have images without labels be said to be such: their result is of another kind."""
    without = [sample.id for sample in dataset.samples if sample.label == UNLABELLED]
    if without:
        raise DatasetError(
            f"{dataset.name}: the label of {without[0]!r} is {UNLABELLED}, which means none; so it is for "
            f"{len(without)} of {len(dataset.samples)} images. Give their labels.{otherwise}"
        )


def _check_apart(out: str | os.PathLike[str] | None, data: str | os.PathLike[str]) -> None:
    if out is not None and cloud_url(data) is None:
        check_apart(arguments.path("The run's folder", out), path_of(data))
