"""For the documentation site: docstrings are written as reStructuredText, and the site's builder reads Markdown.

An extension of griffe, which ``mkdocs.yml`` names. What our docstrings have of reStructuredText that Markdown reads
otherwise are simple tables and the two colons before a literal block.
"""

from __future__ import annotations

import re

import griffe

__all__ = ["Markdown", "to_markdown"]

_RULE = re.compile(r"=+( +=+)+")
_CODE = re.compile(r"(``.+?``)")


class Markdown(griffe.Extension):
    """Turns the docstring of every object that is loaded into Markdown."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:  # noqa: D102
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """Return a docstring with Markdown's tables, and one colon before a literal block."""
    lines, made = text.split("\n"), []
    while lines:
        line = lines.pop(0)
        if _RULE.fullmatch(line.strip()) and (end := _next_rule(lines)) is not None:
            made += _table(line, lines[:end])
            del lines[: end + 1]
        elif line.strip() != "::":
            made.append(re.sub(r"::$", ":", line))
    return "\n".join(made)


def _next_rule(lines: list[str]) -> int | None:
    return next((i for i, line in enumerate(lines) if _RULE.fullmatch(line.strip())), None)


def _table(rule: str, lines: list[str]) -> list[str]:
    """Return a table without a heading as Markdown; a line whose first cell is empty goes on with the row before it."""
    spans = [match.span() for match in re.finditer("=+", rule)]
    spans[-1] = (spans[-1][0], max([spans[-1][1], *map(len, lines)]))
    rows: list[list[str]] = []
    for line in lines:
        cells = [line[start:stop].strip() for start, stop in spans]
        if cells[0] or not rows:
            rows.append(cells)
        else:
            rows[-1] = [f"{before} {more}".strip() for before, more in zip(rows[-1], cells, strict=True)]
    head = [[""] * len(spans), ["---"] * len(spans)]
    return [f"| {' | '.join(map(_cell, row))} |" for row in (*head, *rows)]


def _cell(text: str) -> str:
    """Keep what Markdown would take for the end of a cell or for HTML, which it does not within code."""
    parts = _CODE.split(text.replace("|", r"\|"))
    return "".join(part if part.startswith("``") else part.replace("<", "&lt;") for part in parts)
