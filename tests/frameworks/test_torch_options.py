"""How far the ways of running a PyTorch model change its logits, and the demo model as a file."""

import warnings

import numpy as np
import pytest
import torch

from oodometer.models import ModelOptions, load_model
from oodometer.models.torch import TorchModel

pytestmark = pytest.mark.frameworks


@pytest.fixture(scope="module")
def demo():
    return load_model("demo")


@pytest.fixture
def small():
    torch.manual_seed(0)
    first = torch.nn.Conv2d(3, 16, 7, stride=4)
    return torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())


@pytest.mark.parametrize(("dtype", "share"), [("bf16", 0.02), ("fp16", 0.002)])
def test_half_precision_changes_more_than_nothing_and_less_than_its_digits(small, pictures, dtype, share):
    expected = load_model(small).predict(pictures)
    found = load_model(small, ModelOptions(dtype=dtype)).predict(pictures)
    assert 0 < np.abs(found - expected).max() < share * np.abs(expected).max()


def test_the_memory_format_changes_no_more_than_float_noise(demo, pictures, agree):
    agree(load_model("demo", ModelOptions(channels_last=True)).predict(pictures), demo.predict(pictures))


def test_a_compiled_model_gives_the_same_logits(small, pictures, agree):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the compiler's own
        compiled = load_model(small, ModelOptions(compile=True))
        for batch in (pictures, pictures[:3]):
            agree(compiled.predict(batch), TorchModel(small).predict(batch))
    assert compiled.environment["device"] == "cpu, compiled"


def test_no_batch_size_changes_more_than_float_noise(demo, pictures):
    one_by_one = np.concatenate([demo.predict(p[None]) for p in pictures])
    np.testing.assert_allclose(demo.predict(pictures), one_by_one, rtol=0, atol=1e-4)


@pytest.mark.parametrize("suffix", [".pt2", ".pt"])
def test_the_demo_model_is_the_same_as_a_file(demo, pictures, tmp_path, agree, suffix):
    path, module = tmp_path / f"demo{suffix}", demo._network.module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch has deprecated TorchScript; users still have the files
        if suffix == ".pt2":
            batch = torch.export.Dim("batch")
            torch.export.save(
                torch.export.export(module, (torch.zeros(2, 3, 224, 224),), dynamic_shapes=({0: batch},)), path
            )
        else:
            torch.jit.trace(module, torch.zeros(2, 3, 224, 224)).save(str(path))
    loaded = load_model(str(path), ModelOptions(normalization=demo.normalization))
    agree(loaded.predict(pictures), demo.predict(pictures))


def test_a_module_is_moved_only_if_a_device_is_named():
    module = torch.nn.Conv2d(3, 4, 3)
    assert TorchModel(module).module is module
    assert TorchModel(module, options=ModelOptions(device="cpu")).environment["device"] == "cpu"
