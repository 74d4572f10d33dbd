"""The report of one or several runs in a folder of its own: the page, its numbers as JSON, and figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from oodometer import arguments
from oodometer.comparison import Comparison, compare
from oodometer.comparison.reading import check_comparable
from oodometer.errors import ArgumentError
from oodometer.metrics import BaselineSpec
from oodometer.outfolder import write_atomically
from oodometer.report import Summary, results
from oodometer.report.html import page_html
from oodometer.run import Run
from oodometer.store import RunStore

__all__ = ["report_page", "write_reports"]


def write_reports(
    runs: Sequence[Run], folder: str | os.PathLike[str], baseline: BaselineSpec = None, *, figures: bool = False
) -> list[Path]:
    """Write the report of runs that were measured alike, from their stores alone.

    Parameters
    ----------
    runs
        One or several, of the same images and protocol.
    folder
        Where ``report.html`` goes, with ``results.json`` of one run, or ``comparison.json`` of several.
    baseline
        What CE and mCE are divided by, of all runs; by default what the first one was made with.
    figures
        Whether the charts are written too, as PNG and SVG for papers into ``figures`` in that folder.

    Returns
    -------
    list of pathlib.Path
        The files.

    Raises
    ------
    ArgumentError
        If there is no run, or the baseline is unknown, or the folder is that of another run.
    MetricError
        If the runs have different images, label spaces or protocols.
    StoreError
        If nothing of a run has been measured yet, or a file cannot be written.
    """
    root = arguments.path("The folder of the report", folder)
    _check_not_of_another(root, runs)
    summaries, compared = _read(runs, baseline)
    name, numbers = ("results", results(summaries[0])) if compared is None else ("comparison", compared.results())
    files = [root / "report.html", root / f"{name}.json"]
    write_atomically(files[0], page_html(*summaries, compared=compared).encode())
    write_atomically(files[1], _json(numbers))
    if figures:
        from oodometer.report.figures import write_figures

        files += write_figures(summaries, root / "figures", compared)
    return files


def report_page(runs: Sequence[Run], baseline: BaselineSpec = None) -> str:
    """Return the page of the report alone; arguments and errors as of ``write_reports``, which writes it."""
    summaries, compared = _read(runs, baseline)
    return page_html(*summaries, compared=compared)


def _read(runs: Sequence[Run], baseline: BaselineSpec) -> tuple[list[Summary], Comparison | None]:
    """Read what runs say, and how several of them differ, all relative to one baseline."""
    if not runs:
        raise ArgumentError("A report needs a run at least.")
    if len(runs) == 1:
        return [runs[0].summary(baseline)], None
    compared = compare(runs, baseline)
    for name in dict.fromkeys(record.name for run in runs for record in run.manifest.benchmarks):
        having = [run for run in runs if run.manifest.benchmark(name) is not None]
        check_comparable(having, name)  # a set that stands beside that of another run must be the same, measured alike
    spec = runs[0].manifest.baseline if baseline is None else baseline
    return [run.summary("none" if spec is None else spec) for run in runs], compared


def _check_not_of_another(root: Path, runs: Sequence[Run]) -> None:
    """Refuse the folder of a run, whose page is of that run, for anything else."""
    if RunStore(root).exists() and [run.path.resolve() for run in runs] != [root.resolve()]:
        raise ArgumentError(f"{root} holds a run, whose own report goes there. Choose another folder for this one.")


def _json(content: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=1)
