"""Models of torchvision by name and weights, with the preprocessing that belongs to the weights."""

from __future__ import annotations

from torchvision import models

from oodometer.arguments import choice
from oodometer.models.importing import loading
from oodometer.models.normalization import Normalization
from oodometer.models.options import TORCH_OPTIONS, ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.models.torch import TorchModel, placed

__all__ = ["OPTIONS", "load"]

OPTIONS = TORCH_OPTIONS


def load(spec: str, options: ModelOptions) -> TorchModel:
    """Create a model and load its weights.

    Parameters
    ----------
    spec
        ``NAME`` for torchvision's default weights, ``NAME:WEIGHTS`` such as ``resnet50:IMAGENET1K_V1``, or
        ``NAME:none`` for random weights.
    options
        How to run it.

    Returns
    -------
    TorchModel
        Mean, std, interpolation and size are of the transforms of the weights (of the default ones if random).

    Raises
    ------
    ArgumentError
        If torchvision has no such model or weights; near names are listed.
    ModelError
        If it cannot get the weights.
    """
    name, _, wanted = spec.partition(":")
    known = models.get_model_weights(choice("model of torchvision", name, models.list_models(module=models)))
    if wanted not in ("", "none"):
        choice(f"weights of {name}", wanted, [weights.name for weights in known])
    weights = None if wanted == "none" else known[wanted] if wanted else known.DEFAULT
    with loading(f"torchvision:{spec}"):
        module = models.get_model(name, weights=weights)
    preset = (weights or known.DEFAULT).transforms()
    (side,) = set(preset.crop_size)
    return TorchModel(
        module,
        Normalization(tuple(preset.mean), tuple(preset.std)),
        name=f"torchvision {name}:{weights.name if weights else 'none'}",
        options=placed(options),
        input_size=InputSize(((side, side),), preset.interpolation.value),
    )
