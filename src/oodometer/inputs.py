"""What is to be evaluated: data sets opened as an evaluation takes them, and apart from the folder of the run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oodometer import arguments
from oodometer.datasets import Unlabelled, imagenet1k, open_dataset, open_folder, path_of
from oodometer.datasets import imagenet_r as imagenet_r_classes
from oodometer.errors import ArgumentError, DatasetError, OodometerError
from oodometer.outfolder import check_apart
from oodometer.types import UNLABELLED, CorruptedDataset, Dataset, LabelSpace

__all__ = ["open_clean", "open_data", "open_renditions"]


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
        _check_apart(out, path_of(data))
        try:
            found = open_dataset(
                data, labels=labels, classes=of_images[0], label_space=of_images[1], unlabelled=bool(unlabelled)
            )
        except DatasetError as error:
            said = (labels, classes, label_space) != (None, None, None)
            if unlabelled is False and not said and _opens_unlabelled(data):
                raise DatasetError(f"{error}{_OR_UNLABELLED}") from error
            raise
        if found.label_space == imagenet_r_classes():
            # Renditions as clean images are scored among all classes; it is ``imagenet_r`` that masks.
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
    *,
    labels: str | Path | Mapping[str, int | str] | None,
    classes: int | None,
    label_space: str | None,
) -> Dataset:
    """Open clean images as ``open_data`` does, where corrupted ones are of no use."""
    found = open_data(data, labels=labels, classes=classes, label_space=label_space, unlabelled=None)
    if isinstance(found, CorruptedDataset):
        raise ArgumentError(
            f"{found.name} holds corrupted images ({found.conditions[0]}, ...), and the data are clean images, "
            "which are corrupted on the way. Give the clean ones."
        )
    return found


def open_renditions(
    imagenet_r: str | os.PathLike[str], out: str | os.PathLike[str] | None, name: str, space: LabelSpace
) -> Dataset:
    """Open the folder of renditions, for a model that the images to go with them show to be of the 1000 classes."""
    if space != imagenet1k():
        raise ArgumentError(
            f"ImageNet-R is for models of the 1000 classes of ImageNet; the label space of {name} is {space.name}. "
            "Evaluate it without ImageNet-R."
        )
    folder = arguments.path("ImageNet-R", imagenet_r)
    _check_apart(out, folder)
    return open_folder(folder, label_space=imagenet_r_classes())


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


def _check_apart(out: str | os.PathLike[str] | None, folder: Path) -> None:
    if out is not None:
        check_apart(arguments.path("The run's folder", out), folder)
