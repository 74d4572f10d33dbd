"""Checks of arguments that every entry shares, so that a wrong one is an ``ArgumentError`` before any work."""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Iterable
from pathlib import Path

from oodometer.errors import ArgumentError, unknown_name

__all__ = ["choice", "is_url", "path", "positive", "text_of", "whole"]


def whole(name: str, value: object, lowest: int | None = None, highest: int | None = None) -> int:
    """Return an integer of any integer type as an int, or raise ``ArgumentError`` naming it and its range."""
    limits = " ".join(
        [f"from {lowest}" if lowest is not None else "", f"to {highest}" if highest is not None else ""]
    ).strip()
    given = "another one" if isinstance(value, int) and abs(value) >= 2**64 else repr(value)  # or too long to print
    expected = f"{name} must be a whole number{f' {limits}' if limits else ''}, not {given}."
    if isinstance(value, bool):
        raise ArgumentError(expected)
    try:
        number = operator.index(value)  # type: ignore[arg-type]  # raises for anything else
    except TypeError:
        raise ArgumentError(expected) from None
    if (lowest is not None and number < lowest) or (highest is not None and number > highest):
        raise ArgumentError(expected)
    return number


def positive(name: str, value: object) -> float:
    """Return a finite number above 0 as a float, or raise ``ArgumentError`` naming it."""
    expected = f"{name} must be a number above 0, not {value!r}."
    if isinstance(value, bool | str | bytes):
        raise ArgumentError(expected)
    try:
        number = float(value)  # type: ignore[arg-type]  # raises for anything else
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(expected) from None
    if not 0 < number < math.inf:
        raise ArgumentError(expected)
    return number


def choice(kind: str, value: object, known: Iterable[str]) -> str:
    """Return a name that must be one of those known, or raise ``ArgumentError`` with the names that are near."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise unknown_name(kind, value, names)
    return value


def is_url(place: object) -> bool:
    """Return whether a place is the URL of a folder in a store, and not a path; web pages list no files."""
    known = r"(?!https?:|file:|local:)[a-z][a-z0-9+.-]*://.*[^/]"
    return isinstance(place, str) and re.match(known, place, re.DOTALL) is not None


def path(what: str, value: object) -> Path:
    """Return a path, or raise ``ArgumentError`` if it is empty or cannot be one."""
    try:
        text = os.fspath(value)  # type: ignore[call-overload]  # raises for anything else
    except TypeError:
        text = None
    if not isinstance(text, str) or not text or "\0" in text:
        raise ArgumentError(f"{what} must be a path, not {value!r}.")
    if is_url(text):
        raise ArgumentError(
            f"{what} must be a path, and {text} is a URL. Folders of images are read from URLs (--data, and the source "
            "of `oodometer corrupt`), and `oodometer corrupt` writes to them; everything else is on a disk."
        )
    if re.match(r"[A-Za-z][\w+.:-]*://", text):  # which would be a folder called "file:", say
        raise ArgumentError(
            f"{what} must be a path, and {text} looks like a URL, of no kind that folders are read from. Name local "
            "files by their paths, and folders of a store as s3://BUCKET/FOLDER."
        )
    return Path(text)


def text_of(place: str | os.PathLike[str]) -> str:
    r"""Return a path as text that any file can hold: bytes that are no text appear as ``\xff``."""
    return os.fsencode(place).decode("utf-8", "backslashreplace")
