"""From the store of a run over sequences to what it says; the only place where its numbers are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.arguments import whole
from oodometer.errors import MetricError, StoreError
from oodometer.families import IMAGENET_P
from oodometer.metrics import Estimate, Sample
from oodometer.metrics.sequence_estimates import mean_score_estimate, relative_score_estimate, score_estimate
from oodometer.metrics.sequences import FARTHEST
from oodometer.report.summary import BaselineName, Counts
from oodometer.sequences.baseline import SequenceBaseline, SequenceBaselineSpec, find_baseline, is_exact
from oodometer.sequences.notes import NO_BASELINE, NO_TOP5, notes
from oodometer.sequences.scores import OfPerturbation, aligned, read_scores
from oodometer.sequences.summary import Number, SequenceRow, SequenceSummary
from oodometer.store import RunStore

__all__ = ["summarize"]


def summarize(store: RunStore, baseline: SequenceBaselineSpec = None, difficulty: int = 1) -> SequenceSummary:
    """Read a run over sequences, and compute every number that is printed.

    Parameters
    ----------
    store
        The run.
    baseline
        What mFR and mT5D are relative to; ``None`` is what the run was made with.
    difficulty
        1, 2 or 3: which videos of noises count, and by how many frames those lie apart that are compared in others.

    Raises
    ------
    ArgumentError
        If the difficulty is another, or the baseline is none.
    MetricError
        If the baseline comes from another difficulty, label space or protocol.
    StoreError
        If the run cannot be read, or has measured nothing yet.
    """
    difficulty = whole("difficulty", difficulty, lowest=1, highest=3)
    manifest = store.read_manifest()
    parts = read_scores(store, difficulty)
    if not any(part.images for part in parts):
        raise StoreError(f"{store.path} has measured no video yet. Run the same command again to continue.")
    recorded = manifest.baseline if isinstance(manifest.baseline, dict) else None
    found, reason = _baseline(baseline, recorded, parts, difficulty)
    counted = [part for part in parts if part.counts_at(difficulty)]
    missing = tuple(name for name in IMAGENET_P if name not in {part.perturbation for part in counted})
    over = _Over(counted, found, reason or NO_BASELINE)
    mfr, mt5d = over.relative("flips"), over.relative("distances")
    named = ("mFR", "mT5D") if not missing else ("relative flip rate", "relative T5D")
    relative = dict(zip(named, (mfr, mt5d), strict=True))
    record = parts[0].record
    return SequenceSummary(
        model=manifest.model,
        data=record.dataset.partition("/")[0],
        label_space=record.label_spaces[0],
        protocol=record.protocol,
        difficulty=difficulty,
        baseline=None if found is None else BaselineName(found.name, found.source, is_exact(found)),
        rows=tuple(_row(part, found, counted=part in counted) for part in parts),
        counted=tuple(part.name for part in counted),
        missing=missing,
        mean_flip_rate=over.mean("flips"),
        mean_top5_distance=over.mean("distances"),
        mfr=mfr,
        mt5d=mt5d,
        notes=tuple(notes(parts, difficulty, found, reason, relative, manifest.shard)),
        created=manifest.created,
        command=manifest.command,
        environment=manifest.environment,
    )


def _baseline(
    given: SequenceBaselineSpec, recorded: Mapping[str, object] | None, parts: Sequence[OfPerturbation], difficulty: int
) -> tuple[SequenceBaseline | None, str]:
    """Find the baseline; one that was recorded, and does not serve any more, is done without, for the reason given."""
    if given is not None:
        return find_baseline(given, parts, difficulty), ""
    try:
        return find_baseline(recorded, parts, difficulty), ""
    except MetricError as error:
        return None, str(error)


_GREATEST = {"flips": 1.0, "distances": float(FARTHEST)}
"""What the scores are called, and the greatest possible one."""

_WORDS = {"flips": "flip rates", "distances": "top-5 distances"}


def _scores(part: OfPerturbation, kind: str) -> NDArray[np.float64] | None:
    return part.flips if kind == "flips" else part.distances


def _of_baseline(baseline: SequenceBaseline, kind: str) -> tuple[Mapping[str, float], Sample | None]:
    if kind == "flips":
        return baseline.flip_rates, baseline.flips
    return baseline.top5_distances, baseline.distances


class _Over:
    """Means over the perturbations that count."""

    def __init__(self, counted: Sequence[OfPerturbation], baseline: SequenceBaseline | None, without: str) -> None:
        self._counted, self._baseline, self._without = counted, baseline, without

    def mean(self, kind: str) -> Number:
        """Return the mean of the numbers themselves."""
        if not self._counted:
            return Number(None, f"None of the {len(IMAGENET_P)} perturbations was measured at this difficulty.")
        scores = _together(self._counted, kind)
        if scores is None:
            return Number(None, NO_TOP5)
        try:
            return Number(mean_score_estimate(scores[1], _GREATEST[kind]))
        except MetricError as error:
            return Number(None, str(error))

    def relative(self, kind: str) -> Number:
        """Return the mean of the multiples of the baseline's numbers."""
        if self._baseline is None:
            return Number(None, self._without)
        found = self.mean(kind)
        return found if found.estimate is None else _relative(self._counted, self._baseline, kind)


def _together(
    parts: Sequence[OfPerturbation], kind: str
) -> tuple[tuple[str, ...], dict[str, NDArray[np.float64]]] | None:
    """Put the scores of perturbations side by side; ``None`` if one has none of this kind."""
    scores = {part.key: found for part in parts if (found := _scores(part, kind)) is not None}
    return aligned(parts, scores) if len(scores) == len(parts) else None


def _relative(parts: Sequence[OfPerturbation], baseline: SequenceBaseline, kind: str) -> Number:
    """Estimate the mean over perturbations of a number as a multiple of the baseline's."""
    found = _together(parts, kind)
    if found is None:
        return Number(None, NO_TOP5)
    numbers, sample = _of_baseline(baseline, kind)
    if not numbers:
        return Number(None, f"The baseline {baseline.name} has no {_WORDS[kind]}.")
    try:
        return Number(relative_score_estimate(found[1], numbers, _GREATEST[kind], found[0], sample))
    except MetricError as error:
        return Number(None, str(error))


def _row(part: OfPerturbation, baseline: SequenceBaseline | None, *, counted: bool) -> SequenceRow:
    there = bool(part.images)
    relative = {
        kind: _relative([part], baseline, kind).estimate if there and baseline is not None else None
        for kind in _GREATEST
    }
    return SequenceRow(
        name=part.name,
        perturbation=part.perturbation,
        difficulty=part.difficulty,
        step=part.step,
        counted=counted,
        frames=part.frames,
        counts=Counts(part.record.images, len(part.images), 0, part.skipped),
        flip_rate=_own(part, "flips"),
        top5_distance=_own(part, "distances"),
        relative_flip_rate=relative["flips"],
        relative_top5_distance=relative["distances"],
    )


def _own(part: OfPerturbation, kind: str) -> Estimate | None:
    scores = _scores(part, kind)
    if scores is None or not len(scores):
        return None
    pairs = part.frames - (part.step or 1)
    return score_estimate(scores, _GREATEST[kind], pairs if kind == "flips" else np.inf)
