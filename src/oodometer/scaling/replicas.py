"""Copies of a model on the nodes of a cluster, to which blocks of images are handed out as they get done with others.

The process that began the evaluation keeps the plan, the lock and the store. A copy is an actor of Ray: it loads the
model and opens the images once, and gives for each block what ``road.drive`` gives, which is stored here. What is lost
with an actor, with its node or on the way is handed out again, so that each block is stored once, whoever did it.
"""

from __future__ import annotations

import contextlib
import math
import platform
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.continuing import differences, environment
from oodometer.datasets import SequenceSet
from oodometer.errors import ArgumentError, ModelError
from oodometer.meter import Meter
from oodometer.models import ModelOptions, load_model
from oodometer.pictures import check_shapes
from oodometer.plan import Benchmark
from oodometer.progress import Observer
from oodometer.replicated import batch_size_of, described, texts
from oodometer.road import Entries, Execution, Stage, drive
from oodometer.scaling.carried import Carried, Room, cause, first_line, sent, variables
from oodometer.store import ModelRecord, Step
from oodometer.types import AnsweringModel, Classifier, Image, Images, LabelSpace, Logits

__all__ = ["Replicas", "replicas"]

AT_ONCE = 2
"""How many blocks a copy has at most: while the model is at one, the images of the next are decoded and corrupted."""

MOST_DEATHS = 3
"""With how many workers a block may be lost, and how often a copy may fail to load, before that ends the work."""

PATIENCE = 60.0
"""For how many seconds the copies that are not ready are waited for once one is, so that the run records them all."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a copy is made from."""

    model: object
    options: ModelOptions | None
    space: LabelSpace
    benchmarks: tuple[Benchmark, ...]
    carried: Carried


@dataclass(frozen=True, slots=True)
class Description:
    """What a copy says of itself: the model, the packages, what its last digits depend on, and where it is."""

    record: ModelRecord
    packages: dict[str, str]
    device: dict[str, str]
    processor: str
    node: str


@dataclass(frozen=True, slots=True)
class Order:
    """A block to be worked on, of the benchmark of this number; ``execution`` is how the copy cuts it up."""

    benchmark: int
    step: Step
    block: Entries
    execution: Execution
    shape: tuple[int, ...] | None
    examples_before: float


class Replica:
    """A copy of the model, in a process of its own; the model is asked by one thread at a time.

    Each call has the reference to its job, since a call may be the first after the process was started anew; within a
    list, or Ray would bring the job itself again and again.
    """

    def __init__(self) -> None:
        self._loading, self._asking = threading.Lock(), threading.Lock()
        self._made: tuple[Job, Classifier] | None = None

    def describe(self, job: list[Any]) -> Description:
        """Load the model, unless that was done, and say what it is."""
        benchmarks, model = self._load(job)
        if isinstance(model, AnsweringModel):
            raise ArgumentError("A model that names classes, instead of giving logits, has no use for a cluster.")
        files = any(isinstance(b.dataset, SequenceSet) and b.dataset.from_files for b in benchmarks)
        return Description(
            record=described(model),
            packages=environment("torch", *(("av",) if files else ())),
            device=texts(getattr(model, "environment", {})),
            processor=_processor(),
            node=platform.node(),
        )

    def find_batch_size(self, job: list[Any], picture: Image, largest: int) -> int | None:
        """Measure how many pictures to ask for at once."""
        return batch_size_of(self._load(job)[1], picture, largest)

    def predict(self, job: list[Any], images: Images) -> Logits:
        """Map N pictures to N rows of logits."""
        return _InTurns(self._load(job)[1], self._asking).predict(images)

    def work(self, job: list[Any], order: Order) -> tuple[Stage, dict[str, list[float]]]:
        """Take a block through its conditions; return it, and what its stages cost."""
        benchmarks, model = self._load(job)
        benchmark, meter = benchmarks[order.benchmark], Meter(order.execution.workers)
        (stage,) = drive(
            _InTurns(model, self._asking),
            benchmark,
            order.step,
            [order.block],
            order.execution,
            lambda _: None,
            order.shape,
            order.examples_before,
            meter,
        )
        return stage, meter.seconds

    def _load(self, reference: list[Any]) -> tuple[tuple[Benchmark, ...], Classifier]:
        import ray

        with self._loading:
            if self._made is None:
                job: Job = ray.get(reference[0])
                job.carried.unpack()
                self._made = job, load_model(job.model, job.options, job.space)
            return self._made[0].benchmarks, self._made[1]


class _InTurns:
    """A model that several threads may ask, each in its turn."""

    def __init__(self, model: Any, turn: threading.Lock) -> None:  # noqa: ANN401 - of the user's, perhaps
        self._model, self._turn = model, turn

    def predict(self, images: Images) -> Logits:
        with self._turn:
            logits: Logits = self._model.predict(images)
        return logits


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


