"""From the predictions on shifted and on clean images to what is behind the accuracy: classes, styles, confusions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer import metrics
from oodometer.datasets import style
from oodometer.metrics import Comparison, Estimate, TwoWayFit
from oodometer.metrics.reference_lines import NO_REFERENCE_LINE
from oodometer.report.details import defined
from oodometer.report.shift import Balanced, BeyondLine, ByStyle, NewPair, OfStyle, Pair, ShiftDetails, Wrong
from oodometer.shifts import SHIFTED_SETS
from oodometer.store import BenchmarkRecord, Table
from oodometer.tables import of_clean
from oodometer.types import CLEAN

__all__ = ["shift_details", "styles_of"]

MOST_WRONG, MOST_PAIRS = 10, 20
"""How many wrong classes, and how many pairs of either kind, are kept."""


@dataclass(frozen=True, slots=True)
class _Side:
    """The images of one set: their classes, the classes named, whether these are right, and how sure the model was."""

    labels: NDArray[np.int32]
    named: NDArray[np.int32]
    hits: NDArray[np.bool_]
    confidence: NDArray[np.float32]


def shift_details(record: BenchmarkRecord, table: Table, clean: Table | None) -> ShiftDetails:
    """Compute what is behind the accuracy on a set of shifted images.

    Parameters
    ----------
    record
        What the manifest says of the set; its name tells whether published models are known.
    table
        The predictions on at least one image, among the classes of the set.
    clean
        Those on clean images among the same classes; ``None`` if there are none.
    """
    shifted = _side(table)
    other = None if clean is None or not clean.images or CLEAN not in clean.conditions else _side(clean)
    groups = styles_of(table.images, shifted.labels)
    fit = None if groups is None else defined(lambda: metrics.two_way(shifted.hits, shifted.labels, groups))
    styles = () if groups is None else _styles(shifted, other, groups, fit)
    beyond, why = _beyond_line(record.name, shifted, other)
    return ShiftDetails(
        balanced_accuracy=metrics.class_balanced_accuracy(shifted.hits, shifted.labels),
        balanced=None if other is None else _balanced(shifted, other),
        styles=styles,
        class_spread=None if fit is None else fit.class_spread,
        by_style=() if groups is None else _by_style(record, shifted, groups, [one.name for one in styles]),
        wrong=tuple(
            Wrong(record.classes[w.predicted], record.class_names[w.predicted], w.n, w.share, w.classes)
            for w in metrics.wrong_classes(shifted.named, shifted.labels)[:MOST_WRONG]
        ),
        pairs=tuple(
            Pair(*_names(record, pair.true, pair.predicted), pair.n, pair.rate)
            for pair in metrics.confusions(shifted.named, shifted.labels)[:MOST_PAIRS]
        ),
        new_pairs=() if other is None else _new_pairs(record, shifted, other),
        beyond_line=beyond,
        beyond_line_unavailable=why,
    )


def styles_of(images: Sequence[str], labels: NDArray[np.int32]) -> list[str] | None:
    """Return the style of each image, or ``None`` where the names of the files tell none.

    What stands before the number in a name is a style only if it goes across classes: the files of a class may well
    begin with its name, and those of ImageNet-A begin with a number such as 0.000116. So there are styles if at least
    two beginnings without a dot occur in two classes or more each, and in most of the images; every other one is then
    a style of its own.
    """
    groups = [style(image) for image in images]
    classes: defaultdict[str, set[int]] = defaultdict(set)
    for group, label in zip(groups, labels.tolist(), strict=True):
        classes[group].add(label)
    across = {group for group, found in classes.items() if group and "." not in group and len(found) > 1}
    share = sum(group in across for group in groups) / max(len(groups), 1)
    return groups if len(across) > 1 and share > 0.5 else None


def _side(table: Table) -> _Side:
    return _Side(
        labels=table.labels,
        named=of_clean(table, table.top[:, :, 0]),
        hits=of_clean(table, table.hits),
        confidence=of_clean(table, table.confidence),
    )


def _balanced(shifted: _Side, clean: _Side) -> Balanced | None:
    """Compare over the classes of both, every class counted alike; ``None`` if these are too few."""
    common = np.intersect1d(shifted.labels, clean.labels).tolist()
    if 2 * len(common) < len(np.unique(shifted.labels)):
        return None
    alike = dict.fromkeys(common, 1.0)
    return Balanced(
        classes=len(common),
        accuracy=metrics.weighted_accuracy(shifted.hits, shifted.labels, alike),
        clean=metrics.weighted_accuracy(clean.hits, clean.labels, alike),
        gap=metrics.class_balanced_gap(clean.hits, clean.labels, shifted.hits, shifted.labels),
    )


def _styles(shifted: _Side, clean: _Side | None, groups: list[str], fit: TwoWayFit | None) -> tuple[OfStyle, ...]:
    """Say of each style what is known of it, by falling accuracy."""
    names, found = np.asarray(groups), []
    for name, accuracy in metrics.group_accuracies(shifted.hits, groups).items():
        rows = names == name
        one = _Side(shifted.labels[rows], shifted.named[rows], shifted.hits[rows], shifted.confidence[rows])
        found.append(_of_style(name, accuracy, one, clean, None if fit is None else fit.adjusted.get(name)))
    return tuple(sorted(found, key=lambda one: (-one.accuracy.value, -one.n, one.name)))


def _of_style(name: str, accuracy: Estimate, one: _Side, clean: _Side | None, adjusted: Estimate | None) -> OfStyle:
    against = None if clean is None else _against(one, clean)
    sure = one.confidence, one.hits
    return OfStyle(
        name=name,
        n=len(one.hits),
        classes=len(np.unique(one.labels)),
        accuracy=accuracy,
        compared=0 if against is None else against.classes,
        clean=None if against is None else against.clean,
        gap=None if against is None else against.gap,
        adjusted=adjusted,
        rms_calibration_error=defined(lambda: metrics.rms_calibration_error_estimate(*sure)),
        rms_calibration_error_published=defined(lambda: metrics.rms_calibration_error_published_estimate(*sure)),
        aurra=defined(lambda: metrics.aurra_estimate(*sure)),
    )


def _against(one: _Side, clean: _Side) -> Comparison | None:
    return defined(lambda: metrics.compare_with_clean(one.hits, one.labels, clean.hits, clean.labels))


def _by_style(record: BenchmarkRecord, shifted: _Side, groups: list[str], styles: Sequence[str]) -> tuple[ByStyle, ...]:
    """Count images and right predictions of each class in each style."""
    cells = list(zip(shifted.labels.tolist(), groups, strict=True))
    n, right = Counter(cells), Counter(cell for cell, hit in zip(cells, shifted.hits.tolist(), strict=True) if hit)
    return tuple(
        ByStyle(
            record.classes[k],
            record.class_names[k],
            tuple(n[k, name] for name in styles),
            tuple(right[k, name] for name in styles),
        )
        for k in np.unique(shifted.labels).tolist()
    )


def _new_pairs(record: BenchmarkRecord, shifted: _Side, clean: _Side) -> tuple[NewPair, ...]:
    found = metrics.created_confusions(shifted.named, shifted.labels, clean.named, clean.labels)
    return tuple(
        NewPair(*_names(record, pair.true, pair.predicted), pair.n, pair.rate, pair.clean_rate, pair.difference)
        for pair in found[:MOST_PAIRS]
    )


def _names(record: BenchmarkRecord, true: int, called: int) -> tuple[str, str, str, str]:
    """Return identifier and name of a class, then of what it was called."""
    return record.classes[true], record.class_names[true], record.classes[called], record.class_names[called]


def _beyond_line(name: str, shifted: _Side, clean: _Side | None) -> tuple[BeyondLine | None, str | None]:
    """Compare with published models of ordinary training, or say why that cannot be done."""
    line = metrics.REFERENCE_LINES.get(name)
    if line is None:
        return None, NO_REFERENCE_LINE.get(name, "No published models are known for this set.")
    if clean is None:
        return None, "It needs clean images of the same classes, and the run has none."
    whole = next(known.classes for known in SHIFTED_SETS.values() if known.benchmark == name)
    found = np.unique(shifted.labels)
    if len(found) < whole:
        return None, f"The line is of all {whole:,} classes of the set, and these images are of {len(found):,}."
    if not np.array_equal(found, np.unique(clean.labels)):
        return None, "It needs clean images of the same classes; those of this run are of others, or not of all."
    accuracy = metrics.accuracy(shifted.hits)
    difference = metrics.beyond_line(metrics.accuracy(clean.hits), accuracy, line)
    models = tuple(model.name for model in line.models)
    return BeyondLine(models, line.source, accuracy.value - difference.value, difference), None
