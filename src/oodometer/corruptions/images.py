"""The array contract: what counts as an image, and how the result gets the form of what came in.

Kernels know one form alone: uint8, H x W x 3, contiguous, RGB. Everything else that ``corrupt`` accepts is brought into
it here, and its result brought back, so that no kernel has to ask.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.errors import ArgumentError
from oodometer.types import Image

__all__ = ["SMALLEST_SIDE", "Array", "Unpacked", "unpack"]

Array: typing.TypeAlias = NDArray[typing.Any]
"""An image or a batch of them: uint8 in 0..255 or float in 0..1."""

SMALLEST_SIDE = 16
"""Below this many pixels on a side there is no meaning to defend, and displacements leave the image."""

_DTYPES = (np.uint8, np.float16, np.float32, np.float64)
_EXPECTED = (
    "The image must be a PIL image, or an array of uint8 (0..255) or of float16, float32 or float64 (0..1) with the "
    "shape height x width x 3 (RGB), height x width or height x width x 1 (gray), or of a batch N x height x width x 3 "
    "or N x height x width x 1"
)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """An image or a batch in the form that kernels know, and the way back.

    Parameters
    ----------
    rgb
        What came in, N x H x W x 3 and of its own dtype; gray channels are repeated, and nothing is copied.
    pictures
        The same N pictures for the kernels: uint8, H x W x 3, contiguous. They may share the caller's memory.
    kind
        What came in: one picture as an array, a batch of them, or a PIL image.
    """

    rgb: Array
    pictures: Sequence[Image]
    kind: typing.Literal["array", "batch", "pil"]

    def untouched(self) -> Array | PIL.Image.Image:
        """Return a copy of what came in, gray repeated to RGB, of the dtype and to the last bit as it was."""
        return self._shaped(self.rgb.copy())

    def pack(self, results: Sequence[Image]) -> Array | PIL.Image.Image:
        """Give one result for each picture the form of what came in.

        Floats are the results divided by 255. A single uint8 result is returned itself, not a copy.
        """
        of_bytes = self.rgb.dtype.type is np.uint8
        if of_bytes and self.kind == "array":
            return results[0]
        whole = np.array(results, np.uint8).reshape(self.rgb.shape)  # of no images too
        return self._shaped(whole if of_bytes else (whole / 255).astype(self.rgb.dtype))

    def _shaped(self, whole: Array) -> Array | PIL.Image.Image:
        if self.kind == "batch":
            return whole
        return PIL.Image.fromarray(whole[0]) if self.kind == "pil" else typing.cast(Array, whole[0])


def unpack(image: Array | PIL.Image.Image) -> Unpacked:
    """Check an image or a batch and bring it into the kernels' form.

    Parameters
    ----------
    image
        An array of uint8 or of floats in 0..1, H x W x 3, H x W, H x W x 1, N x H x W x 3 or N x H x W x 1, of any
        strides, or a PIL image of any mode. It is not changed.

    Returns
    -------
    Unpacked
        The pictures, each side at least ``SMALLEST_SIDE`` pixels. Floats are rounded to the nearest of 256 levels.

    Raises
    ------
    ArgumentError
        If it is none of these; the message says what was expected and found.
    """
    if isinstance(image, PIL.Image.Image):
        rgb = _decoded(image)[np.newaxis]
        return Unpacked(rgb, [_large_enough(rgb[0])], "pil")
    if not isinstance(image, np.ndarray):
        raise ArgumentError(f"{_EXPECTED}, not {type(image).__name__}.")
    rgb = _as_rgb(image)
    levels = rgb if rgb.dtype.type is np.uint8 else _levels(rgb)
    pictures = [np.ascontiguousarray(_large_enough(picture)) for picture in levels]
    return Unpacked(rgb, pictures, "batch" if image.ndim == 4 else "array")


def _decoded(image: PIL.Image.Image) -> Image:
    try:
        # By way of RGBA, or Pillow warns about palettes with transparency.
        opaque = image.convert("RGBA") if "transparency" in image.info else image
        return np.asarray(opaque.convert("RGB"))
    except (ValueError, OSError, SyntaxError) as error:  # of a mode without colours, truncated, or closed
        raise ArgumentError(f"The PIL image of mode {image.mode!r} does not give RGB pixels: {error}.") from error


def _as_rgb(image: Array) -> Array:
    """View an array of a known dtype and shape as N x H x W x 3."""
    if image.dtype.type not in _DTYPES:
        raise ArgumentError(f"{_EXPECTED}, not {_described(image)}.{_scale_hint(image)}")
    channels = 1 if image.ndim == 2 else image.shape[-1] if image.ndim else 0
    if image.ndim not in (2, 3, 4) or channels not in (1, 3):
        raise ArgumentError(f"{_EXPECTED}, not {_described(image)}.{_shape_hint(image)}")
    batch = image if image.ndim == 4 else image.reshape(1, *image.shape[:2], channels)
    return batch if channels == 3 else np.broadcast_to(batch, (*batch.shape[:3], 3))


def _described(image: Array) -> str:
    return f"{image.dtype} of shape {' x '.join(map(str, image.shape)) or '()'}"


def _scale_hint(image: Array) -> str:
    if image.dtype.kind == "b":
        return " Black and white becomes one with x * np.uint8(255)."
    return ' Whole numbers from 0 to 255 become one with x.astype("uint8").' if image.dtype.kind in "iu" else ""


def _shape_hint(image: Array) -> str:
    if image.ndim in (3, 4) and image.shape[-3] in (1, 3):
        return " Channels come last: use np.moveaxis(x, -3, -1)."
    if image.ndim == 3 and image.shape[2] == 4:
        return " Drop the alpha channel with x[:, :, :3]."
    return ""


def _levels(rgb: Array) -> Array:
    """Round floats in 0..1 to the nearest of the levels 0..255."""
    if rgb.size and not (rgb.min() >= 0 and rgb.max() <= 1):  # NaN fails both
        if np.isnan(rgb).any():
            raise ArgumentError("A float image must have values from 0 to 1; this one has NaN.")
        low, high = float(rgb.min()), float(rgb.max())
        hint = " On the scale 0..255, divide by 255 first." if low >= 0 and high <= 255 else ""
        raise ArgumentError(f"A float image must have values from 0 to 1; this one has {low:g} to {high:g}.{hint}")
    # float16 keeps 11 bits, too few for the product with 255 to be rounded once.
    return np.rint(rgb * (np.float32(255) if rgb.dtype.itemsize < 8 else 255.0)).astype(np.uint8)


def _large_enough(picture: Image) -> Image:
    if min(picture.shape[:2]) < SMALLEST_SIDE:
        raise ArgumentError(
            f"Each side of the image must have at least {SMALLEST_SIDE} pixels; this one is "
            f"{picture.shape[0]} x {picture.shape[1]} (height x width)."
        )
    return picture
