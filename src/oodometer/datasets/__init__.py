"""Labelled images: readers, label spaces, and the data of the demo."""

from oodometer.datasets.demo import demo_photographs, demo_renditions
from oodometer.datasets.fingerprint import digest
from oodometer.datasets.folder import ImageFolder, open_folder
from oodometer.datasets.label_spaces import LABEL_SPACES, custom, imagenet1k, imagenet_a, imagenet_r
from oodometer.datasets.recognise import Look, recognise

__all__ = [
    "LABEL_SPACES",
    "ImageFolder",
    "Look",
    "custom",
    "demo_photographs",
    "demo_renditions",
    "digest",
    "imagenet1k",
    "imagenet_a",
    "imagenet_r",
    "open_folder",
    "recognise",
]
