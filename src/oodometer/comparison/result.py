"""A comparison as users hold it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from oodometer.comparison.text import comparison_html, comparison_text
from oodometer.report.differences import Numbers

__all__ = ["FORMAT", "Comparison"]

FORMAT = 1
"""The format of ``results``."""


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Numbers):
    """Runs compared on the images that all of them saw; ``print`` and a notebook give tables."""

    def __str__(self) -> str:
        return comparison_text(self)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return comparison_html(self)

    def results(self) -> dict[str, Any]:
        """Turn the comparison into plain JSON values; every number with its interval and ``n``."""
        content: dict[str, Any] = {"format": FORMAT} | msgspec.to_builtins(self)
        content["protocol"]["label"] = self.protocol.label
        return content
