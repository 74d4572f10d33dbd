"""Partial runs of one plan become one run: the union of their predictions."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oodometer import arguments
from oodometer.continuing import differences
from oodometer.errors import ArgumentError, StoreError
from oodometer.outfolder import TEMPORARY, exclusive, mapped_errors, write_atomically
from oodometer.run import Run
from oodometer.sharding import Cut, Shard
from oodometer.store import ANSWERS, BenchmarkRecord, Example, Part, RunStore, Step, Table, plan_differences
from oodometer.types import Condition

__all__ = ["merge", "missing_shards"]

SAME_CONFIDENCE = 1e-3
"""By what part two confidences of one model in one picture may differ: the float noise of another batch is below."""


def merge(runs: Sequence[Run | str | os.PathLike[str]], out: str | os.PathLike[str]) -> Run:
    """Unite partial runs of one plan, such as those of several machines; the result is a run like any other.

    Images that several runs have are taken from the first of these, if the predictions are the same. All shards of an
    evaluation become the run of one process, file by file; without some of them it is a partial run.

    Parameters
    ----------
    runs
        At least two runs, or their folders. They are only read.
    out
        The folder of the new run.

    Returns
    -------
    Run
        What an unbroken run would have given of these images, to the last digit. It may be continued.

    Raises
    ------
    ArgumentError
        If there are fewer than two runs.
    StoreError
        If plans or package versions differ, or predictions of one image, or if shards are not of one cut, or ``out``
        already holds something; the message names the difference. Nothing is written then.
    """
    if isinstance(runs, str | os.PathLike) or len(runs) < 2:
        raise ArgumentError("A merger needs at least two runs, or their folders.")
    stores = [run.store if isinstance(run, Run) else RunStore(run) for run in runs]
    _check_same_plan(stores)
    _check_same_cut(stores)
    steps = {record.name: _steps(stores, record) for record in _records(stores)}
    for record in _records(stores):
        _check_overlaps(stores, record)
    merged = RunStore(arguments.path("The merged run", out))
    if merged.exists():
        raise StoreError(f"{merged.path} already holds a run. Choose a new folder.")
    with exclusive(merged.path, "writing", merged.exists, merged.check_can_begin):
        begun = RunStore(merged.path / f".merged{TEMPORARY}")
        shutil.rmtree(begun.path, ignore_errors=True)  # of a process that was killed
        begun.write_manifest(replace(stores[0].read_manifest(), shard=None))
        for name, taken in steps.items():
            _write(begun, stores, name, taken)
        _keep_answers(begun, stores)
        _put_in_place(begun, merged)
    return Run(merged.path)


def _put_in_place(begun: RunStore, merged: RunStore) -> None:
    """Give a run that is written whole its place, the manifest last, by which it becomes one."""
    with mapped_errors(f"writing {merged.path}"):
        for path in sorted(begun.path.iterdir(), key=lambda path: path == begun.manifest_path):
            path.rename(merged.path / path.name)
        begun.path.rmdir()


def _records(stores: Sequence[RunStore]) -> tuple[BenchmarkRecord, ...]:
    return stores[0].read_manifest().benchmarks


def missing_shards(runs: Sequence[Run | str | os.PathLike[str]]) -> tuple[Shard, ...]:
    """Return the shards that are not among some runs of one cut; none if the runs are no shards."""
    cuts = [cut for run in runs if (cut := Run(_path(run)).manifest.shard)]
    there = {cut.shard for cut in cuts}
    return tuple(shard for k in range(cuts[0].count if cuts else 0) if (shard := Shard(k, cuts[0].count)) not in there)


def _path(run: Run | str | os.PathLike[str]) -> str | os.PathLike[str]:
    return run.path if isinstance(run, Run) else run


def _check_same_cut(stores: Sequence[RunStore]) -> None:
    """Refuse shards beside whole runs, and shards of another cut."""
    first, *others = ((store.path, store.read_manifest().shard) for store in stores)
    for other in others:
        if _blocks(first[1]) != _blocks(other[1]):
            raise StoreError(
                f"{first[0]} is {_called(first[1])}, and {other[0]} is {_called(other[1])}. Merge the shards of one "
                "evaluation by themselves; the run that comes of it can be merged with others."
            )


def _blocks(cut: Cut | None) -> tuple[int, int] | None:
    """Return what shards of one evaluation share."""
    return None if cut is None else (cut.count, cut.images)


def _called(cut: Cut | None) -> str:
    return "no shard" if cut is None else f"shard {cut.shard}, in blocks of {cut.images}"


def _check_same_plan(stores: Sequence[RunStore]) -> None:
    """Refuse runs of different plans or made with different packages, naming what differs."""
    first = stores[0]
    whole = replace(first.read_manifest(), shard=None)
    for other in stores[1:]:
        manifest = replace(other.read_manifest(), shard=None)
        if other.path == first.path:
            raise StoreError(f"{first.path} is given twice.")
        found = plan_differences(whole, manifest)
        if found:
            raise StoreError(f"{first.path} and {other.path} are runs of different plans. {found}")
        found = differences(whole.environment, manifest.environment)
        if found:
            raise StoreError(
                f"{first.path} and {other.path} were made with other versions, which may give other pixels. {found}"
            )


def _steps(stores: Sequence[RunStore], record: BenchmarkRecord) -> tuple[Step, ...]:
    """Unite the steps of runs by a design: those of the run that went farthest, if the others took the same."""
    taken = [store.steps(record.name) for store in stores]
    farthest = max(taken, key=len)
    for store, steps in zip(stores, taken, strict=True):
        if [(s.start, s.stop, s.each) for s in steps] != [(s.start, s.stop, s.each) for s in farthest[: len(steps)]]:
            raise StoreError(
                f"{store.path} took other steps to its precision than the others, so its images went through other "
                "conditions. Runs to a precision can be continued, but only such of the same steps be merged."
            )
    return farthest


def _check_overlaps(stores: Sequence[RunStore], record: BenchmarkRecord) -> None:
    """Refuse runs that say different things of one image."""
    # Shards are many and have no image in common: reading the predictions of all pairs would take minutes.
    done = [store.done(record.name) for store in stores]
    for (one, of_one), (other, of_other) in itertools.combinations(zip(stores, done, strict=True), 2):
        if of_one.isdisjoint(of_other):
            continue
        for space in record.label_spaces:
            _check_same_predictions(one, other, record.name, space)
        _check_same_skipped(one, other, record.name)
        _check_same_skipped(other, one, record.name)


def _check_same_predictions(one: RunStore, other: RunStore, benchmark: str, space: str) -> None:
    first, second = one.table(benchmark, space), other.table(benchmark, space)
    place = {image: row for row, image in enumerate(second.images)}
    common = [image for image in first.images if image in place]
    if not common:
        return
    rows = np.array([row for row, image in enumerate(first.images) if image in place])
    conditions = [c for c in first.conditions if c in second.conditions]
    different = _different(_part(first, rows, conditions), _part(second, [place[i] for i in common], conditions))
    if different.any():
        image, condition = np.argwhere(different)[0]
        raise StoreError(
            f"{one.path} and {other.path} have different predictions of {common[image]!r} under "
            f"{conditions[condition]}, and of {np.count_nonzero(different.any(axis=1)):,} of the "
            f"{len(common):,} images in both. They are of different models or pictures, and cannot be merged."
        )


def _part(
    table: Table, rows: Sequence[int] | NDArray[np.intp], conditions: Sequence[Condition]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Pick best classes and confidence of some images under some conditions."""
    at = np.ix_(np.asarray(rows), np.array([table.conditions.index(c) for c in conditions]))
    return table.top[at], table.confidence[at]


