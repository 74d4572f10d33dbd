"""The options of the command line that send work to a Ray cluster."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from oodometer.errors import ArgumentError

__all__ = ["with_cluster"]

_HERE = ""
"""Stands for the cluster that is found without an address."""


def with_cluster(*, gpus: bool) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command ``--ray [ADDRESS]`` and perhaps ``--gpus-per-worker``; it receives them as ``cluster``."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def collected(*given: Any, ray: str | None, gpus_per_worker: float | None = None, **more: Any) -> None:  # noqa: ANN401
            command(*given, cluster=_cluster(ray, gpus_per_worker), **more)

        option = click.option(
            "--ray",
            metavar="[ADDRESS]",
            is_flag=False,
            flag_value=_HERE,
            help="Work on a Ray cluster: the one that RAY_ADDRESS or `ray start` tell of, else this machine.",
        )
        if not gpus:
            return option(collected)
        return option(
            click.option(
                "--gpus-per-worker",
                type=float,
                metavar="N",
                help="With --ray: the graphics processors of each copy of the model; below 1, copies share one.",
            )(collected)
        )

    return decorate


def _cluster(address: str | None, gpus_per_worker: float | None) -> Any:  # noqa: ANN401 - imported when used
    if address is None:
        if gpus_per_worker is not None:
            raise ArgumentError("--gpus-per-worker goes with --ray.")
        return None
    from oodometer.scaling import Cluster

    return Cluster(address or None, gpus_per_worker or 0)
