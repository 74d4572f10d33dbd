"""What a report says beyond the errors: losses, confidence, and the parts of the mean by severity, family and class."""

from __future__ import annotations

import typing
from collections.abc import Callable, Collection, Mapping

import numpy as np
from numpy.typing import NDArray

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.families import EXTRA, IMAGENET_C, SEVERITIES
from oodometer.metrics import Estimate, Misses, ReliabilityBin
from oodometer.metrics.intervals import complement
from oodometer.report.summary import AtSeverity, Confidence, Losses, OfCell, OfClass, OfFamily, Risk
from oodometer.scoring import TOP
from oodometer.store import BenchmarkRecord, Table
from oodometer.tables import by_corruption, of_clean, other_cells, predictions, seen_only, top5_misses
from oodometer.types import CLEAN

__all__ = [
    "NOT_ALL_SEVERITIES",
    "NOT_ASKED",
    "NO_CLEAN",
    "at_severities",
    "clean_losses",
    "clean_reliability",
    "confidence",
    "counted_and_extra",
    "defined",
    "has_top5",
    "missing",
    "of_classes",
    "of_families",
    "of_other_cells",
    "prediction_changes",
    "reasons",
    "reliability_corrupted",
]

NOT_ASKED = "it was not asked for"
"""Why a corruption was not measured, if nothing else kept it from being."""

NOT_ALL_SEVERITIES = "not all of the five published severities are there"
"""Why a corruption is in no mean, though some of its severities were measured."""

NO_CLEAN = (
    "It needs the clean images, and these pictures were corrupted before and have none beside them. Evaluate with "
    "--clean to have it."
)
"""Why there is nothing that is relative to clean images."""

