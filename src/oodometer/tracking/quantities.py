"""The numbers of a run by names that stay: what trackers plot, sort by and compare across runs.

Everything is a fraction. A mean over fewer than the 15 corruptions is under ``partial/``, and never called mCE.
The names, after ``oodometer/``, and what they are:

==========================================  ================================================================
``clean_error``                             the top-1 error on clean images
``mean_error``                              the mean over the 15 corruptions
``mCE``, ``relative_mCE``                   relative to the run's baseline
``partial/mean_error``                      the mean over those of the 15 that there are, if not all
``partial/mean_CE``                         likewise, of the CEs
``error/fog/3``, ``error/fog/mean``         the error under one condition, and the mean over the severities
``CE/fog``, ``relative_CE/fog``             relative to the run's baseline
``changed_predictions``                     how often a corruption changes the prediction; partial likewise
``changed/fog/3``, ``changed/fog/mean``     the same under one condition, of images without labels
``clean/nll`` and others                    losses and calibration on the clean images
``flip_rate/tilt`` and others               of a run over sequences, with ``mFR`` and ``mT5D`` if it has a baseline
``shifted/imagenet-r/accuracy`` and others  of a set of shifted images, by its name in the run
==========================================  ================================================================
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

from oodometer.metrics import Estimate
from oodometer.report import Summary
from oodometer.report.summary import Confidence, Corruptions, Losses, Outliers, Renditions, Unlabelled, Unmapped
from oodometer.sequences.summary import SequenceSummary

__all__ = ["PREFIX", "named", "quantities", "scalars", "sequence_quantities"]

PREFIX = "oodometer/"
"""Begins the name of every number, so that ours stand together beside those of a training."""

_Named = Iterator[tuple[str, Estimate | None]]


def quantities(summary: Summary) -> dict[str, Estimate]:
    """Name every number of a run that has one, as fractions with 95 % intervals.

    Parameters
    ----------
    summary
        What the run says (``Run.summary``).

    Returns
    -------
    dict
        The estimates by names such as ``oodometer/mCE`` and ``oodometer/error/fog/3``.
    """
    return {named(name): found for name, found in _all(summary) if found is not None}


def sequence_quantities(summary: SequenceSummary) -> dict[str, Estimate]:
    """Name every number of a run over sequences (``SequenceRun.summary``); a top-5 distance is no fraction."""
    return {named(name): found for name, found in _of_sequences(summary) if found is not None}


def scalars(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """Lay out estimates as single numbers, each with the ends of its interval: ``mCE``, ``mCE_low``, ``mCE_high``.

    What is infinite or not a number is left out, since no tracker can plot it.
    """
    found = {
        f"{name}{end}": float(number)
        for name, e in estimates.items()
        for end, number in (("", e.value), ("_low", e.low), ("_high", e.high))
    }
    return {name: number for name, number in found.items() if math.isfinite(number)}


def named(name: str) -> str:
    """Return the full name of a number, in characters that every tracker takes."""
    return PREFIX + re.sub(r"[^A-Za-z0-9_./-]", "_", name)


def _all(summary: Summary) -> _Named:
    if summary.corruptions is not None:
        yield from _of_corruptions(summary.corruptions)
    if summary.unlabelled is not None:
        yield from _of_unlabelled(summary.unlabelled)
    if summary.unmapped is not None:
        yield from _of_unmapped(summary.unmapped)
    if summary.renditions is not None:
        yield from _of_shifted("shifted/imagenet-r", summary.renditions)
    for shifted in summary.shifted:
        yield from _of_shifted(f"shifted/{shifted.name}", shifted.part)
    if summary.outliers is not None:
        yield from _of_outliers(summary.outliers)


def _of_sequences(summary: SequenceSummary) -> _Named:
    partial = "" if summary.whole else "partial/"
    yield f"{partial}mean_flip_rate", summary.mean_flip_rate.estimate
    yield f"{partial}mean_top5_distance", summary.mean_top5_distance.estimate
    relative = ("mFR", "mT5D") if summary.whole else ("partial/relative_flip_rate", "partial/relative_top5_distance")
    yield from zip(relative, (summary.mfr.estimate, summary.mt5d.estimate), strict=True)
    for row in summary.rows:
        yield f"flip_rate/{row.name}", row.flip_rate
        yield f"top5_distance/{row.name}", row.top5_distance
        yield f"relative_flip_rate/{row.name}", row.relative_flip_rate
        yield f"relative_top5_distance/{row.name}", row.relative_top5_distance


def _of_corruptions(part: Corruptions) -> _Named:
    partial = "partial/" if part.missing else ""
    yield "clean_error", part.clean_error
    yield f"{partial}mean_error", part.mean_error
    yield "mCE", part.mce
    yield "relative_mCE", part.relative_mce
    yield "partial/mean_CE", part.mean_ce
    for row in (*part.rows, *part.extra):
        for severity, error in enumerate(row.errors, start=1):
            yield f"error/{row.name}/{severity}", error
        yield f"error/{row.name}/mean", row.mean
        yield f"CE/{row.name}", row.ce
        yield f"relative_CE/{row.name}", row.relative_ce
    for cell in part.other_cells:
        yield f"error/{cell.corruption}/{cell.severity}", cell.error
    yield f"{partial}changed_predictions", part.changed
    yield from _of_losses("clean", part.losses)
    yield from _of_confidence("clean", part.confidence)


def _of_unlabelled(part: Unlabelled) -> _Named:
    yield f"{'partial/' if part.missing else ''}changed_predictions", part.changed
    for row in (*part.rows, *part.extra):
        for severity, change in enumerate(row.changes, start=1):
            yield f"changed/{row.name}/{severity}", change
        yield f"changed/{row.name}/mean", row.changed


def _of_unmapped(part: Unmapped) -> _Named:
    yield "unmapped/clean", part.clean
    yield "unmapped/corrupted", part.mean


def _of_shifted(name: str, part: Renditions) -> _Named:
    yield f"{name}/accuracy", part.accuracy
    yield f"{name}/accuracy_all_classes", part.accuracy_unmasked
    yield f"{name}/clean_accuracy", part.clean_accuracy
    yield f"{name}/gap", part.gap
    yield f"{name}/unmapped", part.unmapped
    yield from _of_losses(name, part.losses)
    yield from _of_confidence(name, part.confidence)


def _of_outliers(part: Outliers) -> _Named:
    yield "shifted/imagenet-o/AUROC", part.auroc
    yield "shifted/imagenet-o/AUPR", part.aupr


def _of_losses(name: str, losses: Losses) -> _Named:
    yield f"{name}/top5_error", losses.top5_error
    yield f"{name}/nll", losses.nll
    yield f"{name}/brier", losses.brier


def _of_confidence(name: str, found: Confidence | None) -> _Named:
    if found is not None:
        yield f"{name}/ECE", found.ece
        yield f"{name}/RMS_calibration_error", found.rms_calibration_error
        yield f"{name}/AURRA", found.aurra
