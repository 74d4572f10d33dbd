"""What the stages of an evaluation cost, measured while they run."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Literal

__all__ = ["Meter"]


class Meter:
    """Times the decoding, corruption and prediction of images; may be used from several threads.

    Parameters
    ----------
    workers
        How many threads share the decoding and the corruption.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._seconds: dict[str, list[float]] = defaultdict(list)

    @property
    def seconds(self) -> dict[str, list[float]]:
        """The seconds an image, by stage, of all that was timed."""
        return dict(self._seconds)

    def add(self, seconds: Mapping[str, Sequence[float]]) -> None:
        """Add what another meter has timed."""
        for stage, found in seconds.items():
            self._seconds[stage] += found

    @contextlib.contextmanager
    def timed(self, stage: Literal["decode", "corrupt", "predict"], images: int) -> Iterator[None]:
        """Time what is done within for so many images, at least one."""
        begin = time.perf_counter()
        yield
        self._seconds[stage].append((time.perf_counter() - begin) / images)

    @property
    def decoding(self) -> float | None:
        """What decoding an image costs, in passes through corruption and model; ``None`` before anything was timed.

        It rests on medians, since the first batches wait for compilers.
        """
        if not (self._seconds["decode"] and self._seconds["predict"]):
            return None
        decode, corrupt, predict = (median(self._seconds[stage] or [0.0]) for stage in ("decode", "corrupt", "predict"))
        return decode / (corrupt + self._workers * predict)
