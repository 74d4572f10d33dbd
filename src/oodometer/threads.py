"""Work spread over threads, in order and not far ahead of whoever takes the results, so that memory stays flat."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from oodometer.arguments import whole

__all__ = ["ahead", "threads"]

Item = TypeVar("Item")
Made = TypeVar("Made")


def threads(workers: int | None) -> int:
    """Return how many threads to use: as many as asked for, or one for each processor that this process may use."""
    if workers is not None:
        return whole("workers", workers, lowest=1, highest=1024)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ahead(
    pool: ThreadPoolExecutor, function: Callable[[Item], Made], items: Iterable[Item], depth: int
) -> Iterator[Made]:
    """Map in order, at most ``depth`` items ahead of the consumer."""
    waiting: deque[Future[Made]] = deque()
    for item in items:
        waiting.append(pool.submit(function, item))
        if len(waiting) > depth:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
