"""The geometry before the corruption: resize and crop, uint8 in, uint8 out."""

from __future__ import annotations

import numpy as np
import PIL.Image

from oodometer.errors import ArgumentError, ImageError
from oodometer.types import Image, Preprocess

__all__ = ["PREPROCESS", "apply"]

PREPROCESS: dict[str, Preprocess] = {
    "imagenet224": Preprocess("imagenet224", "256->224", 256, 224),
    "none": Preprocess("none", "no resize", None, None),
}
"""The presets by name. ``none`` is for files that have their final size, such as those of the released ImageNet-C."""

LARGEST = 100_000_000
"""How many pixels a picture may have after the resize: a strip of 1x60000 would grow to four billion."""


def apply(image: PIL.Image.Image, preprocess: Preprocess) -> Image:
    """Resize the shorter side, then take the central crop, as the published ImageNet-C did.

    Parameters
    ----------
    image
        A picture of mode RGB, of any size.
    preprocess
        The numbers, such as ``PREPROCESS["imagenet224"]``.

    Returns
    -------
    Image
        uint8, height x width x 3, 0..255; a new array, crop x crop if there is a crop.

    Raises
    ------
    ArgumentError
        If the picture is not RGB, or smaller than the crop after the resize.
    ImageError
        If the picture is so narrow that the resize would make it huge.

    Notes
    -----
    Pillow's bilinear filter widens with the reduction, so it antialiases; the longer side is truncated, not rounded;
    the crop's offset is rounded half to even (81.5 gives 82). These are the rules of the release (Hendrycks &
    Dietterich, ICLR 2019, with the torchvision of 2018), and later torchvision floors or rounds in other places.
    """
    if image.mode != "RGB":
        raise ArgumentError(f"Preprocessing takes RGB pictures, not mode {image.mode!r}: convert the picture first.")
    if preprocess.resize is not None:
        size = _resized(image.size, preprocess.resize)
        if size[0] * size[1] > LARGEST:
            raise ImageError(f"{image.width}x{image.height} pixels are too narrow: resized, {size[0]}x{size[1]}.")
        image = image.resize(size, PIL.Image.Resampling.BILINEAR)
    if preprocess.crop is not None:
        image = image.crop(_central(image.size, preprocess.crop))
    return np.array(image, dtype=np.uint8)


def _resized(size: tuple[int, int], shorter: int) -> tuple[int, int]:
    width, height = size
    if width <= height:
        return shorter, int(shorter * height / width)
    return int(shorter * width / height), shorter


def _central(size: tuple[int, int], side: int) -> tuple[int, int, int, int]:
    if min(size) < side:
        raise ArgumentError(f"A picture of {size[0]}x{size[1]} pixels is smaller than the crop of {side}x{side}.")
    left, top = (round((length - side) / 2) for length in size)  # Python's round takes halves to even, as wanted
    return left, top, left + side, top + side
