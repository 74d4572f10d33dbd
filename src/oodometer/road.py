"""The road of the data, in its order: source, preprocess, corrupt, model, predictions.

Images are taken in a seeded, class-stratified order in blocks. A block is decoded once and goes through all conditions,
each batch holding one condition, and comes out as one piece for the store. So a run that is stopped at any moment is an
unbiased estimate of everything, and a run that is started again repeats at most a block.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer import corruptions, preprocess
from oodometer.arguments import whole
from oodometer.errors import DatasetError, ImageError, ModelError, OodometerError
from oodometer.plan import Benchmark
from oodometer.scoring import Scores, score
from oodometer.store import Block, Example, Skipped
from oodometer.threads import ahead, threads
from oodometer.types import CLEAN, Condition, Image, Images, LabelSpace, Logits, Model, Protocol, Sample

__all__ = ["Execution", "Stage", "drive", "first_picture", "repeat_clean"]

BATCH_SIZE = 16
"""Where an automatic batch size begins, and ends for a model whose throughput is not ours to measure."""

JPEG_QUALITY = 85
"""The quality of the published files."""

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
    """A block that has been through all conditions; ``place`` is where it begins in the seeded order."""

    place: int
    block: Block
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class _Pictures:
    """The readable images of a block after the preprocessing, and those that were not readable."""

    place: int
    samples: tuple[Sample, ...]
    images: tuple[Image, ...]
    skipped: tuple[Skipped, ...]


def drive(
    model: Model,
    benchmark: Benchmark,
    done: Collection[str],
    execution: Execution,
    on_batch: Callable[[int], None],
    shape: tuple[int, ...] | None = None,
    examples: bool = True,
) -> Iterator[Stage]:
    """Evaluate a model on a benchmark, block by block.

    Parameters
    ----------
    model
        The classifier.
    benchmark
        The images and what is to be done with them.
    done
        The ids of the images that need no more work.
    execution
        How to cut up the work.
    on_batch
        Is told how many more pictures went through the model.
    shape
        The shape of the pictures of the run so far, if there are any.
    examples
        Whether the report lacks pictures: the first block that has any then brings them.

    Yields
    ------
    Stage
        The predictions of a block of images under all conditions.

    Raises
    ------
    ModelError
        If the model fails or its output does not fit; the message says under which condition and on which images.
    DatasetError
        If images have different sizes after the preprocessing.
    """
    pool = ThreadPoolExecutor(execution.workers, thread_name_prefix="oodometer")
    decode = functools.partial(_decode, benchmark)
    left = iter([(place, sample) for place, sample in enumerate(benchmark.order) if sample.id not in done])
    chunks = iter(lambda: list(islice(left, execution.batch_size)), [])
    try:
        for pictures in ahead(pool, decode, chunks, depth=1):
            shape = _check_shapes(pictures, benchmark.protocol, shape)
            cells = benchmark.conditions if pictures.samples else ()
            kept = (1 if len(cells) > 1 else EXAMPLES) if examples else 0
            corrupt = functools.partial(_corrupt, pictures, benchmark.protocol)
            predicted = []
            for condition, images in zip(cells, ahead(pool, corrupt, cells, depth=execution.workers + 1), strict=True):
                logits = _predict(model, images, benchmark.dataset.label_space, condition, pictures.samples)
                on_batch(len(images))
                predicted.append((condition, logits, images[:kept].copy()))  # a view would hold the whole batch
            examples = examples and not pictures.samples
            yield _stage(pictures, benchmark, predicted)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


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
    known = [(place, sample) for place, sample in enumerate(benchmark.order) if sample.id in images]
    pictures = _decode(benchmark, known[: execution.batch_size])
    if not pictures.images:
        raise DatasetError(f"Images that the run began with cannot be read any more: {pictures.skipped[0].reason}")
    space = benchmark.dataset.label_space
    logits = _predict(model, np.stack(pictures.images), space, CLEAN, pictures.samples)
    labels = np.array([s.label for s in pictures.samples], dtype=np.int32)
    return [s.id for s in pictures.samples], score(logits, labels, space), pictures.images[0].shape


def first_picture(benchmark: Benchmark) -> Image | None:
    """Return the first image of the order that can be read, after the preprocessing; ``None`` if none can."""
    for entry in enumerate(benchmark.order):
        if images := _decode(benchmark, [entry]).images:
            return images[0]
    return None


def _decode(benchmark: Benchmark, chunk: list[tuple[int, Sample]]) -> _Pictures:
    """Read and preprocess the images of a block; those that cannot be read are set apart."""
    samples, images, skipped = [], [], []
    for _, sample in chunk:
        try:
            picture = preprocess.apply(benchmark.dataset.read(sample), benchmark.protocol.preprocess)
        except ImageError as error:
            skipped.append(Skipped(sample.id, str(error) if sample.id in str(error) else f"{sample.id}: {error}"))
            continue
        samples.append(sample)
        images.append(picture)
    return _Pictures(chunk[0][0], tuple(samples), tuple(images), tuple(skipped))


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


def _corrupt(pictures: _Pictures, protocol: Protocol, condition: Condition) -> Images:
    """Make the batch of one condition. The published set has its corrupted images as JPEG, its clean ones not again."""
    if condition == CLEAN:
        return np.stack(pictures.images)
    batch = corruptions.corrupt(
        np.stack(pictures.images),
        condition.corruption,
        condition.severity,
        seed=protocol.seed,
        method=protocol.method,
        edition=protocol.edition,
        image_id=[sample.id for sample in pictures.samples],
    )
    if protocol.encoding == "jpeg85":
        from oodometer.corruptions.fast.jpeg import jpeg_roundtrip  # imports Numba

        batch = np.stack([jpeg_roundtrip(image, JPEG_QUALITY) for image in batch])
    return batch


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


def _stage(pictures: _Pictures, benchmark: Benchmark, predicted: list[tuple[Condition, Logits, Images]]) -> Stage:
    """Score what the model said of a block in each label space."""
    labels = np.array([s.label for s in pictures.samples], dtype=np.int32)
    own = benchmark.dataset.label_space
    entries: list[tuple[Condition, str, Scores, NDArray[np.intp] | None]] = []
    for condition, logits, _ in predicted:
        entries.append((condition, own.name, score(logits, labels, own), None))
        for space in benchmark.also if condition == CLEAN else ():
            rows = _taking_part(labels, space)
            entries.append((condition, space.name, score(logits[rows], labels[rows], space), rows))
    block = Block(tuple(s.id for s in pictures.samples), labels, tuple(entries), pictures.skipped)
    return Stage(pictures.place, block, _examples(block, predicted))


def _taking_part(labels: NDArray[np.int32], space: LabelSpace) -> NDArray[np.intp]:
    everyone = np.ones(len(labels), dtype=np.bool_)
    return np.flatnonzero(everyone if space.columns is None else np.isin(labels, space.columns))


def _examples(block: Block, predicted: list[tuple[Condition, Logits, Images]]) -> tuple[Example, ...]:
    """Make the report's pictures: one image under every condition; where there is only one condition, several."""
    batches = {condition: images for condition, _, images in predicted}
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
