"""The road of the data, in its order: source, preprocess, corrupt, model, predictions.

Images are taken in a seeded, class-stratified order in blocks. A block is decoded once (or, of pictures that were
stored before, read under each condition) and goes through all conditions, each batch holding one condition, and comes
out as one piece for the store. So a run that is stopped at any moment is an unbiased estimate of everything, and a run
that is started again repeats at most a block. Where an image goes through some of the conditions only, a block holds so
many images that the batches are full all the same.
"""

from __future__ import annotations

import contextlib
import functools
import io
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import TypeAlias

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.arguments import whole
from oodometer.datasets import SequenceSet
from oodometer.errors import DatasetError
from oodometer.meter import Meter
from oodometer.pictures import JPEG_QUALITY, Batch, Made, Pictures, Source, check_shapes, source_of
from oodometer.plan import Benchmark
from oodometer.predicting import Outputs, ask, scored
from oodometer.sampling import taken
from oodometer.scoring import Scores
from oodometer.store import Block, Example, Skipped, Step
from oodometer.threads import ahead, threads
from oodometer.types import CLEAN, Classifier, Condition, Image, Images, LabelSpace, Sample

__all__ = ["Entries", "Execution", "Stage", "cut", "drive", "first_picture", "repeat"]

Entries: TypeAlias = tuple[tuple[int, Sample], ...]
"""Images, each with its place in the seeded order."""

BATCH_SIZE = 16
"""Where an automatic batch size begins, and ends for a model whose throughput is not ours to measure."""

MOST_IMAGES = 4096
"""How many images a block holds at most, which bounds the memory: 600 MB of pictures of 224x224 pixels."""

EXAMPLES, EXAMPLES_CORRUPTED = 12, 4
EXAMPLE_SIDE = 160
"""How many images are kept for the report, without corruptions and under each; and their longer side in pixels."""


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
class _Predicted:
    """A batch that has been through the model: its scores in each label space, for the images at these ``rows``.

    ``images`` are the first of its pictures, if the report lacks some.
    """

    condition: Condition
    scores: tuple[tuple[LabelSpace, NDArray[np.intp], Scores], ...]
    images: Images

    def __len__(self) -> int:
        return len(self.scores[0][1])  # the data set's own label space has all of them

    def of(self, kept: NDArray[np.bool_]) -> _Predicted:
        """Return what is left if the block keeps these of its images alone."""
        position = np.cumsum(kept) - 1
        scores = tuple((space, position[rows[kept[rows]]], scores[kept[rows]]) for space, rows, scores in self.scores)
        return replace(self, scores=scores)


