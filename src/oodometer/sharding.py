"""Work cut into parts for several processes that do not talk to each other: which part is one's own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from oodometer.arguments import whole
from oodometer.errors import ArgumentError

__all__ = ["Cut", "Shard", "ShardSpec"]

ShardSpec: TypeAlias = "str | Sequence[int]"
"""A shard as users give it: ``(index, count)``, ``"index/count"``, or ``"auto"``."""

MOST = 100_000
"""As many shards as there can be, far above any use."""

_LAUNCHERS = {"torchrun": ("RANK", "WORLD_SIZE"), "SLURM": ("SLURM_PROCID", "SLURM_NTASKS")}
"""The variables by which a process knows its number, from 0, and how many there are. torchrun may run under SLURM."""


@dataclass(frozen=True, slots=True)
class Shard:
    """The part ``index`` of ``count``, counted from 0: every ``count``-th block of the work from there on."""

    index: int
    count: int

    @classmethod
    def of(cls, given: ShardSpec, environment: Mapping[str, str] | None = None) -> Shard:
        """Read a shard.

        Parameters
        ----------
        given
            ``(index, count)`` or ``"index/count"``, the index from 0 on; or ``"auto"``: what ``torchrun`` or SLURM's
            ``srun`` say to the process.
        environment
            The variables of the process; its own unless given.

        Raises
        ------
        ArgumentError
            If it is none of these.
        """
        if given == "auto":
            return cls._launched(os.environ if environment is None else environment)
        found = re.fullmatch(r"(\d{1,9})/(\d{1,9})", given) if isinstance(given, str) else None
        pair = list(map(int, found.groups())) if found else given
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise ArgumentError(
                f"A shard is INDEX/COUNT, such as 0/8 for the first of eight, or auto; not {given!r}. In Python it is "
                "(0, 8), too."
            )
        count = whole("The number of shards", pair[1], 1, MOST)
        index = whole("The index of a shard", pair[0])
        if not 0 <= index < count:
            raise ArgumentError(
                f"There is no shard {index}/{count}: shards are counted from 0, so those of {count} are 0/{count} to "
                f"{count - 1}/{count}."
            )
        return cls(index, count)

    @classmethod
    def _launched(cls, environment: Mapping[str, str]) -> Shard:
        for launcher, names in _LAUNCHERS.items():
            if all(name in environment for name in names):
                said = "/".join(environment[name] for name in names)
                try:
                    return cls.of(said)
                except ArgumentError as error:
                    raise ArgumentError(
                        f"The variables of {launcher}, {' and '.join(names)}, say {said}. {error}"
                    ) from error
        raise ArgumentError(
            "--shard auto is for processes that torchrun or srun started, and there is neither RANK with WORLD_SIZE "
            "nor SLURM_PROCID with SLURM_NTASKS. Give the shard as INDEX/COUNT, such as 0/8."
        )

    @property
    def folder(self) -> str:
        """What the folder of its results is called among those of the other shards."""
        return f"shard-{self.index:04d}-of-{self.count:04d}"

    def takes(self, number: int) -> bool:
        """Whether a block of the work is this shard's."""
        return number % self.count == self.index

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"


@dataclass(frozen=True, slots=True)
class Cut:
    """Which images of a seeded order a shard evaluates: every ``count``-th block of so many ``images``."""

    index: int
    count: int
    images: int

    @property
    def shard(self) -> Shard:
        """The shard, however large blocks are."""
        return Shard(self.index, self.count)

    def takes(self, place: int) -> bool:
        """Whether the image at a place of the seeded order is this shard's."""
        return self.shard.takes(place // self.images)
