"""timm's models against timm itself, with its own transform."""

import PIL.Image
import pytest
import timm
import timm.data
import torch

from oodometer.errors import ModelError
from oodometer.models import ModelOptions, load_model

pytestmark = pytest.mark.frameworks


def _direct(module, pictures):
    """Ask a model as timm's evaluation does, where no crop is taken any more."""
    config = timm.data.resolve_model_data_config(module) | {"crop_pct": 1.0}
    transform = timm.data.create_transform(**config, is_training=False)
    with torch.no_grad():
        return module.eval()(torch.stack([transform(PIL.Image.fromarray(p)) for p in pictures])).numpy()


def _made(name, **options):
    torch.manual_seed(0)
    return timm.create_model(name, **options)


@pytest.fixture
def saved(tmp_path):
    """Return a function that saves a model of random weights as the Hub's are; the specification finds it there."""

    def save(name, **options):
        module = _made(name, **options)
        timm.models.save_for_hf(module, tmp_path, model_config=options)
        return module, f"timm:local-dir:{tmp_path}"

    return save


@pytest.mark.parametrize("name", ["resnet18.a1_in1k", "vit_tiny_patch16_224", "regnetx_002"])
def test_weights_are_loaded_and_the_logits_are_timms(saved, pictures, agree, name):
    module, spec = saved(name)
    model = load_model(spec)
    agree(model.predict(pictures), _direct(module, pictures))
    assert list(model.normalization.mean) == list(module.pretrained_cfg["mean"])


def test_random_weights_by_name(pictures, agree):
    torch.manual_seed(0)
    model = load_model("timm:resnet18:none")
    agree(model.predict(pictures), _direct(_made("resnet18"), pictures))
    assert model.name == "timm resnet18:none"


def test_a_model_of_another_size_is_refused_or_resizes_as_timm_does(saved, pictures, agree):
    """Case G3."""
    module, spec = saved("resnet26t")
    with pytest.raises(ModelError, match=r"256x256 .* 224x224"):
        load_model(spec).predict(pictures)
    model = load_model(spec, ModelOptions(resize=True))
    assert model.resized == "256x256 bicubic"
    agree(model.predict(pictures), _direct(module, pictures))


def test_the_size_that_timm_tests_at_is_taken(pictures):
    """A model that was trained at 160 and is tested at 224."""
    assert load_model("timm:resnet18.a3_in1k:none").predict(pictures[:1]).shape == (1, 1000)


def test_a_head_of_21k_classes_is_picked_from_by_name(saved, pictures, tmp_path, agree):
    import importlib.resources

    from oodometer.datasets import imagenet1k

    listed = importlib.resources.files("timm.data").joinpath("_info/imagenet21k_goog_synsets.txt")
    wnids = listed.read_text().split()
    module, spec = saved("regnetx_002", num_classes=len(wnids))
    names = tmp_path / "names.txt"
    names.write_text("\n".join(wnids))
    model = load_model(spec, ModelOptions(classes=names), imagenet1k())
    assert model.settings["Outputs picked by name"].startswith("999 of 21843")
    assert model.settings["Outputs picked by name"].endswith("always wrong on what the model lacks: n04399382")
    there = [i for i, wnid in enumerate(imagenet1k().classes) if wnid != "n04399382"]
    columns = [wnids.index(imagenet1k().classes[i]) for i in there]
    agree(model.predict(pictures)[:, there], _direct(module, pictures)[:, columns])


def test_an_unknown_model_is_named():
    with pytest.raises(ModelError, match="timm:resnet5:none cannot be loaded"):
        load_model("timm:resnet5:none")