@dataclass
class _Copy:
    """An actor as it is known here: what it said of itself, if it is ready, and how many blocks it has."""

    actor: Any
    description: Description | None = None
    blocks: int = 0


@dataclass
class _Handed:
    """A block that is under way, and how many workers died over it."""

    order: Order
    deaths: int = 0


@dataclass
class Replicas:
    """The copies, as a ``ReplicatedModel``."""

    ray: Any
    job: Job
    reference: list[Any]
    workers: int
    observer: Observer
    copies: list[_Copy]
    record: ModelRecord = field(init=False)
    environment: Mapping[str, str] = field(init=False)
    _starting: dict[Any, _Copy] = field(default_factory=dict)

    def begin(self) -> None:
        """Wait until copies are ready; of those that are, all count for what the run records."""
        for copy in self.copies:
            self._start(copy)
        self._await_one()
        until = PATIENCE
        while self._starting and until > 0:
            self._await_copies(1.0)
            until -= 1.0
        found = [copy.description for copy in self._ready if copy.description]
        self.record = found[0].record
        devices = {name: sorted({one.device.get(name, "none") for one in found}) for name in found[0].device}
        self.environment = found[0].packages | {name: " and ".join(values) for name, values in devices.items()}

    def predict(self, images: Images) -> Logits:
        """Map N pictures to N rows of logits, by the first copy that is ready."""
        return np.asarray(self._asked("predict", images))

    def find_batch_size(self, picture: Image, largest: int) -> int | None:
        """Measure how many pictures to ask for at once, on the first copy that is ready."""
        found: int | None = self._asked("find_batch_size", picture, largest)
        return found

    def drive(
        self,
        benchmark: Benchmark,
        step: Step,
        blocks: Sequence[Entries],
        execution: Execution,
        on_batch: Callable[[int], None],
        shape: tuple[int, ...] | None,
        examples_before: float,
        meter: Meter,
    ) -> Iterator[Stage]:
        """Hand out blocks and yield them as they come back."""
        number = next(i for i, one in enumerate(self.job.benchmarks) if one is benchmark)
        left = deque(_Handed(Order(number, step, block, execution, None, math.inf)) for block in blocks)
        flying: dict[Any, tuple[_Handed, _Copy]] = {}
        own = benchmark.dataset.label_space.name
        try:
            while left or flying:
                self._hand_out(left, flying, shape, examples_before)
                for ref in self._wait([*flying]):
                    handed, copy = flying.pop(ref)
                    copy.blocks -= 1
                    result = self._result(ref)
                    if result is None:
                        self._lost(handed, copy, left)
                        continue
                    stage, seconds = result
                    shape = _same_shape(stage, handed.order, benchmark, shape)
                    examples_before = stage.place if stage.examples else examples_before
                    meter.add(seconds)
                    on_batch(sum(len(scores.top) for _, space, scores, _ in stage.block.scores if space == own))
                    yield stage
        finally:
            for _, copy in flying.values():
                copy.blocks -= 1

    def _hand_out(
        self,
        left: deque[_Handed],
        flying: dict[Any, tuple[_Handed, _Copy]],
        shape: tuple[int, ...] | None,
        examples_before: float,
    ) -> None:
        """Give blocks to the copies that have the fewest; near the end one each, so that none waits behind another."""
        while left and self._ready:
            copy = min(self._ready, key=lambda copy: copy.blocks)
            if copy.blocks >= (AT_ONCE if len(left) > len(self._ready) else 1):
                break
            handed = left.popleft()
            handed.order = replace(handed.order, shape=shape, examples_before=examples_before)
            flying[copy.actor.work.remote(self.reference, handed.order)] = handed, copy
            copy.blocks += 1

    def _lost(self, handed: _Handed, copy: _Copy, left: deque[_Handed]) -> None:
        """Put a block back and wait for its worker to be there again."""
        handed.deaths += 1
        if handed.deaths > MOST_DEATHS:
            (_, first), *_ = handed.order.block
            raise ModelError(
                f"{handed.deaths} workers died over the block of images that begins with {first.id}, one after the "
                "other. Out of memory is the usual cause: try a smaller --batch-size, or more --workers, so that fewer "
                "copies share a node. What was finished is safe; the same command continues."
            )
        left.appendleft(handed)
        if copy.description is not None:
            self._start(copy)

    def _start(self, copy: _Copy) -> None:
        copy.description = None
        # Ray repeats this call while the actor is being started anew.
        self._starting[copy.actor.describe.options(max_task_retries=MOST_DEATHS).remote(self.reference)] = copy

    @property
    def _ready(self) -> list[_Copy]:
        return [copy for copy in self.copies if copy.description is not None]

    def _wait(self, flying: list[Any]) -> list[Any]:
        """Wait for a block, or for a copy; return the blocks that came back."""
        if not flying:
            self._await_one()
            return []
        done, _ = self.ray.wait([*flying, *self._starting], num_returns=1)
        for ref in [ref for ref in done if ref in self._starting]:
            self._started(ref)
        return [ref for ref in done if ref in flying]

    def _await_one(self) -> None:
        """Wait until a copy is ready; say so where that takes long, since it may take for ever."""
        said = False
        while not self._ready:
            self._await_copies(PATIENCE)
            if not self._ready and not said:
                self.observer.say("The cluster has no worker ready: waiting for one to be started.")
                said = True

    def _await_copies(self, seconds: float) -> None:
        done, _ = self.ray.wait([*self._starting], num_returns=1, timeout=seconds)
        for ref in done:
            self._started(ref)

    def _started(self, ref: Any) -> None:  # noqa: ANN401 - Ray's
        """Take a copy into use, if it is what the others are; give it up if it cannot be started."""
        copy = self._starting.pop(ref)
        try:
            copy.description = self.ray.get(ref)
        except self.ray.exceptions.RayTaskError as error:
            raise cause(error) from None
        except self.ray.exceptions.RayError as error:
            self.copies.remove(copy)
            if not self.copies:
                raise ModelError(
                    f"No worker of the cluster could be started, or all have died: {first_line(error)} Everything that "
                    "is needed here must be installed on the nodes, and the images be there under the same path. What "
                    "was finished is safe; the same command continues."
                ) from error
            self.observer.say(f"A worker was given up: {first_line(error)}")
        else:
            self._check_alike(copy.description)

    def _check_alike(self, description: Description) -> None:
        """Refuse a copy of another model or with other packages; say where only the last digits may differ."""
        (first, *_), found = [copy.description for copy in self._ready if copy.description], description
        apart = differences(first.packages, found.packages)
        if apart:
            raise ModelError(
                f"The nodes have other versions, which may give other pixels. {apart} (there: {first.node}, now: "
                f"{found.node}) Install the same everywhere."
            )
        if first.record != found.record:
            raise ModelError(f"{first.record.name} is another model on {found.node} than on {first.node}.")
        if (first.processor, first.device) != (found.processor, found.device):
            self.observer.say(
                f"The workers calculate on different hardware ({first.processor}, {', '.join(first.device.values())}; "
                f"{found.processor}, {', '.join(found.device.values())}): the last digits of confidences depend on "
                "which of them had a block."
            )

    def _asked(self, method: str, *given: object) -> Any:  # noqa: ANN401 - what the method returns
        """Call a method of the first copy that lives long enough to answer."""
        while True:
            self._await_one()
            copy = self._ready[0]
            result = self._result(getattr(copy.actor, method).remote(self.reference, *given), lost=_LOST)
            if result is not _LOST:
                return result
            self._start(copy)

    def _result(self, ref: Any, lost: object = None) -> Any:  # noqa: ANN401 - Ray's
        """Return what a call gave; ``lost`` if that was lost, by whatever but an error of the call itself."""
        try:
            return self.ray.get(ref)
        except self.ray.exceptions.RayTaskError as error:
            raise cause(error) from None
        except self.ray.exceptions.RayError:
            return lost


