"""Open files that belong to one process: forks and pickles open them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Reopened"]

T = TypeVar("T")


class Reopened(Generic[T]):
    """Something that each process makes for itself when it first asks, and that is never pickled.

    Parameters
    ----------
    make
        Makes it; picklable. Two threads that ask first at once may both make it, and one of the two is dropped.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: tuple[int, T] | None = None

    def get(self) -> T:
        """Return what this process made."""
        made, process = self._made, os.getpid()
        if made is None or made[0] != process:
            made = self._made = (process, self._make())
        return made[1]

    def __reduce__(self) -> tuple[type[Reopened[T]], tuple[Callable[[], T]]]:
        return Reopened, (self._make,)
