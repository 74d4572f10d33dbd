"""The corruptions: an image in, a corrupted image of the same size out. Knows nothing of data sets, models or files."""

from __future__ import annotations

from oodometer.corruptions import renditions as _renditions  # registers its own  # noqa: F401
from oodometer.corruptions.apply import METHODS, corrupt
from oodometer.corruptions.images import SMALLEST_SIDE
from oodometer.corruptions.own import corruption
from oodometer.corruptions.registry import list_corruptions
from oodometer.corruptions.severity import EDITIONS
from oodometer.corruptions.strength import Strength, strength

__all__ = ["EDITIONS", "METHODS", "SMALLEST_SIDE", "Strength", "corrupt", "corruption", "list_corruptions", "strength"]
