"""Data sets as PyTorch and tf.data want them: each image exactly once, whatever the workers and how they start."""

import functools

import numpy as np
import pytest
import torch.utils.data
from small_sets import FISH, WRITERS, numbered, write_cells, write_npy

from oodometer.datasets import open_dataset
from oodometer.datasets.generator import ArrayGenerator
from oodometer.datasets.torch import TorchDataset, TorchIterableDataset
from oodometer.errors import ArgumentError, ImageError

NAMES = [f"{FISH}/{number:02d}.png" for number in range(11)]


def number_of(image):
    """Return which picture it is; a function of a module, so that it can go to workers that are spawned."""
    return torch.tensor(image.getpixel((0, 0))[0])


def every_format(root):
    """Return a data set of 11 numbered pictures for each reader."""
    sets = [open_dataset(write(root / kind, numbered(*NAMES))) for kind, write in WRITERS.items()]
    tree = open_dataset(write_cells(root / "c", ["fog/1", "fog/2"], NAMES))
    images = np.zeros((11, 4, 4, 3), np.uint8)
    images[..., 0] = np.arange(11)[:, None, None]
    return [*sets, tree.cell("fog", 1), open_dataset(write_npy(root / "npy", images, np.ones(11, int)), classes=2)]


def loaded(view, workers, start=None, batch_size=3):
    loader = torch.utils.data.DataLoader(view, batch_size, num_workers=workers, multiprocessing_context=start)
    batches = list(loader)
    assert {int(label) for _, labels in batches for label in labels} == {1}
    return [int(number) for numbers, _ in batches for number in numbers]


def joined(views):
    join = torch.utils.data.ConcatDataset if isinstance(views[0], TorchDataset) else torch.utils.data.ChainDataset
    return join(views)


@pytest.mark.parametrize("view", [TorchDataset, TorchIterableDataset])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_each_image_exactly_once(tmp_path, view):
    views = [view(dataset, number_of) for dataset in every_format(tmp_path)]
    in_order = [*range(11)] * len(views)
    assert loaded(joined(views), 0) == in_order
    forked = loaded(joined(views), 2, "fork")
    assert sorted(forked) == sorted(in_order)
    assert forked == loaded(joined(views), 2, "fork")
    assert view is TorchIterableDataset or forked == in_order


@pytest.mark.long  # a worker that is spawned imports PyTorch again
@pytest.mark.parametrize("view", [TorchDataset, TorchIterableDataset])
def test_k5_each_image_exactly_once_in_spawned_workers(tmp_path, view):
    views = [view(dataset, number_of) for dataset in every_format(tmp_path)]
    loaded(joined(views), 0)  # what was read before must not hinder the start
    assert sorted(loaded(joined(views), 2, "spawn")) == sorted([*range(11)] * len(views))


@pytest.mark.parametrize("workers", [1, 2, 3, 5, 11, 20])
def test_the_shares_of_workers_are_equal_and_lie_together(tmp_path, monkeypatch, workers):
    view = TorchIterableDataset(open_dataset(WRITERS["folder"](tmp_path, numbered(*NAMES))), number_of)
    shares = []
    for number in range(workers):
        worker = type("Worker", (), {"id": number, "num_workers": workers})
        monkeypatch.setattr(torch.utils.data, "get_worker_info", functools.partial(lambda given: given, worker))
        shares.append([int(image) for image, _ in view])
    assert [number for share in shares for number in share] == list(range(11))
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_a_picture_without_a_transform(tmp_path):
    dataset = open_dataset(WRITERS["folder"](tmp_path, numbered(*NAMES)))
    view = TorchDataset(dataset)
    assert len(view) == 11
    image, label = view[-1]
    assert (image.getpixel((0, 0))[0], label) == (10, 1)
    assert [i.size for i, _ in TorchIterableDataset(dataset)] == [(8, 6)] * 11
    with pytest.raises(IndexError):
        view[11]


def test_an_image_that_cannot_be_read_is_named(tmp_path):
    root = WRITERS["folder"](tmp_path, numbered(*NAMES))
    (root / NAMES[4]).write_bytes(b"junk")
    with pytest.raises(ImageError, match=NAMES[4]):
        list(TorchDataset(open_dataset(root)))


@pytest.mark.parametrize("view", [TorchDataset, TorchIterableDataset])
def test_several_conditions_are_refused(tmp_path, view):
    with pytest.raises(ArgumentError, match="give one of its cells"):
        view(open_dataset(write_cells(tmp_path / "c", ["fog/1"], NAMES)))


def test_the_generator_gives_what_its_signature_says(tmp_path):
    for dataset in every_format(tmp_path):
        view = ArrayGenerator(dataset)
        (image_shape, image_type), (label_shape, label_type) = view.signature
        for _ in range(2):  # from_generator calls it once an epoch
            items = list(view())
            assert [int(image[0, 0, 0]) for image, _ in items] == list(range(11))
            for image, label in items:
                assert (image.dtype, label.dtype) == (image_type, label_type)
                assert (len(image.shape), image.shape[2], label.shape) == (len(image_shape), 3, label_shape)
