"""The pictures that a model saw, made again by the road of the evaluation from the images that it took."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from oodometer.continuing import differences, environment
from oodometer.datasets import digest
from oodometer.datasets.fingerprint import digest_of
from oodometer.errors import DatasetError, ImageError, OodometerError
from oodometer.inputs import open_data
from oodometer.meter import Meter
from oodometer.pictures import Batch, Pictures, source_of
from oodometer.plan import Benchmark
from oodometer.prebuilt import settle
from oodometer.store import SEQUENCES, BenchmarkRecord, Manifest
from oodometer.stored import StoredSet
from oodometer.types import UNLABELLED, Condition, CorruptedDataset, Dataset, Image, Sample

__all__ = ["Given", "Remade", "other_versions"]

_KEPT = 8
"""How many images are held decoded, since a page shows one under many conditions."""


class Given:
    """The sets of images that were given, among which those of a run are found by their digests.

    Parameters
    ----------
    data
        Where they lie, in any form that ``evaluate`` takes.
    labels
        As for ``evaluate``; of those sets of which it says something.

    Raises
    ------
    DatasetError, ArgumentError
        If one cannot be opened.
    """

    def __init__(self, data: Sequence[str], labels: str | Path | None = None) -> None:
        opened = [_opened(spec, labels) for spec in data]
        self.corrupted = tuple(one for one in opened if isinstance(one, CorruptedDataset))
        self.clean: tuple[Dataset, ...] = tuple(one for one in opened if not isinstance(one, CorruptedDataset))
        self._digests = {d: one for one in self.clean for d in (digest(one), _digest_without_labels(one))}

    def __bool__(self) -> bool:
        return bool(self.corrupted or self.clean)

    def images_of(self, record: BenchmarkRecord) -> Remade | None:
        """Return the images of a run's set, if they were given: the same ids, sizes and labels."""
        if record.name.startswith(SEQUENCES):
            return None
        if record.protocol.stored is None:
            found = self._digests.get(record.digest)
            return None if found is None else Remade(found, record)
        stored = (one for given in self.corrupted for one in self._with_clean(given, record))
        return next((Remade(one, record) for one in stored if digest(one) == record.digest), None)

    def _with_clean(self, given: CorruptedDataset, record: BenchmarkRecord) -> Iterator[StoredSet]:
        """Put stored pictures together with each set of clean images that may have been given beside them."""
        for clean in (None, *self.clean):
            with contextlib.suppress(OodometerError):  # they do not belong together
                settled = settle(
                    given,
                    clean=clean,
                    out=None,
                    corruptions=record.protocol.corruptions,
                    preprocess=record.protocol.preprocess.name,
                    seed=record.protocol.seed,
                    given={},
                )
                if isinstance(settled.dataset, StoredSet):
                    yield settled.dataset


class Remade:
    """The pictures of one set of a run, by image and condition: the very pixels that the model was given.

    Parameters
    ----------
    dataset
        The images of the set.
    record
        What the run says of it: how the pictures were made.
    """

    def __init__(self, dataset: Dataset | StoredSet, record: BenchmarkRecord) -> None:
        self.dataset = dataset
        self._source = source_of(Benchmark(record.name, dataset, record.protocol), Meter(1))
        self._samples = {sample.id: sample for sample in dataset.samples}
        self._begun = functools.lru_cache(maxsize=_KEPT)(self._begin)

    def picture(self, image: str, condition: Condition) -> Image:
        """Make the picture of an image under a condition.

        Parameters
        ----------
        image
            The id of one of the images.
        condition
            What it went through.

        Returns
        -------
        Image
            uint8, height x width x 3, 0..255.

        Raises
        ------
        ImageError
            If the image cannot be read any more.
        MissingDataError, ArgumentError
            If the corruption lacks its textures, or is one of the user's own that is not registered.
        """
        made = self._source.make(self._begun(self._samples[image]), Batch(condition, np.arange(1)))
        for skipped in made.skipped.values():
            raise ImageError(skipped.reason)
        picture: Image = made.images[0]
        return picture

    def _begin(self, sample: Sample) -> Pictures:
        begun = self._source.begin([(0, sample)])
        for skipped in begun.skipped:
            raise ImageError(skipped.reason)
        return begun


def _opened(spec: str, labels: str | Path | None) -> Dataset | CorruptedDataset:
    """Open a set with the labels that are given, else with its own, else with none: pictures need no label."""
    first: DatasetError | None = None
    for table, unlabelled in ((labels, None), (None, None), (None, True)):
        try:
            return open_data(spec, labels=table, classes=None, label_space=None, unlabelled=unlabelled)
        except DatasetError as error:
            first = first or error
    assert first is not None, "there is a first way"
    raise first


def _digest_without_labels(dataset: Dataset) -> str:
    """Return what the digest would be if the images had been taken without their labels."""
    return digest_of([replace(sample, label=UNLABELLED) for sample in dataset.samples])


def other_versions(manifest: Manifest) -> str:
    """Say in which versions this installation differs from what a run was made with; empty if pixels must be equal."""
    now = environment()
    return differences({name: manifest.environment.get(name) for name in now}, now)
