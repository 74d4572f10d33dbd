"""Whether work that an earlier process began may be continued: by the same plan, with the same packages."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import platform
from collections.abc import Iterator

__all__ = ["differences", "environment"]

_PACKAGES = ("oodometer", "numpy", "scipy", "opencv-python-headless", "pillow", "numba")


def environment(*more: str) -> dict[str, str]:
    """Return the versions of what pixels can depend on, and of ``more`` packages."""
    versions = {"python": platform.python_version(), "machine": f"{platform.system()} {platform.machine()}"}
    for package in (*_PACKAGES, *more):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return versions


def differences(there: object, now: object) -> str:
    """Say in which entries two plans, as plain JSON values, differ, and how; empty if they are equal."""
    leaves = list(_differing_leaves(there, now, ""))
    return " ".join(f"{where}: there {_short(one)}, now {_short(other)}." for where, one, other in leaves)


def _differing_leaves(there: object, now: object, where: str) -> Iterator[tuple[str, object, object]]:
    if isinstance(there, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*there, *now]):
            yield from _differing_leaves(there.get(key), now.get(key), f"{where}.{key}" if where else str(key))
    elif isinstance(there, list) and isinstance(now, list) and there != now:
        only_there, only_now = [x for x in there if x not in now], [x for x in now if x not in there]
        # What differs tells most of long lists, but only if each side has something of its own.
        yield (where, only_there, only_now) if only_there and only_now else (where, there, now)
    elif there != now:
        yield where, there, now


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
