"""Tables for papers, of one or several runs: LaTeX, Markdown, CSV and JSON, from the stores alone.

The ImageNet-C table has the columns of Hendrycks & Dietterich (ICLR 2019) and of AugMix (Hendrycks et al., ICLR 2020):
clean error, mCE, and the CE of the 15 corruptions in the published order by family. The ImageNet-R table has those of
Hendrycks et al. (ICCV 2021), all of them errors: ImageNet-200, ImageNet-R, and the gap.
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from rich.table import Table
from rich.text import Text

from oodometer.comparison.reading import C, R, check_comparable
from oodometer.errors import ArgumentError, MetricError
from oodometer.families import FAMILIES
from oodometer.metrics import BaselineSpec, Estimate
from oodometer.metrics.intervals import complement
from oodometer.outfolder import mapped_errors, write_atomically
from oodometer.report import Summary
from oodometer.report.layout import safe_text, table_grid
from oodometer.report.notebook import notebook_html
from oodometer.report.summary import BaselineName, Corruptions, Renditions
from oodometer.report.words import UNDEFINED, counted, one_line, percent, spreadsheet_cell, told_apart
from oodometer.run import Run
from oodometer.types import Protocol

__all__ = ["FORMAT", "Column", "PaperTable", "PaperTables", "TableResults", "TableRow", "paper_tables", "write_tables"]

_Cell = TypeVar("_Cell")

FORMAT = 1
"""Of the JSON form of a table: 1 - first."""

_BEGINNINGS = {
    "tex": b"% \\usepackage{booktabs}",
    "md": b"| Network |",
    "csv": b"network,group,column,value,",
    "json": b'{\n "format": ',
}
"""The endings of the files, and what those of ours begin with."""

_SHORT = {
    "gaussian_noise": "Gauss.",
    "shot_noise": "Shot",
    "impulse_noise": "Impulse",
    "defocus_blur": "Defocus",
    "glass_blur": "Glass",
    "motion_blur": "Motion",
    "zoom_blur": "Zoom",
    "snow": "Snow",
    "frost": "Frost",
    "fog": "Fog",
    "brightness": "Bright",
    "contrast": "Contrast",
    "elastic_transform": "Elastic",
    "pixelate": "Pixel",
    "jpeg_compression": "JPEG",
}
"""The headings of the papers."""


@dataclass(frozen=True, slots=True)
class Column:
    """A number of every run; less of it is better. ``group`` stands above several columns, ``name`` is for programs."""

    name: str
    title: str
    group: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One run: what the table calls it, and its numbers in the order of the columns; ``None`` where there is none."""

    network: str
    cells: tuple[Estimate | None, ...]


@dataclass(frozen=True, slots=True)
class TableResults:
    """A table as JSON: every number is a fraction (an error of 61 % is 0.61) with its 95 % interval.

    ``caption`` says in words what was measured and how, ``baseline`` what CEs are relative to.
    """

    format: int
    name: str
    caption: str
    protocol: Protocol
    baseline: BaselineName | None
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]


