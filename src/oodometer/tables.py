"""From the table of a run's store to the arrays that the metrics take: by corruption, images x severities."""

from __future__ import annotations

import typing

import numpy as np
from numpy.typing import NDArray

from oodometer.families import SEVERITIES
from oodometer.store import Table
from oodometer.types import CLEAN, Condition

__all__ = ["by_corruption", "of_clean", "predictions", "seen_only", "top5_misses"]

_Dtype = typing.TypeVar("_Dtype", bound=np.generic)


def by_corruption(table: Table, values: NDArray[_Dtype]) -> dict[str, NDArray[_Dtype]]:
    """Arrange one value for each image and condition by corruption.

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
    names = dict.fromkeys(c.corruption for c in table.conditions if c != CLEAN)
    return {name: values[:, [column[Condition(name, s)] for s in SEVERITIES]] for name in names}


def of_clean(table: Table, values: NDArray[_Dtype]) -> NDArray[_Dtype]:
    """Pick the values of the clean images: one for each image."""
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
