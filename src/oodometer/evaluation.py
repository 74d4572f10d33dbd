"""Evaluate a classifier: settle the plan, drive the road, keep the predictions, return the run."""

from __future__ import annotations

import bisect
import contextlib
import functools
import math
import os
import shlex
import shutil
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from oodometer.benchmarks import Asked, Given, planned
from oodometer.continuing import environment
from oodometer.cutting import cut_up, place_of
from oodometer.datasets import SequenceSet
from oodometer.errors import ArgumentError, DatasetError, StoreError
from oodometer.meter import Meter
from oodometer.metrics import Baseline, BaselineSpec
from oodometer.models import AdaptedModel, ModelOptions, kind_of_answers, load_model
from oodometer.outfolder import exclusive
from oodometer.plan import Benchmark
from oodometer.precision import steps
from oodometer.progress import Observer, ProgressBar, Silent
from oodometer.questions import questions
from oodometer.replicated import Cluster, ReplicatedModel, described, text, texts
from oodometer.road import Execution, Stage, cut, drive, first_picture, repeat
from oodometer.run import Run
from oodometer.run_baseline import find_baseline, recorded
from oodometer.running import running_result
from oodometer.sharding import Shard, ShardSpec
from oodometer.store import ANSWERS, FORMAT, Manifest, RunStore, Table
from oodometer.types import UNLABELLED, AnsweringModel, Classifier, CorruptedDataset, LabelSpace, Protocol

__all__ = ["evaluate", "evaluate_benchmarks"]

SAME_CONFIDENCE = 0.05
"""By what part two confidences of one model in one picture may differ: the float noise of another batch is below."""

NOTED = 1.0
"""After how many seconds it is said anew what is known so far, which takes a tenth of one where there is much."""

MOST_VIDEOS = 64
"""How many videos a batch holds at most unless more are asked for: all frames of three blocks are in memory, 1 GB."""