@dataclass(frozen=True, slots=True)
class PaperTable:
    """Estimates by run and column, all of them fractions that are printed in percent, to one decimal.

    ``name`` is that of its files, ``caption`` says what was measured and how. ``baseline`` is what CEs are relative to.
    """

    name: str
    caption: str
    protocol: Protocol
    baseline: BaselineName | None
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, tuple[Estimate | None, ...]], ...]

    def latex(self, *, intervals: bool = False) -> str:
        """Return the table for the package booktabs, the best of each column in bold."""
        groups = [(group, len(list(columns))) for group, columns in itertools.groupby(c.group for c in self.columns)]
        heads = [
            rf"\multicolumn{{{n}}}{{c}}{{{_tex(group)}}}" if group else " & ".join([""] * n) for group, n in groups
        ]
        ends = list(itertools.accumulate((n for _, n in groups), initial=2))
        rules = [
            rf"\cmidrule(lr){{{a}-{b - 1}}}" for (group, _), a, b in zip(groups, ends, ends[1:], strict=False) if group
        ]
        lines = [
            "% \\usepackage{booktabs}; wide: put it into \\resizebox{\\textwidth}{!}{...}",
            rf"\begin{{tabular}}{{l{'c' * len(self.columns)}}}",
            r"\toprule",
            *([rf" & {' & '.join(heads)} \\", " ".join(rules)] if rules else []),
            rf"Network & {' & '.join(_tex(column.title) for column in self.columns)} \\",
            r"\midrule",
            *(rf"{_tex_start(name)} & {' & '.join(cells)} \\" for name, cells in self._cells(_tex_cell, intervals)),
            r"\bottomrule",
            r"\end{tabular}",
            *(f"% {line}" for line in self.caption.splitlines()),
        ]
        return "\n".join(lines) + "\n"

    def markdown(self, *, intervals: bool = False) -> str:
        """Return the table in GitHub's Markdown, the best of each column in bold."""
        titles = ["Network", *self._titles()]
        lines = [
            f"| {' | '.join(titles)} |",
            f"| --- |{' ---: |' * len(self.columns)}",
            *(f"| {_md(name)} | {' | '.join(cells)} |" for name, cells in self._cells(_md_cell, intervals)),
            "",
            _md(self.caption),
        ]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Return the numbers, a line each, in percent to four decimals, with the ends of their intervals."""
        buffer = io.StringIO()
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow(["network", "group", "column", "value", "low", "high", "images"])
        for name, estimates in self.rows:
            for column, estimate in zip(self.columns, estimates, strict=True):
                numbers = ["", "", "", ""] if estimate is None else [
                    *(f"{100 * end:.4f}" for end in (estimate.value, estimate.low, estimate.high)), estimate.n
                ]  # fmt: skip
                writer.writerow([spreadsheet_cell(name), column.group, column.title, *numbers])
        return buffer.getvalue()

    def results(self) -> dict[str, Any]:
        """Turn the table into plain JSON values: fractions, each with its interval; the fields of ``TableResults``."""
        rows = tuple(TableRow(name, estimates) for name, estimates in self.rows)
        content = TableResults(FORMAT, self.name, self.caption, self.protocol, self.baseline, self.columns, rows)
        plain: dict[str, Any] = msgspec.to_builtins(content)
        plain["protocol"]["label"] = self.protocol.label
        return plain

    def _repr_html_(self) -> str:
        return notebook_html([self._grid()])

    def _grid(self) -> Table:
        table = table_grid(None, self.caption)
        for title in ("Network", *self._titles()):
            table.add_column(title)
        for name, cells in self._cells(_bold_cell, intervals=False):
            table.add_row(safe_text(one_line(name)), *cells)
        return table

    def _titles(self) -> list[str]:
        """Write the headings in one line, each with its group."""
        return [f"{column.group}: {column.title}".removeprefix(": ") for column in self.columns]

    def _cells(self, cell: Callable[[str, str, bool], _Cell], intervals: bool) -> list[tuple[str, list[_Cell]]]:
        """Print each number, given with the ends of its interval if wanted and whether it is the best of its column."""
        best = [
            min((round(100 * e.value, 1) for e in column if e is not None), default=None)
            if len(self.rows) > 1
            else None
            for column in zip(*(estimates for _, estimates in self.rows), strict=True)
        ]
        return [
            (name, [_printed(e, least, cell, intervals) for e, least in zip(estimates, best, strict=True)])
            for name, estimates in self.rows
        ]


class PaperTables(tuple[PaperTable, ...]):
    """Tables that show themselves below each other in a notebook."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self)


def paper_tables(runs: Sequence[Run], baseline: BaselineSpec = None) -> PaperTables:
    """Make the tables of runs that were measured alike: ImageNet-C, and ImageNet-R if all have it.

    Parameters
    ----------
    runs
        One or more.
    baseline
        What CEs are divided by, of all runs; by default what the first one was made with.

    Returns
    -------
    PaperTables
        A tuple of tables.

    Raises
    ------
    ArgumentError
        If there is no run, or the baseline is unknown.
    MetricError
        If the runs have different images, label spaces or protocols, or no numbers for a table.
    """
    if not runs:
        raise ArgumentError("A table needs a run at least.")
    for name in (C, R):
        having = [run for run in runs if run.manifest.benchmark(name) is not None]
        if having:  # those without have no such table, but the clean images of others are compared all the same
            check_comparable(having, name)
    spec = runs[0].manifest.baseline if baseline is None else baseline
    summaries = [run.summary(("none" if spec is None else spec) if _has_errors(run) else None) for run in runs]
    names = _names(runs)
    tables = [table for table in (_of_c(names, summaries), _of_r(names, summaries)) if table is not None]
    if not tables:
        raise MetricError("These runs have no numbers that the tables of papers have.")
    return PaperTables(tables)


def write_tables(
    runs: Sequence[Run], folder: str | os.PathLike[str], baseline: BaselineSpec = None, *, intervals: bool = False
) -> list[Path]:
    """Write the tables of ``paper_tables`` into a folder, each as .tex, .md, .csv and .json; return the files.

    A table of an earlier call that these runs do not have is removed, so that no paper goes on to print it.

    Raises
    ------
    StoreError
        If a file cannot be written, or removed.
    """
    written = []
    for table in paper_tables(runs, baseline):
        contents = {
            "tex": table.latex(intervals=intervals).encode(),
            "md": table.markdown(intervals=intervals).encode(),
            "csv": table.csv().encode(),
            "json": msgspec.json.format(msgspec.json.encode(table.results()), indent=1) + b"\n",
        }
        for ending, content in contents.items():
            path = Path(folder) / f"{table.name}.{ending}"
            write_atomically(path, content)
            written.append(path)
    _remove_others(Path(folder), written)
    return written


