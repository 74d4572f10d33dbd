"""Pictures that were corrupted before, with their clean ones, as one data set that is read under any condition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import PIL.Image

from oodometer.datasets.fingerprint import digest_of
from oodometer.errors import ImageError
from oodometer.preprocess import apply
from oodometer.types import CLEAN, Condition, CorruptedDataset, Dataset, Image, LabelSpace, Preprocess, Sample

__all__ = ["CleanImages", "StoredSet"]


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


@dataclass(frozen=True)
class StoredSet:
    """The pictures of a ``CorruptedDataset`` and, if there are any, the clean images that they were made of.

    It has what the plan of an evaluation needs of a ``Dataset``; only the pictures are of a condition. ``digests`` are
    of what else tells this set from others.
    """

    dataset: CorruptedDataset
    clean: CleanImages | None = None
    source: str = ""
    notes: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """What the set is called."""
        return self.dataset.name

    @property
    def label_space(self) -> LabelSpace:
        """The classes of the set."""
        return self.dataset.label_space

    @property
    def samples(self) -> Sequence[Sample]:
        """The images, each of which is there under every condition."""
        return self.dataset.samples

    @property
    def digests(self) -> tuple[str, ...]:
        """SHA-256 of the images that a build was made of, and of the clean ones."""
        clean = () if self.clean is None else (digest_of([*self.clean.of.values()]),)
        return (*((self.source,) if self.source else ()), *clean)

    def picture(self, sample: Sample, condition: Condition, preprocess: Preprocess) -> Image:
        """Read one picture, and preprocess it.

        Raises
        ------
        ImageError
            If it cannot be read whole; the message names it.
        DatasetError
            If the system cannot give the file.
        """
        if condition != CLEAN:
            return apply(self.dataset.read(sample, condition), preprocess)
        assert self.clean is not None, "conditions have no clean one without clean images"
        return apply(self.clean.read(sample), preprocess)
