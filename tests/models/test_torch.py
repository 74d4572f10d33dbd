"""The PyTorch adapter: what the network sees, what can be loaded, what is refused."""

import contextlib
import pickle
import warnings

import numpy as np
import pytest
import torch

from oodometer.errors import ArgumentError, ModelError
from oodometer.models import ModelOptions, Normalization, load_model
from oodometer.models.torch import TorchModel


class Store(torch.nn.Module):
    """A network that remembers its input."""

    def forward(self, x):
        self.input = x
        return torch.zeros(len(x), 1000)


class Tiny(torch.nn.Module):
    def __init__(self, classes=10, dropout=0.0):
        super().__init__()
        self.features = torch.nn.Conv2d(3, 8, 3, stride=2)
        self.dropout = torch.nn.Dropout(dropout)
        self.head = torch.nn.Linear(8, classes)

    def forward(self, x):
        return self.head(self.dropout(torch.relu(self.features(x)).mean((2, 3))))


def make_tiny():
    torch.manual_seed(0)
    return Tiny()


def make_adapted():
    return TorchModel(make_tiny(), Normalization((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)), name="adapted")


GRAY = np.full((2, 16, 16, 3), 128, np.uint8)
IMAGES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    ("mean", "std", "expected"),
    [
        ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5), (0.004, 0.004, 0.004)),
        ((0, 0, 0), (1, 1, 1), (0.502, 0.502, 0.502)),
        ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225), (0.0741, 0.2055, 0.4264)),
    ],
)
def test_a_constant_image_arrives_as_declared(mean, std, expected):
    """Case G2."""
    network = Store()
    TorchModel(network, Normalization(mean, std)).predict(GRAY)
    assert network.input.shape == (2, 3, 16, 16)
    for channel in range(3):
        np.testing.assert_allclose(network.input[:, channel], expected[channel], atol=1e-3)


def test_the_input_is_the_closed_form():
    """Case G1: no resampling, only (pixel / 255 - mean) / std."""
    network = Store()
    normalization = Normalization((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    TorchModel(network, normalization).predict(IMAGES)
    expected = (IMAGES / 255 - np.array(normalization.mean)) / np.array(normalization.std)
    np.testing.assert_allclose(network.input.numpy(), expected.transpose(0, 3, 1, 2), atol=1e-5)


def test_the_network_is_in_evaluation_mode():
    model = TorchModel(Tiny(dropout=0.9).train())
    np.testing.assert_array_equal(model.predict(IMAGES), model.predict(IMAGES))


def test_a_module_is_adapted_with_the_usual_normalization():
    module = make_tiny()
    model = load_model(module)
    assert model.normalization.mean == (0.485, 0.456, 0.406)
    with torch.no_grad():
        mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (model.normalization.mean, model.normalization.std))
        expected = module((torch.from_numpy(IMAGES).permute(0, 3, 1, 2) / 255 - mean) / std)
    np.testing.assert_allclose(model.predict(IMAGES), expected.numpy(), atol=1e-5)


def test_factories_give_modules_or_adapted_models():
    assert load_model(f"torch:{__name__}:make_tiny").predict(IMAGES).shape == (3, 10)
    adapted = load_model(f"torch:{__name__}:make_adapted")
    assert adapted.name == "adapted"
    given = load_model(f"torch:{__name__}:make_tiny", ModelOptions(normalization="none"))
    assert given.normalization.std == (1, 1, 1)


@pytest.fixture(params=["model.pt2", "model.pt"])
def saved(request, tmp_path):
    module, path = make_tiny().eval(), tmp_path / request.param
    example = torch.zeros(2, 3, 32, 32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch has deprecated TorchScript; users still have the files
        if path.suffix == ".pt2":
            exported = torch.export.export(module, (example,), dynamic_shapes=({0: torch.export.Dim("batch")},))
            torch.export.save(exported, path)
        else:
            torch.jit.script(module).save(str(path))
    return module, path


def test_a_saved_model_gives_the_same_logits(saved):
    module, path = saved
    loaded = load_model(str(path))
    np.testing.assert_allclose(loaded.predict(IMAGES), TorchModel(module).predict(IMAGES), atol=1e-5)
    assert loaded.name == path.name
    with pytest.raises(ArgumentError, match="takes no compile"):
        load_model(str(path), ModelOptions(compile=True))
    if path.suffix == ".pt2":  # which was exported for pictures of one size
        assert loaded.input_size.sizes == ((32, 32),)
        with pytest.raises(ModelError, match="32x32"):
            loaded.predict(GRAY)


DETONATED = []


def detonate():
    DETONATED.append("unpickled")


class Bomb:
    def __reduce__(self):
        return detonate, ()


@pytest.mark.parametrize("suffix", [".pt", ".pth", ".pt2"])
@pytest.mark.parametrize("content", ["module", "state dict", "pickle", "text", "nothing"])
def test_whatever_needs_unpickling_is_refused(tmp_path, suffix, content):
    path = tmp_path / f"model{suffix}"
    match content:
        case "module":
            torch.save(make_tiny(), path)
        case "state dict":
            torch.save(make_tiny().state_dict(), path)
        case "pickle":
            path.write_bytes(pickle.dumps(Bomb()))
        case "text":
            path.write_text("no model")
        case "nothing":
            path.touch()
    with pytest.raises(ModelError, match="torch:module:factory") as refusal:
        load_model(str(path))
    assert str(path) in str(refusal.value)
    assert not DETONATED


def test_the_weights_of_an_export_are_not_unpickled_freely(tmp_path, monkeypatch):
    """torch.export falls back to full unpickling of its sample inputs; ours must not."""
    import zipfile

    path, evil = tmp_path / "model.pt2", tmp_path / "evil.pt2"
    torch.export.save(torch.export.export(make_tiny().eval(), (torch.zeros(2, 3, 32, 32),)), path)
    bomb = tmp_path / "bomb.pt"
    torch.save(Bomb(), bomb)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(evil, "w", zipfile.ZIP_STORED) as target:
        names = source.namelist()
        replaced = [name for name in names if name.endswith("sample_inputs/model.pt")]
        assert replaced, names
        for name in names:
            target.writestr(name, bomb.read_bytes() if name in replaced else source.read(name))
    with pytest.raises(ModelError):
        load_model(str(evil))
    assert not DETONATED
    # The bomb is live: PyTorch's own loader lets it off (and then fails to log that it did).
    monkeypatch.setattr("logging.raiseExceptions", False)
    with contextlib.suppress(Exception):
        torch.export.load(evil)
    assert DETONATED.pop()


def test_a_fingerprint_knows_weights_and_architecture():
    one, same = TorchModel(make_tiny()), TorchModel(make_tiny())
    assert one.fingerprint == same.fingerprint
    other = make_tiny()
    with torch.no_grad():
        other.head.bias[0] += 1e-6
    assert TorchModel(other).fingerprint != one.fingerprint
    assert (
        TorchModel(torch.nn.Sequential(torch.nn.ReLU())).fingerprint
        != TorchModel(torch.nn.Sequential(torch.nn.GELU())).fingerprint
    )


def test_an_output_that_is_no_tensor_is_refused():
    class Pair(torch.nn.Module):
        def forward(self, x):
            return x, x

    with pytest.raises(ModelError, match="tuple"):
        TorchModel(Pair()).predict(IMAGES)


def test_half_precision_weights_have_a_fingerprint_and_a_device():
    assert len(TorchModel(make_tiny().to(torch.bfloat16)).fingerprint) == 64