def drive(
    model: Classifier,
    benchmark: Benchmark,
    step: Step,
    blocks: Sequence[Entries],
    execution: Execution,
    on_batch: Callable[[int], None],
    shape: tuple[int, ...] | None = None,
    examples_before: float = math.inf,
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
        Through how many conditions each image goes.
    blocks
        The images that are taken, as ``cut`` cuts them.
    execution
        How to cut up the work.
    on_batch
        Is told how many more pictures went through the model.
    shape
        The shape of the pictures of the run so far, if there are any.
    examples_before
        The report lacks pictures of images before this place of the order, by default of all: the first block before it
        that has any brings them, if it holds one image under all conditions.
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
    meter = meter or Meter(execution.workers)
    complete = step.each == len(benchmark.conditions)
    source = source_of(benchmark, meter)
    # Decoders have threads of their own, or the corruption of a block would wait for the decoding of the next.
    with _pool(execution.workers) as decoders, _pool(execution.workers) as pool:
        for begun in _begun(decoders, source, benchmark, blocks, execution):
            if begun.images:
                shape = check_shapes(begun.samples, begun.images, benchmark.protocol, shape)
            batches = _batches(begun, benchmark, step, execution.batch_size)
            wanted = complete and begun.start < examples_before
            kept = (EXAMPLES_CORRUPTED if len(batches) > 1 else EXAMPLES) if wanted else 0
            predicted, faults = list[_Predicted](), dict[int, Skipped]()
            make = functools.partial(source.make, begun)
            for batch, made in zip(batches, ahead(pool, make, batches, execution.workers + 1), strict=True):
                faults |= made.skipped
                if len(made.rows):
                    first = begun.samples[made.rows[0]]
                    shape = check_shapes([first], [made.images[0]], benchmark.protocol, shape)
                    predicted.append(_passed(model, benchmark, begun, batch, made, meter, kept))
                    on_batch(len(made.rows))
            pictures, left = _without(faults, begun, predicted)
            on_batch(sum(map(len, left)) - sum(map(len, predicted)))  # the others count as skipped
            block = _block(pictures, benchmark, left, complete)
            # Of the first images under every condition, so not where one is not there under all.
            found = () if faults else _examples(block, left)
            examples_before = pictures.start if found else examples_before
            yield Stage(pictures.start, block, found, shape)


def _passed(
    model: Classifier, benchmark: Benchmark, pictures: Pictures, batch: Batch, made: Made, meter: Meter, kept: int
) -> _Predicted:
    """Let one batch go through the model; the first ``kept`` of its pictures stay for the report."""
    samples, spaces = _picked(pictures.samples, made.rows), _spaces(benchmark, batch.condition)
    with meter.timed("predict", len(samples)):
        outputs = _asked(model, made.images, samples, benchmark, batch.condition)
    # At once, while the threads make the next batches, and not at the end of the block, when they have nothing to do.
    found = scored(outputs, samples, spaces, named=benchmark.protocol.answers is not None)
    scores = tuple((space, made.rows[part], scores) for space, part, scores in found)
    return _Predicted(batch.condition, scores, made.images[:kept].copy())  # a view would hold all


def _asked(
    model: Classifier, images: Images, samples: Sequence[Sample], benchmark: Benchmark, condition: Condition
) -> Outputs:
    return ask(model, images, samples, condition, _spaces(benchmark, condition), benchmark.protocol.seed)


def _spaces(benchmark: Benchmark, condition: Condition) -> tuple[LabelSpace, ...]:
    """Return the label spaces in which predictions under a condition are kept, the data set's own first."""
    return (benchmark.dataset.label_space, *(benchmark.also if condition == CLEAN else ()))


def _without(
    faults: Mapping[int, Skipped], pictures: Pictures, predicted: list[_Predicted]
) -> tuple[Pictures, list[_Predicted]]:
    """Leave the images that could not be read under one condition out of all."""
    if not faults:
        return pictures, predicted
    kept = np.array([row not in faults for row in range(len(pictures.samples))])
    rows = np.flatnonzero(kept)
    left = replace(
        pictures,
        places=tuple(pictures.places[row] for row in rows),
        samples=_picked(pictures.samples, rows),
        skipped=(*pictures.skipped, *(faults[row] for row in sorted(faults))),
    )
    return left, [one for one in (one.of(kept) for one in predicted) if len(one)]


@contextlib.contextmanager
def _pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(workers, thread_name_prefix="oodometer")
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def cut(benchmark: Benchmark, step: Step, done: Collection[str], execution: Execution) -> list[Entries]:
    """Cut the images of a step that need more work into blocks, each to be worked on and kept as a whole.

    A block has as many images as it takes for each condition to meet a batch of them, and at least as many as there are
    conditions, unless every image goes through all of them. The blocks of a run that is continued are those that it
    lacks, whichever these are, since only the last one has another size.

    Parameters
    ----------
    benchmark, execution
        As for ``drive``.
    step
        Which of the images are taken, and through how many conditions each goes.
    done
        The ids of the images that need no more work.
    """
    left = [
        (place, sample) for place, sample in benchmark.own if step.start <= place < step.stop and sample.id not in done
    ]
    size, conditions = execution.batch_size, len(benchmark.conditions)
    images = size if step.each == conditions else min(max(size * conditions / step.each, conditions), MOST_IMAGES)
    piece = _piece(benchmark, execution)
    images = math.ceil(images / piece) * piece
    return [tuple(left[start : start + images]) for start in range(0, len(left), images)]


def _piece(benchmark: Benchmark, execution: Execution) -> int:
    """Return how many images are decoded together: a batch, but of videos one, which takes as long as many images."""
    return 1 if isinstance(benchmark.dataset, SequenceSet) else execution.batch_size


def _begun(
    pool: ThreadPoolExecutor, source: Source, benchmark: Benchmark, blocks: Sequence[Entries], execution: Execution
) -> Iterator[Pictures]:
    """Decode the images of blocks, the next block while one is worked on."""
    piece = _piece(benchmark, execution)
    pieces = [[block[i : i + piece] for i in range(0, len(block), piece)] for block in blocks]
    decoded = ahead(pool, source.begin, chain.from_iterable(pieces), depth=max(map(len, pieces), default=0))
    for block in (list(islice(decoded, len(own))) for own in pieces):
        yield Pictures(
            start=block[0].start,
            places=tuple(chain.from_iterable(piece.places for piece in block)),
            samples=tuple(chain.from_iterable(piece.samples for piece in block)),
            images=tuple(chain.from_iterable(piece.images for piece in block)),
            skipped=tuple(chain.from_iterable(piece.skipped for piece in block)),
            videos=tuple(chain.from_iterable(piece.videos for piece in block)),
        )


def _batches(pictures: Pictures, benchmark: Benchmark, step: Step, size: int) -> list[Batch]:
    """Cut what the images of a block go through into batches of one condition each, in the order of the conditions."""
    conditions = benchmark.conditions
    if not pictures.samples:
        return []
    chosen = taken(benchmark.protocol.seed, np.array(pictures.places), len(conditions), step.each)
    batches = []
    for number, condition in enumerate(conditions):
        rows = np.flatnonzero((chosen == number).any(axis=1))
        pieces = np.array_split(rows, math.ceil(len(rows) / size)) if len(rows) else []
        batches += [Batch(condition, piece) for piece in pieces]
    return batches


def _picked(samples: tuple[Sample, ...], rows: NDArray[np.intp]) -> tuple[Sample, ...]:
    return tuple(samples[row] for row in rows)


def repeat(
    model: Classifier, benchmark: Benchmark, condition: Condition, images: Collection[str], execution: Execution
) -> tuple[list[str], Scores, tuple[int, ...]]:
    """Predict a batch of images once more, to tell whether a model is still the one that began a run.

    Parameters
    ----------
    model, benchmark, execution
        As for ``drive``.
    condition
        One of the conditions, the clean one if there is one.
    images
        The ids of the images that were predicted under it.

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
    samples, made, skipped = _made(benchmark, condition, known[: execution.batch_size])
    if not samples:
        raise DatasetError(f"Images that the run began with cannot be read any more: {skipped[0].reason}")
    outputs = _asked(model, made, samples, benchmark, condition)
    own = (benchmark.dataset.label_space,)
    ((_, _, scores),) = scored(outputs, samples, own, named=benchmark.protocol.answers is not None)
    return [s.id for s in samples], scores, made.shape[1:]


def first_picture(benchmark: Benchmark) -> Image | None:
    """Return the first image of the order that can be read, under the first condition; ``None`` if none can."""
    for entry in benchmark.placed:
        samples, images, _ = _made(benchmark, benchmark.conditions[0], [entry])
        if samples:
            return np.asarray(images[0])
    return None


def _made(
    benchmark: Benchmark, condition: Condition, entries: Sequence[tuple[int, Sample]]
) -> tuple[tuple[Sample, ...], Images, tuple[Skipped, ...]]:
    """Make the pictures of a few images under one condition: the samples that can be read, those, and the others."""
    source = source_of(benchmark, Meter(1))
    pictures = source.begin(entries)
    if not pictures.samples:
        return (), np.empty((0, 0, 0, 3), np.uint8), pictures.skipped
    made = source.make(pictures, Batch(condition, np.arange(len(pictures.samples))))
    return _picked(pictures.samples, made.rows), made.images, (*pictures.skipped, *made.skipped.values())


def _jpeg(image: Image) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(image).save(buffer, "JPEG", quality=JPEG_QUALITY)
    return buffer.getvalue()


def _block(pictures: Pictures, benchmark: Benchmark, predicted: Sequence[_Predicted], complete: bool) -> Block:
    """Put together what the store keeps of a block."""
    labels = np.array([s.label for s in pictures.samples], dtype=np.int32)
    own = benchmark.dataset.label_space
    entries = tuple(
        (one.condition, space.name, scores, None if complete and space is own else rows)
        for one in predicted
        for space, rows, scores in one.scores
    )
    return Block(tuple(s.id for s in pictures.samples), labels, entries, pictures.skipped)


def _examples(block: Block, predicted: list[_Predicted]) -> tuple[Example, ...]:
    """Make the report's pictures: the first images of the block under every condition."""
    batches = {one.condition: one.images for one in predicted}
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
