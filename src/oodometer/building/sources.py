"""Where the images of a build come from, and that they lie apart from what is built."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from oodometer import arguments
from oodometer.arguments import is_url
from oodometer.datasets.cloud import cloud_url
from oodometer.datasets.opening import open_dataset
from oodometer.errors import ArgumentError
from oodometer.outfolder import check_apart
from oodometer.types import CorruptedDataset, Dataset, LabelSpace, Orientation

__all__ = ["open_source"]


def open_source(
    source: str | os.PathLike[str] | Dataset,
    out: str | os.PathLike[str],
    labels: str | Path | Mapping[str, int | str] | None = None,
    classes: int | None = None,
    label_space: str | LabelSpace | None = None,
    orientation: Orientation = "ignore",
) -> Dataset:
    """Open the images of a build; they need no labels.

    Parameters
    ----------
    source
        What ``oodometer.open_dataset`` takes, or a ``Dataset``.
    out
        Where the build goes, which may neither lie in the source nor hold it.
    labels, classes, label_space, orientation
        As for ``oodometer.open_dataset``.

    Raises
    ------
    ArgumentError
        If an argument is wrong, or if the two folders are not apart.
    DatasetError
        If there is no usable data set.
    """
    said = any(value is not None for value in (labels, classes, label_space))
    if isinstance(source, (str, os.PathLike)):
        _check_apart(source, out)
        dataset = open_dataset(
            source,
            labels=labels,
            classes=classes,
            label_space=label_space,
            orientation=orientation,
            unlabelled=not said,
        )
    elif said or orientation != "ignore":
        raise ArgumentError("labels, classes, label_space and orientation belong to a path; a Dataset has its own.")
    else:
        dataset = source
    if isinstance(dataset, CorruptedDataset):
        raise ArgumentError(f"{dataset.name} is corrupted already: open one of its cells, such as its folder fog/3.")
    if not hasattr(dataset, "samples"):
        raise ArgumentError(f"The source must be a path or a Dataset, not {dataset!r}.")
    return dataset


def _check_apart(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    url = cloud_url(source)
    if url is not None or is_url(target):
        one, other = (os.fspath(place).rstrip("/") + "/" for place in (url or source, target))
        if one.startswith(other) or other.startswith(one):
            raise ArgumentError(
                f"The source {source} and the output {target} lie within one another. Choose another one."
            )
        return
    out = arguments.path("The output folder", target)
    text = re.sub(r"^[A-Za-z][\w-]+:", "", os.fspath(source)) if isinstance(source, str) else os.fspath(source)
    for place in (Path(text), *map(Path, text.split(",") if "," in text else ())):
        if place.is_dir():
            check_apart(out, place)
        if place.exists() and place.resolve().is_relative_to(out.resolve()):
            raise ArgumentError(f"The source {place} lies within the output folder {out}. Choose another one.")
