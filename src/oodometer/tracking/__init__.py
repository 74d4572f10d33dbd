"""Runs handed to where people track them: TensorBoard, Weights & Biases, MLflow; a module for each, imported when used.

``quantities`` names the numbers, ``record`` is what a tracker is told of a run.
"""

from oodometer.tracking.quantities import quantities, scalars
from oodometer.tracking.record import Record, record
from oodometer.tracking.trackers import TRACKERS, track

__all__ = ["TRACKERS", "Record", "quantities", "record", "scalars", "track"]
