"""The road of the data, in its order: source, preprocess, corrupt, model, predictions.

Images are taken in a seeded, class-stratified order in blocks. A block is decoded once and goes through all conditions,
each batch holding one condition, and comes out as one piece for the store. So a run that is stopped at any moment is an
unbiased estimate of everything, and a run that is started again repeats at most a block. Where an image goes through
some of the conditions only, a block holds so many images that the batches are full all the same.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer import corruptions, preprocess
from oodometer.arguments import whole
from oodometer.errors import DatasetError, ImageError, ModelError, OodometerError
from oodometer.meter import Meter
from oodometer.plan import Benchmark
from oodometer.sampling import taken
from oodometer.scoring import Scores, score
from oodometer.store import Block, Example, Skipped, Step
from oodometer.threads import ahead, threads
from oodometer.types import CLEAN, Condition, Image, Images, LabelSpace, Logits, Model, Protocol, Sample

__all__ = ["Execution", "Stage", "drive", "first_picture", "repeat_clean"]

BATCH_SIZE = 16
"""Where an automatic batch size begins, and ends for a model whose throughput is not ours to measure."""

JPEG_QUALITY = 85
"""The quality of the published files."""

MOST_IMAGES = 4096
"""How many images a block holds at most, which bounds the memory: 600 MB of pictures of 224x224 pixels."""

EXAMPLES = 12
EXAMPLE_SIDE = 112
"""How many pictures are kept for the report, and their longer side in pixels."""


@dataclass(frozen=True, slots=True)
class Execution:
    """How the work is cut up, which changes no result: the images of a block (and of a batch), and the threads.

    ``automatic`` says that the batch size was left to us, and is only where to begin.
    """

    batch_size: int
    workers: int
    automatic: bool = False

    @classmethod
    def of(cls, batch_size: int | str, workers: int | None) -> Execution:
        """Check the choices; by default there is a thread for each processor that this process may use."""
        if batch_size == "auto":
            return cls(BATCH_SIZE, threads(workers), automatic=True)
        return cls(whole("batch_size", batch_size, lowest=1, highest=65536), threads(workers))


@dataclass(frozen=True, slots=True)
class Stage:
    """A block that has been through its conditions.

    ``place`` is where it begins in the seeded order, ``shape`` that of the pictures so far, if any could be read.
    """

    place: int
    block: Block
    examples: tuple[Example, ...]
    shape: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class _Pictures:
    """The readable images of a block after the preprocessing, and those that were not readable.

    ``start`` is where the block begins in the seeded order, ``places`` where its readable images are.
    """

    start: int
    places: tuple[int, ...]
    samples: tuple[Sample, ...]
    images: tuple[Image, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, slots=True)
class _Batch:
    """Those images of a block, by their positions, that go to the model at once, all under one condition."""

    condition: Condition
    rows: NDArray[np.intp]


def drive(
    model: Model,
    benchmark: Benchmark,
    step: Step,
    done: Collection[str],
    execution: Execution,
    on_batch: Callable[[int], None],
    shape: tuple[int, ...] | None = None,
    examples: bool = True,
    meter: Meter | None = None,
) -> Iterator[Stage]:
    """Evaluate a model on a benchmark, block by block.

    Parameters
    ----------
    model
        The classifier.
    benchmark
        The images and what is to be done with them.
    step
        Which of the images are taken, and through how many conditions each goes.
    done
        The ids of the images that need no more work.
    execution
        How to cut up the work.
    on_batch
        Is told how many more pictures went through the model.
    shape
        The shape of the pictures of the run so far, if there are any.
    examples
        Whether the report lacks pictures: the first block that has any then brings them, if it holds one image under
        all conditions.
    meter
        Where the costs are added up.

    Yields
    ------
    Stage
        The predictions of a block of images under their conditions.

    Raises
    ------
    ModelError
        If the model fails or its output does not fit; the message says under which condition and on which images.
    DatasetError
        If images have different sizes after the preprocessing.
    """
    meter, space = meter or Meter(execution.workers), benchmark.dataset.label_space
    complete = step.each == len(benchmark.conditions)
    # Decoders have threads of their own, or the corruption of a block would wait for the decoding of the next.
    with _pool(execution.workers) as decoders, _pool(execution.workers) as pool:
        for pictures in _blocks(decoders, benchmark, step, done, execution, meter):
            shape = _check_shapes(pictures, benchmark.protocol, shape)
            batches = _batches(pictures, benchmark, step, execution.batch_size)
            kept = (1 if len(batches) > 1 else EXAMPLES) if examples and complete else 0
            corrupt = functools.partial(_corrupt, pictures, benchmark.protocol, meter)
            predicted = []
            for batch, images in zip(batches, ahead(pool, corrupt, batches, execution.workers + 1), strict=True):
                with meter.timed("predict", len(images)):
                    logits = _predict(model, images, space, batch.condition, _picked(pictures.samples, batch.rows))
                on_batch(len(images))
                predicted.append((batch, logits, images[:kept].copy()))  # a view would hold the whole batch
            examples = examples and not pictures.samples
            block = _scored(pictures, benchmark, predicted, complete)
            yield Stage(pictures.start, block, _examples(block, predicted), shape)


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(workers, thread_name_prefix="oodometer")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _blocks(
    pool: ThreadPoolExecutor,
    benchmark: Benchmark,
    step: Step,
    done: Collection[str],
    execution: Execution,
    meter: Meter,
) -> Iterator[_Pictures]:
    """Decode the images of a step, the next block while one is worked on.

    A block is decoded in pieces of a batch: as many as it takes for each condition to meet a batch of images, and at
    least as many images as there are conditions, unless every image goes through all of them.
    """
    left = iter(
        (place, sample)
        for place, sample in benchmark.placed
        if step.start <= place < step.stop and sample.id not in done
    )
    size, conditions = execution.batch_size, len(benchmark.conditions)
    images = size if step.each == conditions else min(max(size * conditions / step.each, conditions), MOST_IMAGES)
    pieces = math.ceil(images / size)
    decode = functools.partial(_decode, benchmark, meter)
    decoded = ahead(pool, decode, iter(lambda: list(islice(left, size)), []), depth=pieces)
    for block in iter(lambda: list(islice(decoded, pieces)), []):
        yield _Pictures(
            start=block[0].start,
            places=tuple(chain.from_iterable(piece.places for piece in block)),
            samples=tuple(chain.from_iterable(piece.samples for piece in block)),
            images=tuple(chain.from_iterable(piece.images for piece in block)),
            skipped=tuple(chain.from_iterable(piece.skipped for piece in block)),
        )


def _batches(pictures: _Pictures, benchmark: Benchmark, step: Step, size: int) -> list[_Batch]:
    """Cut what the images of a block go through into batches of one condition each, in the order of the conditions."""
    conditions = benchmark.conditions
    if not pictures.samples:
        return []
    chosen = taken(benchmark.protocol.seed, np.array(pictures.places), len(conditions), step.each)
    batches = []
    for number, condition in enumerate(conditions):
        rows = np.flatnonzero((chosen == number).any(axis=1))
        pieces = np.array_split(rows, math.ceil(len(rows) / size)) if len(rows) else []
        batches += [_Batch(condition, piece) for piece in pieces]
    return batches


def _picked(samples: tuple[Sample, ...], rows: NDArray[np.intp]) -> tuple[Sample, ...]:
    return tuple(samples[row] for row in rows)


def repeat_clean(
    model: Model, benchmark: Benchmark, images: Collection[str], execution: Execution
) -> tuple[list[str], Scores, tuple[int, ...]]:
    """Predict a batch of clean images once more, to tell whether a model is still the one that began a run.

    Parameters
    ----------
    model, benchmark, execution
        As for ``drive``.
    images
        The ids of the images that were predicted.

    Returns
    -------
    tuple
        The ids of the images of the batch, what is to be kept of their predictions, and the shape of a picture.

    Raises
    ------
    DatasetError
        If none of these images can be read any more.
    """
    known = [(place, sample) for place, sample in benchmark.placed if sample.id in images]
    pictures = _decode(benchmark, Meter(1), known[: execution.batch_size])
    if not pictures.images:
        raise DatasetError(f"Images that the run began with cannot be read any more: {pictures.skipped[0].reason}")
    space = benchmark.dataset.label_space
    logits = _predict(model, np.stack(pictures.images), space, CLEAN, pictures.samples)
    labels = np.array([s.label for s in pictures.samples], dtype=np.int32)
    return [s.id for s in pictures.samples], score(logits, labels, space), pictures.images[0].shape


def first_picture(benchmark: Benchmark) -> Image | None:
    """Return the first image of the order that can be read, after the preprocessing; ``None`` if none can."""
    for entry in benchmark.placed:
        if images := _decode(benchmark, Meter(1), [entry]).images:
            return images[0]
    return None


def _decode(benchmark: Benchmark, meter: Meter, chunk: list[tuple[int, Sample]]) -> _Pictures:
    """Read and preprocess some images; those that cannot be read are set apart."""
    places, samples, images, skipped = [], [], [], []
    with meter.timed("decode", len(chunk)):
        for place, sample in chunk:
            try:
                picture = preprocess.apply(benchmark.dataset.read(sample), benchmark.protocol.preprocess)
            except ImageError as error:
                skipped.append(Skipped(sample.id, str(error) if sample.id in str(error) else f"{sample.id}: {error}"))
                continue
            places.append(place)
            samples.append(sample)
            images.append(picture)
    return _Pictures(chunk[0][0], tuple(places), tuple(samples), tuple(images), tuple(skipped))


def _check_shapes(pictures: _Pictures, protocol: Protocol, shape: tuple[int, ...] | None) -> tuple[int, ...] | None:
    """Refuse pictures of another size than the run's, or too small to corrupt; return the run's size."""
    for sample, picture in zip(pictures.samples, pictures.images, strict=True):
        shape = shape or picture.shape
        if picture.shape != shape:
            raise DatasetError(
                f"{sample.id} is {_size(picture.shape)} pixels where others are {_size(shape)}, after the "
                f"preprocessing {protocol.preprocess.name!r}. A model needs images of one size: choose a preprocessing "
                "that crops, such as 'imagenet224'."
            )
        if protocol.corruptions and min(shape[:2]) < corruptions.SMALLEST_SIDE:
            raise DatasetError(
                f"{sample.id} is {_size(shape)} pixels, and corruptions need {corruptions.SMALLEST_SIDE} on each side."
            )
    return shape


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}x{shape[0]}"


def _corrupt(pictures: _Pictures, protocol: Protocol, meter: Meter, batch: _Batch) -> Images:
    """Make one batch. The published set has its corrupted images as JPEG, its clean ones not again."""
    images = np.stack([pictures.images[row] for row in batch.rows])
    if batch.condition == CLEAN:
        return images
    with meter.timed("corrupt", len(images)):
        images = corruptions.corrupt(
            images,
            batch.condition.corruption,
            batch.condition.severity,
            seed=protocol.seed,
            method=protocol.method,
            edition=protocol.edition,
            image_id=[sample.id for sample in _picked(pictures.samples, batch.rows)],
        )
        if protocol.encoding == "jpeg85":
            from oodometer.corruptions.fast.jpeg import jpeg_roundtrip  # imports Numba

            images = np.stack([jpeg_roundtrip(image, JPEG_QUALITY) for image in images])
    return images


def _jpeg(image: Image) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(image).save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def _predict(
    model: Model, images: Images, space: LabelSpace, condition: Condition, samples: tuple[Sample, ...]
) -> Logits:
    """Ask the model, and refuse an output that would make a wrong number."""
    where = f"on {len(samples)} images from {samples[0].id!r} on, under {condition}"
    try:
        output = model.predict(images)
        logits = np.asarray(output)
    except OodometerError:
        raise
    except (Exception, SystemExit) as error:  # the model is the user's code and may raise anything
        raise ModelError(f"The model failed {where}: {type(error).__name__}: {error}") from error
    if logits.dtype.kind not in "fiu" or np.ma.isMaskedArray(output):
        raise ModelError(
            f"The model gave {type(output).__name__} of {logits.dtype} {where}; expected an array of floats."
        )
    if logits.ndim != 2 or len(logits) != len(images):
        raise ModelError(
            f"The model gave an output of shape {logits.shape} {where}; expected ({len(images)}, {space.width})."
        )
    if logits.shape[1] != space.width:
        raise ModelError(
            f"The model gives {logits.shape[1]} outputs and the label space {space.name} has {space.width} classes. "
            "Give a model of that width, say by a labels file (--labels) what its outputs mean, drop those that belong "
            "to no class (--logits-offset 1 for the 1001 of a background class), or name the class of each output "
            "(--model-classes FILE), by which those of the data are picked."
        )
    if not np.isfinite(logits).all():
        bad = samples[int(np.argwhere(~np.isfinite(logits))[0, 0])]
        raise ModelError(f"The model gave NaN or infinite logits for {bad.id!r} under {condition}.")
    return logits


def _scored(
    pictures: _Pictures, benchmark: Benchmark, predicted: list[tuple[_Batch, Logits, Images]], complete: bool
) -> Block:
    """Score what the model said of a block in each label space."""
    labels = np.array([s.label for s in pictures.samples], dtype=np.int32)
    own = benchmark.dataset.label_space
    entries: list[tuple[Condition, str, Scores, NDArray[np.intp] | None]] = []
    for batch, logits, _ in predicted:
        condition, rows = batch.condition, batch.rows
        entries.append((condition, own.name, score(logits, labels[rows], own), None if complete else rows))
        for space in benchmark.also if condition == CLEAN else ():
            part = _taking_part(labels[rows], space)
            entries.append((condition, space.name, score(logits[part], labels[rows[part]], space), rows[part]))
    return Block(tuple(s.id for s in pictures.samples), labels, tuple(entries), pictures.skipped)


def _taking_part(labels: NDArray[np.int32], space: LabelSpace) -> NDArray[np.intp]:
    everyone = np.ones(len(labels), dtype=np.bool_)
    return np.flatnonzero(everyone if space.columns is None else np.isin(labels, space.columns))


def _examples(block: Block, predicted: list[tuple[_Batch, Logits, Images]]) -> tuple[Example, ...]:
    """Make the report's pictures: one image under every condition; where there is only one condition, several."""
    batches = {batch.condition: images for batch, _, images in predicted}
    return tuple(
        Example(
            image=block.images[i],
            label=int(block.labels[i]),
            condition=condition,
            prediction=int(scores.top[i, 0]),
            confidence=float(scores.confidence[i]),
            jpeg=_jpeg(_thumbnail(image)),
        )
        for condition, _, scores, rows in block.scores
        if rows is None
        for i, image in enumerate(batches[condition])
    )


def _thumbnail(image: Image) -> Image:
    small = PIL.Image.fromarray(image)
    small.thumbnail((EXAMPLE_SIDE, EXAMPLE_SIDE))
    return np.asarray(small)
