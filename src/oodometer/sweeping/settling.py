"""All of a sweep checked before any of it is run, as far as that is possible without loading a model."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from oodometer.benchmarks import Asked, planned
from oodometer.errors import ArgumentError, OodometerError
from oodometer.models import ModelOptions, check_spec, kind_of_answers
from oodometer.road import Execution
from oodometer.run_baseline import find_baseline
from oodometer.store import BenchmarkRecord
from oodometer.sweeping.plan import BESIDE, BenchmarkEntry, ModelEntry, SweepPlan

__all__ = ["Pair", "settle"]

_NOT_OPTIONS = ("name", "spec")


@dataclass(frozen=True, slots=True)
class Pair:
    """One model on one benchmark: a run.

    ``path`` is its folder. ``digest`` is of everything that was asked for, and of the data as they are.
    """

    model: ModelEntry
    benchmark: BenchmarkEntry
    path: Path
    digest: str

    @property
    def log(self) -> Path:
        """What the process of the run printed."""
        return self.path.with_name(f"{self.path.name}{BESIDE[0]}")

    @property
    def state(self) -> Path:
        """What became of the run."""
        return self.path.with_name(f"{self.path.name}{BESIDE[1]}")

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments of ``oodometer`` that make the run."""
        return ("evaluate", self.model.spec, *_options(self.benchmark), *_options(self.model), "-o", str(self.path))


def settle(plan: SweepPlan, out: Path) -> list[Pair]:
    """Check every model and every benchmark of a plan, and pair them.

    Raises
    ------
    ArgumentError
        If something is wrong; the message lists all that is.
    """
    faults: list[str] = []
    for model in plan.model:
        try:
            _options_of(model)
            Execution.of("auto" if model.batch_size is None else model.batch_size, model.workers)
            check_spec(model.spec)
        except OodometerError as error:
            faults.append(f"model {model.name}: {error}")
    records: dict[str, Sequence[BenchmarkRecord]] = {}
    for benchmark in plan.benchmark:
        try:
            records[benchmark.name] = _records(benchmark, out)
        except OodometerError as error:
            faults.append(f"benchmark {benchmark.name}: {error}")
    if faults:
        raise ArgumentError("\n".join(["Nothing was begun, since the plan has faults.", *faults]))
    return [
        Pair(model, benchmark, out / model.name / benchmark.name, _digest(model, benchmark, records[benchmark.name]))
        for model in plan.model
        for benchmark in plan.benchmark
    ]


def _options_of(model: ModelEntry) -> None:
    """Build the options, which check themselves."""
    names = {"resize_to_model": "resize", "model_classes": "classes"}
    given = {
        names.get(field, field): value
        for field in model.__struct_fields__
        if field not in (*_NOT_OPTIONS, "batch_size", "workers") and (value := getattr(model, field)) is not None
    }
    kind_of_answers(model.spec, ModelOptions(**given))


def _records(benchmark: BenchmarkEntry, out: Path) -> list[BenchmarkRecord]:
    """Plan a benchmark as an evaluation does, which opens its data."""
    asked = Asked(
        data=benchmark.data,
        out=out,
        clean=benchmark.clean,
        imagenet_r=benchmark.imagenet_r,
        suite=benchmark.suite,
        labels=benchmark.labels,
        classes=benchmark.classes,
        label_space=benchmark.label_space,
        unlabelled=benchmark.unlabelled,
        corruptions="imagenet-c" if benchmark.corruptions is None else _listed(benchmark.corruptions),
        preprocess=benchmark.preprocess,
        encoding=benchmark.encoding,
        edition=benchmark.edition,
        method=benchmark.method,
        seed=benchmark.seed or 0,
        limit=benchmark.limit,
        precision=benchmark.precision,
        paired=None,
        baseline="auto" if benchmark.baseline is None else benchmark.baseline,
    )
    records = [one.record() for one in planned(asked, None)]
    if benchmark.baseline not in (None, "auto", "none"):
        find_baseline(benchmark.baseline, records[0])
    return records


def _digest(model: ModelEntry, benchmark: BenchmarkEntry, records: Sequence[BenchmarkRecord]) -> str:
    return hashlib.sha256(msgspec.json.encode((model, benchmark, records))).hexdigest()


def _options(entry: ModelEntry | BenchmarkEntry) -> list[str]:
    """Return the options of the command line that an entry stands for."""
    found: list[str] = []
    for field in entry.__struct_fields__:
        value, name = getattr(entry, field), f"--{field.replace('_', '-')}"
        if field in _NOT_OPTIONS or value is None or value is False:
            continue
        if value is True:
            found.append(name)
        elif isinstance(value, dict):
            found += [f"{name}={key}={path}" for key, path in value.items()]
        else:
            found.append(f"{name}={_listed(value)}")
    return found


def _listed(value: Any) -> Any:  # noqa: ANN401 - of any option
    """Write names as the command line takes them."""
    return ",".join(value) if isinstance(value, tuple) else value
