"""Zero-shot classifiers of open_clip: a picture's class is the one whose prompts it is nearest to."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import open_clip
import torch

from oodometer.errors import ModelError
from oodometer.models.importing import loading
from oodometer.models.normalization import Normalization
from oodometer.models.options import TORCH_OPTIONS, ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.models.torch import TorchModel, moved, placed
from oodometer.types import LabelSpace

__all__ = ["OPTIONS", "OpenClip", "load"]

OPTIONS = TORCH_OPTIONS | {"prompts"}


class OpenClip:
    """A model of pictures and texts, which becomes a classifier when it is told the classes.

    Parameters
    ----------
    module, tokenizer
        Of ``open_clip.create_model`` and ``open_clip.get_tokenizer``.
    name
        What to call it.
    options
        How to run it.
    """

    def __init__(self, module: Any, tokenizer: Any, name: str, options: ModelOptions) -> None:  # noqa: ANN401
        self._module, self._tokenizer = module.eval(), tokenizer
        self._name, self._options = name, options

    def for_classes(self, space: LabelSpace) -> TorchModel:
        """Compute the features of each class once, and return the classifier.

        The features of the templates (``a photo of a {}.`` and so on) are averaged. The 1000 classes of ImageNet go by
        open_clip's names for them, as in the published results, others by the names of the data set. Names and
        templates are part of the fingerprint.
        """
        published = space.name == "imagenet-1k"
        names = open_clip.IMAGENET_CLASSNAMES if published else [name.replace("_", " ") for name in space.names]
        templates, source = _templates(self._options)
        device = self._options.device
        with torch.inference_mode():
            features = open_clip.build_zero_shot_classifier(
                moved(self._module, device),
                self._tokenizer,
                names,
                templates,
                device=device,
                use_tqdm=sys.stderr.isatty(),
            )
        prompts = json.dumps([names, templates])
        config = open_clip.get_model_preprocess_cfg(self._module)
        size = config["size"]
        whose = "open_clip's" if published else "the data set's"
        return TorchModel(
            _ZeroShot(self._module, features, hashlib.sha256(prompts.encode()).hexdigest()),
            Normalization(config["mean"], config["std"]),
            name=self._name,
            options=self._options,
            input_size=InputSize(((size, size) if isinstance(size, int) else tuple(size),), config["interpolation"]),
            settings={"Prompts": f"{len(templates)} templates of {source}, {whose} {len(names)} class names"},
        )


def _templates(options: ModelOptions) -> tuple[list[str], str]:
    """Return the templates with ``{}`` where the name goes, and where they are from."""
    known = {
        "imagenet80": open_clip.OPENAI_IMAGENET_TEMPLATES,
        "imagenet7": open_clip.SIMPLE_IMAGENET_TEMPLATES,
    }
    if options.prompts in known:
        return [template("{}") for template in known[options.prompts]], "open_clip"
    path = Path(options.prompts)
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"The prompts cannot be read: {path}: {error}.") from error
    bad = [line for line in lines if line.count("{}") != 1 or line.replace("{}", "").count("{")]
    if bad or not lines:
        raise ModelError(f"{path}: each line of prompts needs one {{}} for the name of the class, not {bad[:1]}.")
    return lines, path.name


class _ZeroShot(torch.nn.Module):
    """The scaled cosine between a picture and each class, as logits."""

    def __init__(self, clip: Any, features: torch.Tensor, prompts: str) -> None:  # noqa: ANN401
        super().__init__()
        self.clip = clip
        self._features = features.float()  # no buffer: their last digits are not the model's identity
        self._prompts = prompts

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        found = self.clip.encode_image(pixels, normalize=True)
        with torch.autocast(pixels.device.type, enabled=False):  # two digits would not tell 1000 classes apart
            logits: torch.Tensor = self.clip.logit_scale.exp().float() * found.float() @ self._features
        return logits

    def extra_repr(self) -> str:
        return f"prompts={self._prompts}"


def load(spec: str, options: ModelOptions) -> OpenClip:
    """Create a model of open_clip and load its weights.

    Parameters
    ----------
    spec
        ``ARCH/PRETRAINED``, such as ``ViT-B-32/laion2b_s34b_b79k``; PRETRAINED may be a file, or ``none`` for random
        weights. Also ``hf-hub:REPOSITORY`` and ``local-dir:FOLDER``, which name both.
    options
        How to run it.

    Raises
    ------
    ModelError
        If open_clip has no such model, or cannot get its weights.
    """
    whole = spec.startswith(("hf-hub:", "local-dir:"))
    arch, _, pretrained = (spec, "", "") if whole else spec.partition("/")
    options = placed(options)
    with loading(f"clip:{spec}"):
        module = open_clip.create_model(
            arch, pretrained=None if pretrained in ("", "none") else pretrained, require_pretrained=pretrained != "none"
        )
        tokenizer = open_clip.get_tokenizer(arch)
    return OpenClip(module, tokenizer, f"clip {spec}", options)
