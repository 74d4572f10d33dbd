"""Parts of a build as tasks of Ray, which repeats those that are lost with their process or their node.

The process that began the build keeps its lock and its manifest. A task makes a block of images under all conditions
and brings the files to where the build lies itself; what comes back here is how many they were.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from oodometer.building.engine import Outcome
from oodometer.building.parts import Part, Work, make_part
from oodometer.continuing import differences, environment
from oodometer.errors import StoreError
from oodometer.scaling.carried import Carried, Room, cause, first_line, frost, sent

__all__ = ["Job", "made"]

WAITING = 2
"""How many tasks there are for each that is under way: the next is there when one ends, and the driver's list short."""

MOST_RETRIES = 3
"""How often Ray repeats a task whose process died, before that ends the build."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a task needs; ``packages`` are the versions here, which must be those there, or pixels might differ."""

    work: Work
    carried: Carried
    packages: dict[str, str]


def made(ray: Any, work: Work, carried: Carried, parts: Sequence[Part], room: Room) -> Iterator[tuple[int, Outcome]]:  # noqa: ANN401
    """Have parts made, and yield the number and the outcome of each as it is done.

    ``ray`` is the module, connected; there are so many tasks at once that room is never left empty.

    Raises
    ------
    StoreError
        If a part was lost again and again, or if a node has other versions.
    OodometerError
        Whatever making a part raises.
    """
    job = sent(ray, Job(work, carried, environment("pyarrow")))
    task = ray.remote(_task).options(
        num_cpus=room.threads, max_retries=MOST_RETRIES, runtime_env={"env_vars": frost()} if frost() else None
    )
    left, flying = iter(parts), dict[Any, int]()
    try:
        while True:
            for part in itertools.islice(left, WAITING * room.workers - len(flying)):
                flying[task.remote(job, part, room.threads)] = part[0]
            if not flying:
                return
            done, _ = ray.wait([*flying], num_returns=1)
            for reference in done:
                yield flying.pop(reference), _outcome(ray, reference)
    finally:
        for reference in flying:
            ray.cancel(reference, force=True)


def _task(job: Job, part: Part, threads: int) -> Outcome:
    found = differences(job.packages, environment("pyarrow"))
    if found:
        raise StoreError(
            f"A node has other versions, which may give other pixels. {found} Install the same everywhere."
        )
    job.carried.unpack()
    return make_part(job.work, part, threads)


def _outcome(ray: Any, reference: Any) -> Outcome:  # noqa: ANN401 - Ray's
    try:
        found: Outcome = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        raise cause(error) from None
    except ray.exceptions.RayError as error:
        raise StoreError(
            f"A part of the build was lost with {MOST_RETRIES + 1} processes, one after the other: {first_line(error)} "
            "What was finished is safe; the same command continues."
        ) from error
    return found
