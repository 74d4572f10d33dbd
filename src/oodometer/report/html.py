"""The result as a page that stands alone, and as a table for notebooks. The pages are in ``templates/``."""

from __future__ import annotations

import base64
import functools

import jinja2

from oodometer.families import SEVERITIES
from oodometer.report import heat, words
from oodometer.report.facts import facts
from oodometer.report.headlines import headlines
from oodometer.report.shift_text import beyond_words
from oodometer.report.summary import Summary

__all__ = ["page_html", "table_html"]


def page_html(summary: Summary) -> str:
    """Write the whole report as one self-contained page: no network, no script, pictures inside.

    Parameters
    ----------
    summary
        What the run says.
    """
    return _render("report.html", summary)


def table_html(summary: Summary) -> str:
    """Write the tables of the report alone, as a piece of HTML for a notebook.

    Parameters
    ----------
    summary
        What the run says.
    """
    return _render("table.html", summary)


def _render(template: str, summary: Summary) -> str:
    return (
        _environment()
        .get_template(template)
        .render(summary=summary, headlines=headlines(summary), facts=facts(summary))
    )


# The characters that turn the direction of what follows: a name with one could be read as another.
_TURNING = {ord(c): f"\\u{ord(c):04x}" for c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"}


def _in_order(value: object) -> object:
    """Make the direction characters of a text visible, so that they can turn nothing."""
    return value.translate(_TURNING) if isinstance(value, str) else value


@functools.cache
def _environment() -> jinja2.Environment:
    # Every name of a model, class or file comes from outside: autoescape makes them text. Names that the template gets
    # wrong raise, rather than print nothing.
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("oodometer.report"),
        autoescape=True,
        finalize=_in_order,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"severities": SEVERITIES, "light": heat.LIGHT, "dark": heat.DARK}
    environment.filters |= {
        "beyond": beyond_words,
        "base64": lambda content: base64.b64encode(content).decode("ascii"),
        "count": words.count,
        "decimal": words.decimal,
        "heat": heat.step,
        "interval": words.interval,
        "percent": words.percent,
        "spaced": words.spaced,
    }
    return environment
