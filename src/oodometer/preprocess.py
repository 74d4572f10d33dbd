"""The geometry before the corruption: resize and crop, uint8 in, uint8 out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.errors import ArgumentError, ImageError
from oodometer.types import Image, Preprocess

if TYPE_CHECKING:
    from oodometer.resampling import Box, Size

__all__ = ["PREPROCESS", "apply", "plain"]

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
    Pillow's bilinear filter widens with the reduction, so it antialiases; rows are resized first and rounded to 8 bits,
    then columns, whatever the version of Pillow (see ``plain``); the longer side is truncated, not rounded;
    the crop's offset is rounded half to even (81.5 gives 82). These are the rules of the release (Hendrycks &
    Dietterich, ICLR 2019, with the torchvision of 2018), and later torchvision floors or rounds in other places.
    """
    if image.mode != "RGB":
        raise ArgumentError(f"Preprocessing takes RGB pictures, not mode {image.mode!r}: convert the picture first.")
    box, size, window = _geometry(image.size, preprocess)
    pixels = _in_place(image) if preprocess.resize is not None else None
    if pixels is None:
        return plain(image, box, size, window)
    from oodometer import resampling

    return resampling.bilinear(pixels, box, size, window)


def plain(image: PIL.Image.Image, box: Box, size: Size, window: Box) -> Image:
    """Take a box of a picture, resize it, and take a window of that, with Pillow: this is what ``apply`` means.

    Rows are resized first, then columns. Pillow did so in one call up to version 12; from 13 on it begins with the
    columns of some pictures, mostly tall ones, which changes values by 1.
    """
    bilinear = PIL.Image.Resampling.BILINEAR
    cut = image if box == (0, 0, *image.size) else image.crop(box)
    return np.array(cut.resize((size[0], cut.height), bilinear).resize(size, bilinear).crop(window))


def _in_place(image: PIL.Image.Image) -> NDArray[np.uint8] | None:
    """Return a view of Pillow's own memory, height x (4 * width); ``None`` if the picture is not in one piece there."""
    if not hasattr(image, "__arrow_c_array__"):  # Pillow before 11.2
        return None
    import pyarrow

    try:
        lent = pyarrow.array(image)
    except ValueError:  # larger pictures, from 4 million pixels on, are in several pieces
        return None
    flat: NDArray[np.uint8] = lent.flatten().to_numpy(zero_copy_only=True)
    return flat.reshape(image.height, 4 * image.width)


def _geometry(whole: Size, preprocess: Preprocess) -> tuple[Box, Size, Box]:
    """Return the box that is resized, the size that it gets, and the window of it that is kept."""
    box = (0, 0, *whole)
    if isinstance(preprocess.crop, float):
        box = _central(whole, _share(whole, preprocess.crop))
    size = _resized((box[2] - box[0], box[3] - box[1]), preprocess.resize)
    window = (0, 0, *size)
    if isinstance(preprocess.crop, int):
        window = _central(size, (preprocess.crop, preprocess.crop))
    return box, size, window


def _resized(size: Size, wanted: int | Size | None) -> Size:
    if wanted is None:
        return size
    if not isinstance(wanted, int):
        return wanted
    width, height = size
    new = (wanted, int(wanted * height / width)) if width <= height else (int(wanted * width / height), wanted)
    if new[0] * new[1] > LARGEST:
        raise ImageError(f"{width}x{height} pixels are too narrow: resized, {new[0]}x{new[1]}.")
    return new


def _share(size: Size, share: float) -> Size:
    kept = (int(share * size[0]), int(share * size[1]))
    if 0 in kept:
        raise ImageError(f"{size[0]}x{size[1]} pixels are too few: a share of {share} of each side is nothing.")
    return kept


def _central(size: Size, kept: Size) -> Box:
    if size[0] < kept[0] or size[1] < kept[1]:
        raise ArgumentError(f"A picture of {size[0]}x{size[1]} pixels is smaller than the crop of {kept[0]}x{kept[1]}.")
    # Python's round takes halves to even, as wanted.
    left, top = (round((length - side) / 2) for length, side in zip(size, kept, strict=True))
    return left, top, left + kept[0], top + kept[1]
