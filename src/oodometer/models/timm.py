"""Models of timm by name, with the preprocessing of their own data configuration."""

from __future__ import annotations

import timm
import timm.data

from oodometer.models.importing import loading
from oodometer.models.normalization import Normalization
from oodometer.models.options import TORCH_OPTIONS, ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.models.torch import TorchModel, placed

__all__ = ["OPTIONS", "load"]

OPTIONS = TORCH_OPTIONS


def load(name: str, options: ModelOptions) -> TorchModel:
    """Create a model and load its weights.

    Parameters
    ----------
    name
        As timm has it: ``resnet50``, ``resnet50.a1_in1k``, ``hf-hub:timm/resnet50.a1_in1k`` or ``local-dir:FOLDER``.
        ``:none`` at the end leaves the weights random.
    options
        How to run it.

    Returns
    -------
    TorchModel
        Mean, std, interpolation and size are of ``timm.data.resolve_model_data_config``; where timm names another size
        for testing, that one is taken too.

    Raises
    ------
    ModelError
        If timm has no such model, or cannot get its weights.
    """
    stem = name.removesuffix(":none")
    with loading(f"timm:{name}"):
        module = timm.create_model(stem, pretrained=stem == name)
        config = timm.data.resolve_model_data_config(module)
    sizes = [config["input_size"], module.pretrained_cfg.get("test_input_size")]
    return TorchModel(
        module,
        Normalization(config["mean"], config["std"]),
        name=f"timm {name}",
        options=placed(options),
        input_size=InputSize(tuple(tuple(size[1:]) for size in sizes if size), config["interpolation"]),
    )
