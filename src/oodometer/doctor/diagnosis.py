"""What an examination found: plain data, for people (``text.py``) and as JSON for programs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec
from rich.console import RenderableType

from oodometer.report.layout import pairs_grid, safe_text, table_grid
from oodometer.report.notebook import notebook_html
from oodometer.report.words import count, listed

__all__ = ["FORMAT", "Diagnosis", "Finding", "Findings", "Severity"]

FORMAT = 1
"""The version of the JSON form; raised when a key changes its meaning or goes."""

Severity: TypeAlias = Literal["fault", "note"]
"""A fault makes numbers wrong or reading fail; a note is allowed, but may surprise."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or odd, at one or many places.

    ``code`` names the kind of finding and never changes its meaning; ``where`` are all the places, as paths with ``/``
    relative to the root of the set, or to each of its cells if it is about names (empty if it is about the whole set);
    ``message`` says what it is, ``fix`` what to do.
    """

    severity: Severity
    code: str
    where: tuple[str, ...]
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What a path was taken for, what was looked at, and what was found: faults first, each in the order of the checks.

    ``kind`` is one of ``oodometer.datasets.recognise.KINDS``, or ``oodometer-build``; ``root`` is the folder or file
    really meant, ``said`` the sentence on that guess; ``looked_at`` counts what was read, such as
    ``{"cells": 75, "images": 3750000}``.
    """

    path: str
    kind: str
    root: str
    said: str
    looked_at: dict[str, int]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether there is no fault; notes are allowed."""
        return not self.faults

    @property
    def faults(self) -> tuple[Finding, ...]:
        """The findings that make the set unfit for use as it is."""
        return tuple(finding for finding in self.findings if finding.severity == "fault")

    @property
    def notes(self) -> tuple[Finding, ...]:
        """The findings that are allowed, but may surprise."""
        return tuple(finding for finding in self.findings if finding.severity == "note")

    def _repr_html_(self) -> str:
        return notebook_html(_parts(self))

    def to_json(self) -> str:
        """Return everything as JSON: the fields by name, ``format`` and ``ok``; all places of all findings."""
        content = {"format": FORMAT, "ok": self.ok, **{f.name: getattr(self, f.name) for f in dataclasses.fields(self)}}
        return msgspec.json.format(msgspec.json.encode(content), indent=1).decode()


def _parts(diagnosis: Diagnosis) -> Iterator[RenderableType]:
    looked_at = ", ".join(f"{number:,} {what}" for what, number in diagnosis.looked_at.items())
    yield pairs_grid([("Path", diagnosis.path), ("Taken for", diagnosis.said), ("Looked at", looked_at or "nothing")])
    faults = count(len(diagnosis.faults), "fault") if diagnosis.faults else "No faults"
    table = table_grid(f"{faults}, {count(len(diagnosis.notes), 'note')}")
    for heading in ("finding", "what", "where", "what to do"):
        table.add_column(heading)
    for finding in diagnosis.findings:
        kind = f"{finding.severity} {finding.code}"
        row = (kind, finding.message, listed(finding.where), finding.fix)
        table.add_row(*map(safe_text, row))
    yield table


@dataclass
class Findings:
    """Collects findings and counts while a set is examined."""

    found: list[Finding] = field(default_factory=list)
    looked_at: dict[str, int] = field(default_factory=dict)

    def add(self, severity: Severity, code: str, message: str, fix: str, where: Iterable[str] = ()) -> None:
        """Add a finding."""
        self.found.append(Finding(severity, code, tuple(map(_writable, where)), _writable(message), fix))

    def fault(self, code: str, message: str, fix: str, where: Iterable[str] = ()) -> None:
        """Add what makes the set unfit for use as it is."""
        self.add("fault", code, message, fix, where)

    def note(self, code: str, message: str, fix: str, where: Iterable[str] = ()) -> None:
        """Add what is allowed, but may surprise."""
        self.add("note", code, message, fix, where)

    def count(self, what: str, number: int) -> None:
        """Count what was looked at."""
        self.looked_at[what] = self.looked_at.get(what, 0) + number

    def sorted(self) -> Sequence[Finding]:
        """Return the faults, then the notes, each in the order in which they were added."""
        return sorted(self.found, key=lambda finding: finding.severity)  # "fault" < "note", and sorting is stable


def _writable(text: str) -> str:
    """Return a text in which bytes of a name that are not UTF-8 are written out, as no JSON can hold them."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
