"""Transformers' classifiers against Transformers itself, with the model's own processor."""

import numpy as np
import PIL.Image
import pytest
import torch
import transformers

from oodometer.errors import ModelError
from oodometer.models import ModelOptions, load_model

pytestmark = pytest.mark.frameworks

FILTERS = PIL.Image.Resampling


@pytest.fixture(scope="module")
def network():
    torch.manual_seed(0)
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1] * 4, num_labels=1000)
    return transformers.ResNetForImageClassification(config).eval()


@pytest.fixture
def saved(network, tmp_path):
    """Return a function that saves the model with a processor, as the Hub has them."""

    def save(processor):
        network.save_pretrained(tmp_path)
        processor.save_pretrained(tmp_path)
        return f"hf:{tmp_path}"

    return save


def _direct(network, processor, pictures):
    """Ask a model for pictures that need no change of size any more."""
    images = [PIL.Image.fromarray(p) for p in pictures]
    with torch.no_grad():
        return network(**processor(images=images, do_resize=False, do_center_crop=False, return_tensors="pt")).logits


@pytest.mark.parametrize(
    "processor",
    [
        transformers.ViTImageProcessor(),
        transformers.ConvNextImageProcessor(size={"shortest_edge": 224}, image_mean=[0.485, 0.456, 0.406]),
        transformers.MobileViTImageProcessor(crop_size={"height": 224, "width": 224}),
        transformers.EfficientNetImageProcessor(size={"height": 224, "width": 224}, image_std=[0.47, 0.44, 0.42]),
        transformers.EfficientNetImageProcessor(
            size={"height": 224, "width": 224}, rescale_factor=1 / 127.5, rescale_offset=True, do_normalize=False
        ),
    ],
    ids=["square", "shortest edge", "blue first", "divided twice", "offset"],
)
def test_the_logits_are_transformers(network, saved, pictures, agree, processor):
    model = load_model(saved(processor))
    agree(model.predict(pictures), _direct(network, processor, pictures))


@pytest.mark.parametrize(
    ("processor", "resized"),
    [
        (transformers.ConvNextImageProcessor(size={"shortest_edge": 384}), "384x384 bicubic"),
        (transformers.ViTImageProcessor(size={"height": 256, "width": 256}), "256x256 bilinear"),
    ],
)
def test_a_model_of_another_size_is_refused_or_resizes(saved, network, pictures, agree, resize, processor, resized):
    """Case G3."""
    spec = saved(processor)
    with pytest.raises(ModelError, match=resized.partition(" ")[0]):
        load_model(spec).predict(pictures)
    model = load_model(spec, ModelOptions(resize=True))
    assert model.resized == resized
    size, _, filter_ = resized.partition(" ")
    large = resize(pictures, int(size.partition("x")[0]), FILTERS[filter_.upper()])
    agree(model.predict(pictures), _direct(network, processor, large))


def test_a_processor_that_is_no_straight_line_is_refused(saved, monkeypatch):
    class Squared(transformers.ViTImageProcessor):
        def __call__(self, images, **options):
            made = super().__call__(images, **options)
            made["pixel_values"] = np.asarray(made["pixel_values"]) ** 3
            return made

    spec = saved(transformers.ViTImageProcessor())
    monkeypatch.setattr(transformers.AutoImageProcessor, "from_pretrained", lambda name: Squared())
    with pytest.raises(ModelError, match="more with the pixels"):
        load_model(spec)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(ModelError, match=r"cannot be loaded"):
        load_model(f"hf:{tmp_path}")
