"""The nouns of the package, as frozen dataclasses and protocols; no code of any stage."""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import PIL.Image
from numpy.typing import NDArray

__all__ = [
    "CLEAN",
    "UNLABELLED",
    "Condition",
    "CorruptedDataset",
    "Dataset",
    "Errors",
    "Image",
    "Images",
    "LabelSpace",
    "Logits",
    "Model",
    "Orientation",
    "Preprocess",
    "Protocol",
    "Sample",
]

Image: typing.TypeAlias = NDArray[np.uint8]
"""One picture: uint8, height x width x 3, RGB, 0..255."""

Images: typing.TypeAlias = NDArray[np.uint8]
"""A batch of pictures of one size: uint8, N x height x width x 3, RGB, 0..255."""

Logits: typing.TypeAlias = NDArray[np.floating[typing.Any]]
"""The outputs of a classifier: float, N x classes, before any softmax."""

Errors: typing.TypeAlias = Mapping[str, Sequence[float]]
"""Top-1 errors in [0, 1] by corruption name, one for each severity from 1 up."""

Orientation: typing.TypeAlias = typing.Literal["ignore", "apply"]
"""Whether a picture is turned as its tags ask for. ImageNet's usual loaders ignore the tags."""

UNLABELLED = -1
"""The label of an image without one, in data sets that were opened for their pictures alone."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One image of a data set, not yet read.

    ``id`` is the path relative to the root of the data set, with ``/``; ``label`` is the index of the class among the
    columns of the logits, or ``UNLABELLED``; ``size`` is the number of bytes of the file, or the image's share of it.
    """

    id: str
    label: int
    size: int


@dataclass(frozen=True, slots=True)
class LabelSpace:
    """The classes among which a prediction is made.

    ``classes`` are the identifiers (wnids for ImageNet) in the order of the logits' columns; ``names`` are the words
    for people. ``columns``, if given, are the columns that take part: all other logits are removed before the argmax
    and the softmax, as the 200-class score of ImageNet-R demands. Labels and predictions are always positions in
    ``classes``, masked or not.
    """

    name: str
    classes: tuple[str, ...]
    names: tuple[str, ...]
    columns: tuple[int, ...] | None = None

    @property
    def width(self) -> int:
        """The number of logits that a model must give, which masking does not change."""
        return len(self.classes)


class Dataset(typing.Protocol):
    """Labelled images that can be read one by one, in any order and from several threads."""

    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Decode one image at full size, as RGB; raises ``ImageError`` naming the file if it cannot be read whole."""
        ...


@typing.runtime_checkable
class CorruptedDataset(typing.Protocol):
    """Labelled images of which every one is there under each of several conditions, such as ImageNet-C.

    ``conditions`` has no ``CLEAN``. ``size`` of the samples is that under the first condition.
    """

    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    conditions: tuple[Condition, ...]

    def read(self, sample: Sample, condition: Condition) -> PIL.Image.Image:
        """Decode one image under one condition, as ``Dataset.read`` does."""
        ...

    def cell(self, corruption: str, severity: int) -> Dataset:
        """Return the images under one condition as a data set of their own."""
        ...


@dataclass(frozen=True, slots=True)
class Preprocess:
    """The geometry before the corruption, as numbers: uint8 in, uint8 out.

    ``resize`` is what a Pillow bilinear resize leads to: the length of the shorter side, or width and height. ``crop``
    is how much a central crop keeps: a whole number is a side in pixels, after the resize; a fraction is a share of
    each side, before the resize. ``None`` leaves the step out. ``label`` is how people write it, such as ``256->224``.
    """

    name: str
    label: str
    resize: int | tuple[int, int] | None
    crop: int | float | None


@dataclass(frozen=True, slots=True)
class Condition:
    """What an image went through: nothing (``CLEAN``), or one corruption at one severity."""

    corruption: str
    severity: int

    def __str__(self) -> str:
        return f"{self.corruption}/{self.severity}" if self.severity else self.corruption


CLEAN = Condition("clean", 0)
"""The condition of an image that only went through the preprocessing."""


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the pictures were made that the model saw. Results of different protocols are never silently compared.

    ``encoding`` is ``"memory"`` (the corrupted array goes to the model as it is) or ``"jpeg85"`` (it is written and
    read as JPEG of quality 85 first, like the files of the published ImageNet-C).
    """

    preprocess: Preprocess
    encoding: typing.Literal["memory", "jpeg85"]
    edition: str
    method: typing.Literal["fast", "reference"]
    corruptions: tuple[str, ...]
    seed: int

    @property
    def label(self) -> str:
        """The protocol in a few words, such as ``256->224, memory``."""
        return f"{self.preprocess.label}, {self.encoding}"


class Model(typing.Protocol):
    """A classifier: anything with ``predict``.

    It may also carry ``name`` (str), ``fingerprint`` (str, of its weights), ``normalization``
    (``oodometer.Normalization``), ``settings`` (what else changes its answers) and ``environment`` (versions and
    devices on which their last digits depend), the latter two as mappings of names to values for people. They are
    recorded with the run. With an ``input_size`` (``oodometer.models.InputSize``) pictures of another size are refused,
    or resized if that is asked for.
    """

    def predict(self, images: Images) -> Logits:
        """Map N pictures to N rows of logits."""
        ...
