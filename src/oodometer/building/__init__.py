"""Corrupted data sets on disk: made from sources, in parallel, resumable, with a manifest that they are checked by."""

from oodometer.building.manifest import BuildFolder, Manifest, Picture
from oodometer.building.verify import Fault, verify

__all__ = ["BuildFolder", "Fault", "Manifest", "Picture", "verify"]
