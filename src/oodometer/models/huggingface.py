"""Image classifiers of Hugging Face Transformers, from the Hub or a folder, with their processors' preprocessing."""

from __future__ import annotations

from typing import Any

import numpy as np
import PIL.Image
import torch
import transformers

from oodometer.errors import ModelError
from oodometer.models.importing import loading
from oodometer.models.normalization import Normalization
from oodometer.models.options import TORCH_OPTIONS, ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.models.torch import TorchModel, placed

__all__ = ["OPTIONS", "load"]

OPTIONS = TORCH_OPTIONS


class _Classifier(torch.nn.Module):
    """The logits alone."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: torch.Tensor) -> Any:  # noqa: ANN401 - whatever a model of the Hub gives
        return self.model(pixel_values=pixels).logits


def load(name: str, options: ModelOptions) -> TorchModel:
    """Load a model and its image processor.

    Parameters
    ----------
    name
        A repository of the Hub, such as ``google/vit-base-patch16-224``, or a folder of ``save_pretrained``.
    options
        How to run it.

    Returns
    -------
    TorchModel
        Mean, std, size and interpolation are those of the image processor.

    Raises
    ------
    ModelError
        If either cannot be loaded, or if the processor does something with the pixels that we do not know of.
    """
    with loading(f"hf:{name}"):
        model = transformers.AutoModelForImageClassification.from_pretrained(name).float()
        processor = transformers.AutoImageProcessor.from_pretrained(name)
        normalization, size = _measured(processor, name)
    resample = getattr(processor, "resample", None)
    filter_ = PIL.Image.Resampling.BILINEAR if resample is None else PIL.Image.Resampling(resample)
    return TorchModel(
        _Classifier(model),
        normalization,
        name=f"hf {name}",
        options=placed(options),
        input_size=InputSize((size,), filter_.name.lower()),
    )


def _measured(processor: Any, name: str) -> tuple[Normalization, tuple[int, int]]:  # noqa: ANN401
    """Return what a processor does with the values of pixels, and height and width of what it makes of a picture.

    The classes of processors have a dozen settings of their own (offsets, flipped channels, a second division), so a
    processor is asked what it makes of plain pictures, rather than what it is called to do.
    """
    colors = [(0, 0, 0), (255, 255, 255), (255, 0, 0), (10, 128, 240)]
    pictures = [PIL.Image.new("RGB", (800, 800), color) for color in colors]
    made = np.asarray(processor(images=pictures, return_tensors="np")["pixel_values"], dtype=np.float64)
    height, width = made.shape[2:]
    black, white, red, mixed = made[:, :, height // 2, width // 2]
    std = 1 / (white - black)
    means, stds = ([float(f"{value:.6g}") for value in values] for values in (-black * std, std))
    flipped = abs(red[2] - black[2]) > abs(red[0] - black[0])
    order = slice(None, None, -1 if flipped else 1)  # the mean and std of ours are of R, G, B
    ours = Normalization(tuple(means[order]), tuple(stds[order]), "BGR" if flipped else "RGB")  # type: ignore[arg-type]
    if not np.allclose(mixed, ours.apply(np.array(colors[-1:], np.uint8)[:, None, None])[0, 0, 0], atol=1e-3):
        raise ModelError(
            f"The image processor of hf:{name} ({type(processor).__name__}) does more with the pixels than to shift, "
            "scale and flip the channels. Write a function that builds the model with its preprocessing, and give "
            "torch:module:factory or python:module:object."
        )
    return ours, (height, width)
