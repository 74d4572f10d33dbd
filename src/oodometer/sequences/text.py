"""The numbers of a run over sequences as plain text of at most 100 columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from oodometer.metrics import Estimate
from oodometer.report.layout import notes_grid, pairs_grid, plain_text, safe_text, table_grid, with_ends
from oodometer.report.notebook import notebook_html
from oodometer.report.words import UNDEFINED, count, decimal, percent
from oodometer.sequences.summary import Number, SequenceRow, SequenceSummary

__all__ = ["SequenceTable"]


@dataclass(frozen=True, slots=True, repr=False)
class SequenceTable:
    """The numbers of a run over sequences as tables: ``str`` and ``print`` give plain text, a notebook shows HTML."""

    summary: SequenceSummary

    def __str__(self) -> str:
        return plain_text(_parts(self.summary))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return notebook_html(_parts(self.summary))


def _parts(summary: SequenceSummary) -> Iterator[RenderableType]:
    yield pairs_grid(_facts(summary))
    yield ""
    yield _rows(summary)
    yield ""
    if summary.baseline is not None:
        yield _relative(summary, summary.baseline.name)
        yield ""
    yield _numbers(summary)
    if summary.notes:
        yield ""
        yield Text("Before you quote these numbers", style="bold")
        yield notes_grid(summary.notes)


def _facts(summary: SequenceSummary) -> Iterator[tuple[str, str]]:
    model = summary.model
    yield "Model", model.name
    if model.normalization is None:
        yield "Normalisation", "none: the model takes the pixels as they are"
    else:
        yield "Normalisation", ", ".join(f"{name} {value}" for name, value in model.normalization.items())
    if model.resized:
        yield "Model input", f"{model.resized}: frames of another size were resized to it"
    yield from model.settings.items()
    yield "Sequences", f"{summary.data}: {count(len(summary.rows), 'perturbation')}"
    yield "Protocol", f"{summary.protocol.label}; order of seed {summary.protocol.seed}"
    yield "Difficulty", _difficulty(summary.difficulty)
    baseline = summary.baseline
    if baseline is None:
        yield "Baseline", "none"
    else:
        said = "taken as exact" if baseline.exact else "its own error is in the intervals"
        yield "Baseline", f"{baseline.name}: {baseline.source}; {said}"


def _difficulty(difficulty: int) -> str:
    apart = "with the frame before" if difficulty == 1 else f"with the one {difficulty} frames before"
    return f"{difficulty}: a frame is compared {apart}, in noises with the first"


def _rows(summary: SequenceSummary) -> Table:
    """Tabulate flip rate and top-5 distance of every perturbation."""
    table = table_grid(
        "Flip rate in percent and top-5 distance (T5D, 0 to 18), with 95 % intervals",
        "Each video is one outcome. A flip: the predicted class differs between two frames that are compared.",
    )
    for heading in ("perturbation", "videos", "frames", "against", "flip rate", "T5D"):
        table.add_column(heading, justify="right" if heading in {"videos", "frames"} else "left")
    for rows, heading in ((_counted(summary), ""), (_others(summary), "in no mean:")):
        if rows and heading:
            table.add_section()
            table.add_row(Text(heading, style="italic"))
        for row in rows:
            table.add_row(
                safe_text(row.name),
                f"{row.counts.measured:,}",
                str(row.frames),
                _against(row),
                with_ends(row.flip_rate),
                _distance(row.top5_distance),
            )
    return table


def _counted(summary: SequenceSummary) -> list[SequenceRow]:
    return [row for row in summary.rows if row.counted]


def _others(summary: SequenceSummary) -> list[SequenceRow]:
    return [row for row in summary.rows if not row.counted]


def _against(row: SequenceRow) -> str:
    return "the first" if row.step is None else "the one before" if row.step == 1 else f"{row.step} before"


def _distance(estimate: Estimate | None) -> str:
    if estimate is None:
        return UNDEFINED
    return f"{decimal(estimate.value):>5} [{decimal(estimate.low)}, {decimal(estimate.high)}]"


def _relative(summary: SequenceSummary, name: str) -> Table:
    """Tabulate the multiples of the baseline's numbers."""
    table = table_grid(f"In percent of {safe_text(name, 40)}, with 95 % intervals")
    for heading in ("perturbation", "flip rate", "T5D"):
        table.add_column(heading)
    for row in [*_counted(summary), *_others(summary)]:
        table.add_row(safe_text(row.name), with_ends(row.relative_flip_rate), with_ends(row.relative_top5_distance))
    return table


def _numbers(summary: SequenceSummary) -> Table:
    """Tabulate the numbers that a run is quoted by."""
    table = table_grid()
    for heading in ("in percent (T5D itself: 0 to 18)", "value", "95 % interval", "images", "better"):
        table.add_column(heading, justify="left" if heading.startswith("in") else "right")
    over = f" over {summary.over}"
    _add(table, f"Mean flip rate{over}", summary.mean_flip_rate, percent)
    _add(table, f"Mean T5D{over}", summary.mean_top5_distance, decimal)
    if summary.baseline is not None:
        of = f"(baseline {safe_text(summary.baseline.name, 30)})"
        named = ("mFR", "mT5D") if summary.whole else (f"Relative flip rate{over}", f"Relative T5D{over}")
        _add(table, f"{named[0]} {of}", summary.mfr, percent)
        _add(table, f"{named[1]} {of}", summary.mt5d, percent)
    return table


def _add(table: Table, title: str, number: Number, written: Callable[[float], str]) -> None:
    found = number.estimate
    if found is None:
        table.add_row(safe_text(title), UNDEFINED, "", "", "lower")
        return
    ends = f"[{written(found.low)}, {written(found.high)}]"
    table.add_row(safe_text(title), Text(written(found.value), style="bold"), ends, f"{found.n:,}", "lower")
