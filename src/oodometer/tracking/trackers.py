"""From a run and the name of a place to the tracker there."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from oodometer.errors import ArgumentError, unknown_name
from oodometer.models.importing import needed
from oodometer.run import Run
from oodometer.sequences import SequenceRun
from oodometer.sequences.run import holds_sequences
from oodometer.tracking.record import Record, record

__all__ = ["TRACKERS", "track"]

TRACKERS = {
    "tensorboard": "TensorBoard: tensorboard:DIR, a sub-folder for each run",
    "wandb": "Weights & Biases: wandb:PROJECT, offline unless WANDB_MODE says otherwise",
    "mlflow": "MLflow: mlflow:URI, such as mlflow:file:mlruns or mlflow:http://localhost:5000",
}
"""What stands before the colon of a place, with what stands behind it."""


Tracked: TypeAlias = Run | SequenceRun | str | os.PathLike[str]
"""A run, or its folder."""


def track(runs: Tracked | Sequence[Tracked], to: str) -> tuple[str, ...]:
    """Hand runs to a tracker: their numbers, how these were made, and the report.

    The numbers are fractions with the names of ``oodometer.tracking.quantities``, such as ``oodometer/mCE`` and
    ``oodometer/error/fog/3``, each with the ends of its 95 % interval, ``oodometer/mCE_low`` and
    ``oodometer/mCE_high``.

    Parameters
    ----------
    runs
        One run or several, or their folders, finished or not, over sequences or not; they are only read.
    to
        ``"tensorboard:DIR"`` writes event files to a sub-folder for each run, in place of those that an earlier call
        wrote for it. ``"wandb:PROJECT"`` begins a run of that project, offline below the current folder unless
        ``WANDB_MODE`` or ``WANDB_DIR`` say otherwise; ``wandb sync`` uploads it. ``"mlflow:URI"`` begins a run of the
        experiment ``oodometer``, or of ``MLFLOW_EXPERIMENT_NAME``.

    Returns
    -------
    tuple of str
        Where each run is now.

    Raises
    ------
    ArgumentError
        If there is no such tracker, or two runs would have one place.
    MissingDataError
        If the tracker's package is not installed.
    StoreError
        If a run cannot be read, or the tracker refuses it.
    """
    kind, target = _parsed(to)
    given = [runs] if isinstance(runs, Run | SequenceRun | str | os.PathLike) else list(runs)
    if not given:
        raise ArgumentError("There is nothing to track: give a run at least.")
    with needed(kind, TRACKERS[kind].partition(":")[0]):
        tracker = importlib.import_module(f"oodometer.tracking.{kind}")
    opened = [_opened(run) for run in given]
    records = [record(run) for run in opened]
    _check_names(records, [run.path for run in opened])
    return tuple(tracker.log(one, target) for one in records)


def _opened(run: Tracked) -> Run | SequenceRun:
    if isinstance(run, Run | SequenceRun):
        return run
    return SequenceRun(run) if holds_sequences(run) else Run(run)


def _parsed(to: str) -> tuple[str, str]:
    kind, _, target = str(to).partition(":")
    if kind not in TRACKERS:
        raise unknown_name("tracker", kind, TRACKERS)
    if not target:
        raise ArgumentError(f"{to!r} lacks what stands behind the colon. {TRACKERS[kind]}.")
    return kind, target


def _check_names(records: Sequence[Record], folders: Sequence[Path]) -> None:
    """Refuse runs that a tracker would show under one name."""
    places: dict[str, Path] = {}
    for one, folder in zip(records, folders, strict=True):
        if one.name in places:
            raise ArgumentError(
                f"{places[one.name]} and {folder} would both be called {one.name!r}, by their folders: rename one."
            )
        places[one.name] = folder
