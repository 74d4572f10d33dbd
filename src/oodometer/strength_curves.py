"""Error as a function of a real-valued severity, and the severity that leaves half of the clean accuracy."""

from __future__ import annotations

import contextlib
import os
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import RenderableType
from rich.text import Text

from oodometer import metrics, plan
from oodometer.corruptions.registry import find
from oodometer.corruptions.severity import EDITIONS, STRONGEST
from oodometer.errors import ArgumentError, DatasetError, MetricError, MissingDataError
from oodometer.families import SEVERITIES
from oodometer.inputs import open_clean
from oodometer.metrics import Estimate
from oodometer.metrics.strength import bisected, half_strength
from oodometer.models import ModelOptions, kind_of_answers, load_model
from oodometer.progress import Observer, ProgressBar, Silent
from oodometer.report.layout import pairs_grid, table_grid, with_ends
from oodometer.report.notebook import notebook_html
from oodometer.road import Execution, cut, drive
from oodometer.store import Step
from oodometer.types import CLEAN, Classifier, Condition, Dataset, Protocol

__all__ = ["Point", "StrengthCurve", "strength_curve"]


@dataclass(frozen=True, slots=True)
class Point:
    """The top-1 error at one severity; 0 is the clean images."""

    severity: float
    error: Estimate


@dataclass(frozen=True, slots=True)
class StrengthCurve:
    """The errors under one corruption by its severity, all on the same ``images``.

    ``half`` is the severity that leaves half of the clean accuracy; if it is ``None``, ``half_unavailable`` says why.
    Where ``half_open`` is true, its interval has no upper end: these images cannot say that the accuracy falls to half
    up to the greatest severity, at which the interval then stops. ``skipped`` says which files could not be read.
    """

    model: str
    corruption: str
    dataset: str
    protocol: Protocol
    images: int
    skipped: tuple[str, ...]
    points: tuple[Point, ...]
    half: Estimate | None
    half_unavailable: str | None
    half_open: bool = False

    def __str__(self) -> str:
        lines = [f"{self.corruption}, {self.model}: {self.images:,} images of {self.dataset}, {self.protocol.label}"]
        lines += [f"  severity {point.severity:<8g} error {point.error.percent()} %" for point in self.points]
        return "\n".join([*lines, f"  {self.verdict}"])

    @property
    def verdict(self) -> str:
        """Where half of the clean accuracy is left, or why nobody can tell, in a sentence."""
        if self.half is None:
            return str(self.half_unavailable)
        ends = f"[{self.half.low:.2f}, {self.half.high:.2f}{' or beyond' if self.half_open else ''}]"
        return f"half of the clean accuracy is left at severity {self.half.value:.2f} {ends}"

    def _repr_html_(self) -> str:
        return notebook_html(_parts(self))


def _parts(curve: StrengthCurve) -> Iterator[RenderableType]:
    yield pairs_grid(
        [
            ("Model", curve.model),
            ("Corruption", curve.corruption),
            ("Images", f"{curve.images:,} of {curve.dataset}"),
            ("Protocol", curve.protocol.label),
        ]
    )
    table = table_grid("Top-1 error in percent, with 95 % intervals")
    table.add_column("severity")
    table.add_column("error")
    for point in curve.points:
        table.add_row(f"{point.severity:g}" if point.severity else "clean", with_ends(point.error))
    yield table
    yield Text(curve.verdict)


def strength_curve(
    model: object,
    data: str | os.PathLike[str] | Dataset,
    corruption: str,
    severities: Sequence[float] = SEVERITIES,
    *,
    labels: str | Path | Mapping[str, int | str] | None = None,
    classes: int | None = None,
    label_space: str | None = None,
    preprocess: str = "imagenet224",
    encoding: str = "memory",
    edition: str = "imagenet224",
    method: str = "fast",
    model_options: ModelOptions | None = None,
    seed: int = 0,
    limit: int | None = None,
    batch_size: int = 16,
    workers: int | None = None,
    progress: bool = True,
) -> StrengthCurve:
    """Measure a classifier under one corruption at several severities, and where it has lost half of its accuracy.

    Published severities of two corruptions cannot be compared. The severity that costs a classifier half of its clean
    accuracy can: it is found by bisection on the same images, beginning with ``severities`` and looking up to the
    strongest one: 10, or 5 for corruptions that have none beyond.

    Parameters
    ----------
    model, data, labels, classes, label_space, preprocess, encoding, edition, method, model_options, seed, limit
        As for ``evaluate``.
    corruption
        The name of one corruption.
    severities
        Where to measure first: numbers from 0 to 10. The clean images always are.
    batch_size, workers
        How the work is cut up, which changes no result.
    progress
        Whether to show progress bars on stderr.

    Returns
    -------
    StrengthCurve
        Prints as a list.

    Raises
    ------
    OodometerError
        As for ``evaluate``, before the first prediction.
    """
    chosen = _severities(severities)
    if kind_of_answers(model, model_options):
        raise ArgumentError(
            "A strength curve chooses its severities as it goes, so its cost cannot be told before, and answers that "
            "are paid for are not kept. Evaluate a model that is asked in words at the published severities."
        )
    dataset = open_clean(data, labels=labels, classes=classes, label_space=label_space)
    protocol = plan.make_protocol(
        corruptions=[corruption], preprocess=preprocess, encoding=encoding, edition=edition, method=method, seed=seed
    )
    benchmark = _benchmark(dataset, protocol, corruption, limit)
    (name,) = protocol.corruptions
    strongest = _strongest(name, chosen)
    loaded = load_model(model, model_options, dataset.label_space)
    with ProgressBar() if progress else contextlib.nullcontext(Silent()) as observer:
        measurer = _Measurer(loaded, benchmark, Execution.of(batch_size, workers), observer)
        known, misses = bisected(measurer.measure, chosen, strongest)
    half, why = _half(known, misses)
    return StrengthCurve(
        model=str(getattr(loaded, "name", type(loaded).__name__)),
        corruption=name,
        dataset=dataset.name,
        protocol=protocol,
        images=len(misses),
        skipped=measurer.skipped,
        points=tuple(Point(s, metrics.proportion(misses[:, k])) for k, s in enumerate(known)),
        half=half,
        half_unavailable=why,
        half_open=half is not None and half.high >= known[-1],
    )


