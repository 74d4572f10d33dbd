"""Images for their own sake: a data set whose labels are unknown, or are not to be used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import PIL.Image

from oodometer.arguments import choice, whole
from oodometer.datasets.label_spaces import LABEL_SPACES, custom, imagenet1k
from oodometer.errors import ArgumentError
from oodometer.types import UNLABELLED, Dataset, LabelSpace, Sample

__all__ = ["Unlabelled", "model_classes"]


class Unlabelled:
    """The images of a data set without their labels.

    Parameters
    ----------
    dataset
        Where the images come from; what it says of classes is not used.
    classes
        How many classes the model has, if they are its own.
    label_space
        The name of the model's classes, if they are known ones; ImageNet's 1000 if neither is given.

    Raises
    ------
    ArgumentError
        If both are given, or one is none.
    """

    def __init__(self, dataset: Dataset, classes: int | None = None, label_space: str | None = None) -> None:
        self._dataset = dataset
        self.name = dataset.name
        self.notes: tuple[str, ...] = getattr(dataset, "notes", ())
        self.label_space = model_classes(classes, label_space)
        self.samples: Sequence[Sample] = tuple(replace(sample, label=UNLABELLED) for sample in dataset.samples)

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Decode one image as the data set does."""
        return self._dataset.read(sample)


def model_classes(classes: int | None, label_space: str | None) -> LabelSpace:
    """Return the classes of a model where the images say nothing of them; ImageNet's 1000 if nothing is given."""
    if classes is None:
        return imagenet1k() if label_space is None else LABEL_SPACES[choice("label space", label_space, LABEL_SPACES)]()
    if label_space is not None:
        raise ArgumentError("classes goes with classes of the model's own, not with a label space.")
    return custom([str(k) for k in range(whole("classes", classes, lowest=1, highest=1_000_000))])
