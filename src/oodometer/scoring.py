"""From logits to what the store keeps of them: the best classes, the confidence and the loss, in one label space."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.types import UNLABELLED, Answers, LabelSpace, Logits

__all__ = ["TOP", "Scores", "score", "score_answers"]

TOP = 5
"""How many of the best classes are kept."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What is kept of N rows of logits in one label space.

    ``top`` is int32, N x min(5, classes that take part): positions in the label space's ``classes``, best first; equal
    logits keep the order of the columns. ``confidence`` is the largest softmax probability, ``nll`` the negative
    log-likelihood of the label in nats (infinite if the label's column does not take part) and ``brier`` the squared
    distance, 0..2, of the probabilities from those that are 1 for the label and 0 for all others (1 and more if the
    label's column does not take part); all float32 of length N. Of images without a label the latter two are NaN.
    Of answers, which name a class and no more, ``top`` is N x 1 and all three are NaN.
    """

    top: NDArray[np.int32]
    confidence: NDArray[np.float32]
    nll: NDArray[np.float32]
    brier: NDArray[np.float32]

    def __getitem__(self, rows: NDArray[np.bool_]) -> Scores:
        """Return those of some rows."""
        return Scores(self.top[rows], self.confidence[rows], self.nll[rows], self.brier[rows])


def score(logits: Logits, labels: NDArray[np.int32], space: LabelSpace) -> Scores:
    """Score N rows of logits against their labels.

    The logits of classes that take no part are removed before the argmax and the softmax, as ImageNet-R is defined
    (Hendrycks et al., "The Many Faces of Robustness", ICCV 2021, ``eval.py``).

    Parameters
    ----------
    logits
        Float, N x ``space.width``, finite.
    labels
        int32 of length N, positions in ``space.classes``, or ``UNLABELLED``.
    space
        The label space.

    Returns
    -------
    Scores
        Computed in float64, so that the softmax does not overflow and sums to one.
    """
    columns = np.arange(space.width) if space.columns is None else np.asarray(space.columns)
    kept = np.asarray(logits, dtype=np.float64)
    if space.columns is not None:
        kept = kept[:, columns]
    order = _best(kept, min(TOP, len(columns)))
    highest = np.take_along_axis(kept, order[:, :1], axis=1)
    with np.errstate(under="ignore"):  # the probabilities of hopeless classes may vanish
        shares = np.exp(kept - highest)
        total = shares.sum(axis=1)
        squares = np.einsum("ij,ij->i", shares, shares) / total**2
    log_total = np.log(total)
    position = np.full(space.width, -1)
    position[columns] = np.arange(len(columns))
    unknown = labels == UNLABELLED
    at = np.where(unknown, -1, position[labels])
    with_label = at >= 0
    shifted = kept[np.arange(len(kept)), at] - highest[:, 0]
    nll = np.where(with_label, log_total - shifted, np.where(unknown, np.nan, np.inf))
    with np.errstate(over="ignore", under="ignore"):  # a loss beyond float32 is infinite
        return Scores(
            top=columns[order].astype(np.int32),
            confidence=np.exp(-log_total).astype(np.float32),
            nll=nll.astype(np.float32),
            # The label's own term (1 - p)^2 replaces its p^2; rounding may take the sum below 0.
            brier=np.maximum(1 - 2 * np.exp(-nll) + squares, 0).astype(np.float32),
        )


def score_answers(answers: Answers) -> Scores:
    """Keep N answers of a model that names classes: positions in the label space's ``classes``, or ``UNMAPPED``."""
    nothing = np.full(len(answers), np.nan, dtype=np.float32)
    return Scores(top=answers.astype(np.int32)[:, None], confidence=nothing, nll=nothing, brier=nothing)


def _best(values: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    """Return the columns of the greatest values of each row, greatest first; equal ones keep the order of the columns.

    A sort of whole rows would cost more than many a model, so only the candidates are sorted; rows in which more than
    ``count`` values reach the last place are sorted whole, since a partition may take any of the equal ones.
    """
    chosen = np.sort(np.argpartition(values, -count, axis=1)[:, -count:], axis=1)
    candidates = np.take_along_axis(values, chosen, axis=1)
    best = np.take_along_axis(chosen, np.argsort(-candidates, axis=1, kind="stable"), axis=1)
    tied = np.count_nonzero(values >= candidates.min(axis=1, keepdims=True), axis=1) > count
    if tied.any():
        best[tied] = np.argsort(-values[tied], axis=1, kind="stable")[:, :count]
    return best
