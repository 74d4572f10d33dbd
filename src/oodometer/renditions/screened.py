"""The table of decisions: a row for each candidate, with its reasons and what was measured of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

from oodometer.errors import DatasetError
from oodometer.renditions.collection import Candidate, Collection
from oodometer.renditions.reasons import REASONS, Decision, decision_of
from oodometer.renditions.rows import read_rows, write_rows

__all__ = ["SCREENING", "Finding", "Screened", "decided", "read_screening", "write_screening"]

SCREENING = "screening.csv"
"""The table of decisions in the folder of a collection."""

_MADE_BY = "oodometer renditions screen"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that speaks for a decision: ``reason`` is one of ``REASONS``, ``related`` the other picture's path."""

    reason: str
    detail: str = ""
    related: str = ""


@dataclass(frozen=True, slots=True)
class Screened:
    """The automatic decision about one candidate.

    ``reason`` is the weightiest one and ``also`` are the others, with spaces between; ``related`` is another picture
    that the reason is about (``clean:`` before one of the clean images), ``detail`` says more. ``conversion`` is what
    an export does to the picture. ``extension`` is that under which the file can be copied as it is, or empty.
    """

    path: str
    decision: Decision
    reason: str = ""
    also: str = ""
    related: str = ""
    detail: str = ""
    label: str = ""
    style: str = ""
    source: str = ""
    licence: str = ""
    author: str = ""
    conversion: str = ""
    extension: str = ""
    format: str = ""
    width: int = 0
    height: int = 0
    sha256: str = ""
    pixels: str = ""

    @property
    def shown(self) -> bool:
        """Whether a person is shown the picture: it is kept, or a person is asked about it."""
        return self.decision in {"keep", "convert", "review"} and bool(self.pixels)


def decided(candidate: Candidate, found: Sequence[Finding], measured: dict[str, str | int]) -> Screened:
    """Return the decision that the findings about a candidate lead to.

    Parameters
    ----------
    candidate, found
        The candidate, and everything that was found.
    measured
        The fields of ``Screened`` from ``conversion`` on.
    """
    order = list(REASONS)
    first, *rest = sorted(found, key=lambda finding: order.index(finding.reason)) or [Finding("")]
    said = {f.name: getattr(candidate, f.name) for f in fields(Candidate) if f.name not in {"problem", "detail"}}
    also = " ".join(dict.fromkeys(finding.reason for finding in rest))
    return Screened(
        **said,
        decision=decision_of(first.reason),
        reason=first.reason,
        also=also,
        related=first.related,
        detail=first.detail,
        **measured,  # type: ignore[arg-type]  # by name
    )


def write_screening(collection: Collection, rows: Sequence[Screened]) -> None:
    """Write the table into the collection's folder, in place of an earlier one."""
    write_rows(collection.path / SCREENING, Screened, rows)


def read_screening(collection: Collection) -> list[Screened]:
    """Read the table of a collection.

    Raises
    ------
    DatasetError
        If there is none, it cannot be read, or the table of candidates has changed since.
    """
    path = collection.path / SCREENING
    rows = read_rows(path, Screened, f"{_MADE_BY} {collection.path}")
    if unknown := [row.reason for row in rows if row.reason and row.reason not in REASONS]:
        raise DatasetError(f"{path} has the unknown reason {unknown[0]!r}. Make it again with `{_MADE_BY}`.")
    here = [(c.path, c.label, c.style, c.source, c.licence, c.author) for c in collection.candidates]
    if here != [(r.path, r.label, r.style, r.source, r.licence, r.author) for r in rows]:
        raise DatasetError(
            f"{path} is not of the present table of candidates. Run `{_MADE_BY} {collection.path}` again."
        )
    return rows
