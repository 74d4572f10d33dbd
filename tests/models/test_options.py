"""What can be said about how a model is run: checked when it is said, refused where it means nothing."""

import numpy as np
import pytest
import torch

from oodometer.errors import ArgumentError, ModelError
from oodometer.models import ModelOptions, Normalization, load_model
from oodometer.models.torch import TorchModel


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"normalization": 0.5}, "normalization"),
        ({"normalization": "coffee"}, "imagenet, none, raw, caffe"),
        ({"device": "tpu"}, "Known: auto, cpu, cuda"),
        ({"device": 0}, "Known: auto, cpu, cuda"),
        ({"dtype": "float32"}, "fp32, bf16, fp16"),
        ({"outputs": "softmax"}, "logits, probabilities"),
        ({"logits_offset": -1}, "logits_offset must be a whole number from 0"),
        ({"logits_offset": 1.0}, "logits_offset must be a whole number"),
        ({"classes": ""}, "must be a path"),
        ({"classes": "x.txt", "logits_offset": 1}, "exclude each other"),
        ({"prompts": 80}, "must be a path"),
        ({"resize": "yes"}, "True or False"),
    ],
)
def test_a_wrong_option_is_named(options, message):
    with pytest.raises(ArgumentError, match=message):
        ModelOptions(**options)


@pytest.mark.parametrize(
    ("option", "named"),
    [
        ({"normalization": "none"}, "its own normalization"),
        ({"device": "cpu"}, "takes no device"),
        ({"dtype": "bf16"}, "takes no dtype"),
        ({"channels_last": True}, "takes no channels_last"),
        ({"compile": True}, "takes no compile"),
        ({"prompts": "imagenet7"}, "takes no prompts"),
    ],
)
def test_an_option_that_means_nothing_to_a_model_is_refused(option, named):
    for model in ("fake", f"python:{__name__}:Halves", Halves()):
        with pytest.raises(ArgumentError, match=named):
            load_model(model, ModelOptions(**option))


class Halves:
    def predict(self, images):
        return images.mean((1, 2)) / 2


def test_an_adapted_model_of_the_users_is_not_set_up_twice():
    with pytest.raises(ArgumentError, match="returned a TorchModel"):
        load_model(f"torch:{__name__}:adapted", ModelOptions(dtype="bf16"))
    with pytest.raises(ArgumentError, match="returned a TorchModel"):
        load_model(f"torch:{__name__}:adapted", ModelOptions(normalization="imagenet"))
    assert load_model(f"torch:{__name__}:adapted", ModelOptions(normalization="none")).normalization.std == (1, 1, 1)


def adapted():
    return TorchModel(torch.nn.Flatten(), Normalization((0, 0, 0), (1, 1, 1)))


def test_a_device_that_is_not_there_is_a_model_error():
    if torch.cuda.is_available():
        pytest.skip("CUDA is here")
    with pytest.raises(ModelError, match="'cuda'"):
        load_model("demo", ModelOptions(device="cuda"))


def test_half_precision_and_the_memory_format_reach_the_network():
    seen = []

    class Spy(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.features = torch.nn.Conv2d(3, 4, 3)

        def forward(self, x):
            made = self.features(x)
            seen.append((made.dtype, x.is_contiguous(memory_format=torch.channels_last)))
            return made.mean((2, 3))

    images = torch.zeros(2, 16, 16, 3, dtype=torch.uint8).numpy()
    model = load_model(Spy(), ModelOptions(dtype="bf16", channels_last=True))
    assert model.predict(images).dtype == "float32"
    load_model(Spy()).predict(images)
    assert seen == [(torch.bfloat16, True), (torch.float32, False)]
    assert model.settings == {"Precision": "bf16 autocast"}
    assert model.environment["device"] == "cpu, channels last"
    assert model.environment["torch"] == torch.__version__


def test_blue_first_is_normalised_in_the_order_of_red_green_blue():
    """keras.applications' caffe: blue, green, red, less 103.939, 116.779, 123.68."""
    images = torch.tensor([[[[10, 20, 30]]]], dtype=torch.uint8).numpy()
    options = ModelOptions(normalization="caffe")
    expected = [30 - 103.939, 20 - 116.779, 10 - 123.68]
    np.testing.assert_allclose(load_model(torch.nn.Flatten(), options).predict(images)[0], expected, atol=1e-3)
    np.testing.assert_allclose(options.normalization.apply(images).ravel(), expected, atol=1e-3)
    assert options.normalization.record()["channels"] == "BGR"
    assert "channels" not in Normalization((0, 0, 0), (1, 1, 1)).record()
