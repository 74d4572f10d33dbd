"""The result so far, for the live line of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.datasets import SequenceSet
from oodometer.errors import MetricError
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.metrics import (
    Baseline,
    Estimate,
    Misses,
    accuracy,
    bounded_mean,
    mce_estimate,
    mean_corruption_error_estimate,
    mean_error_estimate,
)
from oodometer.metrics.sequences import is_noise, video_flip_rates
from oodometer.plan import Benchmark
from oodometer.store import Block, Table
from oodometer.tables import of_clean, predictions, with_all_severities
from oodometer.types import CLEAN, Condition

__all__ = ["RunningFlips", "RunningResult", "running_result"]


def running_result(benchmark: Benchmark, baseline: Baseline | None, earlier: Table) -> RunningResult | RunningFlips:
    """Begin to add up the blocks of a benchmark, in its own label space.

    Parameters
    ----------
    benchmark, baseline
        What is evaluated, and what an mCE is divided by.
    earlier
        The predictions of an earlier process, if the run is continued.
    """
    space = benchmark.dataset.label_space.name
    if isinstance(benchmark.dataset, SequenceSet):
        return RunningFlips(benchmark.conditions, earlier, noise=is_noise(benchmark.dataset.perturbation))
    return RunningResult(benchmark.conditions, space, baseline, earlier, labelled=benchmark.labelled)


class RunningFlips:
    """Adds up blocks of videos and says how often the prediction flips.

    Parameters
    ----------
    conditions
        The frames.
    earlier
        The predictions of an earlier process, if the run is continued.
    noise
        Whether frames are compared with the first.
    """

    def __init__(self, conditions: Sequence[Condition], earlier: Table, *, noise: bool) -> None:
        self._conditions, self._noise = list(conditions), noise
        self._scores: list[NDArray[np.float64]] = []
        if earlier.images:
            order = [earlier.conditions.index(condition) for condition in conditions]
            self._scores.append(video_flip_rates(earlier.top[:, order, 0], noise))

    def add(self, block: Block) -> None:
        """Add the predictions of a block."""
        if not block.images:
            return
        best = np.zeros((len(block.images), len(self._conditions)), dtype=np.int32)
        for condition, _, scores, rows in block.scores:
            best[slice(None) if rows is None else rows, self._conditions.index(condition)] = scores.top[:, 0]
        self._scores.append(video_flip_rates(best, self._noise))

    def __str__(self) -> str:
        if not self._scores:
            return ""
        found = bounded_mean(np.concatenate(self._scores), 0, 1)
        return f"flip rate {found.percent()} on {found.n} videos"


class RunningResult:
    """Adds up blocks of one benchmark and says the headline number: mCE, mean corruption error, or accuracy.

    Of images without labels it is how often the prediction is another one than for the clean image.

    Parameters
    ----------
    conditions
        The conditions of the benchmark.
    label_space
        The data set's own label space, in which the number is.
    baseline
        What the mCE is divided by; without one it is the mean corruption error.
    earlier
        The predictions of an earlier process, if the run is continued.
    labelled
        Whether the images have labels.
    """

    def __init__(
        self,
        conditions: Sequence[Condition],
        label_space: str,
        baseline: Baseline | None,
        earlier: Table,
        *,
        labelled: bool = True,
    ) -> None:
        self._conditions = list(conditions)
        self._label_space = label_space
        self._baseline = baseline if baseline and set(IMAGENET_C) <= set(baseline.errors) else None
        self._labelled = labelled
        self._misses: list[NDArray[np.bool_]] = []
        if earlier.images:
            order = [earlier.conditions.index(condition) for condition in self._conditions]
            best = predictions(earlier)
            misses = earlier.misses if labelled else best != of_clean(earlier, best)[:, None]
            self._misses.append(misses[:, order])

    def add(self, block: Block) -> None:
        """Add the predictions of a block."""
        if not block.images:
            return
        shape = len(block.images), len(self._conditions)
        misses = np.ma.array(np.zeros(shape, dtype=np.bool_), mask=True)
        truth = block.labels if self._labelled else self._when_clean(block)
        for condition, space, scores, rows in block.scores:
            if space == self._label_space:
                taken = slice(None) if rows is None else rows
                misses[taken, self._conditions.index(condition)] = scores.top[:, 0] != truth[taken]
        self._misses.append(misses)

    def _when_clean(self, block: Block) -> NDArray[np.int32]:
        """Return the predictions for the clean images of a block."""
        own = ((condition, scores) for condition, space, scores, _ in block.scores if space == self._label_space)
        return next(scores.top[:, 0] for condition, scores in own if condition == CLEAN)

    def __str__(self) -> str:
        if not self._misses:
            return ""
        misses = dict(zip(self._conditions, np.ma.concatenate(self._misses).T, strict=True))  # type: ignore[no-untyped-call]
        whole = with_all_severities(self._conditions)
        counted = {
            name: np.ma.stack([misses[Condition(name, s)] for s in SEVERITIES], axis=1)
            for name in IMAGENET_C
            if name in whole
        }
        if len(counted) < len(IMAGENET_C):
            return self._partial(counted, misses)
        if not self._labelled:
            return f"prediction changes {_short(mean_corruption_error_estimate(counted))}"
        try:
            if self._baseline is None:
                return f"mean error {_short(mean_corruption_error_estimate(counted))}"
            return f"mCE {_short(mce_estimate(counted, self._baseline))}"
        except MetricError:  # a condition lacks images
            return ""

    def _partial(self, counted: Misses, misses: Mapping[Condition, NDArray[np.bool_]]) -> str:
        """Say something without all of the 15 corruptions: the clean accuracy, or else the mean of those there are."""
        if not self._labelled:
            return ""
        if CLEAN in misses:
            return f"accuracy {_short(accuracy(~misses[CLEAN]))}"
        return f"mean error of {len(counted)} corruptions {_short(mean_error_estimate(counted))}" if counted else ""


def _short(estimate: Estimate) -> str:
    return f"{estimate.percent()} on {estimate.n} images"