def evaluate(
    model: object,
    data: Given | CorruptedDataset | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    clean: Given | None = None,
    imagenet_r: Given | None = None,
    suite: Mapping[str, Given] | None = None,
    labels: str | Path | Mapping[str, int | str] | None = None,
    classes: int | None = None,
    label_space: str | None = None,
    unlabelled: bool = False,
    corruptions: str | Sequence[str] = "imagenet-c",
    preprocess: str | None = None,
    encoding: str | None = None,
    edition: str | None = None,
    method: str | None = None,
    baseline: BaselineSpec = "auto",
    model_options: ModelOptions | None = None,
    seed: int = 0,
    limit: int | None = None,
    precision: float | None = None,
    paired: str | os.PathLike[str] | Run | None = None,
    batch_size: int | str = "auto",
    workers: int | None = None,
    shard: ShardSpec | None = None,
    cluster: Cluster | None = None,
    progress: bool = True,
) -> Run:
    """Evaluate a classifier on clean images, on their corruptions, on renditions and on other shifted images.

    The corruptions are made on the way, or the pictures of a set are taken as they were corrupted before.

    A run that was stopped, by whatever, is continued when the same call is made again; the result is the same to the
    last digit.

    Parameters
    ----------
    model
        A name or specification (``oodometer list``), a ``torch.nn.Module``, or any object with
        ``predict(images) -> logits``: uint8, N x height x width x 3, RGB, to float, N x classes.
    data
        The clean images: a folder of class folders named by wnid, any folder with ``labels``, whatever else
        ``oodometer.open_dataset`` opens as a ``Dataset``, or a ``Dataset`` itself. Or pictures that were corrupted
        before, such as ``"imagenet-c:PATH"`` or what ``oodometer.build`` made: a ``CorruptedDataset``. ``None`` where
        only shifted sets are to be measured.
    out
        The run's folder. Without it the run lives as long as the returned object.
    clean
        The clean images of pictures that were corrupted before, unless their set has them; in the same forms. They are
        matched by class and name, and taken as they are if they have the pictures' size, else through the geometry that
        made these. Without any there is no clean error, no relative mCE and no gap. Without data, the clean images that
        the shifted sets are compared with.
    imagenet_r
        ImageNet-R, or other renditions of its classes in its layout. The same as ``suite={"r": ...}``.
    suite
        Sets of shifted images by name, each in any form that ``data`` takes: ``"r"``, ``"a"``, ``"v2"``, ``"sketch"``
        and ``"o"`` are ImageNet-R, -A, -V2, -Sketch and -O, ``"c"`` is ImageNet-C as published or built (the same as
        ``data``), and any other name is a set of your own, of the model's classes. They are not corrupted. Each is
        scored among its own classes (the 200 of R and of A; of O and of a set of your own those that it has) with all
        other logits removed first, and among all classes under another name; of O it is measured how well the
        confidence tells its images from the clean ones.
    labels, classes, label_space
        A file or mapping that says which class a folder or file has; how many classes the model has; and what class
        indices in ``labels`` mean: ``"imagenet-1k"``, or classes of one's own. See ``oodometer.open_dataset``. They
        belong to a folder; a ``Dataset`` has its own.
    unlabelled
        Whether the images have no labels, or none that are to be used: then the result is how often the prediction
        changes. ``classes`` or ``label_space`` may say what the model's classes are, else they are ImageNet's 1000.
    corruptions
        ``"imagenet-c"`` (the 15), ``"extra"`` (the other 4), ``"all"``, ``"own"``, a family, or names.
    preprocess
        ``"imagenet224"`` (shorter side to 256, central crop of 224; the default), ``"inception299"`` (the central 0.875
        of each side to 299), ``"tiny64"`` (the whole to 64 x 64) or ``"none"`` (the files have their final size; the
        default for pictures that were corrupted before).
    encoding
        ``"memory"`` (the default), or ``"jpeg85"``: corrupted images pass through JPEG of quality 85 as in the
        published files. This and the next two are of pictures that are corrupted on the way.
    edition
        Which published table of strengths; ``"imagenet224"`` (the default) is ImageNet-C.
    method
        ``"fast"`` (the default) or ``"reference"``; see ``oodometer.corrupt``.
    baseline
        What CE and mCE are divided by: the name of a published baseline, a JSON file, the folder of another run (whose
        own uncertainty is then in the intervals), or ``None``. ``"auto"`` is ``"alexnet"`` for the 1000 classes of
        ImageNet and ``None`` for others.
    model_options
        How the model is run, and what is made of its inputs and outputs: device, precision, normalization and more.
    seed
        Of the corruptions and of the order of the images; only of the order, if they were corrupted before.
    limit
        Take only so many images, the first of the seeded order: of ``data``, or of ``clean``; without either, of each
        shifted set.
    precision
        Stop when half the width of the 95 % interval of the mCE is below so many points (or of the mean corruption
        error, without a baseline). Images go through a few of the conditions each, so that it costs the least; see
        ``oodometer.precision``.
    paired
        A run, or its folder: take its images and, of each, the conditions that it went through. With ``precision``,
        stop as soon as the difference of the two mCEs is known so well, which takes fewer still.
    batch_size, workers
        How the work is cut up: images in a batch (``"auto"``: doubled from 16 on until memory, throughput or time says
        stop, and kept with the run), and threads (default: one per available core). No result depends on them, but for
        the float noise of the model itself.
    shard
        Take only a part of the images, which other processes complete: ``(index, count)``, the index from 0 on, or
        ``"index/count"``, or ``"auto"`` in a process that ``torchrun`` or ``srun`` started. It takes every ``count``-th
        block of the seeded order. Its run goes into a folder of its own within ``out``, ``shard-0000-of-0008`` for
        ``(0, 8)``; its numbers are valid estimates on fewer images, and ``oodometer.merge`` makes one run of all
        shards. With a shard ``batch_size="auto"`` is at most 64, the same for all.
    cluster
        An ``oodometer.scaling.Cluster``: copies of the model on the nodes of a Ray cluster take the blocks of images,
        and ``workers`` are the threads of each copy. The result is the same; of models on processors, to the last bit
        where these are alike.
    progress
        Whether to show a progress bar on stderr.

    Returns
    -------
    Run
        The predictions, with ``table()``, ``mce()`` and ``report()``.

    Raises
    ------
    OodometerError
        For everything that a user can mend: ``ArgumentError``, ``DatasetError``, ``ModelError``, ``MissingDataError``,
        ``MetricError`` and ``StoreError`` (see ``oodometer.errors``). Nothing is left half-written.
    """
    part = None if shard is None else Shard.of(shard)
    answers = kind_of_answers(model, model_options)
    if unlabelled:
        if baseline not in ("auto", "none", None):
            raise ArgumentError("Images without labels have no errors that a baseline could be compared with.")
        baseline = None
    asked = Asked(
        data=data,
        out=out,
        clean=clean,
        imagenet_r=imagenet_r,
        suite={} if suite is None else suite,
        labels=labels,
        classes=classes,
        label_space=label_space,
        unlabelled=unlabelled,
        corruptions=corruptions,
        preprocess=preprocess,
        encoding=encoding,
        edition=edition,
        method=method,
        seed=seed,
        limit=limit,
        precision=precision,
        paired=paired,
        baseline=baseline,
    )
    return evaluate_benchmarks(
        model,
        planned(asked, answers),
        out,
        baseline=baseline,
        model_options=model_options,
        execution=Execution.of(batch_size, workers),
        shard=part,
        cluster=cluster,
        workers=workers,
        progress=progress,
    )


