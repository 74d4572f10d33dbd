"""From the table of a run's store to the arrays that the metrics take: by corruption, images x severities."""

from __future__ import annotations

import typing
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.families import SEVERITIES
from oodometer.store import Table
from oodometer.types import CLEAN, Condition

__all__ = [
    "by_corruption",
    "counted_names",
    "of_clean",
    "other_cells",
    "predictions",
    "seen_only",
    "top5_misses",
    "with_all_severities",
]

_Dtype = typing.TypeVar("_Dtype", bound=np.generic)


def by_corruption(table: Table, values: NDArray[_Dtype]) -> dict[str, NDArray[_Dtype]]:
    """Arrange one value for each image and condition by corruption, for those with the five published severities.

    A mean over other severities is not comparable to anything, so what has not all five is left out; see
    ``other_cells``.

    Parameters
    ----------
    table
        The predictions.
    values
        Images x conditions, in the order of the table, such as ``table.misses``.

    Returns
    -------
    dict
        By corruption name, in the table's order: images x severities from 1 up.
    """
    column = {condition: k for k, condition in enumerate(table.conditions)}
    return {name: values[:, [column[cell] for cell in _cells(name)]] for name in with_all_severities(table.conditions)}


def with_all_severities(conditions: Sequence[Condition]) -> tuple[str, ...]:
    """Return the corruptions of which all five published severities are among some conditions, in their order."""
    there = set(conditions)
    names = dict.fromkeys(condition.corruption for condition in conditions if condition != CLEAN)
    return tuple(name for name in names if there.issuperset(_cells(name)))


def counted_names(conditions: Sequence[Condition]) -> list[str]:
    """Return the corruption of each condition, but ``""`` for those that belong to no mean over five severities."""
    counted = {cell for name in with_all_severities(conditions) for cell in _cells(name)}
    return [condition.corruption if condition in counted else "" for condition in conditions]


def other_cells(table: Table) -> tuple[Condition, ...]:
    """Return the corrupted conditions that ``by_corruption`` leaves out."""
    names = zip(table.conditions, counted_names(table.conditions), strict=True)
    return tuple(condition for condition, name in names if not name and condition != CLEAN)


def _cells(name: str) -> tuple[Condition, ...]:
    return tuple(Condition(name, severity) for severity in SEVERITIES)


def of_clean(table: Table, values: NDArray[_Dtype]) -> NDArray[_Dtype]:
    """Pick the values of the clean images, which must be among the conditions: one for each image."""
    found: NDArray[_Dtype] = values[:, table.conditions.index(CLEAN)]
    return found


def predictions(table: Table) -> NDArray[np.int32]:
    """Return the best classes, images x conditions, masked where there is no prediction."""
    return seen_only(table, table.top[:, :, 0])


def top5_misses(table: Table) -> NDArray[np.bool_]:
    """Tell where the label is not among the best five classes: bool, images x conditions, masked like the rest."""
    table.check_labelled()
    return seen_only(table, (table.top != table.labels[:, None, None]).all(axis=2))


def seen_only(table: Table, values: NDArray[_Dtype]) -> NDArray[_Dtype]:
    """Mask what is no prediction, if there is any such."""
    seen = table.seen
    return values if seen.all() else np.ma.array(values, mask=~seen)
