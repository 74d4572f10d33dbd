"""What a run over images without labels says: how often a corruption changes the prediction."""

from __future__ import annotations

from collections.abc import Iterator

from oodometer import metrics
from oodometer.families import FAMILY_OF
from oodometer.metrics import Misses
from oodometer.report.details import counted_and_extra, missing, prediction_changes
from oodometer.report.summary import ChangeRow, Counts, Unlabelled
from oodometer.store import BenchmarkRecord, Table

__all__ = ["unlabelled"]


def unlabelled(record: BenchmarkRecord, table: Table, counts: Counts) -> Unlabelled:
    """Compute the changes, from the predictions alone.

    Parameters
    ----------
    record
        What the manifest says of the benchmark.
    table
        Its predictions, of at least one image.
    counts
        Of its images.
    """
    changes = prediction_changes(table) or {}
    rows, extra = counted_and_extra({row.name: row for row in _rows(changes)})
    counted = {row.name: changes[row.name] for row in rows}
    return Unlabelled(
        dataset=record.dataset,
        label_space=record.label_spaces[0],
        protocol=record.protocol,
        counts=counts,
        rows=rows,
        extra=extra,
        missing=missing(record, changes, table),
        unavailable=record.unavailable,
        changed=metrics.mean_error_estimate(counted) if counted else None,
    )


def _rows(changes: Misses) -> Iterator[ChangeRow]:
    cells, means = metrics.cell_error_estimates(changes), metrics.error_estimates(changes)
    for name in changes:
        yield ChangeRow(name, FAMILY_OF.get(name, "other"), cells[name], means[name])
