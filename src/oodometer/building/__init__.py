"""Corrupted data sets on disk: made from sources, in parallel, resumable, with a manifest that they are checked by.

The way of the data: ``recipe`` settles what is to be made, ``engine`` takes each image through all conditions,
``encodings`` makes bytes of pictures, and a layout keeps them: ``tree``, or the ``shards`` of ``webdataset``,
``parquet`` and ``npy``. ``manifest`` describes the result, ``verify`` compares it with what is there. ``sequences``
settles videos of perturbations, which ``frames`` keeps.
"""

from oodometer.building.estimate import Estimate, estimate
from oodometer.building.formats import FORMATS
from oodometer.building.job import Build, build, construct
from oodometer.building.manifest import BuildFolder, File, Manifest, Picture
from oodometer.building.recipe import Options, settle
from oodometer.building.sequences import VIDEO_FORMATS, SequenceOptions, build_sequences, settle_sequences
from oodometer.building.verify import Fault, verify

__all__ = [
    "FORMATS",
    "VIDEO_FORMATS",
    "Build",
    "BuildFolder",
    "Estimate",
    "Fault",
    "File",
    "Manifest",
    "Options",
    "Picture",
    "SequenceOptions",
    "build",
    "build_sequences",
    "construct",
    "estimate",
    "settle",
    "settle_sequences",
    "verify",
]
