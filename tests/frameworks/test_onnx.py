"""ONNX files against the PyTorch model from which they were exported."""

import warnings

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from oodometer.errors import ArgumentError, ModelError
from oodometer.models import ModelOptions, load_model

pytestmark = pytest.mark.frameworks

MEAN, STD = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])


class Tiny(torch.nn.Module):
    """Takes pictures with the channels first or last, as floats or as uint8, and gives logits or probabilities."""

    def __init__(self, last=False, raw=False, softmax=False):
        super().__init__()
        torch.manual_seed(0)
        self.features = torch.nn.Conv2d(3, 16, 7, stride=4)
        self.head = torch.nn.Linear(16, 20)
        self.last, self.raw, self.softmax = last, raw, softmax

    def forward(self, x):
        if self.raw:
            x = (x.to(torch.float32) / 255 - 0.5) / 0.5
        x = x.permute(0, 3, 1, 2) if self.last else x
        logits = self.head(torch.relu(self.features(x)).mean((2, 3)))
        return torch.softmax(logits, 1) if self.softmax else logits


def _export(module, path, example, *, fixed=False):
    shapes = None if fixed else ({0: torch.export.Dim("batch")},)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter's own
        torch.onnx.export(module.eval(), (example,), path, dynamo=True, dynamic_shapes=shapes, verbose=False)
    return f"onnx:{path}"


def _direct(module, pictures):
    with torch.no_grad():
        return module((torch.from_numpy(pictures) / 255 - MEAN) / STD).numpy()


@pytest.mark.parametrize("fixed", [False, True], ids=["any batch", "batches of 3"])
def test_the_demo_model_is_the_same_in_onnx(tmp_path, pictures, agree, fixed):
    demo = load_model("demo")
    spec = _export(demo._network.module, tmp_path / "demo.onnx", torch.zeros(3, 3, 224, 224), fixed=fixed)
    model = load_model(spec, ModelOptions(normalization=demo.normalization))
    agree(model.predict(pictures), demo.predict(pictures))
    assert model.predict(pictures[:1]).shape == (1, 1000)
    assert model.name == "demo.onnx"


def test_channels_last_and_the_usual_normalization(tmp_path, pictures, agree):
    module = Tiny(last=True)
    model = load_model(_export(module, tmp_path / "m.onnx", torch.zeros(2, 224, 224, 3)))
    agree(model.predict(pictures), _direct(module, pictures))
    assert model.normalization.mean == (0.485, 0.456, 0.406)


def test_a_file_that_takes_uint8_gets_the_pixels(tmp_path, pictures, agree):
    """Case G2: what is done inside is not done outside again."""
    module = Tiny(last=True, raw=True)
    spec = _export(module, tmp_path / "m.onnx", torch.zeros(2, 224, 224, 3, dtype=torch.uint8))
    model = load_model(spec)
    with torch.no_grad():
        agree(model.predict(pictures), module(torch.from_numpy(pictures)).numpy())
    assert model.normalization is None
    with pytest.raises(ArgumentError, match="takes uint8"):
        load_model(spec, ModelOptions(normalization="imagenet"))


def test_half_precision_files_are_fed_in_half_precision(tmp_path, pictures):
    module = Tiny(last=True)
    expected = _direct(module, pictures)
    spec = _export(module.half(), tmp_path / "m.onnx", torch.zeros(2, 224, 224, 3, dtype=torch.float16))
    np.testing.assert_allclose(load_model(spec).predict(pictures), expected, atol=5e-3)


def test_another_size_is_refused_or_resized(tmp_path, pictures, agree, resize):
    """Case G3."""
    import PIL.Image

    module = Tiny(last=True)
    spec = _export(module, tmp_path / "m.onnx", torch.zeros(2, 96, 160, 3))
    with pytest.raises(ModelError, match=r"160x96 .* 224x224"):
        load_model(spec).predict(pictures)
    model = load_model(spec, ModelOptions(resize=True))
    assert model.resized == "160x96 bilinear"
    small = [PIL.Image.fromarray(p).resize((160, 96), PIL.Image.Resampling.BILINEAR) for p in pictures]
    agree(model.predict(pictures), _direct(module, np.stack([np.asarray(p) for p in small])))