COVERAGES = (0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
"""The shares of the images, the most confident first, for which a report says the error."""

Value = typing.TypeVar("Value")


def defined(compute: Callable[[], Value]) -> Value | None:
    """Compute a number, or return ``None`` where these predictions do not define it."""
    try:
        return compute()
    except MetricError:
        return None


def missing(record: BenchmarkRecord, measured: Collection[str], table: Table) -> dict[str, str]:
    """Return those of the 15 corruptions that were not measured at the five severities, each with the reason."""
    known = dict.fromkeys((cell.corruption for cell in other_cells(table)), NOT_ALL_SEVERITIES) | record.unavailable
    return {name: known.get(name, NOT_ASKED) for name in IMAGENET_C if name not in measured}


def reasons(missing: Mapping[str, str]) -> list[str]:
    """Say why corruptions are missing, those with one reason together."""
    names: dict[str, list[str]] = {}
    for name, reason in missing.items():
        names.setdefault(reason.rstrip("."), []).append(name)
    rest = len(names.pop(NOT_ASKED, []))
    said = [f"{', '.join(together)}: {reason}" for reason, together in names.items()]
    return said + ([f"{rest} {'was' if rest == 1 else 'were'} not asked for"] if rest else [])


def of_other_cells(table: Table) -> tuple[OfCell, ...]:
    """Take the error of each condition that is in no mean over five severities."""
    return tuple(
        OfCell(cell.corruption, cell.severity, metrics.proportion(table.under(cell).misses[:, 0]))
        for cell in other_cells(table)
    )


def counted_and_extra(rows: Mapping[str, Value]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Part what there is by corruption into those of the 15, in the published order, and all others."""
    extra = [name for name in dict.fromkeys([*EXTRA, *rows]) if name in rows and name not in IMAGENET_C]
    return tuple(rows[name] for name in IMAGENET_C if name in rows), tuple(rows[name] for name in extra)


def clean_losses(table: Table, record: BenchmarkRecord) -> Losses:
    """Compute the losses on the clean images, if there are any."""
    if CLEAN not in table.conditions:
        return Losses(None, None, None)
    clean = table.under(CLEAN)
    return _losses(top5_misses(clean), clean.nll, clean.brier, ranked=has_top5(record))


def has_top5(record: BenchmarkRecord) -> bool:
    """Whether a top-5 error means anything: among five classes or fewer the label always is, and an answer has one."""
    return len(record.classes) > TOP and record.protocol.answers is None


def confidence(table: Table) -> Confidence | None:
    """Say how far the confidence on clean images can be believed; ``None`` of fewer images than the intervals need."""
    if CLEAN not in table.conditions:
        return None
    clean = table.under(CLEAN)
    return defined(lambda: _confidence(clean.confidence[:, 0], clean.hits[:, 0]))


def _confidence(confidences: NDArray[np.float32], hits: NDArray[np.bool_]) -> Confidence:
    risks = metrics.risk_at_coverage(confidences, hits, COVERAGES)
    aurra = metrics.aurra_estimate(confidences, hits)
    return Confidence(
        ece=metrics.expected_calibration_error_estimate(confidences, hits),
        ece_equal_mass=metrics.expected_calibration_error_estimate(confidences, hits, binning="mass"),
        rms_calibration_error=metrics.rms_calibration_error_estimate(confidences, hits),
        rms_calibration_error_published=defined(
            lambda: metrics.rms_calibration_error_published_estimate(confidences, hits)
        ),
        aurra=aurra,
        aurc=complement(aurra),
        risk_at_coverage=tuple(Risk(share, error) for share, error in zip(COVERAGES, risks, strict=True)),
        n=len(hits),
    )


def clean_reliability(table: Table) -> tuple[ReliabilityBin, ...] | None:
    """Compare confidence and accuracy on clean images; ``None`` where there is no such comparison."""
    if CLEAN not in table.conditions:
        return None
    clean = table.under(CLEAN)
    return defined(lambda: metrics.reliability(clean.confidence[:, 0], clean.hits[:, 0]))


def reliability_corrupted(table: Table) -> tuple[ReliabilityBin, ...] | None:
    """Compare confidence and accuracy over the counted corruptions; ``None`` where there is no such comparison."""
    confidences, hits = by_corruption(table, table.confidence), by_corruption(table, ~table.misses)
    counted = [name for name in IMAGENET_C if name in hits]
    if not counted or not table.seen.all():
        return None
    sure, right = (np.concatenate([values[name] for name in counted], axis=1) for values in (confidences, hits))
    return defined(lambda: metrics.pooled_reliability(sure, right))


def prediction_changes(table: Table) -> Misses | None:
    """Tell where a corruption changes the prediction.

    ``None`` without clean images, or where images went through some conditions only: hardly any was seen under both.
    """
    if CLEAN not in table.conditions or not table.seen.all():
        return None
    found = predictions(table)
    return metrics.changes(by_corruption(table, found), of_clean(table, found))


def at_severities(
    table: Table, misses: Misses, changes: Misses | None, record: BenchmarkRecord
) -> tuple[AtSeverity, ...]:
    """Take means over those of the 15 corruptions that were measured, at each severity."""
    if not any(name in misses for name in IMAGENET_C):
        return ()
    errors = defined(lambda: metrics.severity_error_estimates(misses))
    changed = defined(lambda: metrics.severity_error_estimates(changes)) if changes else None
    columns = {
        name: by_corruption(table, values)
        for name, values in (
            ("top5", top5_misses(table)),
            ("nll", seen_only(table, table.nll)),
            ("brier", seen_only(table, table.brier)),
            ("confidence", table.confidence),
            ("hits", ~table.misses),
        )
    }
    return tuple(
        AtSeverity(
            severity=severity,
            error=errors[k],
            losses=_losses(at["top5"], at["nll"], at["brier"], ranked=has_top5(record)),
            ece=_mean_ece(at["confidence"], at["hits"]),
            changed=changed[k] if changed else None,
        )
        for k, severity in enumerate(SEVERITIES)
        for at in [{name: _side_by_side(values, k) for name, values in columns.items()}]
        if errors is not None
    )


def _mean_ece(confidences: NDArray[np.float32], hits: NDArray[np.bool_]) -> Estimate | None:
    """Mean ECE of some conditions; ``None`` in a run by a design, where a condition has too few images for bins."""
    if np.ma.is_masked(hits):
        return None
    return defined(lambda: metrics.expected_calibration_error_estimate(confidences, hits))


def _side_by_side(values: Mapping[str, NDArray[typing.Any]], k: int) -> NDArray[typing.Any]:
    """Put the values of the counted corruptions at one severity beside each other: images x corruptions."""
    return np.ma.stack([values[name][:, k] for name in IMAGENET_C if name in values], axis=1)


def _losses(top5: NDArray[np.bool_], nll: NDArray[np.float32], brier: NDArray[np.float32], *, ranked: bool) -> Losses:
    """Estimate the losses of one condition or the mean of several, from images x conditions."""
    return Losses(
        top5_error=defined(lambda: metrics.error_estimates({"": top5})[""]) if ranked else None,
        nll=defined(lambda: metrics.nll_estimate(nll)),
        brier=defined(lambda: metrics.brier_estimate(brier)),
    )


def of_families(misses: Misses) -> tuple[OfFamily, ...]:
    """Take the mean error of each family of which all corruptions were measured."""
    found = defined(lambda: metrics.family_error_estimates(misses)) or {}
    return tuple(OfFamily(name, error) for name, error in found.items())


def of_classes(table: Table, misses: Misses, record: BenchmarkRecord) -> tuple[OfClass, ...]:
    """Take the errors of each class that has images, over those of the 15 corruptions that were measured."""
    counted = {name: misses[name] for name in IMAGENET_C if name in misses}
    errors = metrics.class_error_estimates(counted, table.labels) if counted else {}
    clean = table.under(CLEAN) if CLEAN in table.conditions else None
    cleans = metrics.class_error_estimates({"clean": clean.misses}, clean.labels) if clean else {}
    return tuple(
        OfClass(record.classes[k], record.class_names[k], n, cleans.get(k), errors.get(k))
        for k, n in zip(*(found.tolist() for found in np.unique(table.labels, return_counts=True)), strict=True)
    )
