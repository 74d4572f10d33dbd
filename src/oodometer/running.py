"""The result so far, for the live line of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.metrics import (
    Baseline,
    Estimate,
    Misses,
    accuracy,
    mce_estimate,
    mean_corruption_error_estimate,
    mean_error_estimate,
)
from oodometer.store import Block, Table
from oodometer.tables import of_clean, predictions, with_all_severities
from oodometer.types import CLEAN, Condition

__all__ = ["RunningResult"]


class RunningResult:
    """Adds up blocks of one benchmark and says the headline number: mCE, mean corruption error, or accuracy.

    Of images without labels it is how often the prediction is another one than for the clean image; without clean ones
    it is nothing.

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
        self._silent = not labelled and CLEAN not in conditions
        self._misses: list[NDArray[np.bool_]] = []
        if earlier.images and not self._silent:
            order = [earlier.conditions.index(condition) for condition in self._conditions]
            best = predictions(earlier)
            misses = earlier.misses if labelled else best != of_clean(earlier, best)[:, None]
            self._misses.append(misses[:, order])

    def add(self, block: Block) -> None:
        """Add the predictions of a block."""
        if not block.images or self._silent:
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