def test_probabilities_are_refused_unless_said_to_be_some(tmp_path, pictures):
    module = Tiny(last=True, softmax=True)
    spec = _export(module, tmp_path / "m.onnx", torch.zeros(2, 224, 224, 3))
    with pytest.raises(ModelError, match="probabilities where logits"):
        load_model(spec).predict(pictures)
    found = load_model(spec, ModelOptions(outputs="probabilities")).predict(pictures)
    np.testing.assert_allclose(np.exp(found), _direct(module, pictures), atol=1e-6)


def test_the_fingerprint_knows_weights_in_a_file_beside(tmp_path):
    module = Tiny(last=True)
    spec = _export(module, tmp_path / "m.onnx", torch.zeros(2, 224, 224, 3))
    proto = onnx.load(tmp_path / "m.onnx")
    onnx.save(proto, tmp_path / "m.onnx", save_as_external_data=True, location="m.weights", size_threshold=1024)
    before = load_model(spec).fingerprint
    weights = bytearray((tmp_path / "m.weights").read_bytes())
    weights[100] ^= 1
    (tmp_path / "m.weights").write_bytes(weights)
    assert load_model(spec).fingerprint != before
    (tmp_path / "m.weights").unlink()
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_model(spec)


def _graph(path, inputs, outputs):
    """Write a file whose outputs are averages of its first input, over what they lack of its sides."""
    values = [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in outputs]
    first, _, sides = inputs[0]
    nodes = [
        helper.make_node("Identity", [first], [name])
        if shape == sides
        else helper.make_node(
            "ReduceMean",
            [first],
            [name],
            axes=list(range(min(len(shape), 2), len(sides))),
            keepdims=int(len(shape) == len(sides)),
        )
        for name, shape in outputs
    ]
    graph = helper.make_graph(nodes, "graph", values, made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)
    return f"onnx:{path}"


PICTURES = ("x", TensorProto.FLOAT, ["n", 3, 224, 224])


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([PICTURES, ("y", TensorProto.FLOAT, [1])], [("z", ["n", 3])], "must have one input"),
        ([("x", TensorProto.FLOAT, ["n", 4, 224, 224])], [("z", ["n", 4])], "must have one input"),
        ([("x", TensorProto.FLOAT, ["n", 3, 224])], [("z", ["n", 3, 224])], "must have one input"),
        ([PICTURES], [("z", ["n", 3]), ("w", ["n", 3])], "must have one output"),
        ([PICTURES], [("z", ["n"])], "must have one output"),
    ],
)
def test_other_inputs_and_outputs_are_refused_with_what_was_found(tmp_path, inputs, outputs, message):
    with pytest.raises(ModelError, match=message):
        load_model(_graph(tmp_path / "m.onnx", inputs, outputs))


def test_an_output_with_two_sides_of_one_is_flattened(tmp_path, pictures):
    model = load_model(
        _graph(tmp_path / "m.onnx", [PICTURES], [("z", ["n", 3, 1, 1])]), ModelOptions(normalization="none")
    )
    np.testing.assert_allclose(model.predict(pictures), pictures.mean((1, 2)) / 255, atol=1e-5)


@pytest.mark.parametrize("content", [b"", b"no model", None])
def test_what_is_no_onnx_file_is_named(tmp_path, content):
    path = tmp_path / "m.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=str(path)):
        load_model(f"onnx:{path}")


def test_a_device_that_is_not_there_is_refused(tmp_path):
    spec = _graph(tmp_path / "m.onnx", [PICTURES], [("z", ["n", 3])])
    assert load_model(spec, ModelOptions(device="cpu")).environment["device"] == "cpu"
    with pytest.raises(ModelError, match="'mps'"):
        load_model(spec, ModelOptions(device="mps"))
    with pytest.raises(ArgumentError, match="takes no dtype"):
        load_model(spec, ModelOptions(dtype="bf16"))
