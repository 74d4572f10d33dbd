"""A data set whose images are to be told apart among some of the model's classes only."""

from __future__ import annotations

from collections.abc import Sequence

import PIL.Image

from oodometer.errors import DatasetError
from oodometer.types import Dataset, LabelSpace, Sample

__all__ = ["AmongClasses"]


class AmongClasses:
    """A data set in another label space over the same classes.

    Parameters
    ----------
    dataset
        The images, with their labels.
    space
        The label space, whose ``columns`` are the classes that take part.
    more
        Notes, beside those of the data set.

    Raises
    ------
    DatasetError
        If an image is of a class that takes no part.
    """

    def __init__(self, dataset: Dataset, space: LabelSpace, more: tuple[str, ...] = ()) -> None:
        self._dataset = dataset
        self.name, self.label_space = dataset.name, space
        self.samples: Sequence[Sample] = dataset.samples
        self.notes: tuple[str, ...] = (*getattr(dataset, "notes", ()), *more)
        self.digests: tuple[str, ...] = getattr(dataset, "digests", ())
        members = range(space.width) if space.columns is None else space.columns
        if strange := {sample.label for sample in self.samples}.difference(members):
            raise DatasetError(
                f"{self.name} has images of {space.classes[min(strange)]} ({space.names[min(strange)]}), which is none "
                f"of the {len(members)} classes of {space.name}."
            )

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Decode one image, as the data set does."""
        return self._dataset.read(sample)
