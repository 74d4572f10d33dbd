"""The result as a page that stands alone, and as a table for notebooks. The pages are in ``templates/``."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
import typing
from collections.abc import Sequence

import jinja2
import markupsafe

from oodometer.families import SEVERITIES
from oodometer.report import heat, words
from oodometer.report.differences import Numbers
from oodometer.report.facts import facts
from oodometer.report.gallery import extremes, shown_images, shown_strips
from oodometer.report.headlines import headlines
from oodometer.report.page import cards, lettered, notes_of, published_rows, sets
from oodometer.report.panels import OfRun, cells
from oodometer.report.shift_text import beyond_words
from oodometer.report.summary import Summary

if typing.TYPE_CHECKING:
    from oodometer.report.drawing import PageCharts

__all__ = ["page_html", "table_html"]


def page_html(*summaries: Summary, compared: Numbers | None = None) -> str:
    """Write the whole report as one self-contained page: no network, pictures and the script for its tables inside.

    Parameters
    ----------
    summaries
        What one or several runs of the same images and protocol say.
    compared
        How several differ.
    """
    runs = lettered(summaries, compared)
    every = cells(runs)
    worst, best = extremes(every)
    script = _file("page.js")
    return (
        _environment()
        .get_template("report.html")
        .render(
            runs=runs,
            several=len(runs) > 1,
            first=summaries[0],
            compared=compared,
            cards=cards(runs),
            notes=notes_of(runs),
            cells=every,
            worst=worst,
            best=best,
            images=shown_images(runs, worst, best),
            sets=sets(runs),
            published=published_rows(runs),
            charts=_charts(runs, compared),
            script=markupsafe.Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii"),
        )
    )


def table_html(summary: Summary) -> str:
    """Write the tables of the report alone, as a piece of HTML for a notebook.

    Parameters
    ----------
    summary
        What the run says.
    """
    return _environment().get_template("table.html").render(summary=summary, headlines=headlines(summary))


def _charts(runs: Sequence[OfRun], compared: Numbers | None) -> PageCharts:
    # The chart library takes longer to import than all else here, and tables do without.
    from oodometer.report.drawing import page_charts

    return page_charts(runs, compared)


def _file(name: str) -> str:
    return importlib.resources.files("oodometer.report").joinpath("templates", name).read_text(encoding="utf-8")


def _finalized(value: object) -> object:
    """Make the direction characters of a text visible, so that they can turn nothing."""
    if isinstance(value, markupsafe.Markup):
        return value
    return words.in_order(value) if isinstance(value, str) else value


@functools.cache
def _environment() -> jinja2.Environment:
    # Every name of a model, class or file comes from outside: autoescape makes them text. Names that the template gets
    # wrong raise, rather than print nothing.
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("oodometer.report"),
        autoescape=True,
        finalize=_finalized,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "severities": SEVERITIES,
        "light": heat.LIGHT,
        "dark": heat.DARK,
    }
    environment.filters |= {
        "beyond": beyond_words,
        "base64": lambda content: base64.b64encode(content).decode("ascii"),
        "count": words.count,
        "counted": words.counted,
        "decimal": words.decimal,
        "facts": facts,
        "heat": heat.step,
        "interval": words.interval,
        "p_value": words.p_value,
        "percent": words.percent,
        "shown": shown_strips,
        "spaced": words.spaced,
    }
    return environment
