"""Severity tables: the published constants of one corruption, and the rules for strengths between and beyond them."""

from __future__ import annotations

import typing
from collections.abc import Callable
from dataclasses import dataclass, field

from oodometer.errors import ArgumentError

__all__ = [
    "EDITIONS",
    "STRONGEST",
    "Between",
    "Beyond",
    "Row",
    "Rows",
    "Table",
    "column",
    "geometric",
    "linear",
    "mix",
    "nearest",
    "onward",
]

EDITIONS = ("imagenet224", "inception299", "tiny64", "cifar32")
"""The published editions: one set of kernels, four sets of constants."""

STRONGEST = 10
"""The largest severity."""

Row: typing.TypeAlias = tuple[float, ...]
"""The constants of one severity, in the order of the kernel's parameters."""

Rows: typing.TypeAlias = tuple[Row, Row, Row, Row, Row]
"""The constants of severities 1 to 5."""

Between: typing.TypeAlias = Callable[[Row, Row, float], Row]
"""A rule ``(low, high, t)`` for the constants a share ``t`` (between 0 and 1) of the way from one row to the next."""

Beyond: typing.TypeAlias = Callable[[Row, Row, float], Row]
"""A rule ``(fourth, fifth, t)`` for the constants at severity ``5 + t``."""

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


def onward(*held: int) -> Beyond:
    """Go on linearly from severity 5 as from 4 to 5, but leave the constants at the places ``held`` as they are at 5.

    Held are those that have no meaning beyond, or whose last step made nothing stronger.
    """

    def beyond(fourth: Row, fifth: Row, t: float) -> Row:
        further = linear(fourth, fifth, 1 + t)
        return tuple(fifth[i] if i in held else further[i] for i in range(len(fifth)))

    return beyond


def geometric(fourth: Row, fifth: Row, t: float) -> Row:
    """Multiply each constant by the ratio of the last step again: for factors, which must stay above 0."""
    return tuple(b * (b / a) ** t for a, b in zip(fourth, fifth, strict=True))


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
    beyond
        The rule for severities above 5, or a sentence that says why there are none.

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
    beyond: Beyond | str = field(default_factory=onward)

    def row(self, edition: str, severity: float) -> Row:
        """Return the constants at a severity above 0; whole severities up to 5 give the published row itself.

        Raises
        ------
        ArgumentError
            If the severity is above 5 and this corruption has none there; the message is what it has instead.
        """
        published: Rows = getattr(self, edition)
        if severity > len(published):
            if isinstance(self.beyond, str):
                raise ArgumentError(f"no severity above 5, so not {severity:g}: {self.beyond}")
            return self.beyond(published[-2], published[-1], severity - len(published))
        below = int(severity)
        if below == severity:
            return published[below - 1]
        high = published[below]
        low = published[below - 1] if below else self._fade(high)
        return self.between(low, high, max(severity - below, SMALLEST_PART))

    def _fade(self, first: Row) -> Row:
        return tuple(same if gone is None else gone for gone, same in zip(self.clean, first, strict=True))
