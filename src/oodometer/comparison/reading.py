"""Whether runs may be compared, and what they share: the only part of a comparison that reads stores."""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import ArgumentError, MetricError
from oodometer.run import Run
from oodometer.run_baseline import same_protocol
from oodometer.store import SEQUENCES, BenchmarkRecord, Table
from oodometer.tables import by_corruption, of_clean
from oodometer.types import CLEAN

__all__ = ["C", "Outcomes", "R", "check_comparable", "opened", "shared"]

C, R = "imagenet-c", "imagenet-r"
"""The two benchmarks by the names under which a run holds them."""

_LACKS = {
    C: "no clean or corrupted images, on which runs are compared: evaluate it with --data, or with --clean",
    R: "no ImageNet-R",
}
"""What a run lacks that has no such part, and what to do."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What happened in one run to the images ``ids``, which all runs have; ``dropped`` counts its other images."""

    ids: tuple[str, ...]
    misses: dict[str, NDArray[np.bool_]]
    clean: NDArray[np.bool_] | None
    dropped: int

    @property
    def images(self) -> int:
        """How many images are shared."""
        return len(self.ids)


def check_comparable(runs: Sequence[Run], benchmark: str) -> tuple[BenchmarkRecord, ...]:
    """Refuse runs whose numbers mean different things, naming the difference; return their records.

    Raises
    ------
    MetricError
        If a run has no such benchmark, or label spaces, images or protocols differ.
    """
    records = []
    for run in runs:
        record = run.manifest.benchmark(benchmark)
        if record is None:
            raise MetricError(f"{run.path} has {_LACKS.get(benchmark, f'no {benchmark} part')}.")
        records.append(record)
    for run, record in zip(runs[1:], records[1:], strict=True):
        found = _difference(records[0], record)
        if found:
            raise MetricError(f"{runs[0].path} and {run.path} cannot be compared: {found}")
    return tuple(records)


def _difference(one: BenchmarkRecord, other: BenchmarkRecord) -> str:
    """Say in what two records differ that makes their numbers mean different things; empty if in nothing."""
    if (one.label_spaces[0], one.classes) != (other.label_spaces[0], other.classes):
        return f"their label spaces differ: {one.label_spaces[0]} and {other.label_spaces[0]}, or their classes."
    # First, since pictures that are stored and such as are made on the way have different files anyway.
    if found := same_protocol(one.protocol, other.protocol):
        return f"their protocols differ. {found}"
    if one.digest != other.digest:
        return (
            f"their images differ: {one.dataset} and {other.dataset} (images were added, removed, renamed, as files of "
            "another format are, relabelled or replaced)."
        )
    return ""


def shared(runs: Sequence[Run], benchmark: str, label_space: str) -> tuple[Outcomes, ...]:
    """Read what the runs share of one benchmark in one label space.

    Raises
    ------
    MetricError
        If they share no image.
    """
    tables = [run.store.table(benchmark, label_space) for run in runs]
    images = functools.reduce(set.intersection, (set(table.images) for table in tables))
    if not images:
        raise MetricError(f"The runs share no image of {benchmark} in the label space {label_space}.")
    return tuple(_outcomes(table, images) for table in tables)


def _outcomes(table: Table, images: set[str]) -> Outcomes:
    part = table.taking(np.array([k for k, image in enumerate(table.images) if image in images]))
    return Outcomes(
        ids=part.images,
        misses=by_corruption(part, part.misses),
        clean=of_clean(part, part.misses) if CLEAN in part.conditions else None,
        dropped=len(table.images) - len(part.images),
    )


def opened(runs: Sequence[Run | str | os.PathLike[str]]) -> tuple[Run, ...]:
    """Open runs that are given by their folder.

    Raises
    ------
    ArgumentError
        If there are fewer than two.
    MetricError
        If a folder holds a run over sequences.
    StoreError
        If a folder holds no run.
    """
    if isinstance(runs, str | os.PathLike) or len(runs) < 2:
        raise ArgumentError("A comparison needs at least two runs, or their folders.")
    found = tuple(run if isinstance(run, Run) else Run(run) for run in runs)
    for run in found:
        if any(record.name.startswith(SEQUENCES) for record in run.manifest.benchmarks):
            raise MetricError(
                f"{run.path} is a run over sequences. One such is measured by another with "
                "`oodometer report RUN --baseline OTHER`."
            )
    return found
