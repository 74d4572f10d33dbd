"""Evaluate a classifier on the videos of ImageNet-P: one benchmark a perturbation, on the road of any evaluation."""

from __future__ import annotations

import os
from typing import Any

from oodometer import arguments, plan
from oodometer.cutting import place_of
from oodometer.datasets import model_classes, open_sequences
from oodometer.evaluation import evaluate_benchmarks
from oodometer.models import ModelOptions, kind_of_answers
from oodometer.outfolder import check_apart
from oodometer.preprocess import PREPROCESS
from oodometer.road import Execution
from oodometer.sequences.baseline import SequenceBaseline, SequenceBaselineSpec, find_baseline, recorded
from oodometer.sequences.run import SequenceRun
from oodometer.sequences.scores import planned_scores
from oodometer.sharding import Shard, ShardSpec
from oodometer.store import RunStore
from oodometer.types import Protocol

__all__ = ["evaluate_sequences"]


def evaluate_sequences(
    model: object,
    data: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    classes: int | None = None,
    label_space: str | None = None,
    preprocess: str = "none",
    baseline: SequenceBaselineSpec = None,
    model_options: ModelOptions | None = None,
    seed: int = 0,
    limit: int | None = None,
    batch_size: int | str = "auto",
    workers: int | None = None,
    shard: ShardSpec | None = None,
    progress: bool = True,
) -> SequenceRun:
    """Evaluate how much a classifier's predictions flicker along videos of ImageNet-P, or of one's own in its layout.

    A run that was stopped, by whatever, is continued when the same call is made again; the result is the same to the
    last digit.

    Parameters
    ----------
    model
        As for ``oodometer.evaluate``.
    data
        A folder of perturbations, ``<perturbation>[_<difficulty>]/<class>/<video>``, or the folder of one perturbation.
        A video is a folder of frames, or a file (mp4, avi, mkv, webm), which needs PyAV. No labels are needed.
    out
        The run's folder. Without it the run lives as long as the returned object.
    classes, label_space
        How many classes the model has, or which known ones; ImageNet's 1000 unless given.
    preprocess
        What is done to every frame, as for ``evaluate``; ``"none"`` (the default) is for frames of their final size,
        such as the published ones.
    baseline
        What mFR and mT5D are relative to: the folder of another run over sequences, whose own error is then in the
        intervals, or a JSON file ``{"name": ..., "flip_rates": {...}, "top5_distances": {...}}``, taken as exact.
        ``None`` is the one that the run was begun with, if it is continued; ``"none"`` is none at all. There is no
        default: AlexNet's numbers were published in no file.
    model_options
        As for ``evaluate``.
    seed
        Of the order of the videos.
    limit
        Take only so many videos of each perturbation, the first of the seeded order: those of the same images.
    batch_size, workers
        How the work is cut up: videos in a batch, and threads; see ``evaluate``. No result depends on them.
    shard
        Take only a part of the videos, as for ``evaluate``.
    progress
        Whether to show a progress bar on stderr.

    Returns
    -------
    SequenceRun
        The predictions, with ``table()``, ``flip_rates`` and ``mfr()``.

    Raises
    ------
    OodometerError
        For everything that a user can mend, as for ``evaluate``.
    """
    part = None if shard is None else Shard.of(shard)
    space = model_classes(classes, label_space)
    root = arguments.path("The sequences", data)
    if out is not None:
        check_apart(arguments.path("The run's folder", out), root)
    protocol = Protocol(
        preprocess=PREPROCESS[arguments.choice("preprocessing", preprocess, PREPROCESS)],
        encoding="files",
        edition="unknown",
        method="unknown",
        corruptions=(),
        seed=arguments.whole("seed", seed),
        answers=kind_of_answers(model, model_options),
    )
    benchmarks = [plan.sequences(dataset, protocol, limit) for dataset in open_sequences(root, space)]
    found = _baseline(baseline, benchmarks)
    before = _recorded_before(out if out is None or part is None else place_of(out, part))
    made = evaluate_benchmarks(
        model,
        benchmarks,
        out,
        baseline=None,
        model_options=model_options,
        execution=Execution.of(batch_size, workers),
        shard=part,
        progress=progress,
    )
    run = SequenceRun(made.path)
    run.keep_alive(made)
    run.keep_baseline(before if baseline is None else recorded(found))
    return run


def _recorded_before(out: str | os.PathLike[str] | None) -> dict[str, Any] | None:
    """Return the baseline that a run to be continued was begun with."""
    store = None if out is None else RunStore(out)
    found = store.read_manifest().baseline if store is not None and store.exists() else None
    return found if isinstance(found, dict) else None


def _baseline(spec: SequenceBaselineSpec, benchmarks: list[plan.Benchmark]) -> SequenceBaseline | None:
    """Find the baseline before any work, so that one that does not fit costs nothing."""
    return find_baseline(spec, [planned_scores(benchmark.record()) for benchmark in benchmarks])
