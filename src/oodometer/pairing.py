"""Another run, on whose images and conditions a run is made: what the two differ in is known far better than either."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from oodometer.errors import StoreError
from oodometer.metrics import Baseline
from oodometer.metrics.incomplete import Spread, mce_spread
from oodometer.run_baseline import same_protocol
from oodometer.store import RunStore, Table
from oodometer.tables import counted_names
from oodometer.types import Protocol

__all__ = ["Partner", "difference", "find_partner"]


@dataclass(frozen=True, slots=True)
class Partner:
    """The other run: where it is, its predictions, and its plan by SHA-256."""

    path: str
    table: Table
    plan: str


def find_partner(paired: object, label_space: str, digest: str, protocol: Protocol) -> Partner:
    """Open the run to be paired with.

    Parameters
    ----------
    paired
        A run's folder, or anything with such a ``path``.
    label_space, digest, protocol
        Of the new run: the label space in which the predictions are compared, the data set, and the protocol.

    Raises
    ------
    StoreError
        If it is no run that can be read, or was made on other images or by another protocol.
    """
    store = RunStore(getattr(paired, "path", paired))  # type: ignore[arg-type]  # it checks
    record = store.read_manifest().benchmark("imagenet-c")
    table = None if record is None else store.table("imagenet-c", label_space)
    if record is None or table is None or not table.images:
        raise StoreError(f"{store.path} has no predictions in {label_space} on corrupted images to be paired with.")
    if record.digest != digest:
        raise StoreError(f"{store.path} was made on other images: a pair needs the same data set.")
    if found := same_protocol(record.protocol, protocol, but=()):
        raise StoreError(
            f"{store.path} was made by another protocol. {found} A pair needs the same: give the options that it was "
            "made with."
        )
    return Partner(os.fspath(store.path), table, store.plan_digest())


def difference(table: Table, other: Table, baseline: Baseline | None) -> Spread:
    """Estimate the mCE of one run less that of another, which has all images and conditions of the first.

    Parameters
    ----------
    table, other
        The predictions of the two.
    baseline
        What the mCE is divided by; without one the difference is that of the mean corruption errors.

    Raises
    ------
    MetricError
        As ``mce_spread``.
    """
    row = {image: i for i, image in enumerate(other.images)}
    at = np.ix_(
        np.array([row[image] for image in table.images], dtype=np.intp),
        np.array([other.conditions.index(condition) for condition in table.conditions], dtype=np.intp),
    )
    outcomes = table.misses.astype(np.int8) - np.ma.getdata(other.misses)[at]
    return mce_spread(outcomes, counted_names(table.conditions), baseline)
