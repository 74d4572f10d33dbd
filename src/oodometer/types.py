"""The nouns of the package, as frozen dataclasses and protocols; no code of any stage."""

from __future__ import annotations

import pathlib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import PIL.Image
from numpy.typing import NDArray

__all__ = [
    "CLEAN",
    "FRAME",
    "UNLABELLED",
    "UNMAPPED",
    "AnsweringModel",
    "Answers",
    "Classifier",
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
    "Stored",
]

Image: typing.TypeAlias = NDArray[np.uint8]
"""One picture: uint8, height x width x 3, RGB, 0..255."""

Images: typing.TypeAlias = NDArray[np.uint8]
"""A batch of pictures of one size: uint8, N x height x width x 3, RGB, 0..255."""

Logits: typing.TypeAlias = NDArray[np.floating[typing.Any]]
"""The outputs of a classifier: float, N x classes, before any softmax."""

Answers: typing.TypeAlias = NDArray[np.int32]
"""The classes that a model named: int32, positions in a label space's ``classes``, or ``UNMAPPED``."""

Errors: typing.TypeAlias = Mapping[str, Sequence[float]]
"""Top-1 errors in [0, 1] by corruption name, one for each severity from 1 up."""

Orientation: typing.TypeAlias = typing.Literal["ignore", "apply"]
"""Whether a picture is turned as its tags ask for. ImageNet's usual loaders ignore the tags."""

UNLABELLED = -1
"""The label of an image without one, in data sets that were opened for their pictures alone."""


UNMAPPED = -1
"""The prediction for a picture about which a model said something that names no class: always wrong."""


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
    """What an image went through: nothing (``CLEAN``), or one corruption at one severity.

    Of a video it is one of its frames: ``FRAME``, and the number of the frame from 1 up in place of a severity.
    """

    corruption: str
    severity: int

    def __str__(self) -> str:
        return f"{self.corruption}/{self.severity}" if self.severity else self.corruption


CLEAN = Condition("clean", 0)
"""The condition of an image that only went through the preprocessing."""

FRAME = "frame"
"""Stands in place of a corruption in the conditions of a video."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of pictures that were corrupted and stored before a model was evaluated on them.

    ``kind`` is ``"build"`` for what Oodometer built, and its manifest says the rest: ``preprocess`` is the geometry
    before the corruption, ``quality`` that of the JPEGs (``None``: nothing was lost) and ``seed`` that of the draws.
    Otherwise ``kind`` is what the set was taken for, such as ``"imagenet-c"``, or ``"imagenet-p"`` of videos, and the
    three are ``None``, as nobody wrote them down. ``severities`` are those that there are, by corruption. ``clean``
    says where the clean pictures are from: ``"the set"``, ``None`` (nowhere), or the geometry that made them of images
    that were given beside the set.
    """

    kind: str
    severities: Mapping[str, tuple[int, ...]]
    clean: str | None
    preprocess: Preprocess | None = None
    quality: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class Protocol:
    """How the pictures were made that the model saw. Results of different protocols are never silently compared.

    ``encoding`` is ``"memory"`` (the corrupted array goes to the model as it is), ``"jpeg85"`` (it is written and
    read as JPEG of quality 85 first, like the files of the published ImageNet-C) or ``"files"`` (the corrupted pictures
    were ``stored`` before). Of the latter, ``preprocess`` is applied to the pictures as they are stored, ``seed`` is of
    the order of the images alone, and ``edition`` and ``method`` are ``"unknown"`` unless the set says them.

    ``answers`` says of a model that names classes, instead of giving logits, how it is asked and understood.
    """

    preprocess: Preprocess
    encoding: typing.Literal["memory", "jpeg85", "files"]
    edition: str
    method: typing.Literal["fast", "reference", "unknown"]
    corruptions: tuple[str, ...]
    seed: int
    stored: Stored | None = None
    answers: str | None = None

    @property
    def label(self) -> str:
        """The protocol in a few words, such as ``256->224, memory``."""
        return ", ".join(filter(None, [self.preprocess.label, self.encoding, self.answers]))


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


@typing.runtime_checkable
class AnsweringModel(typing.Protocol):
    """A classifier that names a class instead of giving logits, such as a vision-language model.

    ``answers`` says in a few words how it is asked and understood; it is part of the protocol. ``at_once`` is how many
    pictures it likes to be asked about together. It may also carry what a ``Model`` may.
    """

    answers: str
    at_once: int

    def expect(
        self,
        folder: pathlib.Path,
        questions: Sequence[tuple[LabelSpace, Mapping[str, int]]],
        shape: tuple[int, ...],
    ) -> str:
        """Hear what is to come, before the first question, and say for people what it will cost.

        ``folder`` is where answers may be kept, by the model's own rules; ``questions`` says for each label space how
        often it will be asked about each image, by id, at most; ``shape`` is that of a picture.
        """
        ...

    def answer(self, images: Images, samples: Sequence[Sample], space: LabelSpace, seed: int) -> Answers:
        """Name the class of each of N pictures among the classes of a label space that take part.

        ``samples`` are the images that the pictures were made from, ``seed`` is the run's; both serve to draw
        candidates, not to answer.
        """
        ...


Classifier: typing.TypeAlias = Model | AnsweringModel
"""Whatever can be evaluated."""
