"""Whether work that an earlier process began may be continued: by the same plan, with the same packages."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import platform
from collections.abc import Iterator
from typing import TypeAlias

__all__ = ["differences", "environment"]

_PACKAGES = ("oodometer", "numpy", "scipy", "opencv-python-headless", "pillow", "numba")

_BENCHMARKS = "benchmarks"
"""The entry of a run's plan that has one entry for each benchmark."""


def environment(*more: str) -> dict[str, str]:
    """Return the versions of what pixels can depend on, and of ``more`` packages."""
    versions = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for package in (*_PACKAGES, *more):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def differences(there: object, now: object) -> str:
    """Say in which entries two plans, as plain JSON values, differ, and how; empty if they are equal.

    Of what differs in several benchmarks of a run, such as the seed, the first is named and the others are counted.
    """
    alike: dict[_Path, list[str]] = {}
    for where, one, other in _differing_leaves(there, now, ()):
        alike.setdefault(_kind(where), []).append(f"{'.'.join(where)}: {_told(one, other)}")
    return " ".join(
        f"{first} (and {len(others)} more alike)." if others else f"{first}." for first, *others in alike.values()
    )


_Path: TypeAlias = tuple[str, ...]


def _kind(where: _Path) -> _Path:
    """Return what entries share that differ alike: their place within a benchmark."""
    return (where[0], *where[2:]) if where[:1] == (_BENCHMARKS,) else where


def _differing_leaves(there: object, now: object, where: _Path) -> Iterator[tuple[_Path, object, object]]:
    if isinstance(there, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*there, *now]):
            yield from _differing_leaves(there.get(key), now.get(key), (*where, str(key)))
    elif there != now:
        yield where, there, now


def _told(there: object, now: object) -> str:
    """Say how two values differ; of lists, which may be long, by their members that the other one lacks."""
    if isinstance(there, list) and isinstance(now, list):
        only_there, only_now = [x for x in there if x not in now], [x for x in now if x not in there]
        if only_there and only_now:
            there, now = only_there, only_now
        elif only_there and now:
            return f"there also {_short(only_there)}"
        elif only_now and there:
            return f"now also {_short(only_now)}"
    return f"there {_short(there)}, now {_short(now)}"


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
