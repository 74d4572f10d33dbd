"""A run over sequences as users hold it: the numbers and the table, all from the store."""

from __future__ import annotations

import dataclasses
import functools
import os
from pathlib import Path
from typing import Any

import msgspec

from oodometer.errors import MetricError
from oodometer.metrics import Estimate
from oodometer.outfolder import write_atomically
from oodometer.sequences.baseline import SequenceBaselineSpec
from oodometer.sequences.reading import summarize
from oodometer.sequences.summary import Number, SequenceSummary
from oodometer.sequences.text import SequenceTable
from oodometer.store import SEQUENCES, Manifest, RunStore, Skipped

__all__ = ["SequenceRun", "holds_sequences"]

FORMAT = 1
"""Of ``sequences.json``."""


def holds_sequences(path: str | os.PathLike[str]) -> bool:
    """Return whether a folder holds a run over sequences, and not one of ``oodometer.evaluate``.

    Raises
    ------
    StoreError
        If it holds no run, or a damaged one.
    """
    return any(record.name.startswith(SEQUENCES) for record in RunStore(path).read_manifest().benchmarks)


class SequenceRun:
    """The predictions of one model on the frames of ImageNet-P, and everything that follows from them.

    ``baseline`` is always what mFR and mT5D are relative to: the folder of another run over sequences, a JSON file,
    a mapping, or ``None`` for the one that the run was made with. ``difficulty`` is 1, 2 or 3: which videos of noises
    count, and by how many frames those lie apart that are compared in the others.

    Parameters
    ----------
    path
        The folder of a run.

    Raises
    ------
    StoreError
        If it holds no run, or a damaged one.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.store = RunStore(path)
        self.manifest: Manifest = self.store.read_manifest()
        self._alive: object = None

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self.store.path

    def summary(self, baseline: SequenceBaselineSpec = None, difficulty: int = 1) -> SequenceSummary:
        """Return everything that the table says, as dataclasses."""
        if baseline is None and difficulty == 1:
            return self._recorded
        return summarize(self.store, baseline, difficulty)

    @functools.cached_property
    def _recorded(self) -> SequenceSummary:
        return summarize(self.store)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The videos that could not be read and are left out."""
        names = [record.name for record in self.manifest.benchmarks if record.name.startswith(SEQUENCES)]
        return tuple(skipped for name in names for skipped in self.store.skipped(name))

    @property
    def flip_rates(self) -> dict[str, Estimate]:
        """How often the predicted class differs between frames that are compared, by folder, at difficulty 1."""
        return {row.name: row.flip_rate for row in self.summary().rows if row.flip_rate is not None}

    @property
    def top5_distances(self) -> dict[str, Estimate]:
        """How far the five best classes move between frames that are compared, by folder, at difficulty 1."""
        return {row.name: row.top5_distance for row in self.summary().rows if row.top5_distance is not None}

    def mean_flip_rate(self, difficulty: int = 1) -> Estimate:
        """Return the mean of the flip rates of the 10 perturbations; ``MetricError`` if one is missing."""
        summary = self.summary(None, difficulty)
        return _whole("mean flip rate", summary, summary.mean_flip_rate)

    def mfr(self, baseline: SequenceBaselineSpec = None, difficulty: int = 1) -> Estimate:
        """Return the mean flip rate (mFR) as a multiple of the baseline's, as a fraction.

        Raises
        ------
        MetricError
            If one of the 10 perturbations is missing, or there is no baseline.
        """
        summary = self.summary(baseline, difficulty)
        return _whole("mFR", summary, summary.mfr)

    def mt5d(self, baseline: SequenceBaselineSpec = None, difficulty: int = 1) -> Estimate:
        """Return the mean top-5 distance (mT5D) as a multiple of the baseline's; ``MetricError`` as for ``mfr``."""
        summary = self.summary(baseline, difficulty)
        return _whole("mT5D", summary, summary.mt5d)

    def table(self, baseline: SequenceBaselineSpec = None, difficulty: int = 1) -> SequenceTable:
        """Return the table of results, which prints as plain text."""
        return SequenceTable(self.summary(baseline, difficulty))

    def results(self, baseline: SequenceBaselineSpec = None, difficulty: int = 1) -> dict[str, Any]:
        """Return every number as plain JSON values: fractions, and estimates with ``value``, ``low``, ``high``, ``n``.

        The keys are the fields of ``SequenceSummary``.
        """
        summary = self.summary(baseline, difficulty)
        content: dict[str, Any] = msgspec.to_builtins(summary)
        content["protocol"]["label"] = summary.protocol.label
        return {"format": FORMAT, **content}

    def write_results(
        self,
        path: str | os.PathLike[str] | None = None,
        baseline: SequenceBaselineSpec = None,
        difficulty: int = 1,
    ) -> Path:
        """Write the results as JSON, by default to ``sequences.json`` in the run's folder; return the file."""
        place = self.path / "sequences.json" if path is None else Path(path)
        write_atomically(place, msgspec.json.format(msgspec.json.encode(self.results(baseline, difficulty)), indent=1))
        return place

    def keep_baseline(self, content: dict[str, Any] | None) -> None:
        """Write down what the run's numbers are relative to from now on."""
        if content == self.manifest.baseline:
            return
        self.manifest = dataclasses.replace(self.manifest, baseline=content)
        self.store.write_manifest(self.manifest)
        self.__dict__.pop("_recorded", None)

    def keep_alive(self, owner: object) -> None:
        """Hold on to what a temporary folder lives as long as."""
        self._alive = owner

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def __repr__(self) -> str:
        return f"SequenceRun({str(self.path)!r}, model={self.manifest.model.name!r})"


def _whole(name: str, summary: SequenceSummary, number: Number) -> Estimate:
    if number.estimate is None:
        raise MetricError(f"There is no {name}. {number.words}")
    if not summary.whole:
        raise MetricError(
            f"There is no {name}: it is a mean over 10 perturbations, and at difficulty {summary.difficulty} there is "
            f"no {', '.join(summary.missing)}. The mean over {summary.over} is in summary()."
        )
    return number.estimate