def evaluate_benchmarks(
    model: object,
    benchmarks: Sequence[Benchmark],
    out: str | os.PathLike[str] | None,
    *,
    baseline: BaselineSpec,
    execution: Execution,
    model_options: ModelOptions | None = None,
    shard: Shard | None = None,
    cluster: Cluster | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> Run:
    """Evaluate a classifier on benchmarks that are already planned; see ``evaluate``.

    ``workers`` are the threads of a worker of a cluster; here they are those of the ``execution``.
    """
    if shard is not None:
        benchmarks, execution = cut_up(benchmarks, execution, shard)
        out = place_of(out, shard)
    space = benchmarks[0].dataset.label_space
    found = _published(space.name, benchmarks[0].protocol) if baseline == "auto" else baseline
    divisor = find_baseline(found, benchmarks[0].record())
    with contextlib.ExitStack() as on_error, contextlib.ExitStack() as elsewhere:
        observer: Observer = elsewhere.enter_context(ProgressBar()) if progress else Silent()
        loaded: Classifier | ReplicatedModel
        if cluster is None:
            loaded = load_model(model, model_options, _occurring(benchmarks))
        else:
            loaded = elsewhere.enter_context(
                cluster.replicas(model, model_options, _occurring(benchmarks), benchmarks, workers, observer)
            )
            execution = replace(execution, workers=loaded.workers)
        _check_answers(loaded, benchmarks)
        manifest = _manifest(loaded, benchmarks, divisor)
        if out is None:
            out = tempfile.mkdtemp(prefix="oodometer-")
            on_error.callback(shutil.rmtree, out, ignore_errors=True)
        store = RunStore(out)
        with exclusive(store.path, "evaluating", store.exists, store.check_can_begin):
            store.remove_leftovers()
            if store.exists():
                store.check_same_plan(manifest)
                if baseline != "auto":
                    store.write_manifest(replace(store.read_manifest(), baseline=manifest.baseline))
            execution = _sized(execution, store, loaded, benchmarks[0])
            manifest = replace(manifest, batch_size=execution.batch_size)
            if isinstance(loaded, AnsweringModel):
                _announce(loaded, benchmarks, store, observer)
            for benchmark in benchmarks:
                _fill(store, manifest, loaded, benchmark, divisor, execution, observer)
        run = Run(store.path)
        # A folder of our own making lives as long as the run that is returned.
        weakref.finalize(run, on_error.pop_all().close)
    return run


def _occurring(benchmarks: Sequence[Benchmark]) -> LabelSpace:
    """Return the classes of the model, those that there are images of taking part."""
    labels = {sample.label for benchmark in benchmarks for sample in benchmark.dataset.samples} - {UNLABELLED}
    space = benchmarks[0].dataset.label_space
    return replace(space, columns=tuple(sorted(labels)) if 0 < len(labels) < space.width else None)


def _published(space: str, protocol: Protocol) -> str | None:
    """Name the baseline where nothing else was said; there is none of the kind that names classes in words."""
    return "alexnet" if space == "imagenet-1k" and protocol.answers is None else None


def _check_answers(model: Classifier | ReplicatedModel, benchmarks: Sequence[Benchmark]) -> None:
    """Refuse a model that turns out to answer otherwise than the protocol says."""
    found = model.answers if isinstance(model, AnsweringModel) else None
    if any(benchmark.protocol.answers != found for benchmark in benchmarks):
        raise ArgumentError(
            "A model of your own that names classes is known as such only when it is loaded: evaluate the object "
            "itself from Python."
        )


def _announce(model: AnsweringModel, benchmarks: Sequence[Benchmark], store: RunStore, observer: Observer) -> None:
    """Say what the questions to come will cost, before the first."""
    asked = [one for benchmark in benchmarks for one in questions(benchmark, store.done(benchmark.name))]
    picture = first_picture(benchmarks[0])
    if picture is not None and any(count for _, each in asked for count in each.values()):
        observer.say(model.expect(store.path / ANSWERS, asked, picture.shape))


def _sized(
    execution: Execution, store: RunStore, model: Classifier | ReplicatedModel, benchmark: Benchmark
) -> Execution:
    """Settle on a batch size, if it was left to us: that of the run, so that it ends the same to the last digit."""
    found = store.read_manifest().batch_size if store.exists() else None
    most = len(benchmark.order) // 4  # so that a run is some blocks at least, and can be stopped between them
    if isinstance(benchmark.dataset, SequenceSet):
        most = min(most, MOST_VIDEOS)
    if not execution.automatic:
        return execution
    if found is None and isinstance(model, AnsweringModel):
        found = model.at_once
    if found is None and most > execution.batch_size and isinstance(model, AdaptedModel | ReplicatedModel):
        picture = first_picture(benchmark)
        found = None if picture is None else model.find_batch_size(picture, most)
    return replace(execution, batch_size=found or execution.batch_size, automatic=False)


def _fill(
    store: RunStore,
    manifest: Manifest,
    model: Classifier | ReplicatedModel,
    benchmark: Benchmark,
    baseline: Baseline | None,
    execution: Execution,
    observer: Observer,
) -> None:
    """Evaluate what the store lacks of one benchmark; a folder is made only when there is a result to keep."""
    space, order = benchmark.dataset.label_space.name, benchmark.order
    done = store.done(benchmark.name)
    earlier = store.table(benchmark.name, space)
    for note in getattr(benchmark.dataset, "notes", ()):
        observer.say(note)
    observer.begin(benchmark.name, benchmark.passes, int(earlier.seen.sum()))
    if earlier.images and len(done) < len(order):
        store.check_same_environment(manifest)
    shape = _check_same_model(model, benchmark, earlier, execution, store)
    running = running_result(benchmark, baseline, earlier)
    meter = Meter(execution.workers)
    held: list[Stage] = []
    due = time.monotonic()
    for step in steps(store, benchmark, baseline, meter, observer):
        blocks, before = cut(benchmark, step, done, execution), _place_of_examples(store, benchmark)
        by = model.drive if isinstance(model, ReplicatedModel) else functools.partial(drive, model)
        for stage in by(benchmark, step, blocks, execution, observer.advance, shape, before, meter):
            held.append(stage)
            shape = stage.shape
            observer.advance(len(stage.block.skipped) * step.each)
            if not stage.block.images and not store.exists() and benchmark.cut is None:
                continue  # a shard may hold unreadable images alone, which the merged run must know of
            if not store.exists():
                store.write_manifest(manifest)
            for ready in held:
                _keep(store, benchmark, ready)
                running.add(ready.block)
            held.clear()
            if time.monotonic() >= due:
                observer.note(str(running))
                due = time.monotonic() + NOTED
    observer.note(str(running))
    if held:
        unreadable = [skipped for stage in held for skipped in stage.block.skipped]
        raise DatasetError(f"None of the {len(unreadable)} images can be read: {unreadable[0].reason}")


def _place_of_examples(store: RunStore, benchmark: Benchmark) -> float:
    """Return where in the order the image is whose pictures the report has; infinity while it has none."""
    found = {example.image for example in store.examples(benchmark.name)}
    return min((place for place, sample in benchmark.placed if sample.id in found), default=math.inf)


def _keep(store: RunStore, benchmark: Benchmark, stage: Stage) -> None:
    if stage.examples and stage.place < _place_of_examples(store, benchmark):  # of several, those of the first block
        store.write_examples(benchmark.name, stage.examples)
    store.write_block(benchmark.name, stage.place, stage.block)


def _check_same_model(
    model: Classifier | ReplicatedModel, benchmark: Benchmark, earlier: Table, execution: Execution, store: RunStore
) -> tuple[int, ...] | None:
    """Refuse to continue with a model that answers otherwise than the one that began, whatever its name says.

    Asked again is under the first condition that there is, which is the clean one if the data have clean images.
    Returns the shape of the run's pictures, if there are any.
    """
    if not earlier.images:
        return None
    condition = next(condition for condition in benchmark.conditions if condition in earlier.conditions)
    before = earlier.under(condition)
    if isinstance(model, AnsweringModel):  # being asked again would cost, and prove nothing without a confidence
        picture = first_picture(benchmark)
        return None if picture is None else tuple(picture.shape)
    images, scores, shape = repeat(model, benchmark, condition, set(before.images), execution)
    rows = [bisect.bisect_left(before.images, image) for image in images]
    then, now = before.confidence[rows, 0], scores.confidence
    apart = np.abs(then - now) > SAME_CONFIDENCE * np.maximum(then, now)
    # Above one half there is no second class so near that float noise could make it the best.
    other = (before.top[rows, 0, 0] != scores.top[:, 0]) & (now > 0.5 + SAME_CONFIDENCE)
    if (apart | other).any():
        raise StoreError(
            f"{store.path} was begun with another model, or with other images: asked again for "
            f"{images[int(np.argmax(apart | other))]!r}, it answers otherwise than then. Choose another folder, or "
            "delete this one."
        )
    return shape


def _manifest(
    model: Classifier | ReplicatedModel, benchmarks: Sequence[Benchmark], baseline: Baseline | None
) -> Manifest:
    files = any(isinstance(b.dataset, SequenceSet) and b.dataset.from_files for b in benchmarks)
    return Manifest(
        format=FORMAT,
        model=described(model),
        benchmarks=tuple(b.record() for b in benchmarks),
        baseline=recorded(baseline),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=text(shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])),
        environment=environment("torch", *(("av",) if files else ())) | texts(getattr(model, "environment", {})),
        shard=benchmarks[0].cut,
    )
