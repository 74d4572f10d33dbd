"""The picture size that a model was made for: others are refused, or resized if that was asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import PIL.Image

from oodometer.arguments import choice
from oodometer.errors import ModelError
from oodometer.types import Images

__all__ = ["INTERPOLATIONS", "InputSize", "fitted"]

INTERPOLATIONS = {
    "nearest": PIL.Image.Resampling.NEAREST,
    "bilinear": PIL.Image.Resampling.BILINEAR,
    "bicubic": PIL.Image.Resampling.BICUBIC,
    "lanczos": PIL.Image.Resampling.LANCZOS,
    "box": PIL.Image.Resampling.BOX,
    "hamming": PIL.Image.Resampling.HAMMING,
}
"""The interpolations of Pillow, with which the frameworks' own evaluations resize, by the name they have there."""


@dataclass(frozen=True, slots=True)
class InputSize:
    """The sizes (height, width) that a model declares, the preferred one first, and how its pictures are resized."""

    sizes: tuple[tuple[int, int], ...]
    interpolation: str = "bilinear"

    def __str__(self) -> str:
        height, width = self.sizes[0]
        return f"{width}x{height} {self.interpolation}"


def fitted(images: Images, declared: InputSize, name: str, *, resize: bool) -> Images:
    """Return pictures of the size that a model declares.

    Parameters
    ----------
    images
        N x height x width x 3.
    declared
        What the model declares.
    name
        What the model is called.
    resize
        Whether pictures of another size are resized; by Pillow, so that the outcome is uint8 as in the frameworks.

    Raises
    ------
    ModelError
        If they are of another size and resizing was not asked for.
    """
    found = images.shape[1:3]
    if found in declared.sizes:
        return images
    height, width = declared.sizes[0]
    if not resize:
        raise ModelError(
            f"{name} was made for pictures of {width}x{height} pixels, and these are {found[1]}x{found[0]}. Choose a "
            "preprocessing of that size, or have every picture resized after its corruption (--resize-to-model, "
            "ModelOptions(resize=True)); such a result is not comparable with those of the pictures' own size."
        )
    filter_ = INTERPOLATIONS[choice("interpolation", declared.interpolation, INTERPOLATIONS)]
    return np.stack([np.asarray(PIL.Image.fromarray(image).resize((width, height), filter_)) for image in images])
