"""A check at the end of an epoch: an evaluation's numbers, by names of their own, and no trace in the training."""

import copy
import random

import numpy as np
import pytest
import torch

import oodometer
from colour_task import write_task
from oodometer.errors import ArgumentError, DatasetError, MissingDataError, ModelError, StoreError
from oodometer.training import RobustnessCheck

CORRUPTIONS = ("gaussian_noise", "contrast")


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return write_task(tmp_path_factory.mktemp("task"))


class Net(torch.nn.Module):
    """Has what a careless check would change: a norm with running means, a frozen part, and chance in use."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.first = torch.nn.Conv2d(3, 8, 5, stride=4)
        self.norm = torch.nn.BatchNorm2d(8)
        self.frozen = torch.nn.Dropout(0.5).eval()
        self.last = torch.nn.Linear(8, 3)
        self.first.requires_grad_(False)

    def forward(self, x):
        x = self.frozen(torch.relu(self.norm(self.first(x)))).mean((2, 3))
        return self.last(x) + 1e-9 * torch.rand(())


def made(task, **wishes):
    return RobustnessCheck(
        task.folder,
        **{"labels": task.labels, "preprocess": "none", "edition": "cifar32", "corruptions": CORRUPTIONS, "limit": 9}
        | wishes,
    )


@pytest.fixture
def direct(task):
    """Return a function that evaluates a model on the same subset by ``oodometer.evaluate``."""

    def evaluate(model):
        return oodometer.evaluate(
            copy.deepcopy(model),
            task.folder,
            labels=task.labels,
            preprocess="none",
            edition="cifar32",
            corruptions=CORRUPTIONS,
            limit=9,
            baseline=None,
            progress=False,
        )

    return evaluate


def test_the_numbers_are_those_of_an_evaluation_of_the_subset(task, direct):
    model = Net()
    found = made(task).on_epoch_end(model, 0)
    run = direct(model)
    part = run.summary().corruptions
    expected = {"clean_error": part.clean_error, "mean_error": part.mean_error}
    expected |= {f"error/{row.name}": row.mean for row in part.rows}
    assert set(expected) == {"clean_error", "mean_error", *(f"error/{name}" for name in CORRUPTIONS)}
    assert found == {
        f"oodometer/subset/{name}{end}": value
        for name, e in expected.items()
        for end, value in (("", e.value), ("_low", e.low), ("_high", e.high), ("_n", 9))
    }
    assert 0 < found["oodometer/subset/mean_error"] < 1


def test_no_number_of_a_subset_is_called_mce(task, frost):
    found = made(task, corruptions="imagenet-c", limit=None).on_epoch_end(Net(), 0)
    assert found["oodometer/subset/mean_error_n"] == 24
    assert not [name for name in found if "mce" in name.lower()]
    assert all(name.startswith("oodometer/subset/") for name in found)


def test_every_epoch_sees_the_same_pixels(task):
    seen = []

    class Watching:
        def predict(self, images):
            seen.append(images.copy())
            return np.tile(np.arange(3.0), (len(images), 1))

    check = made(task, workers=1)
    first = check.on_epoch_end(Watching(), 0)
    half = len(seen)
    assert check.on_epoch_end(Watching(), 1) == first
    assert len(seen) == 2 * half > 0
    for one, other in zip(seen[:half], seen[half:], strict=True):
        np.testing.assert_array_equal(one, other)


def _state(model):
    return (
        [module.training for module in model.modules()],
        [parameter.requires_grad for parameter in model.parameters()],
        [parameter.device for parameter in model.parameters()],
        [None if parameter.grad is None else parameter.grad.clone() for parameter in model.parameters()],
        {name: value.clone() for name, value in model.state_dict().items()},
        torch.get_rng_state(),
        np.random.get_state()[1],
        random.getstate(),
    )


def _same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return bool((one == other).all())
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


class Failing(Net):
    def forward(self, x):
        torch.rand(3), np.random.random(), random.random()
        raise RuntimeError("out of luck")


@pytest.mark.parametrize("kind", [Net, Failing])
def test_the_model_and_all_chance_are_as_before(task, kind):
    model = kind()
    model.train()
    model.frozen.eval()
    Net.forward(model, torch.rand(4, 3, 32, 32)).sum().backward()
    before = _state(model)
    if kind is Failing:
        with pytest.raises(ModelError, match="out of luck"):
            made(task).on_epoch_end(model, 0)
    else:
        made(task).on_epoch_end(model, 0)
    assert before[0].count(False) == 1
    assert _same(before, _state(model))


def test_a_model_in_evaluation_mode_stays_in_it(task):
    model = Net().eval()
    made(task).on_epoch_end(model, 0)
    assert not any(module.training for module in model.modules())


def test_the_same_weights_with_and_without_it(task):
    def trained(check):
        model = Net()
        optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.1)
        x = torch.from_numpy(task.pictures).permute(0, 3, 1, 2).float() / 255
        y = torch.from_numpy(task.classes)
        for epoch in range(3):
            model.train()
            for rows in torch.randperm(24).split(8):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
            if check is not None:
                check.on_epoch_end(model, epoch)
        return model.state_dict()

    assert _same(trained(None), trained(made(task)))


def test_a_wrapper_for_several_processes_is_taken_off(task, tmp_path):
    model = Net()
    torch.distributed.init_process_group("gloo", f"file://{tmp_path / 'meeting'}", rank=0, world_size=1)
    try:
        wrapped = torch.nn.parallel.DistributedDataParallel(model)
        calls = []
        wrapped.register_forward_pre_hook(lambda *_: calls.append(1))
        assert made(task).on_epoch_end(wrapped, 0) == made(task).on_epoch_end(model, 0)
        assert calls == []
    finally:
        torch.distributed.destroy_process_group()


def test_nothing_is_left_on_the_disk(task, tmp_path, monkeypatch):
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made(task).on_epoch_end(Net(), 0)
    assert list(tmp_path.iterdir()) == []


def test_with_out_each_epoch_is_a_run(task, tmp_path):
    check = made(task, out=tmp_path / "runs")
    model = Net()
    for epoch in range(2):
        found = check.on_epoch_end(model, epoch)
        with torch.no_grad():
            model.last.weight += 1
    runs = [oodometer.Run(tmp_path / "runs" / f"epoch-{epoch:04d}") for epoch in range(2)]
    assert runs[1].clean_error.value == found["oodometer/subset/clean_error"]
    (pair,) = oodometer.compare(runs).pairs
    assert pair.clean_error.difference.value == pytest.approx(runs[1].clean_error.value - runs[0].clean_error.value)
    with pytest.raises(StoreError):
        check.on_epoch_end(model, 0)  # which is the run of other weights


@pytest.mark.parametrize(
    ("wish", "error", "message"),
    [
        ({"corruptions": "fogg"}, ArgumentError, "fog"),
        ({"limit": 0}, ArgumentError, "limit"),
        ({"batch_size": "auto"}, ArgumentError, "batch_size"),
        ({"preprocess": "big"}, ArgumentError, "preprocess"),
        ({"labels": {"class9": 0}}, DatasetError, "class"),
        ({"model_options": oodometer.ModelOptions(device="cpu")}, ArgumentError, "would change the model"),
        ({"model_options": oodometer.ModelOptions(compile=True)}, ArgumentError, "would change the model"),
        ({"out": ""}, ArgumentError, "folder of the runs"),
    ],
)
def test_mistakes_are_told_before_the_training(task, wish, error, message):
    with pytest.raises(error, match=message):
        made(task, **wish)


def test_a_corruption_that_cannot_be_run_is_told_before_the_training(task, monkeypatch):
    from oodometer import textures

    monkeypatch.setattr(textures, "find_frost", lambda: None)
    with pytest.raises(MissingDataError, match="frost cannot be run"):
        made(task, corruptions="frost")


def test_an_epoch_is_a_number(task):
    with pytest.raises(ArgumentError, match="epoch"):
        made(task, out="runs").on_epoch_end(Net(), "last")
