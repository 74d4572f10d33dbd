"""What the charts show, as plain data: from the summaries of one or several runs to series of points."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from oodometer.families import SEVERITIES
from oodometer.metrics import Estimate, ReliabilityBin
from oodometer.report.differences import Pair
from oodometer.report.summary import ChangeRow, Row, Summary
from oodometer.report.words import interval, percent, spaced

__all__ = ["Bar", "Cell", "OfRun", "Panel", "Point", "Series", "bars", "cells", "curves", "diagrams", "shares"]


@dataclass(frozen=True, slots=True)
class OfRun:
    """One of the runs of a report: the ``letter`` that tells it from others, empty where there is one, and its numbers.

    ``place`` counts from 0, and picks the colour. ``name`` is the model's, with the run's folder where several runs are
    of models of one name.
    """

    letter: str
    place: int
    summary: Summary
    name: str

    @property
    def title(self) -> str:
        """What the run is called among others: its letter and its name."""
        return f"{self.letter}: {self.name}".removeprefix(": ")


@dataclass(frozen=True, slots=True)
class Point:
    """An estimate, a fraction, at ``x``; ``words`` say it to who points at it."""

    x: float
    estimate: Estimate
    words: str


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together, by rising ``x``; ``place`` picks the colour, ``title`` is for the legend."""

    place: int
    title: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """One chart of lines: what it is of, and its series."""

    name: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One line of a chart of intervals."""

    name: str
    estimate: Estimate
    words: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One condition: the error (or the share of changes) of each run, ``None`` where one has it not."""

    corruption: str
    severity: int
    estimates: tuple[Estimate | None, ...]

    @property
    def mean(self) -> float:
        """The mean over the runs that have it."""
        values = [estimate.value for estimate in self.estimates if estimate is not None]
        return sum(values) / len(values)


def cells(runs: Sequence[OfRun]) -> tuple[Cell, ...]:
    """List the conditions at the five published severities, the worst first.

    Parameters
    ----------
    runs
        One or several.
    """
    by_run = [dict(shares(run)) for run in runs]
    names = dict.fromkeys(name for rows in by_run for name in rows)
    found = (
        Cell(name, severity, tuple(rows[name][k] if name in rows else None for rows in by_run))
        for name in names
        for k, severity in enumerate(SEVERITIES)
    )
    return tuple(sorted(found, key=lambda cell: -cell.mean))


def shares(run: OfRun) -> tuple[tuple[str, tuple[Estimate, ...]], ...]:
    """List the errors (or the shares of changes) of a run at the severities from 1 up, by corruption.

    Parameters
    ----------
    run
        The run.
    """
    return tuple((row.name, _estimates(row)) for row in _rows(run.summary))


def _rows(summary: Summary) -> tuple[Row | ChangeRow, ...]:
    part = summary.corruptions or summary.unlabelled
    return () if part is None else (*part.rows, *part.extra)


def _estimates(row: Row | ChangeRow) -> tuple[Estimate, ...]:
    return row.errors if isinstance(row, Row) else row.changes


def curves(runs: Sequence[OfRun]) -> tuple[Panel, ...]:
    """List, for each corruption that any run has, the error (or the share of changes) by severity, 0 being clean.

    Parameters
    ----------
    runs
        One or several.
    """
    by_run = [(run, dict(shares(run))) for run in runs]
    names = dict.fromkeys(name for _, rows in by_run for name in rows)
    return tuple(
        Panel(name, tuple(_curve(name, rows[name], run) for run, rows in by_run if name in rows)) for name in names
    )


def _curve(name: str, estimates: Sequence[Estimate], run: OfRun) -> Series:
    of = f"{run.letter}, " if run.letter else ""
    points = [
        Point(severity, estimate, f"{of}{spaced(name)}, severity {severity}: {_said(estimate)}")
        for severity, estimate in zip(SEVERITIES, estimates, strict=True)
    ]
    part = run.summary.corruptions
    if part is not None and part.clean_error is not None:
        points.insert(0, Point(0, part.clean_error, f"{of}clean: {_said(part.clean_error)}"))
    return Series(run.place, run.title, tuple(points))


def _said(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} % {interval(estimate)}"


def diagrams(run: OfRun) -> Panel:
    """List accuracy by confidence, clean against shifted: a reliability diagram, of the sets that have a confidence.

    Parameters
    ----------
    run
        The run.
    """
    found = enumerate(_binned(run.summary))
    return Panel(run.title, tuple(_diagram(place, title, bins) for place, (title, bins) in found))


def _binned(summary: Summary) -> Iterator[tuple[str, tuple[ReliabilityBin, ...]]]:
    part = summary.corruptions
    if part is not None and part.reliability is not None:
        yield "clean", part.reliability
    if part is not None and part.reliability_corrupted is not None:
        yield "corrupted", part.reliability_corrupted
    for title, shifted in summary.shifted_parts:
        if shifted.reliability is not None:
            yield title, shifted.reliability


def _diagram(place: int, title: str, bins: Sequence[ReliabilityBin]) -> Series:
    filled = [(one, one.confidence, one.accuracy) for one in bins if one.confidence is not None and one.accuracy]
    return Series(
        place,
        title,
        tuple(
            Point(sure, right, f"{title}, {percent(sure)} % sure: right in {_said(right)} of {one.n:,}")
            for one, sure, right in filled
        ),
    )


def bars(pair: Pair) -> tuple[Bar, ...]:
    """List the differences of two runs by corruption, in points.

    Parameters
    ----------
    pair
        The two runs.
    """
    return tuple(
        Bar(
            spaced(row.name),
            row.difference,
            f"{spaced(row.name)}, {pair.second} less {pair.first}: {percent(row.difference.value)} points "
            f"{interval(row.difference)}",
        )
        for row in pair.corruptions
    )
