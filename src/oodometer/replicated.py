"""The seam between an evaluation and a model that is not here: copies of it, elsewhere, that take whole blocks."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager

from oodometer.meter import Meter
from oodometer.models import AdaptedModel, ModelOptions, Normalization
from oodometer.plan import Benchmark
from oodometer.progress import Observer
from oodometer.road import Entries, Execution, Stage
from oodometer.store import ModelRecord, Step
from oodometer.types import Classifier, Image, Images, LabelSpace, Logits

__all__ = ["Cluster", "ReplicatedModel", "batch_size_of", "described", "text", "texts"]


@typing.runtime_checkable
class ReplicatedModel(typing.Protocol):
    """A model of which several copies are elsewhere.

    ``record`` is what a run records of it, ``environment`` are the versions and devices of the copies, and ``workers``
    the threads of each.
    """

    record: ModelRecord
    environment: Mapping[str, str]
    workers: int

    def predict(self, images: Images) -> Logits:
        """Map N pictures to N rows of logits, by whichever copy."""
        ...

    def find_batch_size(self, picture: Image, largest: int) -> int | None:
        """Return how many pictures like this one to ask for at once, unless that is not ours to measure."""
        ...

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
        """Do what ``road.drive`` does, the blocks in any order; more than one may bring examples."""
        ...


class Cluster(typing.Protocol):
    """Where copies of a model can be had; see ``oodometer.scaling.Cluster``."""

    def replicas(
        self,
        model: object,
        options: ModelOptions | None,
        space: LabelSpace,
        benchmarks: Sequence[Benchmark],
        workers: int | None,
        observer: Observer,
    ) -> AbstractContextManager[ReplicatedModel]:
        """Load the copies, each with so many threads, or what a node has; they end with the context."""
        ...


def described(model: Classifier | ReplicatedModel) -> ModelRecord:
    """Say what a run records of a model.

    An object without a ``fingerprint`` is known by its name, and by what it answers when a run is continued.
    """
    if isinstance(model, ReplicatedModel):
        return model.record
    kind = type(model)
    name = text(str(getattr(model, "name", f"{kind.__module__}.{kind.__qualname__}")))
    normalization = getattr(model, "normalization", None)
    return ModelRecord(
        name=name,
        fingerprint=text(str(getattr(model, "fingerprint", name))),
        normalization=normalization.record() if isinstance(normalization, Normalization) else None,
        resized=getattr(model, "resized", None),
        settings=texts(getattr(model, "settings", {})),
    )


def batch_size_of(model: Classifier | ReplicatedModel, picture: Image, largest: int) -> int | None:
    """Measure how many pictures to ask a model for at once; ``None`` if that is not ours to measure."""
    return model.find_batch_size(picture, largest) if isinstance(model, AdaptedModel | ReplicatedModel) else None


def texts(entries: Mapping[str, object]) -> dict[str, str]:
    """Return names and values as text that can be written anywhere."""
    return {text(str(name)): text(str(value)) for name, value in entries.items()}


def text(value: str) -> str:
    """Escape what UTF-8 cannot hold, such as a file name in another encoding."""
    return value.encode("utf-8", "backslashreplace").decode()
