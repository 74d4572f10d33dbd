"""The result so far, for the live line of an evaluation."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.metrics import Baseline, Estimate, accuracy, mce_estimate, mean_corruption_error_estimate
from oodometer.store import Block, Table
from oodometer.types import CLEAN, Condition

__all__ = ["RunningResult"]


class RunningResult:
    """Adds up blocks of one benchmark and says the headline number: mCE, mean corruption error, or accuracy.

    Parameters
    ----------
    label_space
        The data set's own label space, in which the number is.
    baseline
        What the mCE is divided by; without one it is the mean corruption error.
    earlier
        The predictions of an earlier process, if the run is continued.
    """

    def __init__(self, label_space: str, baseline: Baseline | None, earlier: Table) -> None:
        self._label_space = label_space
        self._baseline = baseline if baseline and set(IMAGENET_C) <= set(baseline.errors) else None
        self._misses: dict[Condition, list[NDArray[np.bool_]]] = defaultdict(list)
        for i, condition in enumerate(earlier.conditions):
            self._misses[condition].append(~earlier.hits[:, i])

    def add(self, block: Block) -> None:
        """Add the predictions of a block."""
        for condition, space, scores, rows in block.scores:
            if space == self._label_space and rows is None:
                self._misses[condition].append(scores.top[:, 0] != block.labels)

    def __str__(self) -> str:
        by_cell = {condition: np.concatenate(parts) for condition, parts in self._misses.items()}
        if not by_cell:
            return ""
        if not all(Condition(name, s) in by_cell for name in IMAGENET_C for s in SEVERITIES):
            return f"accuracy {_short(accuracy(~by_cell[CLEAN]))}"
        misses = {name: np.stack([by_cell[Condition(name, s)] for s in SEVERITIES], axis=1) for name in IMAGENET_C}
        if self._baseline is None:
            return f"mean error {_short(mean_corruption_error_estimate(misses))}"
        return f"mCE {_short(mce_estimate(misses, self._baseline))}"


def _short(estimate: Estimate) -> str:
    return f"{estimate.percent()} on {estimate.n} images"
