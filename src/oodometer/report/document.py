"""The files that a report leaves: ``report.html`` and ``results.json``."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from oodometer.metrics import BaselineSpec
from oodometer.outfolder import write_atomically
from oodometer.report.html import page_html
from oodometer.report.reader import summarize
from oodometer.report.results import results
from oodometer.store import RunStore

__all__ = ["write_report"]


def write_report(store: RunStore, path: str | os.PathLike[str] | None = None, baseline: BaselineSpec = None) -> Path:
    """Write the report of a run as a page, and its numbers as JSON, from the store alone.

    Parameters
    ----------
    store
        The run, finished or not.
    path
        Where the page goes; ``None`` means ``report.html`` in the run's folder. ``results.json`` always goes into that
        folder.
    baseline
        What CE and mCE are relative to; ``None`` means the one that the run was made with.

    Returns
    -------
    Path
        Where the page is.

    Raises
    ------
    StoreError
        If the run cannot be read, nothing of it has been measured yet, or a file cannot be written.
    ArgumentError, MetricError
        If the baseline is unknown, or is one of another label space.
    """
    summary = summarize(store, baseline)
    page = store.path / "report.html" if path is None else Path(path)
    write_atomically(page, page_html(summary).encode())
    write_atomically(store.path / "results.json", msgspec.json.format(msgspec.json.encode(results(summary)), indent=1))
    return page
