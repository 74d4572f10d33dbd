"""From the store of a run to its ``Summary``; the only part of the report that computes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from oodometer import metrics
from oodometer.errors import MetricError, StoreError
from oodometer.families import EXTRA, FAMILY_OF, IMAGENET_C
from oodometer.metrics import Baseline, BaselineSpec, Estimate, Misses
from oodometer.report import details
from oodometer.report.design import design
from oodometer.report.label_free import unlabelled
from oodometer.report.notes import notes
from oodometer.report.shift_details import shift_details
from oodometer.report.summary import (
    BaselineName,
    Corruptions,
    Counts,
    Outliers,
    Picture,
    Renditions,
    Row,
    Shifted,
    Strip,
    Summary,
    Unlabelled,
    Unmapped,
)
from oodometer.report.unmapped import unmapped, unmapped_answers
from oodometer.run_baseline import find_baseline
from oodometer.shifts import title_of
from oodometer.store import SEQUENCES, BenchmarkRecord, Example, Manifest, RunStore, Table
from oodometer.tables import by_corruption, of_clean, top5_misses
from oodometer.types import CLEAN, UNMAPPED

__all__ = ["summarize"]

_C, _R, _O = "imagenet-c", "imagenet-r", "imagenet-o"
"""Benchmarks by the names under which a run holds them."""


def summarize(store: RunStore, baseline: BaselineSpec = None) -> Summary:
    """Compute what a run says, from its store alone.

    Parameters
    ----------
    store
        The run, finished or not.
    baseline
        What CE and mCE are relative to, in any form that ``metrics.load_baseline`` takes; ``None`` means the one that
        the run was made with.

    Raises
    ------
    StoreError
        If the run cannot be read, or no image of it has been measured yet.
    ArgumentError, MetricError
        If the baseline is unknown, or is one of another label space.
    """
    manifest = store.read_manifest()
    if any(record.name.startswith(SEQUENCES) for record in manifest.benchmarks):
        raise StoreError(
            f"{store.path} is a run over sequences: read it with `oodometer report` or oodometer.SequenceRun."
        )
    if manifest.benchmark(_C) is None and baseline not in (None, "none"):
        raise MetricError(f"{store.path} has no images under corruptions, whose errors a baseline could divide.")
    chosen = manifest.baseline if baseline is None else baseline
    corruptions = _corruptions(store, manifest.benchmark(_C), chosen)
    label_free = _unlabelled(store, manifest.benchmark(_C))
    if label_free is not None and baseline is not None:
        raise MetricError(f"The images of {store.path} have no labels, so no errors that a baseline could divide.")
    renditions, shifted = _renditions(store, manifest, manifest.benchmark(_R)), _shifted(store, manifest)
    outliers = _outliers(store, manifest, manifest.benchmark(_O))
    if all(part is None for part in (corruptions, label_free, renditions, outliers, *shifted)):
        raise StoreError(f"{store.path}: no image has been measured yet. Run the evaluation again to continue it.")
    return Summary(
        model=manifest.model,
        corruptions=corruptions,
        unlabelled=label_free,
        unmapped=_unmapped(store, manifest.benchmark(_C)),
        renditions=renditions,
        shifted=shifted,
        outliers=outliers,
        notes=notes(
            manifest,
            corruptions,
            label_free,
            renditions,
            shifted,
            outliers,
            {record.name: store.skipped(record.name) for record in manifest.benchmarks},
        ),
        created=manifest.created,
        command=manifest.command,
        environment=manifest.environment,
        corruption_strips=_strips(store, manifest.benchmark(_C)),
        rendition_strips=_strips(store, manifest.benchmark(_R)),
    )


def _corruptions(store: RunStore, record: BenchmarkRecord | None, spec: BaselineSpec) -> Corruptions | None:
    """Read the ImageNet-C part; ``None`` if there is none, or none of it has been measured yet."""
    if record is None or not record.labelled:
        return None
    space = record.label_spaces[0]
    table = store.table(_C, space)
    if not table.images:
        return None
    baseline = find_baseline(spec, record)
    misses, clean = by_corruption(table, table.misses), _clean(table)
    missing = details.missing(record, misses, table)
    changes = details.prediction_changes(table)
    rows = _rows(table, misses, changes, baseline, ranked=details.has_top5(record))
    counted, extra = details.counted_and_extra({row.name: row for row in rows})
    mce, why_no_mce = _headline(missing, baseline, lambda b: metrics.mce_estimate(misses, b, table.images))
    relative, why_no_relative = (
        (None, details.NO_CLEAN)
        if clean is None
        else _headline(missing, baseline, lambda b: metrics.relative_mce_estimate(misses, clean, b, table.images))
    )
    return Corruptions(
        dataset=record.dataset,
        label_space=space,
        protocol=record.protocol,
        counts=_counts(store, record, table),
        design=design(store, record, table, baseline),
        baseline=None if baseline is None else _named(baseline),
        rows=counted,
        extra=extra,
        missing=missing,
        unavailable=record.unavailable,
        clean_error=None if clean is None else metrics.clean_error_estimate(clean),
        mean_error=_mean(misses),
        mce=mce,
        mce_unavailable=why_no_mce,
        relative_mce=relative,
        relative_mce_unavailable=why_no_relative,
        mean_ce=_mean_ce(misses, baseline, table) if mce is None else None,
        changed=None if changes is None else _mean(changes),
        losses=details.clean_losses(table, record),
        confidence=details.confidence(table),
        reliability=details.clean_reliability(table),
        reliability_corrupted=details.reliability_corrupted(table),
        by_severity=details.at_severities(table, misses, changes, record),
        by_family=details.of_families(misses),
        by_class=details.of_classes(table, misses, record),
        other_cells=details.of_other_cells(table),
    )


def _clean(table: Table) -> NDArray[np.bool_] | None:
    """Pick the outcomes of the clean images; ``None`` if there were none."""
    return of_clean(table, table.misses) if CLEAN in table.conditions else None


def _unlabelled(store: RunStore, record: BenchmarkRecord | None) -> Unlabelled | None:
    """Read the part of images without labels; ``None`` if there is none, or none of it has been measured yet."""
    if record is None or record.labelled:
        return None
    table = store.table(_C, record.label_spaces[0])
    return unlabelled(record, table, _counts(store, record, table)) if table.images else None


def _unmapped(store: RunStore, record: BenchmarkRecord | None) -> Unmapped | None:
    """Read how often answers named no class; ``None`` if nothing was asked in words."""
    if record is None or record.protocol.answers is None:
        return None
    table = store.table(_C, record.label_spaces[0])
    return unmapped(record, table) if table.images else None


def _renditions(store: RunStore, manifest: Manifest, record: BenchmarkRecord | None) -> Renditions | None:
    """Read ImageNet-R, or another shifted set; ``None`` if there is none, or none of it has been measured yet."""
    if record is None:
        return None
    own, *others = record.label_spaces
    table = store.table(record.name, own)
    if not table.images:
        return None
    hits = of_clean(table, table.hits)
    unmasked = [store.table(record.name, name) for name in others]
    # Among all classes of the model, too, the clean images are those of the set's classes.
    clean = _clean_among(store, manifest, own, None if others else table)
    clean_hits = None if clean is None else of_clean(clean, clean.hits)
    return Renditions(
        dataset=record.dataset,
        protocol=record.protocol,
        counts=_counts(store, record, table),
        accuracy=metrics.accuracy(hits),
        accuracy_unmasked=metrics.accuracy(of_clean(unmasked[0], unmasked[0].hits)) if unmasked else None,
        clean_accuracy=None if clean_hits is None else metrics.accuracy(clean_hits),
        clean_classes=0 if clean is None else len(np.unique(clean.labels)),
        same_classes=clean is not None and np.array_equal(np.unique(clean.labels), np.unique(table.labels)),
        gap=None if clean_hits is None else metrics.accuracy_gap(clean_hits, hits),
        losses=details.clean_losses(table, record),
        confidence=details.confidence(table),
        reliability=details.clean_reliability(table),
        unmapped=None
        if record.protocol.answers is None
        else metrics.proportion(of_clean(table, unmapped_answers(table))),
        details=shift_details(record, table, clean),
    )


def _shifted(store: RunStore, manifest: Manifest) -> tuple[Shifted, ...]:
    """Read the sets of a suite that have no part of their own in a summary, as far as they have been measured."""
    records = [record for record in manifest.benchmarks if record.name not in (_C, _R, _O)]
    found = ((record, _renditions(store, manifest, record)) for record in records)
    return tuple(
        Shifted(record.name, title_of(record.name), part, _strips(store, record))
        for record, part in found
        if part is not None
    )


def _outliers(store: RunStore, manifest: Manifest, record: BenchmarkRecord | None) -> Outliers | None:
    """Read ImageNet-O; ``None`` if there is none, or none of it has been measured yet."""
    if record is None:
        return None
    table = store.table(_O, record.label_spaces[0])
    if not table.images:
        return None
    clean = None if record.protocol.answers is not None else _clean_among(store, manifest, record.label_spaces[0])
    known = np.empty(0) if clean is None else of_clean(clean, clean.confidence)
    strange = of_clean(table, table.confidence)
    return Outliers(
        dataset=record.dataset,
        protocol=record.protocol,
        counts=_counts(store, record, table),
        clean_images=len(known),
        auroc=details.defined(lambda: metrics.auroc_estimate(known, strange)),
        aupr=details.defined(lambda: metrics.aupr_estimate(known, strange)),
    )


def _clean_among(store: RunStore, manifest: Manifest, space: str, like: Table | None = None) -> Table | None:
    """Read the predictions on clean images in a label space, of the classes of another table if there is one.

    ``None`` if the run has none.
    """
    record = manifest.benchmark(_C)
    if record is None or not record.labelled or space not in record.label_spaces:
        return None
    table = store.table(_C, space)
    if not table.images or CLEAN not in table.conditions:
        return None
    clean = table.under(CLEAN)
    if like is not None:
        clean = clean.taking(np.flatnonzero(np.isin(clean.labels, like.labels)))
    return clean if clean.images else None


def _counts(store: RunStore, record: BenchmarkRecord, table: Table) -> Counts:
    return Counts(
        planned=record.images,
        measured=len(table.images),
        classes=len(np.unique(table.labels)) if record.labelled else 0,
        skipped=tuple(store.skipped(record.name)),
    )


def _named(baseline: Baseline) -> BaselineName:
    return BaselineName(baseline.name, baseline.source, exact=baseline.sample is None)


def _rows(
    table: Table, misses: Misses, changes: Misses | None, baseline: Baseline | None, *, ranked: bool
) -> Iterable[Row]:
    ces = _corruption_errors(misses, baseline, table)
    clean = _clean(table)
    cells, means = metrics.cell_error_estimates(misses), metrics.error_estimates(misses)
    top5 = metrics.error_estimates(by_corruption(table, top5_misses(table))) if ranked else {}
    changes_of = metrics.cell_error_estimates(changes) if changes else {}
    changed = metrics.error_estimates(changes) if changes else {}
    for name in misses:
        yield Row(
            name=name,
            family=FAMILY_OF.get(name, "other"),
            errors=cells[name],
            mean=means[name],
            ce=ces.get(name),
            relative_ce=None if clean is None else _relative_ce(name, misses[name], clean, baseline, table),
            top5_error=top5.get(name),
            changes=changes_of.get(name),
            changed=changed.get(name),
        )


def _corruption_errors(misses: Misses, baseline: Baseline | None, table: Table) -> dict[str, Estimate]:
    """Compute the CE of those corruptions for which there is a baseline."""
    known = {name: array for name, array in misses.items() if baseline is not None and name in baseline.errors}
    return details.defined(lambda: metrics.corruption_error_estimates(known, baseline, table.images)) or {}


def _relative_ce(
    name: str, misses: NDArray[np.bool_], clean: NDArray[np.bool_], baseline: Baseline | None, table: Table
) -> Estimate | None:
    """Compute a relative CE, if the baseline has this corruption and gets worse under it."""
    return details.defined(
        lambda: metrics.relative_corruption_error_estimates({name: misses}, clean, baseline, table.images)[name]
    )


def _mean_ce(misses: Misses, baseline: Baseline | None, table: Table) -> Estimate | None:
    """Mean CE over those of the 15 that were measured and have a baseline, where there is no mCE."""
    known = {
        name: misses[name] for name in IMAGENET_C if name in misses and baseline is not None and name in baseline.errors
    }
    return details.defined(lambda: metrics.mean_ce_estimate(known, baseline, table.images)) if known else None


def _mean(misses: Misses) -> Estimate | None:
    """Mean over those of the 15 that were measured, so that a run without frost has a number too."""
    counted = {name: misses[name] for name in IMAGENET_C if name in misses}
    return metrics.mean_error_estimate(counted) if counted else None


def _headline(
    missing: dict[str, str], baseline: Baseline | None, compute: Callable[[Baseline], Estimate]
) -> tuple[Estimate | None, str | None]:
    """Compute a number that needs all 15 corruptions and a baseline, or say why there is none."""
    if missing:
        measured = len(IMAGENET_C) - len(missing)
        why = "; ".join(details.reasons(missing))
        measured_of = f"{measured} {'was' if measured == 1 else 'were'} measured"
        return None, f"It is a mean over {len(IMAGENET_C)} corruptions, and {measured_of} ({why})."
    if baseline is None:
        return None, "It is relative to the errors of a baseline, and there is no baseline for this data set."
    try:
        return compute(baseline), None
    except MetricError as error:
        return None, str(error)


def _strips(store: RunStore, record: BenchmarkRecord | None) -> tuple[Strip, ...]:
    """Arrange the kept pictures of a benchmark by image."""
    if record is None:
        return ()
    by_image: dict[str, list[Example]] = {}
    for example in store.examples(record.name):
        by_image.setdefault(example.image, []).append(example)
    return tuple(_strip(group, record) for group in by_image.values())


def _strip(examples: list[Example], record: BenchmarkRecord) -> Strip:
    order = {name: place for place, name in enumerate([CLEAN.corruption, *IMAGENET_C, *EXTRA])}
    in_order = sorted(examples, key=lambda e: (order.get(e.condition.corruption, len(order)), str(e.condition)))
    return Strip(
        image=examples[0].image,
        label=record.class_names[examples[0].label] if record.labelled else "no label",
        pictures=tuple(
            Picture(
                condition=e.condition,
                prediction="no class" if e.prediction == UNMAPPED else record.class_names[e.prediction],
                confidence=None if math.isnan(e.confidence) else e.confidence,
                right=e.prediction == e.label if record.labelled else None,
                jpeg=e.jpeg,
            )
            for e in in_order
        ),
    )
