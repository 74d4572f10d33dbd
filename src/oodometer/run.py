"""A run as users hold it: the numbers, the table and the report, all from the store."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from oodometer.errors import MetricError
from oodometer.metrics import BaselineSpec, Estimate
from oodometer.report import ResultTable, Summary, summarize, write_report
from oodometer.store import Manifest, RunStore, Skipped

__all__ = ["Run"]


class Run:
    """The predictions of one model, and everything that follows from them.

    Parameters
    ----------
    path
        The folder of a run.

    Raises
    ------
    StoreError
        If it holds no run, or a damaged one.
    """

    def __init__(
        self, path: str | os.PathLike[str], temporary: tempfile.TemporaryDirectory[str] | None = None
    ) -> None:
        self.store = RunStore(path)
        self.manifest: Manifest = self.store.read_manifest()
        # A run without an output folder lives as long as this object: the folder goes when this goes.
        self._temporary = temporary
