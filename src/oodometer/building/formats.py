"""The formats of a build by name: a layout of files with an encoding of pictures."""

from __future__ import annotations

from typing import NamedTuple

from oodometer.building.encodings import JPEG85, PIXELS, PNG, WEBP, Encoding
from oodometer.building.layout import Layout
from oodometer.building.npy import Arrays
from oodometer.building.parquet import Parquet
from oodometer.building.tree import Tree
from oodometer.building.webdataset import WebDataset

__all__ = ["FORMATS", "Format"]


class Format(NamedTuple):
    """How a build is kept."""

    layout: type[Layout]
    encoding: Encoding


FORMATS: dict[str, Format] = {
    "jpeg": Format(Tree, JPEG85),
    "png": Format(Tree, PNG),
    "webp": Format(Tree, WEBP),
    "webdataset": Format(WebDataset, JPEG85),
    "webdataset-png": Format(WebDataset, PNG),
    "webdataset-webp": Format(WebDataset, WEBP),
    "parquet": Format(Parquet, JPEG85),
    "parquet-png": Format(Parquet, PNG),
    "parquet-webp": Format(Parquet, WEBP),
    "npy": Format(Arrays, PIXELS),
}
"""``jpeg`` is the tree of the published files; ``png`` and ``webp`` are the same tree without loss; ``webdataset`` and
``parquet`` are shards of JPEGs, or of what their ending says; ``npy`` is the layout of CIFAR-10-C.
"""
