"""Labelled images: readers, label spaces, and the data of the demo."""

from oodometer.datasets.among import AmongClasses
from oodometer.datasets.built import lost_cells
from oodometer.datasets.demo import demo_photographs, demo_renditions
from oodometer.datasets.fingerprint import digest
from oodometer.datasets.folder import ImageFolder, open_folder
from oodometer.datasets.label_spaces import (
    LABEL_SPACES,
    cifar10,
    cifar100,
    custom,
    imagenet1k,
    imagenet_a,
    imagenet_r,
)
from oodometer.datasets.manifest import BuildManifest, read_build
from oodometer.datasets.matching import match
from oodometer.datasets.opening import open_dataset, path_of
from oodometer.datasets.published import style
from oodometer.datasets.recognise import Look, recognise
from oodometer.datasets.scan import class_and_file
from oodometer.datasets.sequences import SequenceSet, image_of, open_sequences, split_difficulty
from oodometer.datasets.unlabelled import Unlabelled, model_classes

__all__ = [
    "LABEL_SPACES",
    "AmongClasses",
    "BuildManifest",
    "ImageFolder",
    "Look",
    "SequenceSet",
    "Unlabelled",
    "cifar10",
    "cifar100",
    "class_and_file",
    "custom",
    "demo_photographs",
    "demo_renditions",
    "digest",
    "image_of",
    "imagenet1k",
    "imagenet_a",
    "imagenet_r",
    "lost_cells",
    "match",
    "model_classes",
    "open_dataset",
    "open_folder",
    "open_sequences",
    "path_of",
    "read_build",
    "recognise",
    "split_difficulty",
    "style",
]
