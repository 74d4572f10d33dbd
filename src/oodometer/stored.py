"""Pictures that were corrupted before, with their clean ones, as one data set that is read under any condition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from oodometer.clean_images import CleanImages
from oodometer.datasets.fingerprint import digest_of
from oodometer.preprocess import apply
from oodometer.types import CLEAN, Condition, CorruptedDataset, Image, LabelSpace, Preprocess, Sample

__all__ = ["StoredSet"]


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
