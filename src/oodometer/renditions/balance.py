"""How many pictures each class and each style has: what to look for next, and what a score would rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from oodometer.datasets.recognise import STYLES
from oodometer.renditions.collection import Collection
from oodometer.renditions.rows import write_rows
from oodometer.renditions.screened import Screened

__all__ = ["BALANCE", "Balance", "balance", "write_balance"]

BALANCE = "balance.csv"
"""The table of counts in the folder of a collection."""


@dataclass(frozen=True, slots=True)
class Balance:
    """The pictures of one class and style: kept as they are or converted, waiting for a person, and dropped."""

    label: str
    style: str
    kept: int
    review: int
    dropped: int


def balance(collection: Collection, screened: Sequence[Screened]) -> list[Balance]:
    """Count the pictures by class and style, also where there are none.

    Returns
    -------
    list of Balance
        Class by class in the order of the vocabulary, with all published styles and others that occur.
    """
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in screened:
        what = {"keep": "kept", "convert": "kept", "review": "review", "drop": "dropped"}.get(row.decision)
        if what:
            counts[row.label, row.style, what] += 1
    styles = [*STYLES, *sorted({row.style for row in screened} - {*STYLES, ""})]
    return [
        Balance(label, style, *(counts[label, style, what] for what in ("kept", "review", "dropped")))
        for label in collection.classes.classes
        for style in styles
    ]


def write_balance(collection: Collection, rows: Sequence[Balance]) -> None:
    """Write the table into the collection's folder, in place of an earlier one."""
    write_rows(collection.path / BALANCE, Balance, rows)