def _benchmark(dataset: Dataset, protocol: Protocol, corruption: str, limit: int | None) -> plan.Benchmark:
    """Plan the images under one corruption, having refused a group of them, and what cannot be run."""
    if len(protocol.corruptions) != 1:
        raise ArgumentError(f"A strength curve is of one corruption, and {corruption!r} is a group of them.")
    benchmark = plan.corrupted(dataset, protocol, limit=limit)
    for name, reason in benchmark.unavailable.items():
        raise MissingDataError(f"{name} cannot be run: {reason}.")
    return benchmark


def _severities(severities: Sequence[float]) -> tuple[float, ...]:
    if not isinstance(severities, list | tuple | range | np.ndarray) or not len(severities):
        raise ArgumentError(f"severities must be numbers from 0 to {STRONGEST}, at least one, not {severities!r}.")
    for severity in severities:
        if not isinstance(severity, int | float | np.number) or not 0 <= severity <= STRONGEST:
            raise ArgumentError(f"severities must be numbers from 0 to {STRONGEST}, not {severity!r}.")
    return tuple(float(severity) for severity in severities)


def _strongest(corruption: str, severities: Sequence[float]) -> float:
    """Return the strongest severity of a corruption, having refused stronger ones: not all go beyond the published."""
    found = find(corruption)
    for severity in severities:
        found.constants(EDITIONS[0], severity)
    try:
        found.constants(EDITIONS[0], STRONGEST)
    except ArgumentError:
        return SEVERITIES[-1]
    return STRONGEST


def _half(severities: Sequence[float], misses: NDArray[np.bool_]) -> tuple[Estimate | None, str | None]:
    try:
        return half_strength(severities, misses), None
    except MetricError as error:
        return None, str(error)


@dataclass(frozen=True, slots=True)
class _Points(plan.Benchmark):
    """A benchmark with one corruption at severities of its own."""

    severities: tuple[float, ...] = ()

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Each severity in its order; 0 is the clean images."""
        (corruption,) = self.protocol.corruptions
        # The road hands the number on to the corruption, which takes any; only stored runs have whole ones.
        return tuple(Condition(corruption, typing.cast("int", s)) if s else CLEAN for s in self.severities)


class _Measurer:
    """Evaluates the same images at the severities that are asked for."""

    def __init__(self, model: Classifier, benchmark: plan.Benchmark, execution: Execution, observer: Observer) -> None:
        self._model, self._benchmark, self._execution, self._observer = model, benchmark, execution, observer
        self.skipped: tuple[str, ...] = ()

    def measure(self, severities: Sequence[float]) -> NDArray[np.bool_]:
        """Tell which predictions are wrong: bool, images x severities, the images in the seeded order."""
        b = self._benchmark
        points = _Points(b.name, b.dataset, b.protocol, limit=b.limit, severities=tuple(severities))
        order = points.order
        step = Step(0, len(order), len(severities))
        at = ", ".join(f"{severity:g}" for severity in severities)
        self._observer.begin(f"severity {at}", len(order) * len(severities), 0)
        blocks = cut(points, step, (), self._execution)
        stages = list(
            drive(self._model, points, step, blocks, self._execution, self._observer.advance, examples_before=0)
        )
        misses = [
            np.stack([scores.top[:, 0] != stage.block.labels for _, _, scores, _ in stage.block.scores], axis=1)
            for stage in stages
            if stage.block.images
        ]
        skipped = [skip for stage in stages for skip in stage.block.skipped]
        if not misses:
            raise DatasetError(f"None of the {len(skipped)} images can be read: {skipped[0].reason}")
        self.skipped = tuple(skip.reason for skip in skipped)
        return np.concatenate(misses)