def _different(
    one: tuple[NDArray[np.int32], NDArray[np.float32]], other: tuple[NDArray[np.int32], NDArray[np.float32]]
) -> NDArray[np.bool_]:
    """Tell where two runs disagree: images x conditions."""
    (top, sure), (top_other, sure_other) = one, other
    near = np.abs(sure - sure_other) <= SAME_CONFIDENCE * np.maximum(sure, sure_other)
    near |= np.isnan(sure) & np.isnan(sure_other)  # a model that names classes has no confidence, and unseen pictures
    same = (top[..., 0] == top_other[..., 0]) & near
    # Float noise may swap two classes whose logits are all but equal.
    swapped = (top[..., :2] == top_other[..., 1::-1]).all(axis=-1) & near if top.shape[-1] > 1 else same
    return np.asarray(~(same | swapped))


def _check_same_skipped(one: RunStore, other: RunStore, benchmark: str) -> None:
    """Refuse an image that one run could not read and the other predicted: the file was mended, or read wrongly."""
    skipped = {s.image for s in one.skipped(benchmark)}
    predicted = other.done(benchmark) - {s.image for s in other.skipped(benchmark)}
    both = sorted(skipped & predicted)
    if both:
        raise StoreError(
            f"{both[0]!r} could not be read in {one.path}, and was predicted in {other.path}. Continue the first one "
            "from whole files in another folder."
        )


def _write(merged: RunStore, stores: Sequence[RunStore], benchmark: str, steps: tuple[Step, ...]) -> None:
    """Write the predictions of one benchmark, each image once."""
    if steps:
        merged.write_steps(benchmark, steps)
    done, names = set[str](), set[str]()
    examples: dict[str, list[Example]] = {}
    for store in stores:
        found = store.examples(benchmark)
        for part in store.parts(benchmark):
            if found and found[0].image in part.rows["image"].unique().to_pylist():
                examples.setdefault(part.name, found)
            kept = _not_in(part, done)
            if kept is not None:
                kept = replace(kept, name=_unused(kept.name, names))
                names.add(kept.name)
                merged.write_part(benchmark, kept)
        done |= store.done(benchmark)
    if examples:  # those of the block that comes first in the seeded order, as in an unbroken run
        merged.write_examples(benchmark, examples[min(examples)])


def _keep_answers(merged: RunStore, stores: Sequence[RunStore]) -> None:
    """Keep what models said that were asked in words, also of images that are not done: it was paid for."""
    files: dict[str, list[Path]] = {}
    for store in stores:
        for path in sorted((store.path / ANSWERS).glob("*.jsonl")):
            files.setdefault(path.name, []).append(path)
    for name, paths in files.items():
        with mapped_errors(f"reading {paths[0]}"):
            lines = [line for path in paths for line in path.read_bytes().splitlines()]
        write_atomically(merged.path / ANSWERS / name, b"".join(line + b"\n" for line in lines))


def _unused(name: str, names: Collection[str]) -> str:
    """Return a name for a part, which is that of an evaluation unless two runs have it.

    An evaluation that continues the merged run calls a part by the place of an image that is not there yet, and so by
    none of these names.
    """
    numbered = (f"{name}-{k}" for k in range(1, len(names) + 1))
    return name if name not in names else next(other for other in numbered if other not in names)


def _not_in(part: Part, done: set[str]) -> Part | None:
    """Return what a part holds of images that are not done, ``None`` if nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    skipped = tuple(s for s in part.skipped if s.image not in done)
    images = [image for image in part.rows["image"].unique().to_pylist() if image not in done]
    if not images and not skipped:
        return None
    rows = part.rows.filter(pc.is_in(part.rows["image"], pa.array(images, pa.string())))
    return Part(part.name, rows, skipped)
