"""Templates to pages: whatever comes from outside is text in them, and turns or hides nothing that stands beside it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

import jinja2
from starlette.responses import HTMLResponse

from oodometer.corruptions.registry import groups
from oodometer.families import EXTRA, FAMILIES, RENDITIONS
from oodometer.report import words
from oodometer.viewing.outcomes import OUTCOMES

__all__ = ["STATIC", "page"]


@dataclass(frozen=True, slots=True)
class _Static:
    """A file that pages load."""

    text: str
    media_type: str


_KINDS = {"style.css": "text/css", "playground.js": "text/javascript", "icon.svg": "image/svg+xml"}

STATIC = {
    name: _Static(resources.files("oodometer.viewing").joinpath("static", name).read_text(encoding="utf-8"), kind)
    for name, kind in _KINDS.items()
}
"""The files that pages load, by name."""


def page(
    template: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **values: object
) -> HTMLResponse:
    """Fill in a template of ``templates/``."""
    return HTMLResponse(_environment().get_template(template).render(values), status, headers)


def _inert(value: object) -> object:
    """Write control and direction characters of a text from outside as what they are."""
    return words.printable(value) if type(value) is str else value


def _choices() -> dict[str, tuple[str, ...]]:
    """Return the corruptions to play with, by the headings of the list that they are picked from."""
    own = groups()["own"]
    return {**FAMILIES, "extra": EXTRA, "renditions": RENDITIONS, **({"own": own} if own else {})}


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("oodometer.viewing"),
        autoescape=True,
        finalize=_inert,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"choices": _choices, "outcome_words": OUTCOMES}
    environment.filters |= {
        "count": words.count,
        "interval": words.interval,
        "percent": words.percent,
        "spaced": words.spaced,
    }
    return environment
