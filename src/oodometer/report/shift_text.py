"""What is behind the accuracy on shifted images, as text: by style, by class, what is said instead."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from oodometer.metrics import Estimate
from oodometer.report.layout import pairs_grid, safe_text, table_grid, with_ends
from oodometer.report.shift import BeyondLine, NewPair, OfStyle, ShiftDetails, Wrong
from oodometer.report.words import count, interval, listed, percent

__all__ = ["beyond_words", "shift_parts"]

_STYLES, _FEW, _STYLE = 24, 3, 14
"""How many styles and how many confusions are shown, and how many characters of a style."""


def shift_parts(title: str, details: ShiftDetails) -> Iterator[RenderableType]:
    """Lay out what is known of one set, each part with an empty line before it.

    Parameters
    ----------
    title
        What people call the set.
    details
        What is known.
    """
    if details.styles:
        yield ""
        yield _styles(title, details)
    yield ""
    yield Text(f"{title} in detail, in percent", style="bold")
    yield pairs_grid(_pairs(details))


def beyond_words(found: BeyondLine) -> str:
    """Say what the distance from a line of published models is a distance from."""
    return (
        f"points beyond the {percent(found.expected)} that models of ordinary training reach on the published images "
        f"at this clean accuracy (line of {listed(found.models)}, taken as exact)"
    )


def _styles(title: str, details: ShiftDetails) -> Table:
    shown = sorted(details.styles, key=lambda one: -one.n)[:_STYLES]
    rest = len(details.styles) - len(shown)
    caption = (
        "Clean: the clean images of the style's own classes, weighted alike. Adjusted: over all classes, if each style "
        "had them all and were as much harder for each."
    )
    more = f" {count(rest, 'style')} of fewer images not shown." if rest else ""
    table = table_grid(f"{title} by style, in percent with 95 % intervals", caption + more)
    for heading in ("style", "images", "accuracy", "clean", "gap", "adjusted"):
        table.add_column(heading, justify="right" if heading == "images" else "left")
    for one in details.styles:
        if one in shown:
            table.add_row(*_of_style(one))
    return table


def _of_style(one: OfStyle) -> list[Text]:
    numbers = (with_ends(found) for found in (one.accuracy, one.clean, one.gap, one.adjusted))
    return [safe_text(one.name or "(none)", _STYLE), *map(Text, (f"{one.n:,}", *numbers))]


def _pairs(details: ShiftDetails) -> Iterator[tuple[str, str]]:
    yield "Class-balanced accuracy", f"{_number(details.balanced_accuracy)}, every class counted alike"
    if (both := details.balanced) is not None:
        of = count(both.classes, "class", "classes")
        yield (
            "Class-balanced gap",
            f"{_number(both.gap)} points over {of} of both: clean {_number(both.clean)} less {_number(both.accuracy)}",
        )
    if details.beyond_line is not None:
        yield "Effective robustness", f"{_number(details.beyond_line.difference)} {beyond_words(details.beyond_line)}"
    often = [wrong for wrong in details.wrong if wrong.n > 1][:_FEW]
    if often:
        yield "Named wrongly most", f"{'; '.join(map(_wrong, often))}; of {count(often[0].share.n, 'error')}"
    sure = [pair for pair in details.new_pairs if pair.difference.low > 0][:_FEW]
    if sure:
        yield "Confused by the shift", "; ".join(map(_new, sure))


def _number(estimate: Estimate) -> str:
    return f"{percent(estimate.value)} {interval(estimate)}"


def _wrong(wrong: Wrong) -> str:
    return f"{_short(wrong.name)} {wrong.n:,} times"


def _new(pair: NewPair) -> str:
    return (
        f"{_short(pair.name)} called {_short(pair.called)} ({percent(pair.rate.value)} % of "
        f"{count(pair.rate.n, 'image')}, clean {percent(pair.clean_rate.value)} %)"
    )


def _short(name: str) -> str:
    """Cut a name, so that three of them fit into a sentence."""
    return name if len(name) <= 30 else f"{name[:27]}..."
