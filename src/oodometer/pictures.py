"""Where the pictures of a batch come from: clean images corrupted on the way, files that were corrupted before, videos.

All ways lead onto the same road: a block of images is ``begun``, and then each of its batches is ``made``, all images
of a batch under one condition.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from oodometer import corruptions, preprocess
from oodometer.datasets import SequenceSet
from oodometer.errors import DatasetError, ImageError
from oodometer.meter import Meter
from oodometer.plan import Benchmark
from oodometer.store import Skipped
from oodometer.stored import StoredSet
from oodometer.types import CLEAN, Condition, Dataset, Image, Images, Protocol, Sample

__all__ = ["JPEG_QUALITY", "Batch", "Made", "Pictures", "Source", "check_shapes", "source_of"]

_Read = typing.TypeVar("_Read")

JPEG_QUALITY = 85
"""The quality of the published files."""


@dataclass(frozen=True, slots=True)
class Pictures:
    """The images of a block, and those that are known to be unreadable.

    ``start`` is where the block begins in the seeded order, ``places`` where its images are. ``images`` are the clean
    ones after the preprocessing; none where each condition has files of its own. ``videos`` are the frames, where the
    samples are videos and the conditions their frames.
    """

    start: int
    places: tuple[int, ...]
    samples: tuple[Sample, ...]
    images: tuple[Image, ...]
    skipped: tuple[Skipped, ...]
    videos: tuple[tuple[Image, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """Those images of a block, by their positions, that go to the model at once, all under one condition."""

    condition: Condition
    rows: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Made:
    """The pictures of a batch: ``images`` are those of ``rows``; ``skipped`` are the others, which cannot be read."""

    images: Images
    rows: NDArray[np.intp]
    skipped: Mapping[int, Skipped] = field(default_factory=dict)


class Source(typing.Protocol):
    """Makes the pictures of a benchmark; may be used from several threads."""

    def begin(self, chunk: Sequence[tuple[int, Sample]]) -> Pictures:
        """Do what is done once for images that are given with their places, whatever the conditions."""
        ...

    def make(self, pictures: Pictures, batch: Batch) -> Made:
        """Make the pictures of one batch.

        Raises
        ------
        DatasetError
            If they have different sizes, or files cannot be read though nothing is wrong with the image.
        """
        ...


def source_of(benchmark: Benchmark, meter: Meter) -> Source:
    """Return where the pictures of a benchmark come from; ``meter`` adds up the costs."""
    if isinstance(benchmark.dataset, StoredSet):
        return _FromFiles(benchmark.dataset, benchmark.protocol, meter)
    if isinstance(benchmark.dataset, SequenceSet):
        return _FromVideos(benchmark.dataset, benchmark.protocol, meter)
    return _OnTheWay(benchmark.dataset, benchmark.protocol, meter)


class _OnTheWay:
    """Decodes an image once, and corrupts it for each condition."""

    def __init__(self, dataset: Dataset, protocol: Protocol, meter: Meter) -> None:
        self._dataset, self._protocol, self._meter = dataset, protocol, meter

    def begin(self, chunk: Sequence[tuple[int, Sample]]) -> Pictures:
        def read(sample: Sample) -> Image:
            return preprocess.apply(self._dataset.read(sample), self._protocol.preprocess)

        with self._meter.timed("decode", len(chunk)):
            images, skipped = _read([sample for _, sample in chunk], read)
        places, samples = tuple(chunk[row][0] for row in images), tuple(chunk[row][1] for row in images)
        return Pictures(chunk[0][0], places, samples, tuple(images.values()), tuple(skipped.values()))

    def make(self, pictures: Pictures, batch: Batch) -> Made:
        """Make one batch. The published set has its corrupted images as JPEG, its clean ones not again."""
        if batch.condition == CLEAN:
            return Made(np.stack([pictures.images[row] for row in batch.rows]), batch.rows)
        with self._meter.timed("corrupt", len(batch.rows)):
            # One by one: a batch would be put together twice, which costs as much as the cheaper corruptions.
            made = np.empty((len(batch.rows), *pictures.images[0].shape), dtype=np.uint8)
            for place, row in enumerate(batch.rows):
                made[place] = self._corrupted(pictures.images[row], batch.condition, pictures.samples[row])
        return Made(made, batch.rows)

    def _corrupted(self, image: Image, condition: Condition, sample: Sample) -> Image:
        corrupted = corruptions.corrupt(
            image,
            condition.corruption,
            condition.severity,
            seed=self._protocol.seed,
            method=self._protocol.method,
            edition=self._protocol.edition,
            image_id=sample.id,
        )
        if self._protocol.encoding == "memory":
            return corrupted
        from oodometer.corruptions.fast.jpeg import jpeg_roundtrip  # imports Numba

        return jpeg_roundtrip(corrupted, JPEG_QUALITY)


class _FromFiles:
    """Reads a picture for each image and condition, and decodes nothing before."""

    def __init__(self, dataset: StoredSet, protocol: Protocol, meter: Meter) -> None:
        self._dataset, self._protocol, self._meter = dataset, protocol, meter

    def begin(self, chunk: Sequence[tuple[int, Sample]]) -> Pictures:
        with self._meter.timed("decode", len(chunk)):  # in no time: there is no cost by image
            places, samples = tuple(place for place, _ in chunk), tuple(sample for _, sample in chunk)
        return Pictures(chunk[0][0], places, samples, (), ())

    def make(self, pictures: Pictures, batch: Batch) -> Made:
        def read(sample: Sample) -> Image:
            return self._dataset.picture(sample, batch.condition, self._protocol.preprocess)

        samples = [pictures.samples[row] for row in batch.rows]
        with self._meter.timed("corrupt", len(samples)):  # like a corruption, it is done anew for each condition
            images, skipped = _read(samples, read)
        check_shapes([samples[k] for k in images], [*images.values()], self._protocol, None)
        return Made(
            images=np.stack([*images.values()]) if images else np.empty((0, 0, 0, 3), np.uint8),
            rows=batch.rows[list(images)],
            skipped={int(batch.rows[k]): reason for k, reason in skipped.items()},
        )


class _FromVideos:
    """Decodes a video once, and gives of it the frame that a condition names."""

    def __init__(self, dataset: SequenceSet, protocol: Protocol, meter: Meter) -> None:
        self._dataset, self._protocol, self._meter = dataset, protocol, meter

    def begin(self, chunk: Sequence[tuple[int, Sample]]) -> Pictures:
        def read(sample: Sample) -> tuple[Image, ...]:
            return tuple(preprocess.apply(frame, self._protocol.preprocess) for frame in self._dataset.read(sample))

        with self._meter.timed("decode", len(chunk)):
            videos, skipped = _read([sample for _, sample in chunk], read)
        places, samples = tuple(chunk[row][0] for row in videos), tuple(chunk[row][1] for row in videos)
        return Pictures(chunk[0][0], places, samples, (), tuple(skipped.values()), tuple(videos.values()))

    def make(self, pictures: Pictures, batch: Batch) -> Made:
        frames = [pictures.videos[row][batch.condition.severity - 1] for row in batch.rows]
        check_shapes([pictures.samples[row] for row in batch.rows], frames, self._protocol, None)
        return Made(np.stack(frames), batch.rows)


def _read(samples: Sequence[Sample], read: Callable[[Sample], _Read]) -> tuple[dict[int, _Read], dict[int, Skipped]]:
    """Read some pictures, by their positions; those that cannot be read are set apart, with the reason."""
    images, skipped = dict[int, _Read](), dict[int, Skipped]()
    for k, sample in enumerate(samples):
        try:
            images[k] = read(sample)
        except ImageError as error:
            skipped[k] = Skipped(sample.id, str(error) if sample.id in str(error) else f"{sample.id}: {error}")
    return images, skipped


def check_shapes(
    samples: Sequence[Sample], images: Sequence[Image], protocol: Protocol, shape: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Refuse pictures of another size than the run's, or too small to corrupt; return the run's size."""
    for sample, picture in zip(samples, images, strict=True):
        shape = shape or picture.shape
        if picture.shape != shape:
            raise DatasetError(
                f"{sample.id} is {_size(picture.shape)} pixels where others are {_size(shape)}, after the "
                f"preprocessing {protocol.preprocess.name!r}. A model needs images of one size: choose a preprocessing "
                "that crops, such as 'imagenet224'."
            )
        if protocol.corruptions and protocol.stored is None and min(shape[:2]) < corruptions.SMALLEST_SIDE:
            raise DatasetError(
                f"{sample.id} is {_size(shape)} pixels, and corruptions need {corruptions.SMALLEST_SIDE} on each side."
            )
    return shape


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]}x{shape[0]}"
