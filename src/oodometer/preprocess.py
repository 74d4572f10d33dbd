"""The geometry before the corruption: resize and crop, uint8 in, uint8 out."""

from __future__ import annotations

import numpy as np
import PIL.Image

from oodometer.errors import ArgumentError, ImageError
from oodometer.types import Image, Preprocess

__all__ = ["PREPROCESS", "apply"]

PREPROCESS: dict[str, Preprocess] = {
    "imagenet224": Preprocess("imagenet224", "256->224", 256, 224),
    "inception299": Preprocess("inception299", "87.5%->299x299", (299, 299), 0.875),
    "tiny64": Preprocess("tiny64", "64x64", (64, 64), None),
    "none": Preprocess("none", "no resize", None, None),
}
"""The presets by name: the images of ImageNet-C, of its Inception and of its Tiny ImageNet edition (neither of which
keeps the ratio of the sides), and nothing, for files that have their final size, such as those of the release.
"""

LARGEST = 100_000_000
"""How many pixels a picture may have after the resize: a strip of 1x60000 would grow to four billion."""


def apply(image: PIL.Image.Image, preprocess: Preprocess) -> Image:
    """Resize and crop as the published ImageNet-C did.

    Parameters
    ----------
    image
        A picture of mode RGB, of any size.
    preprocess
        The numbers, such as ``PREPROCESS["imagenet224"]``.

    Returns
    -------
    Image
        uint8, height x width x 3, 0..255; a new array, of one size for all pictures if ``preprocess`` fixes one.

    Raises
    ------
    ArgumentError
        If the picture is not RGB, or smaller than the crop after the resize.
    ImageError
        If the picture is so narrow that the resize would make it huge, or so small that a share of it is nothing.

    Notes
    -----
    Pillow's bilinear filter widens with the reduction, so it antialiases; the longer side is truncated, not rounded;
    the crop's offset is rounded half to even (81.5 gives 82). These are the rules of the release (Hendrycks &
    Dietterich, ICLR 2019, with the torchvision of 2018), and later torchvision floors or rounds in other places.
    """
    if image.mode != "RGB":
        raise ArgumentError(f"Preprocessing takes RGB pictures, not mode {image.mode!r}: convert the picture first.")
    if isinstance(preprocess.crop, float):
        image = image.crop(_share(image.size, preprocess.crop))
    if preprocess.resize is not None:
        image = image.resize(_resized(image.size, preprocess.resize), PIL.Image.Resampling.BILINEAR)
    if isinstance(preprocess.crop, int):
        image = image.crop(_central(image.size, (preprocess.crop, preprocess.crop)))
    return np.array(image, dtype=np.uint8)


def _resized(size: tuple[int, int], wanted: int | tuple[int, int]) -> tuple[int, int]:
    if not isinstance(wanted, int):
        return wanted
    width, height = size
    new = (wanted, int(wanted * height / width)) if width <= height else (int(wanted * width / height), wanted)
    if new[0] * new[1] > LARGEST:
        raise ImageError(f"{width}x{height} pixels are too narrow: resized, {new[0]}x{new[1]}.")
    return new


def _share(size: tuple[int, int], share: float) -> tuple[int, int, int, int]:
    kept = (int(share * size[0]), int(share * size[1]))
    if 0 in kept:
        raise ImageError(f"{size[0]}x{size[1]} pixels are too few: a share of {share} of each side is nothing.")
    return _central(size, kept)


def _central(size: tuple[int, int], kept: tuple[int, int]) -> tuple[int, int, int, int]:
    if size[0] < kept[0] or size[1] < kept[1]:
        raise ArgumentError(f"A picture of {size[0]}x{size[1]} pixels is smaller than the crop of {kept[0]}x{kept[1]}.")
    # Python's round takes halves to even, as wanted.
    left, top = (round((length - side) / 2) for length, side in zip(size, kept, strict=True))
    return left, top, left + kept[0], top + kept[1]
