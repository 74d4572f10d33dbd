"""The rows of a finished set's manifest."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Part"]


@dataclass(frozen=True, slots=True)
class Part:
    """One picture of the finished set: a row of the manifest.

    ``file`` is relative to the set; ``sha256`` is of it, ``original_sha256`` of the candidate that it was made from.
    ``judged_by`` names the people who looked at it, with ``; `` between; empty if the screening alone kept it.
    """

    file: str
    label: str
    style: str
    sha256: str
    width: int
    height: int
    original: str
    original_sha256: str
    conversion: str
    source: str
    author: str
    licence: str
    judged_by: str
