"""Of a model that names classes in words: how often what it said named none, which counts as wrong."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from oodometer import metrics
from oodometer.families import FAMILY_OF
from oodometer.metrics import Misses
from oodometer.report.details import counted_and_extra
from oodometer.report.summary import Unmapped, UnmappedRow
from oodometer.store import BenchmarkRecord, Table
from oodometer.tables import by_corruption, of_clean, seen_only
from oodometer.types import CLEAN, UNMAPPED

__all__ = ["unmapped", "unmapped_answers"]


def unmapped(record: BenchmarkRecord, table: Table) -> Unmapped | None:
    """Compute the shares under each condition; ``None`` for a model that gives logits.

    Parameters
    ----------
    record
        What the manifest says of the benchmark.
    table
        Its predictions, of at least one image.
    """
    if record.protocol.answers is None:
        return None
    answers = unmapped_answers(table)
    shares = by_corruption(table, answers)
    rows, extra = counted_and_extra({row.name: row for row in _rows(shares)})
    return Unmapped(
        clean=metrics.proportion(of_clean(table, answers)) if CLEAN in table.conditions else None,
        rows=rows,
        extra=extra,
        mean=metrics.mean_error_estimate({row.name: shares[row.name] for row in rows}) if rows else None,
    )


def unmapped_answers(table: Table) -> NDArray[np.bool_]:
    """Tell which answers named no class: bool, images x conditions, masked where there is no answer."""
    return seen_only(table, table.top[:, :, 0] == UNMAPPED)


def _rows(shares: Misses) -> Iterator[UnmappedRow]:
    cells, means = metrics.cell_error_estimates(shares), metrics.error_estimates(shares)
    for name in shares:
        yield UnmappedRow(name, FAMILY_OF.get(name, "other"), cells[name], means[name])
