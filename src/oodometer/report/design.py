"""Of a run in which an image went through some of the conditions only: by what design, and at what part of the cost."""

from __future__ import annotations

from oodometer.errors import MetricError
from oodometer.metrics import Baseline
from oodometer.metrics.incomplete import Spread, mce_spread
from oodometer.metrics.sequential import reached
from oodometer.report.summary import Design
from oodometer.store import BenchmarkRecord, RunStore, Table
from oodometer.tables import counted_names

__all__ = ["design"]


def design(store: RunStore, record: BenchmarkRecord, table: Table, baseline: Baseline | None) -> Design | None:
    """Describe the design of a run; ``None`` if every image went through all conditions.

    Parameters
    ----------
    store, record, table
        The run, what its manifest says of the benchmark, and its predictions.
    baseline
        What the mCE is divided by.
    """
    seen = table.seen
    if record.design is None or seen.all():
        return None
    each, steps = seen.sum(axis=1), store.steps(record.name)
    images = record.images - len(store.skipped(record.name))
    decoding = next((step.decoding for step in reversed(steps) if step.decoding is not None), 0.0)
    cost = len(table.images) * decoding + int(seen.sum())
    found, half_width = _spread(table, baseline), record.design.half_width
    paired = record.design.paired is not None
    known = None if found is None or half_width is None or paired else reached(found, half_width, images)
    return Design(
        half_width=half_width,
        paired=paired,
        fewest=int(each.min()),
        most=int(each.max()),
        conditions=len(table.conditions),
        passes=int(seen.sum()),
        share=cost / (record.images * (decoding + len(table.conditions))),
        reached=known is not None or (paired and half_width is not None),
        of_all=None if found is None else found.of_all(images),
    )


def _spread(table: Table, baseline: Baseline | None) -> Spread | None:
    try:
        return mce_spread(table.misses, counted_names(table.conditions), baseline)
    except MetricError:  # fewer than the 15 corruptions, or a run that was stopped at its beginning
        return None
