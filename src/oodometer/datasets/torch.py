"""Data sets for PyTorch's ``DataLoader``: by index, and as a stream that workers share among them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch.utils.data

from oodometer.errors import ArgumentError
from oodometer.types import CorruptedDataset, Dataset, Sample

__all__ = ["TorchDataset", "TorchIterableDataset"]

Transform = Callable[[Any], Any]


class TorchDataset(torch.utils.data.Dataset[tuple[Any, int]]):
    """The images of a data set by index, as (image, label), in the order of its samples.

    Parameters
    ----------
    dataset
        Any data set; of one with corruptions, a cell: ``open_dataset("imagenet-c:PATH").cell("fog", 3)``.
    transform
        What to do with each picture, an RGB ``PIL.Image``; without it the picture itself is given.

    Raises
    ------
    ArgumentError
        If the data set has several conditions.
    """

    def __init__(self, dataset: Dataset | CorruptedDataset, transform: Transform | None = None) -> None:
        self._dataset = _one_condition(dataset)
        self._transform = transform

    def __len__(self) -> int:
        return len(self._dataset.samples)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        return _item(self._dataset, self._dataset.samples[index], self._transform)


class TorchIterableDataset(torch.utils.data.IterableDataset[tuple[Any, int]]):
    """The images of a data set as a stream of (image, label); each of W workers gives its W-th, without overlap.

    A worker's share lies together in the data set, so that tar and Parquet files are read forwards. The parameters and
    errors are those of ``TorchDataset``.
    """

    def __init__(self, dataset: Dataset | CorruptedDataset, transform: Transform | None = None) -> None:
        self._dataset = _one_condition(dataset)
        self._transform = transform

    def __iter__(self) -> Iterator[tuple[Any, int]]:
        worker = torch.utils.data.get_worker_info()
        number, workers = (worker.id, worker.num_workers) if worker else (0, 1)
        count = len(self._dataset.samples)
        share = self._dataset.samples[number * count // workers : (number + 1) * count // workers]
        return (_item(self._dataset, sample, self._transform) for sample in share)


def _one_condition(dataset: Dataset | CorruptedDataset) -> Dataset:
    if isinstance(dataset, CorruptedDataset):
        raise ArgumentError(f"{dataset.name} has several conditions; give one of its cells, such as .cell('fog', 3).")
    return dataset


def _item(dataset: Dataset, sample: Sample, transform: Transform | None) -> tuple[Any, int]:
    image = dataset.read(sample)
    return (transform(image) if transform else image), sample.label
