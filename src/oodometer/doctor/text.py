"""A diagnosis in words."""

from __future__ import annotations

from collections.abc import Iterator
from textwrap import wrap

from oodometer.doctor.diagnosis import Diagnosis, Finding
from oodometer.report.words import count, printable

__all__ = ["as_text"]

_WIDTH = 100
_EXAMPLES = 5
_UNITS = ("bytes", "kB", "MB", "GB", "TB")


def as_text(diagnosis: Diagnosis) -> str:
    """Write a diagnosis for people: what was looked at, each finding with its fix and its first places, the verdict."""
    lines = [*wrap(printable(diagnosis.said), _WIDTH), f"Looked at: {_looked_at(diagnosis.looked_at)}."]
    for finding in diagnosis.findings:
        lines += ["", *_described(finding)]
    faults, notes = len(diagnosis.faults), len(diagnosis.notes)
    verdict = count(faults, "fault") if faults else "No faults"
    return "\n".join([*lines, "", f"{verdict}, {count(notes, 'note')}."])


def _described(finding: Finding) -> Iterator[str]:
    head = f"{finding.severity.upper()} {finding.code}: "
    yield from wrap(printable(finding.message), _WIDTH, initial_indent=head, subsequent_indent="  ")
    for place in finding.where[:_EXAMPLES]:
        yield f"    {printable(place)}"
    if len(finding.where) > _EXAMPLES:
        yield f"    and {len(finding.where) - _EXAMPLES:,} more"
    yield from wrap(finding.fix, _WIDTH, initial_indent="  Fix: ", subsequent_indent="       ")


def _looked_at(counts: dict[str, int]) -> str:
    nouns = {"classes": ("class", "classes")}
    parts = [
        count(number, *nouns.get(what, (what.removesuffix("s"), what)))
        for what, number in counts.items()
        if what != "bytes"
    ]
    size = [_written(counts["bytes"])] if counts.get("bytes") else []
    return ", ".join([*parts, *size]) or "nothing"


def _written(size: float) -> str:
    unit = 0
    while size >= 1000 and unit + 1 < len(_UNITS):
        size, unit = size / 1000, unit + 1
    return f"{size:,.1f} {_UNITS[unit]}" if unit else f"{size:,.0f} {_UNITS[unit]}"
