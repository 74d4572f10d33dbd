"""What became of a sweep: the key numbers of every run side by side, and why others failed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from oodometer.report import Summary
from oodometer.report.headlines import Headline, headlines
from oodometer.report.layout import notes_grid, plain_text, safe_text, table_grid
from oodometer.report.words import UNDEFINED, count, interval, one_line, percent, spreadsheet_cell

__all__ = ["Outcome", "Sweep"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one run.

    ``failed`` is why it is not there, or not whole; then there is no ``summary``. ``skipped`` is how many images could
    not be read. ``log`` is what its process printed.
    """

    model: str
    benchmark: str
    path: Path
    log: Path
    failed: str | None
    summary: Summary | None
    skipped: int

    @property
    def numbers(self) -> dict[str, Headline]:
        """The numbers that the run is quoted by, by their names."""
        return {} if self.summary is None else {line.title: line for line in headlines(self.summary)}


@dataclass(frozen=True, slots=True)
class Sweep:
    """All runs of a sweep, or of a shard of it; prints as a table for each benchmark."""

    path: Path
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The runs that failed."""
        return tuple(outcome for outcome in self.outcomes if outcome.failed is not None)

    @property
    def skipped(self) -> int:
        """How many images could not be read, in all runs together."""
        return sum(outcome.skipped for outcome in self.outcomes)

    def __str__(self) -> str:
        parts: list[RenderableType] = []
        for benchmark, titles, outcomes in self._tables():
            grid = table_grid(title=benchmark)
            grid.add_column("model")
            for title in titles:
                grid.add_column(title, justify="right")
            for outcome in outcomes:
                grid.add_row(safe_text(outcome.model), *_cells(outcome, titles))
            parts += [grid, ""]
        return plain_text([*parts, notes_grid(self._notes())])

    def markdown(self) -> str:
        """Return the tables as Markdown."""
        lines: list[str] = []
        for benchmark, titles, outcomes in self._tables():
            lines += [f"## {benchmark}", "", _row(["model", *titles]), _row(["---", *["---:"] * len(titles)])]
            lines += [_row([outcome.model, *_cells(outcome, titles)]) for outcome in outcomes]
            lines.append("")
        lines += [f"- {one_line(note)}" for note in self._notes()]
        return "\n".join(lines) + "\n"

    def csv(self) -> str:
        """Return every number on a line of its own, as CSV: fractions with the ends of their 95 % intervals."""
        sink = io.StringIO()
        writer = csv.writer(sink, lineterminator="\n")
        writer.writerow(["model", "benchmark", "number", "value", "low", "high", "images", "failed"])
        for outcome in self.outcomes:
            names = [spreadsheet_cell(outcome.model), spreadsheet_cell(outcome.benchmark)]
            if outcome.failed is not None:
                writer.writerow([*names, "", "", "", "", "", spreadsheet_cell(outcome.failed)])
            for line in outcome.numbers.values():
                if (found := line.estimate) is not None:
                    title = spreadsheet_cell(line.title)
                    writer.writerow([*names, title, found.value, found.low, found.high, line.images, ""])
        return sink.getvalue()

    def _tables(self) -> Iterator[tuple[str, list[str], list[Outcome]]]:
        """Yield each benchmark with the numbers that its runs have, and the runs."""
        for benchmark in dict.fromkeys(outcome.benchmark for outcome in self.outcomes):
            outcomes = [outcome for outcome in self.outcomes if outcome.benchmark == benchmark]
            yield benchmark, list(dict.fromkeys(title for one in outcomes for title in one.numbers)), outcomes

    def _notes(self) -> Iterator[str]:
        if self.failed:
            yield f"{count(len(self.failed), 'run')} of {len(self.outcomes)} failed; the same command tries again."
        for outcome in self.failed:
            yield f"{outcome.model} on {outcome.benchmark}: {outcome.failed} ({outcome.log})"
        for outcome in self.outcomes:
            if outcome.skipped:
                images = count(outcome.skipped, "image")
                yield f"{outcome.model} on {outcome.benchmark}: {images} could not be read; its report names them."
        if any(outcome.summary is not None for outcome in self.outcomes):
            yield "In percent, with 95 % intervals. What must be known before a number is quoted is in each report."


def _cells(outcome: Outcome, titles: list[str]) -> list[str]:
    """Write the numbers of a run, or that it failed, which is told below the table."""
    if outcome.failed is not None:
        return ["failed", *[""] * (len(titles) - 1)][: len(titles)]
    found = [outcome.numbers[title].estimate if title in outcome.numbers else None for title in titles]
    return [UNDEFINED if one is None else f"{percent(one.value)} {interval(one)}" for one in found]


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(one_line(cell).replace('|', chr(92) + '|') for cell in cells)} |"
