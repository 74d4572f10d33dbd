"""Severity tables: the published constants of one corruption, and the rule for strengths between two of them."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass, fields

__all__ = ["EDITIONS", "Between", "Row", "Table", "column", "linear", "nearest"]

Row: typing.TypeAlias = tuple[float, ...]
"""The constants of one severity, in the order of the kernel's parameters."""

Rows: typing.TypeAlias = tuple[Row, Row, Row, Row, Row]
"""The constants of severities 1 to 5."""

Between: typing.TypeAlias = Callable[[Row, Row, float], Row]
"""A rule ``(low, high, t)`` for the constants a share ``t`` (between 0 and 1) of the way from one row to the next."""


SMALLEST_PART = 1e-6
"""The smallest part of the way between two rows: no visible difference, and no constant so small that kernels, which
divide by it, would divide by 0."""


def mix(low: float, high: float, t: float) -> float:
    """Return the number a share ``t`` of the way from ``low`` to ``high``."""
    return low + (high - low) * t


def linear(low: Row, high: Row, t: float) -> Row:
    """Mix each constant linearly."""
    return tuple(mix(a, b, t) for a, b in zip(low, high, strict=True))


def nearest(low: Row, high: Row, t: float) -> Row:
    """Take the nearer row as it is, halves up: for constants that have nothing between them."""
    return low if t < 0.5 else high


def column(*constants: float) -> Rows:
    """Write the five rows of a corruption that has a single constant."""
    first, second, third, fourth, fifth = ((constant,) for constant in constants)
    return first, second, third, fourth, fifth


@dataclass(frozen=True, kw_only=True)
class Table:
    """The constants of one corruption, by edition and severity.

    Parameters
    ----------
    clean
        The row at severity 0, where the corruption fades out; ``None`` stands for the constant of severity 1.
        It is only ever mixed with row 1, since severity 0 itself is the unchanged image.
    imagenet224, inception299, tiny64, cifar32
        The rows of severities 1 to 5 as published: ImageNet-C, its 299-pixel form for Inception, Tiny ImageNet-C
        (the same for ImageNet at 64 pixels) and CIFAR-10/100-C.
    between
        The rule for severities between two rows.

    Notes
    -----
    The numbers are facts of Hendrycks & Dietterich, ICLR 2019, and its public code.
    """

    clean: tuple[float | None, ...]
    imagenet224: Rows
    inception299: Rows
    tiny64: Rows
    cifar32: Rows
    between: Between = linear

    def row(self, edition: str, severity: float) -> Row:
        """Return the constants at a severity above 0 and up to 5; whole severities give the published row itself."""
        published: Rows = getattr(self, edition)
        below = int(severity)
        if below == severity:
            return published[below - 1]
        high = published[below]
        low = published[below - 1] if below else self._fade(high)
        return self.between(low, high, max(severity - below, SMALLEST_PART))

    def _fade(self, first: Row) -> Row:
        return tuple(same if gone is None else gone for gone, same in zip(self.clean, first, strict=True))


EDITIONS: tuple[str, ...] = tuple(field.name for field in fields(Table) if field.name not in ("clean", "between"))
"""The published editions: one set of kernels, four sets of constants."""
