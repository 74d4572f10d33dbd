"""A run as users hold it: the numbers, the table and the report, all from the store."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oodometer import arguments, metrics
from oodometer.errors import ArgumentError, MetricError
from oodometer.metrics import BaselineSpec, Estimate
from oodometer.report import ResultTable, Summary, summarize, write_report
from oodometer.report.details import NO_CLEAN, prediction_changes
from oodometer.report.shift import ShiftDetails
from oodometer.report.summary import Corruptions
from oodometer.scoring import TOP
from oodometer.store import Manifest, RunStore, Skipped, Table
from oodometer.tables import top5_misses
from oodometer.types import Condition

__all__ = ["Run"]


class Run:
    """The predictions of one model, and everything that follows from them.

    ``baseline`` is always what CE and mCE are divided by: the name of a published baseline, a JSON file, a mapping, the
    folder of another run, or ``None`` for the one that the run was made with. All but runs are taken as exact.

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

    @property
    def path(self) -> Path:
        """The folder of the run."""
        return self.store.path

    def summary(self, baseline: BaselineSpec = None) -> Summary:
        """Return everything that a report says, as dataclasses."""
        return self._recorded if baseline is None else summarize(self.store, baseline)

    @functools.cached_property
    def _recorded(self) -> Summary:
        return summarize(self.store)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """The images that could not be read and are left out of every condition alike."""
        return tuple(s for benchmark in self.manifest.benchmarks for s in self.store.skipped(benchmark.name))

    @property
    def errors(self) -> dict[str, tuple[float, ...]]:
        """The top-1 error at each severity, by corruption; the extra ones too if they were run.

        What has not all five severities is not here; see ``under``.
        """
        part = self._corruptions(None)
        return {row.name: tuple(e.value for e in row.errors) for row in (*part.rows, *part.extra)}

    @property
    def clean_error(self) -> Estimate:
        """The top-1 error on the clean images; ``MetricError`` if there were none."""
        return _there("clean error", self._corruptions(None).clean_error, NO_CLEAN)

    @property
    def changes(self) -> dict[str, tuple[float, ...]]:
        """How often the prediction is another one than for the clean image, by corruption and severity.

        It needs no labels. Raises ``MetricError`` if the images did not all go through all conditions.
        """
        table = self._predictions
        found = prediction_changes(table)
        if found is None:
            raise MetricError(f"{self.path}: changes need every image under every condition, the clean one included.")
        return {name: tuple(e.value for e in cells) for name, cells in metrics.cell_error_estimates(found).items()}

    def mce(self, baseline: BaselineSpec = None) -> Estimate:
        """Return the mCE with its 95 % interval, as a fraction.

        Raises
        ------
        MetricError
            If one of the 15 corruptions is missing, or there is no baseline.
        """
        part = self._corruptions(baseline)
        return _there("mCE", part.mce, part.mce_unavailable)

    def relative_mce(self, baseline: BaselineSpec = None) -> Estimate:
        """Return the relative mCE with its 95 % interval, as a fraction; raises ``MetricError`` like ``mce``."""
        part = self._corruptions(baseline)
        return _there("relative mCE", part.relative_mce, part.relative_mce_unavailable)

    def shift(self, name: str = "imagenet-r") -> ShiftDetails:
        """Return what is behind the accuracy on a set of shifted images: by style and class, and what is said instead.

        Parameters
        ----------
        name
            The set's name in the run, such as ``imagenet-r`` or ``imagenet-a``.

        Raises
        ------
        MetricError
            If the run has no such set, or none of it has been measured yet.
        """
        summary = self.summary()
        parts = {one.name: one.part for one in summary.shifted}
        if summary.renditions is not None:
            parts = {"imagenet-r": summary.renditions, **parts}
        if name not in parts:
            raise MetricError(
                f"{self.path} has no predictions on a set of shifted images named {name!r}. "
                f"It has {', '.join(parts) or 'none'}."
            )
        return parts[name].details

    def under(self, corruption: str = "clean", severity: int = 0) -> Table:
        """Return the predictions on the images that went through one condition, for the functions of ``metrics``.

        Raises
        ------
        MetricError
            If the run has no such condition.
        """
        condition = Condition(corruption, severity)
        if condition not in self._predictions.conditions:
            there = dict.fromkeys(c.corruption for c in self._predictions.conditions)
            raise MetricError(f"{self.path} has no predictions under {condition}. It has {', '.join(there)}.")
        return self._predictions.under(condition)

    def _with_confidence(self, corruption: str, severity: int) -> Table:
        """Return the predictions under one condition, as ``under`` does, of a model that says how sure it is.

        Raises
        ------
        MetricError
            If it named a class and no more.
        """
        found = self.under(corruption, severity)
        if any(record.protocol.answers is not None for record in self.manifest.benchmarks):
            raise MetricError(
                f"{self.manifest.model.name} was asked in words, and names a class without saying how sure it is, nor "
                "what comes next. There are errors, changes of the prediction and unmapped answers."
            )
        return found

    @functools.cached_property
    def _predictions(self) -> Table:
        record = self.manifest.benchmark("imagenet-c")
        if record is None:
            raise MetricError(f"{self.path} has no predictions on clean or corrupted images.")
        return self.store.table(record.name, record.label_spaces[0])

    def top5_error(self, corruption: str = "clean", severity: int = 0) -> Estimate:
        """Return how often the label is not among the best five classes; ``MetricError`` if there are no more."""
        found = self._with_confidence(corruption, severity)
        classes = max(len(record.classes) for record in self.manifest.benchmarks)
        if classes <= TOP:
            raise MetricError(f"Among {classes} classes every label is one of the best {TOP}.")
        return metrics.proportion(top5_misses(found)[:, 0])

    def nll(self, corruption: str = "clean", severity: int = 0) -> Estimate:
        """Return the mean negative log-likelihood of the labels, in nats."""
        return metrics.nll_estimate(self._with_confidence(corruption, severity).nll)

    def brier(self, corruption: str = "clean", severity: int = 0) -> Estimate:
        """Return the mean Brier score, 0 to 2; ``MetricError`` if the run was begun by a version that kept none."""
        return metrics.brier_estimate(self._with_confidence(corruption, severity).brier)

    def ece(
        self, corruption: str = "clean", severity: int = 0, *, bins: int = 15, binning: metrics.Binning = "width"
    ) -> Estimate:
        """Return the expected calibration error; see ``metrics.expected_calibration_error_estimate``."""
        found = self._with_confidence(corruption, severity)
        return metrics.expected_calibration_error_estimate(found.confidence[:, 0], found.hits[:, 0], bins, binning)

    def reliability(
        self, corruption: str = "clean", severity: int = 0, *, bins: int = 15, binning: metrics.Binning = "width"
    ) -> tuple[metrics.ReliabilityBin, ...]:
        """Return confidence and accuracy by bins of confidence, for a reliability diagram."""
        found = self._with_confidence(corruption, severity)
        return metrics.reliability(found.confidence[:, 0], found.hits[:, 0], bins, binning)

    def selective_risk(
        self, corruption: str = "clean", severity: int = 0
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return coverages and errors of a risk-coverage curve; see ``metrics.selective_risk``."""
        found = self._with_confidence(corruption, severity)
        return metrics.selective_risk(found.confidence[:, 0], found.hits[:, 0])

    def table(self, baseline: BaselineSpec = None) -> ResultTable:
        """Return the table of results; it prints as text and shows as HTML in a notebook."""
        return ResultTable(self.summary(baseline))

    def report(self, path: str | os.PathLike[str] | None = None, baseline: BaselineSpec = None) -> Path:
        """Write the report as one self-contained HTML file, and ``results.json`` into the run's folder.

        Parameters
        ----------
        path
            Where to write the page; ``report.html`` in the run's folder unless given.
        baseline
            What CE and mCE are divided by.

        Returns
        -------
        pathlib.Path
            The page.

        Raises
        ------
        ArgumentError
            If ``path`` does not end in ``.html``.
        """
        target = None if path is None else arguments.path("The page", path)
        if target is not None and target.suffix.lower() not in {".html", ".htm"}:
            # Or a slip of the pen would overwrite a file of another kind, the run's own manifest at the worst.
            raise ArgumentError(f"The report is an HTML page: {target} must end in .html.")
        return write_report(self.store, target, baseline)

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r}, model={self.manifest.model.name!r})"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _corruptions(self, baseline: BaselineSpec) -> Corruptions:
        part = self.summary(baseline).corruptions
        if part is None:
            self._predictions.check_labelled()
            raise MetricError(f"{self.path} has no predictions on clean or corrupted images.")
        return part


def _there(name: str, estimate: Estimate | None, reason: str | None) -> Estimate:
    if estimate is None:
        raise MetricError(f"There is no {name}. {reason}")
    return estimate
