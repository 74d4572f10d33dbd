"""Whether an exported result follows from its predictions."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Literal

import msgspec

from oodometer.errors import OodometerError
from oodometer.leaderboard.entry import Entry, entry_of, read_entry
from oodometer.report.words import listed
from oodometer.run import Run

__all__ = ["Validation", "validate"]

CLOSE = 1e-9
"""How far two numbers may differ that were computed by other versions of NumPy or SciPy."""


@dataclass(frozen=True, slots=True)
class Validation:
    """What came of it: ``"confirmed"``, ``"refuted"``, or ``"open"`` where there are no predictions to tell by.

    ``findings`` are sentences that say why.
    """

    verdict: Literal["confirmed", "refuted", "open"]
    findings: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([self.verdict, *self.findings])


def validate(path: str | os.PathLike[str], run: str | os.PathLike[str] | None = None) -> Validation:
    """Compute the numbers of an exported result again from the predictions.

    Parameters
    ----------
    path
        The exported file.
    run
        The folder of the run. Without it nothing but the form of the file can be checked.

    Raises
    ------
    StoreError
        If the file is no exported result.
    """
    entry = read_entry(path)
    if run is None:
        return Validation("open", ("The predictions are not here, so nobody can tell whether the numbers follow.",))
    try:
        found = entry_of(Run(run))
    except OodometerError as error:
        return Validation("open", (f"The predictions cannot be read: {error}",))
    findings = (*_of_files(entry, found), *_of_record(entry, found), *_of_numbers(entry, found))
    if findings:
        return Validation("refuted", findings)
    said = f"All {len(entry.numbers)} numbers follow from the {len(entry.predictions)} files of predictions."
    return Validation("confirmed", (said,))


def _of_files(entry: Entry, found: Entry) -> tuple[str, ...]:
    """Name files of predictions that are missing, changed, or besides."""
    missing = sorted(entry.predictions.keys() - found.predictions.keys())
    besides = sorted(found.predictions.keys() - entry.predictions.keys())
    changed = sorted(
        name for name, digest in entry.predictions.items() if found.predictions.get(name, digest) != digest
    )
    said = {"missing": missing, "besides": besides, "of other content": changed}
    return tuple(f"Files of predictions {what}: {listed(names)}." for what, names in said.items() if names)


def _of_record(entry: Entry, found: Entry) -> tuple[str, ...]:
    """Name what is said otherwise of model, data, protocol and baseline."""
    names = [field.name for field in fields(Entry) if field.name not in ("numbers", "predictions")]
    one, other = (msgspec.to_builtins(each) for each in (entry, found))
    return tuple(f"{name} is not what the run's manifest says." for name in names if one[name] != other[name])


def _of_numbers(entry: Entry, found: Entry) -> tuple[str, ...]:
    findings = [
        f"{title}: claimed, and does not follow from the run." for title in entry.numbers if title not in found.numbers
    ]
    findings += [f"{title}: left out." for title in found.numbers if title not in entry.numbers]
    for title in entry.numbers.keys() & found.numbers.keys():
        one, other = entry.numbers[title], found.numbers[title]
        ends = [(getattr(one, f.name), getattr(other, f.name)) for f in fields(one)]
        if any(abs(a - b) > CLOSE * max(1, abs(b)) for a, b in ends):
            findings.append(f"{title}: {one.value} is claimed, {other.value} follows.")
    return tuple(sorted(findings))
