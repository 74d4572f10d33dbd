"""torchvision's models against torchvision itself, with the transforms of the weights."""

import PIL.Image
import pytest
import torch
from torchvision import models

from oodometer.errors import ArgumentError, ModelError
from oodometer.models import ModelOptions, load_model

pytestmark = pytest.mark.frameworks


def _direct(module, weights, pictures):
    """Ask a model through the preset of its weights, with the resize to the crop alone."""
    side = weights.transforms().crop_size[0]
    transform = weights.transforms(resize_size=side)
    with torch.no_grad():
        return module.eval()(torch.stack([transform(PIL.Image.fromarray(p)) for p in pictures])).numpy()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """Return a function that puts weights where a download of torchvision's would have put them."""
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))

    def put(module, weights):
        place = tmp_path / "hub" / "checkpoints" / weights.url.rpartition("/")[2]
        place.parent.mkdir(parents=True)
        torch.save(module.state_dict(), place)

    return put


@pytest.mark.parametrize(
    ("spec", "weights"),
    [
        ("resnet18", models.ResNet18_Weights.IMAGENET1K_V1),
        ("regnet_y_400mf:IMAGENET1K_V2", models.RegNet_Y_400MF_Weights.IMAGENET1K_V2),
    ],
)
def test_weights_are_loaded_and_the_logits_are_torchvisions(hub, pictures, agree, spec, weights):
    torch.manual_seed(1)
    module = models.get_model(spec.partition(":")[0])
    hub(module, weights)
    model = load_model(f"torchvision:{spec}")
    agree(model.predict(pictures), _direct(module, weights, pictures))
    assert model.name == f"torchvision {spec.partition(':')[0]}:{weights.name}"


def test_random_weights_and_another_size(pictures, agree):
    """Case G3."""
    weights = models.Swin_V2_T_Weights.DEFAULT
    torch.manual_seed(2)
    model = load_model("torchvision:swin_v2_t:none", ModelOptions(resize=True))
    assert model.resized == "256x256 bicubic"
    torch.manual_seed(2)
    agree(model.predict(pictures), _direct(models.swin_v2_t(), weights, pictures))
    with pytest.raises(ModelError, match=r"256x256 .* 224x224"):
        load_model("torchvision:swin_v2_t:none").predict(pictures)


@pytest.mark.parametrize(("spec", "near"), [("resnet19", "'resnet18'"), ("resnet50:IMAGENET1K_V3", "IMAGENET1K_V2")])
def test_unknown_names_list_near_ones(spec, near):
    with pytest.raises(ArgumentError, match=near):
        load_model(f"torchvision:{spec}")
