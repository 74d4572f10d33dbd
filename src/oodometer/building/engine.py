"""The order of the work: a task is one image through all conditions, so it is read once and threads seldom meet."""

from __future__ import annotations

import functools
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from rich.filesize import decimal

from oodometer.building.cells import Item
from oodometer.building.layout import Block, Layout
from oodometer.building.recipe import Recipe
from oodometer.errors import ImageError
from oodometer.progress import Observer
from oodometer.sharding import Shard
from oodometer.store import Skipped
from oodometer.threads import ahead

__all__ = ["Outcome", "drive", "shared"]


@dataclass
class Outcome:
    """What came of a build so far: pictures that are there, and of these, those that were made now."""

    images: int = 0
    pictures: int = 0
    made: int = 0
    bytes: int = 0
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Task:
    block: Block
    item: Item
    last: bool


@dataclass(frozen=True, slots=True)
class _Done:
    task: _Task
    made: int = 0
    bytes: int = 0
    skipped: Skipped | None = None


def shared(items: Sequence[Item], images: int, shard: Shard | None) -> list[tuple[int, Sequence[Item]]]:
    """Cut the images of a build into numbered blocks of so many; of a shard return its own."""
    blocks = enumerate(items[start : start + images] for start in range(0, len(items), images))
    return [(number, part) for number, part in blocks if shard is None or shard.takes(number)]


def drive(
    recipe: Recipe, layout: Layout, parts: Sequence[tuple[int, Sequence[Item]]], workers: int, observer: Observer
) -> Outcome:
    """Make the pictures that are not there yet, block by block.

    Parameters
    ----------
    recipe
        What to make.
    layout
        Where to keep it.
    parts
        The blocks to make, each with its number.
    workers
        Threads. No picture depends on them.
    observer
        Is told of every image that is through.

    Raises
    ------
    StoreError
        If something cannot be written.
    DatasetError
        If the system cannot give a source, or if it does not fit; an image that is damaged is skipped instead.
    """
    blocks: deque[Block] = deque()  # that are open
    outcome, stop = Outcome(), threading.Event()
    pool = ThreadPoolExecutor(workers, thread_name_prefix="oodometer")
    try:
        through = functools.partial(_through, recipe, stop)
        for done in ahead(pool, through, _tasks(parts, layout, blocks), depth=2 * workers):
            _count(outcome, done)
            observer.advance(len(recipe.cells))
            observer.note(decimal(outcome.bytes))
            if done.task.last:
                outcome.pictures += len(done.task.block.close(pool))
                blocks.popleft().release()
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        for block in blocks:
            block.release()
    return outcome


def _tasks(parts: Sequence[tuple[int, Sequence[Item]]], layout: Layout, blocks: deque[Block]) -> Iterator[_Task]:
    """Open one block after the other as its images come up."""
    for number, part in parts:
        blocks.append(layout.open(number, part))
        for item in part:
            yield _Task(blocks[-1], item, item is part[-1])


def _through(recipe: Recipe, stop: threading.Event, task: _Task) -> _Done:
    """Take one image through the conditions under which it lacks a picture."""
    cells = task.block.missing(task.item)
    if not cells:
        return _Done(task)
    try:
        image = recipe.source_image(task.item)
    except ImageError as error:
        task.block.drop(task.item)
        return _Done(task, skipped=Skipped(task.item.sample.id, str(error)))
    size = 0
    for cell in cells:
        if stop.is_set():
            break  # nobody waits for the rest
        data = recipe.format.encoding.encode(recipe.picture(image, task.item, cell))
        task.block.put(task.item, cell, data)
        size += len(data)
    return _Done(task, len(cells), size)


def _count(outcome: Outcome, done: _Done) -> None:
    outcome.made += done.made
    outcome.bytes += done.bytes
    if done.skipped is None:
        outcome.images += 1
    else:
        outcome.skipped.append(done.skipped)
