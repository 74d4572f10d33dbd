"""What goes to processes elsewhere before they work, and how what they raise comes back."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from oodometer import textures
from oodometer.corruptions.registry import REGISTRY, Corruption, groups, register
from oodometer.errors import ArgumentError, OodometerError
from oodometer.threads import threads

__all__ = ["Carried", "Room", "cause", "first_line", "frost", "sent", "variables"]


@dataclass(frozen=True, slots=True)
class Room:
    """How many workers fit on the nodes of a cluster at once, and the threads of each."""

    workers: int
    threads: int


@dataclass(frozen=True, slots=True)
class Carried:
    """The corruptions that are not of Oodometer's own, each with its function; and the folder that paths start from."""

    corruptions: tuple[Corruption, ...]
    folder: str

    @classmethod
    def of(cls, names: Iterable[str]) -> Carried:
        """Collect what some corruptions need, of which those of the user may be among them."""
        own = set(groups()["own"]) & set(names)
        return cls(tuple(corruption for name, corruption in REGISTRY.items() if name in own), os.getcwd())  # noqa: PTH109

    def unpack(self) -> None:
        """Register what this process does not know yet, and go where relative paths mean the same."""
        with contextlib.suppress(OSError):  # then there are none, or what they name is not there
            os.chdir(self.folder)
        for corruption in self.corruptions:
            if corruption.name not in REGISTRY:
                register(corruption)


def variables() -> dict[str, str]:
    """Return the variables of the environment under which a process elsewhere gives what this one would give.

    The last digits of PyTorch's sums on a processor depend on how many threads calculate them, so that these are as
    many as here, whatever the node has.
    """
    return {"OMP_NUM_THREADS": str(_calculating()), **frost()}


def frost() -> dict[str, str]:
    """Return the variable that says where frost's textures are, if it says so here."""
    folder = os.environ.get(textures.ENVIRONMENT)
    return {textures.ENVIRONMENT: folder} if folder else {}


def _calculating() -> int:
    """Return on how many threads PyTorch would calculate in this process; as it has it, on as many as OpenMP."""
    if importlib.util.find_spec("torch") is not None:
        from oodometer.models.torch import calculating_threads

        return calculating_threads()
    said = os.environ.get("OMP_NUM_THREADS", "")
    return int(said) if said.isdecimal() and int(said) else threads(None)


def sent(ray: Any, job: object) -> Any:  # noqa: ANN401 - Ray's
    """Put what a job is made from where all nodes can fetch it.

    Raises
    ------
    ArgumentError
        If it cannot be pickled.
    """
    try:
        return ray.put(job)
    except Exception as error:  # whatever an object of the user's raises when it is pickled
        raise ArgumentError(
            f"This model, or these images, cannot be sent to the processes of a cluster: {first_line(error)} Name the "
            "model by a specification that each of them can load, such as torch:PACKAGE.MODULE:FACTORY, and the images "
            "by their path."
        ) from error


def cause(error: Any) -> Exception:  # noqa: ANN401 - Ray's
    """Return what a call raised: an error of ours as it is, else Ray's, which has the traceback of the process."""
    found: Exception = error.cause if isinstance(error.cause, OodometerError) else error
    return found


def first_line(error: Exception) -> str:
    """Return the first line that an error of Ray says; the others are a traceback, or advice to Ray's own users."""
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