def _remove_others(folder: Path, written: Sequence[Path]) -> None:
    """Remove the tables of earlier calls from a folder; whatever begins otherwise is not ours."""
    for name, (ending, beginning) in itertools.product((C, R), _BEGINNINGS.items()):
        path = folder / f"{name}.{ending}"
        if path not in written and path.is_file():
            with mapped_errors(f"removing {path}"):
                if path.read_bytes().startswith(beginning):
                    path.unlink()


def _has_errors(run: Run) -> bool:
    """Return whether a baseline means something to the run: one of images with labels, not of shifted sets alone."""
    record = run.manifest.benchmark(C)
    return record is not None and record.labelled


def _names(runs: Sequence[Run]) -> list[str]:
    """Name each run by its model, and by its folder too where that is not enough, or its path where that is not."""
    models = [run.manifest.model.name for run in runs]
    return told_apart(models, [run.path.name for run in runs], [str(run.path) for run in runs])


def _of_c(names: Sequence[str], summaries: Sequence[Summary]) -> PaperTable | None:
    parts = [summary.corruptions for summary in summaries if summary.corruptions is not None]
    if len(parts) < len(summaries) or not any(part.rows for part in parts):
        return None
    first = parts[0]
    relative = first.baseline is not None
    columns = [Column("clean_error", "Error")]
    columns += [Column("mce", "mCE") if relative else Column("mean_error", "Mean error")]
    columns += [
        Column(name, _SHORT[name], family.capitalize()) for family, members in FAMILIES.items() for name in members
    ]
    rows = []
    for name, part in zip(names, parts, strict=True):
        of = {row.name: row.ce if relative else row.mean for row in part.rows}
        mean = part.mce if relative else (None if part.missing else part.mean_error)
        rows.append((name, (part.clean_error, mean, *(of.get(member) for member in _SHORT))))
    what = f"CE relative to {first.baseline.name}" if first.baseline else "mean top-1 error over the five severities"
    caption = (
        f"Clean error, {'mCE' if relative else 'mean error'}, and the {what}, in percent. "
        f"{first.dataset}, {_measured(parts, 'image')}; protocol: {first.protocol.label}."
    )
    return PaperTable("imagenet-c", caption, first.protocol, first.baseline, tuple(columns), tuple(rows))


def _of_r(names: Sequence[str], summaries: Sequence[Summary]) -> PaperTable | None:
    parts = [summary.renditions for summary in summaries if summary.renditions is not None]
    if len(parts) < len(summaries):
        return None
    rows = tuple(
        (
            name,
            (
                None if part.clean_accuracy is None else complement(part.clean_accuracy),
                complement(part.accuracy),
                part.gap,
            ),
        )
        for name, part in zip(names, parts, strict=True)
    )
    first = parts[0]
    caption = (
        "Error among the 200 classes of ImageNet-R on clean images and on renditions, in percent, and the difference. "
        f"{first.dataset}, {_measured(parts, 'rendition')}; protocol: {first.protocol.label}."
    )
    columns = (Column("clean_error", "ImageNet-200"), Column("error", "ImageNet-R"), Column("gap", "Gap"))
    return PaperTable("imagenet-r", caption, first.protocol, None, columns, rows)


def _measured(parts: Sequence[Corruptions] | Sequence[Renditions], noun: str) -> str:
    """Say how many images the runs measured."""
    return counted((part.counts.measured for part in parts), noun)


def _printed(
    estimate: Estimate | None, least: float | None, cell: Callable[[str, str, bool], _Cell], intervals: bool
) -> _Cell:
    if estimate is None:
        return cell(UNDEFINED, "", False)
    ends = f"[{percent(estimate.low)}, {percent(estimate.high)}]" if intervals else ""
    return cell(percent(estimate.value), ends, round(100 * estimate.value, 1) == least)


def _bold_cell(value: str, _: str, best: bool) -> Text:
    return Text(value, style="bold" if best else "")


def _tex_cell(value: str, ends: str, best: bool) -> str:
    value = rf"\textbf{{{value}}}" if best else value
    return rf"{value} {{\scriptsize {ends}}}" if ends else value


def _md_cell(value: str, ends: str, best: bool) -> str:
    return " ".join(filter(None, [f"**{value}**" if best else value, ends]))


_TEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # In the encoding that LaTeX begins with, these would be printed as other characters.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in one_line(text))


def _tex_start(text: str) -> str:
    """Keep the line before from taking what a row begins with for an option of its own."""
    return f"{{}}{_tex(text)}" if one_line(text)[:1] in ("[", "*") else _tex(text)


def _md(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#&~$])", r"\\\1", one_line(text))
