"""The Ray cluster that work goes to: how to reach it, and what there is room for on its nodes."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from oodometer.building.engine import Outcome
from oodometer.building.parts import Part, Work
from oodometer.errors import ArgumentError, MissingDataError
from oodometer.models import ModelOptions, kind_of_answers
from oodometer.plan import Benchmark
from oodometer.progress import Observer
from oodometer.replicated import ReplicatedModel
from oodometer.scaling.carried import Carried, Room
from oodometer.scaling.replicas import Job, replicas
from oodometer.scaling.tasks import made
from oodometer.types import LabelSpace

__all__ = ["Cluster"]

_QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",  # nothing is told to anybody
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",  # work that asks for no accelerator sees none; said, so not warned of
}

ANSWER = 20.0
"""How many seconds a cluster may take to answer."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster, for ``oodometer.evaluate`` and ``oodometer.build``.

    Parameters
    ----------
    address
        Of the cluster, as ``ray.init`` takes it, such as ``"10.0.0.1:6379"``, ``"auto"`` or ``"local"``. Without one it
        is what the variable ``RAY_ADDRESS`` or ``ray start`` on this machine say, and else a cluster of this machine
        alone is started, and ended with the work. A connection that the process has is used as it is.
    gpus_per_worker
        How many graphics processors a copy of the model has to itself; below 1 several copies share one, and 0 is for
        processors alone.

    Raises
    ------
    ArgumentError
        If ``gpus_per_worker`` is neither a whole number from 0 up nor a fraction below 1.
    """

    address: str | None = None
    gpus_per_worker: float = 0

    def __post_init__(self) -> None:
        gpus = self.gpus_per_worker
        if isinstance(gpus, bool) or not isinstance(gpus, int | float) or gpus < 0 or (gpus > 1 and gpus != int(gpus)):
            raise ArgumentError(f"gpus_per_worker must be 0, a fraction below 1 or a whole number, not {gpus!r}.")

    @contextlib.contextmanager
    def replicas(
        self,
        model: object,
        options: ModelOptions | None,
        space: LabelSpace,
        benchmarks: Sequence[Benchmark],
        workers: int | None,
        observer: Observer,
    ) -> Iterator[ReplicatedModel]:
        """Load as many copies of a model as there is room for; see ``oodometer.replicated.Cluster``.

        Raises
        ------
        ArgumentError
            If the model names classes in words, if there is no room, or if the model or the images cannot be sent.
        """
        if kind_of_answers(model, options) is not None:
            raise ArgumentError(
                "A model that is asked in words is behind an endpoint, which several machines do not make quicker: "
                "leave out --ray, and say how many --requests are under way at once."
            )
        names = {name for benchmark in benchmarks for name in benchmark.protocol.corruptions}
        job = Job(model, options, space, tuple(benchmarks), Carried.of(names))
        with self.connected() as ray, replicas(ray, job, self._room(ray, workers), self.gpus_per_worker, observer) as r:
            yield r

    def make(self, work: Work, parts: Sequence[Part], workers: int | None) -> Iterator[tuple[int, Outcome]]:
        """Have parts of a build made; see ``oodometer.building.parts.Crew``.

        Raises
        ------
        ArgumentError
            If there is no room, or if the images cannot be sent.
        """
        carried = Carried.of(work.recipe.protocol.corruptions)
        with self.connected() as ray:
            room = replace(self, gpus_per_worker=0)._room(ray, workers)
            yield from made(ray, work, carried, parts, room)

    def _room(self, ray: Any, threads: int | None) -> Room:  # noqa: ANN401 - a module
        return self.room([node["Resources"] for node in ray.nodes() if node["Alive"]], threads)

    @contextlib.contextmanager
    def connected(self) -> Iterator[Any]:
        """Connect, unless the process is; yields the module ``ray``.

        Raises
        ------
        MissingDataError
            If Ray is not installed.
        ArgumentError
            If there is no such cluster, or it cannot be worked with.
        """
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        try:
            import ray
        except ModuleNotFoundError as error:
            raise MissingDataError(f"A cluster needs {error.name}: pip install 'oodometer[ray]'.") from error
        if ray.is_initialized():
            yield ray
            return
        self._connect(ray)
        try:
            yield ray
        finally:
            ray.shutdown()

    def _connect(self, ray: Any) -> None:  # noqa: ANN401 - a module
        if self.address is not None and "://" in self.address:
            raise ArgumentError(
                f"{self.address}: a client of Ray is not supported. Run the command on a node of the cluster, or send "
                "it there: ray job submit --address http://HEAD:8265 -- oodometer ..."
            )
        _check_answers(self.address or os.environ.get("RAY_ADDRESS", ""))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what they are about is Ray's own affair
                ray.init(address=self.address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, ValueError, RuntimeError) as error:
            where = "Ray cannot be started" if self.address is None else f"There is no Ray cluster at {self.address}"
            raise ArgumentError(f"{where}: {str(error).partition(chr(10))[0]}") from error

    def room(self, nodes: Sequence[Mapping[str, float]], threads: int | None) -> Room:
        """Count the workers for whom there is room.

        Parameters
        ----------
        nodes
            What each node has: ``CPU`` and ``GPU``.
        threads
            Of a worker, each with a processor to itself. By default as many as let the smallest node have a worker;
            with graphics processors, its share of the node's.

        Raises
        ------
        ArgumentError
            If there is room for none.
        """
        gpus = self.gpus_per_worker
        able = [node for node in nodes if node.get("CPU", 0) >= (threads or 1) and node.get("GPU", 0) >= gpus]
        if not able:
            having = "; ".join(f"{n.get('CPU', 0):g} CPUs and {n.get('GPU', 0):g} GPUs" for n in nodes)
            raise ArgumentError(
                f"No node of the cluster has room for a worker of {threads or 1} CPUs and {gpus:g} GPUs. The nodes "
                f"have: {having or 'nothing'}."
            )
        each = [node["CPU"] / max(1, node["GPU"] // gpus) if gpus else node["CPU"] for node in able]
        threads = threads or max(1, int(min(each)))
        fitting = [min(node["CPU"] // threads, node["GPU"] // gpus if gpus else node["CPU"]) for node in able]
        return Room(int(sum(fitting)), threads)


def _check_answers(address: str) -> None:
    """Refuse an address at which nobody answers, for which Ray itself would wait many minutes."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=ANSWER).close()
    except (OSError, OverflowError) as error:
        raise ArgumentError(f"There is no Ray cluster at {address}: {error}") from error
