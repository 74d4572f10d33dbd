"""The clean images of pictures that were corrupted before: found, matched, and brought into the same geometry."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

import PIL.Image

from oodometer import arguments
from oodometer.datasets import match, open_dataset, path_of
from oodometer.errors import ArgumentError, DatasetError, ImageError
from oodometer.outfolder import check_apart
from oodometer.preprocess import PREPROCESS, apply
from oodometer.types import CorruptedDataset, Dataset, Preprocess, Sample

__all__ = ["CleanImages", "find_clean"]

_GEOMETRIES = {(224, 224): "imagenet224", (299, 299): "inception299", (64, 64): "tiny64"}
"""How the published pictures of a size were made of clean images."""

_LOOKS = 4
"""How many clean images are looked at to tell whether they have their final size."""


@dataclass(frozen=True)
class CleanImages:
    """The clean images of a set: ``of`` maps the id of each of its samples to the clean one.

    ``geometry`` makes of them what the corruptions were applied to.
    """

    dataset: Dataset
    of: Mapping[str, Sample]
    geometry: Preprocess

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Decode the clean image that belongs to a sample of the set, in its final geometry."""
        own = self.of[sample.id]
        try:
            return PIL.Image.fromarray(apply(self.dataset.read(own), self.geometry))
        except ImageError as error:
            raise ImageError(f"The clean image {own.id}: {error}") from error


def find_clean(
    dataset: CorruptedDataset,
    given: str | os.PathLike[str] | Dataset | None,
    out: str | os.PathLike[str] | None,
    made_by: str | None,
) -> CleanImages | None:
    """Find the clean images of a set: its own, or those that are given beside it; ``None`` if there are none.

    Parameters
    ----------
    dataset
        The set.
    given
        What ``open_dataset`` opens, or a ``Dataset``.
    out
        The run's folder, which must lie apart from what is given.
    made_by
        The name of the preprocessing before the corruption, if it is known.

    Raises
    ------
    ArgumentError
        If something is given that is no data set of clean images, or though the set has its own.
    DatasetError
        If an image is missing, or they are of other classes or another geometry.
    """
    clean = getattr(dataset, "clean", None)
    own: Dataset | None = clean() if callable(clean) else None
    if given is None:
        return None if own is None else CleanImages(own, match(dataset.samples, own), PREPROCESS["none"])
    if own is not None:
        raise ArgumentError(f"{dataset.name} has clean pictures of its own; leave clean out.")
    found = _opened(given, dataset, out)
    images = CleanImages(found, match(dataset.samples, found), PREPROCESS["none"])
    return replace(images, geometry=_geometry(dataset, images, made_by))


def _opened(
    given: str | os.PathLike[str] | Dataset, dataset: CorruptedDataset, out: str | os.PathLike[str] | None
) -> Dataset:
    if isinstance(given, str | os.PathLike):
        if out is not None:
            check_apart(arguments.path("The run's folder", out), path_of(given))
        found = open_dataset(given, label_space=dataset.label_space)
    else:
        found = given
    if isinstance(found, CorruptedDataset) or not hasattr(found, "samples"):
        raise ArgumentError(f"The clean images must be a folder or a Dataset of uncorrupted images, not {given!r}.")
    if found.label_space.classes != dataset.label_space.classes:
        raise DatasetError(
            f"{found.name} and {dataset.name} have different classes, so they are not of the same images."
        )
    return found


def _geometry(dataset: CorruptedDataset, clean: CleanImages, made_by: str | None) -> Preprocess:
    """Say what makes pictures of the set's size of the clean images: nothing, if they have it, else what made the set.

    Raises
    ------
    DatasetError
        If nothing that is known does.
    """
    size = next(_sizes(dataset, None))
    if all(own == size for own in islice(_sizes(dataset, clean), _LOOKS)):
        return PREPROCESS["none"]
    geometry = PREPROCESS.get(made_by or _GEOMETRIES.get(size, "none"), PREPROCESS["none"])
    made = next(_sizes(dataset, replace(clean, geometry=geometry)))
    if made != size:
        raise DatasetError(
            f"The clean images of {clean.dataset.name} give pictures of {made[0]}x{made[1]} pixels (preprocessing "
            f"{geometry.name!r}), and those of {dataset.name} have {size[0]}x{size[1]}. Give clean images that the set "
            "was made of, or that have its size."
        )
    return geometry


def _sizes(dataset: CorruptedDataset, clean: CleanImages | None) -> Iterator[tuple[int, int]]:
    """Yield width and height of the pictures that can be read, corrupted or clean, in the order of the samples."""
    readable = False
    for sample in dataset.samples:
        try:
            picture = dataset.read(sample, dataset.conditions[0]) if clean is None else clean.read(sample)
        except ImageError:
            continue
        readable = True
        yield picture.size
    if not readable:
        raise DatasetError(f"None of the {len(dataset.samples)} images of {dataset.name} can be read.")