_LOST = object()


def _same_shape(
    stage: Stage, order: Order, benchmark: Benchmark, shape: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Refuse a block whose pictures have another size than those of the other blocks."""
    if stage.shape is None:
        return shape
    picture = np.broadcast_to(np.uint8(0), stage.shape)
    return check_shapes([order.block[0][1]], [picture], benchmark.protocol, shape)


@contextlib.contextmanager
def replicas(ray: Any, job: Job, room: Room, gpus: float, observer: Observer) -> Iterator[Replicas]:  # noqa: ANN401
    """Load as many copies of a model as there is room for, each with so many graphics processors.

    They end with the context. ``ray`` is the module, connected.

    Raises
    ------
    ArgumentError
        If the model or the images cannot be sent to other processes.
    """
    kind = ray.remote(Replica).options(
        num_cpus=room.threads,
        num_gpus=gpus,
        max_concurrency=AT_ONCE,
        max_restarts=-1,
        runtime_env={"env_vars": variables()},
    )
    reference = [sent(ray, job)]
    copies = [_Copy(kind.remote()) for _ in range(room.workers)]
    try:
        found = Replicas(ray, job, reference, room.threads, observer, [*copies])
        found.begin()
        yield found
    finally:
        for copy in copies:
            with contextlib.suppress(Exception):  # it may be gone
                ray.kill(copy.actor)
