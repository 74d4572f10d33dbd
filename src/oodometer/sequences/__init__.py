"""Evaluations of ImageNet-P: how much the predictions of a classifier flicker along videos, made and read."""

from oodometer.sequences.baseline import SequenceBaseline
from oodometer.sequences.evaluating import evaluate_sequences
from oodometer.sequences.run import SequenceRun, holds_sequences
from oodometer.sequences.summary import SequenceRow, SequenceSummary

__all__ = [
    "SequenceBaseline",
    "SequenceRow",
    "SequenceRun",
    "SequenceSummary",
    "evaluate_sequences",
    "holds_sequences",
]
