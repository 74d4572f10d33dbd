"""A comparison as plain text of at most 100 columns."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from oodometer.families import IMAGENET_C
from oodometer.report.differences import Effective, Numbers, Pair, Tested
from oodometer.report.layout import notes_grid, pairs_grid, plain_text, safe_text, table_grid, with_ends
from oodometer.report.notebook import notebook_html
from oodometer.report.words import count, p_value

__all__ = ["comparison_html", "comparison_text"]


def comparison_text(comparison: Numbers) -> str:
    """Lay out the whole comparison from top to bottom."""
    return plain_text(_parts(comparison))


def comparison_html(comparison: Numbers) -> str:
    """Write the same as a piece of HTML for a notebook."""
    return notebook_html(_parts(comparison))


def _parts(comparison: Numbers) -> Iterator[RenderableType]:
    yield pairs_grid(_facts(comparison))
    for table in _numbers(comparison):
        yield ""
        yield table
    for pair in comparison.pairs:
        yield ""
        yield _pair(pair, comparison)
    for found in comparison.effective:
        yield ""
        yield _effective(found, comparison)
    if comparison.notes:
        yield ""
        yield Text("Before you quote these numbers", style="bold")
        yield notes_grid(comparison.notes)


def _facts(comparison: Numbers) -> Iterator[tuple[str, str]]:
    for run in comparison.runs:
        yield run.letter, f"{run.model} ({run.folder})"
    first = comparison.runs[0]
    shared = f"{count(first.images, 'image')} of {comparison.dataset} that all runs have"
    if first.renditions:
        shared += f", and {count(first.renditions, 'rendition')}"
    yield "Compared on", shared
    dropped = [f"{run.letter} {run.dropped + run.dropped_renditions:,}" for run in comparison.runs]
    yield "Dropped", f"images that only some runs have: {', '.join(dropped)}"
    yield "Protocol", comparison.protocol.label
    source = f"{comparison.baseline}: {comparison.baseline_source}; taken as exact"
    yield "Baseline", "none" if comparison.baseline is None else source


def _mean_title(comparison: Numbers) -> str:
    counted = sum(name in IMAGENET_C for name in comparison.corruptions)
    return "mean error" if counted == len(IMAGENET_C) else f"mean error ({counted} of {len(IMAGENET_C)})"


def _numbers(comparison: Numbers) -> Iterator[Table]:
    """Tabulate the numbers of every run on the shared images."""
    columns = {"clean error": "clean_error", _mean_title(comparison): "mean_error"}
    if comparison.baseline is not None:
        columns[f"mCE ({comparison.baseline})"] = "mce"
    yield _of_runs("On the shared images, in percent, with 95 % intervals", columns, comparison)
    if comparison.runs[0].renditions:
        columns = {"ImageNet-R accuracy": "accuracy_r", "gap, clean minus ImageNet-R": "gap"}
        yield _of_runs("On the shared renditions", columns, comparison)


def _of_runs(title: str, columns: dict[str, str], comparison: Numbers) -> Table:
    table = table_grid(title)
    table.add_column("")
    for name in columns:
        table.add_column(safe_text(name, 30))
    for run in comparison.runs:
        table.add_row(run.letter, *(with_ends(getattr(run, field)) for field in columns.values()))
    return table


def _pair(pair: Pair, comparison: Numbers) -> Table:
    """Tabulate the differences of one pair."""
    tests = "p: exact tests on the same images (McNemar's"
    if pair.corruptions:
        tests += (
            f"; for a corruption, of sign flips). Holm: adjusted for the {count(len(pair.corruptions), 'corruption')}."
        )
    else:
        tests += ")."
    table = table_grid(f"{pair.second} less {pair.first}, in points, with 95 % intervals", tests)
    table.add_column("")
    table.add_column("difference")
    table.add_column("p", justify="right")
    table.add_column("p (Holm)" if pair.corruptions else "", justify="right")
    for title, found in (
        ("Clean error", pair.clean_error),
        (_mean_title(comparison).capitalize(), pair.mean_error),
        (f"mCE ({comparison.baseline})", pair.mce),
        ("ImageNet-R accuracy", pair.accuracy_r),
        ("Gap, clean minus ImageNet-R", pair.gap),
    ):
        if isinstance(found, Tested):
            table.add_row(safe_text(title), with_ends(found.difference), p_value(found.p), "")
        elif found is not None:
            table.add_row(safe_text(title), with_ends(found), "", "")
    table.add_section()
    for row in pair.corruptions:
        table.add_row(safe_text(row.name), with_ends(row.difference), p_value(row.p), p_value(row.p_holm))
    return table


def _effective(found: Effective, comparison: Numbers) -> Table:
    table = table_grid(
        f"Effective robustness to {found.shift}: accuracy beyond what the clean accuracy explains",
        f"The distance, in points, from a line through these {len(comparison.runs)} models (logit scale, least "
        "squares); it says nothing beyond them.",
    )
    table.add_column("")
    table.add_column("clean accuracy")
    table.add_column(f"under {found.shift}")
    table.add_column("effective robustness")
    for row in found.rows:
        table.add_row(row.letter, *map(with_ends, (row.clean_accuracy, row.accuracy, row.effective_robustness)))
    return table
