"""The share of one process in an evaluation that several processes share: every n-th block of the seeded order."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from oodometer import arguments
from oodometer.errors import ArgumentError
from oodometer.plan import Benchmark
from oodometer.report.words import count
from oodometer.road import Execution
from oodometer.sharding import Cut, Shard
from oodometer.store import RunStore

__all__ = ["cut_up", "place_of"]

BATCH_SIZE = 64
"""How many images a block holds at most if that is left to us. It cannot be found out, as for a run of one process: all
shards must agree on it, whatever machines they are on."""

BLOCKS = 4
"""So many blocks at least a shard has of a small set, if that is left to us, so that shards take equally long."""


def cut_up(
    benchmarks: Sequence[Benchmark], execution: Execution, shard: Shard
) -> tuple[Sequence[Benchmark], Execution]:
    """Give one shard its blocks of each benchmark.

    Parameters
    ----------
    benchmarks
        The whole plan, the same for all shards.
    execution
        How the work is cut up. Blocks are as large as batches, so that each image meets the same others as in one
        process.
    shard
        Which part.

    Raises
    ------
    ArgumentError
        If the images and conditions are chosen in the course of the work, or there are fewer blocks than shards: then
        every shard says so, and none begins.
    """
    if any(benchmark.design is not None for benchmark in benchmarks):
        raise ArgumentError(
            "precision and paired: what they take depends on what was found before, so it cannot be shared out to "
            "shards. Leave them out, or evaluate in one process."
        )
    size = execution.batch_size
    if execution.automatic:
        size = max(min(BATCH_SIZE, len(benchmarks[0].placed) // (BLOCKS * shard.count)), 1)
    most = max(-(-len(benchmark.placed) // size) for benchmark in benchmarks)
    if most < shard.count:
        raise ArgumentError(
            f"{count(most, 'block')} of {count(size, 'image')} cannot be shared by {shard.count} shards. Take fewer "
            "shards, or smaller batches (--batch-size)."
        )
    cut = Cut(shard.index, shard.count, size)
    return [replace(b, cut=cut) for b in benchmarks], replace(execution, batch_size=size, automatic=False)


def place_of(out: str | os.PathLike[str] | None, shard: Shard) -> Path:
    """Return the folder of a shard's run, within that of all shards.

    Raises
    ------
    ArgumentError
        If there is none, or if it holds a run itself.
    """
    if out is None:
        raise ArgumentError("A shard is merged with the others: say where its run goes (-o).")
    folder = arguments.path("The folder of the shards", out)
    if RunStore(folder).exists():
        raise ArgumentError(f"{folder} holds a run. With a shard, name a folder that is to hold those of all shards.")
    return folder / shard.folder
