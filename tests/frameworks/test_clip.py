"""Zero-shot classifiers against open_clip itself."""

import json

import numpy as np
import open_clip
import PIL.Image
import pytest
import torch

from oodometer.datasets import imagenet1k
from oodometer.errors import ArgumentError, ModelError
from oodometer.models import ModelOptions, load_model
from oodometer.types import LabelSpace

pytestmark = pytest.mark.frameworks

OWN = LabelSpace("custom-3", ("a", "b", "c"), ("grey_wolf", "tabby cat", "school bus"))

TINY = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 224, "layers": 2, "width": 64, "patch_size": 32},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2, "layers": 1},
}


@pytest.fixture(scope="module", autouse=True)
def _tiny(tmp_path_factory):
    """Make an architecture known that is small enough for 1000 classes."""
    folder = tmp_path_factory.mktemp("configs")
    (folder / "oodometer-tiny.json").write_text(json.dumps(TINY))
    (folder / "oodometer-tiny-288.json").write_text(
        json.dumps(TINY | {"vision_cfg": TINY["vision_cfg"] | {"image_size": 288}})
    )
    open_clip.add_model_config(folder)


@pytest.fixture
def saved(tmp_path):
    torch.manual_seed(0)
    module, _, transform = open_clip.create_model_and_transforms("oodometer-tiny")
    with torch.no_grad():
        module.logit_scale.fill_(3.0)
    file = tmp_path / "weights.pt"
    torch.save(module.state_dict(), file)
    return module.eval(), transform, f"clip:oodometer-tiny/{file}"


def _direct(module, transform, pictures, names, templates):
    """Write the zero-shot rule out: the mean of the prompts' directions, and the scaled cosine to it."""
    tokenizer = open_clip.get_tokenizer("oodometer-tiny")
    with torch.no_grad():
        images = module.encode_image(torch.stack([transform(PIL.Image.fromarray(p)) for p in pictures]))
        images = images / images.norm(dim=1, keepdim=True)
        classes = []
        for name in names:
            texts = module.encode_text(tokenizer([template.format(name) for template in templates]))
            mean = (texts / texts.norm(dim=1, keepdim=True)).mean(dim=0)
            classes.append(mean / mean.norm())
        return (np.exp(3.0) * images @ torch.stack(classes).T).numpy()


def test_own_classes_by_the_published_templates(saved, pictures, agree):
    module, transform, spec = saved
    model = load_model(spec, space=OWN)
    templates = [template("{}") for template in open_clip.OPENAI_IMAGENET_TEMPLATES]
    assert len(templates) == 80
    agree(
        model.predict(pictures),
        _direct(module, transform, pictures, ["grey wolf", "tabby cat", "school bus"], templates),
    )
    assert model.settings["Prompts"] == "80 templates of open_clip, the data set's 3 class names"


def test_the_1000_classes_go_by_the_published_names(saved, pictures, agree):
    module, transform, spec = saved
    model = load_model(spec, ModelOptions(prompts="imagenet7"), imagenet1k())
    found = model.predict(pictures)
    assert found.shape == (4, 1000)
    templates = [template("{}") for template in open_clip.SIMPLE_IMAGENET_TEMPLATES]
    some = [0, 134, 517, 999]  # both cranes among them
    names = [open_clip.IMAGENET_CLASSNAMES[i] for i in some]
    assert names[1] != names[2]
    agree(found[:, some], _direct(module, transform, pictures, names, templates))


def test_prompts_of_ones_own_are_another_model(saved, pictures, tmp_path, agree):
    module, transform, spec = saved
    file = tmp_path / "prompts.txt"
    file.write_text("a sketch of a {}.\n\n{} at night\n")
    model = load_model(spec, ModelOptions(prompts=file), OWN)
    names = ["grey wolf", "tabby cat", "school bus"]
    agree(model.predict(pictures), _direct(module, transform, pictures, names, ["a sketch of a {}.", "{} at night"]))
    again = load_model(spec, ModelOptions(prompts=file), OWN)
    other = load_model(spec, ModelOptions(prompts="imagenet7"), OWN)
    assert model.fingerprint == again.fingerprint != other.fingerprint


@pytest.mark.parametrize("text", ["", "a photo\n", "{} or {}\n", "{} {x}\n"])
def test_prompts_without_a_place_for_the_name_are_refused(tmp_path, text):
    file = tmp_path / "prompts.txt"
    file.write_text(text)
    with pytest.raises(ModelError, match="needs one"):
        load_model("clip:oodometer-tiny/none", ModelOptions(prompts=file), OWN)


def test_another_size_is_refused(pictures):
    """Case G3."""
    with pytest.raises(ModelError, match="288x288"):
        load_model("clip:oodometer-tiny-288/none", space=OWN).predict(pictures)
    model = load_model("clip:oodometer-tiny-288/none", ModelOptions(resize=True), OWN)
    assert model.resized == "288x288 bicubic"
    assert model.predict(pictures).shape == (4, 3)


def test_half_precision_keeps_the_classes_apart(saved, pictures):
    whole = load_model(saved[2], space=OWN).predict(pictures)
    half = load_model(saved[2], ModelOptions(dtype="bf16"), OWN).predict(pictures)
    assert 0 < np.abs(half - whole).max() < 0.05 * np.abs(whole).max()


def test_the_classes_must_be_told():
    with pytest.raises(ArgumentError, match="must be told the classes"):
        load_model("clip:oodometer-tiny/none")


@pytest.mark.parametrize("spec", ["clip:oodometer-tiny", "clip:oodometer-tiny/no-such-weights", "clip:no-such/none"])
def test_what_open_clip_does_not_have_is_named(spec):
    with pytest.raises(ModelError, match=f"{spec} cannot be loaded"):
        load_model(spec, space=OWN)
