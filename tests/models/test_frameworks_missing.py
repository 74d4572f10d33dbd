"""Without a framework's package, a specification of its models says what to install; nothing else is affected."""

import sys

import numpy as np
import pytest

from oodometer.errors import MissingDataError, ModelError
from oodometer.models import MODELS, load_model


@pytest.mark.parametrize(
    ("spec", "package", "extra"),
    [
        ("timm:resnet18", "timm", "timm"),
        ("torchvision:resnet18", "torchvision", "torchvision"),
        ("hf:google/vit-base-patch16-224", "transformers", "hf"),
        ("clip:ViT-B-32/openai", "open_clip", "clip"),
        ("onnx:model.onnx", "onnxruntime", "onnx"),
        ("model.onnx", "onnxruntime", "onnx"),
        ("keras:model.keras", "keras", "keras"),
        ("model.h5", "keras", "keras"),
        ("torch:package.module:factory", "torch", "torch"),
        ("demo", "efficientnet_lite_pytorch", "demo"),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(monkeypatch, spec, package, extra):
    for module in [name for name in sys.modules if name.startswith("oodometer.models.")]:
        if module.rpartition(".")[2] in {
            "torch",
            "demo",
            "timm",
            "torchvision",
            "huggingface",
            "clip",
            "onnx",
            "keras",
        }:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingDataError, match=rf"needs {package}: pip install 'oodometer\[{extra}\]'"):
        load_model(spec)


def test_every_kind_of_model_is_listed():
    from oodometer.models import ADAPTERS

    assert set(ADAPTERS) <= {name.partition(":")[0] for name in MODELS}


class Even:
    """Says class 0 of a picture whose pixels sum to an even number."""

    name = "parity"

    def predict(self, images):
        return np.eye(2)[images.sum((1, 2, 3)) % 2]


ready, nothing = Even(), 5


def make():
    return Even()


@pytest.mark.parametrize("attribute", ["Even", "ready", "make"])
def test_a_class_an_object_or_a_function_of_ones_own(attribute):
    images = np.array([1, 2], np.uint8).reshape(2, 1, 1, 1) * np.ones((1, 3, 3), np.uint8)
    model = load_model(f"python:{__name__}:{attribute}")
    np.testing.assert_array_equal(model.predict(images), [[0, 1], [1, 0]])
    assert model.name == "parity"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("os:getcwd", "gives str, which has no method predict"),
        (f"{__name__}:nothing", "int cannot be called"),
        (f"{__name__}:absent", "absent"),
        ("no_such_module_here:make", "PYTHONPATH"),
        ("os", "package.module:object"),
    ],
)
def test_what_is_no_model_is_refused(path, message):
    with pytest.raises(ModelError, match=message):
        load_model(f"python:{path}")
