"""One image as the corruptions take it, from whatever it is given as."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import PIL.Image

from oodometer.arguments import choice, path
from oodometer.corruptions import SMALLEST_SIDE
from oodometer.datasets.decode import decode
from oodometer.errors import ArgumentError, ImageError
from oodometer.preprocess import PREPROCESS, apply
from oodometer.types import Image

__all__ = ["Shown", "clean_image", "target"]

Shown = str | os.PathLike[str] | PIL.Image.Image | Image
"""A file, a PIL image, or an array: uint8, height x width x 3."""


def target(name: str | os.PathLike[str], endings: Sequence[str], image: object) -> Path:
    """Check where a picture is to be written: with one of the endings, and not over the image that it shows.

    Raises
    ------
    ArgumentError
        If the ending is another, or the file is the image.
    """
    file = path("The file", name)
    if file.suffix.lower() not in endings:
        raise ArgumentError(f"{file}: give a name that ends in {_listed(endings)}.")
    if isinstance(image, str | os.PathLike):
        with contextlib.suppress(OSError):  # what is not there yet is no image
            if file.samefile(path("The image", image)):
                raise ArgumentError(f"{file} is the image itself, which stays as it is: give another name.")
    return file


def _listed(endings: Sequence[str]) -> str:
    """List endings in a sentence."""
    *most, last = endings
    return f"{', '.join(most)} or {last}"


def clean_image(image: Shown, preprocess: str) -> Image:
    """Read an image and preprocess it.

    Raises
    ------
    ArgumentError
        If it is no image, or the preprocessing is unknown.
    ImageError
        If a file cannot be read, or is too small.
    """
    geometry = PREPROCESS[choice("preprocessing", preprocess, PREPROCESS)]
    if isinstance(image, str | os.PathLike):
        file = path("The image", image)
        what, picture = str(file), decode(file)
    elif isinstance(image, PIL.Image.Image):
        what, picture = "The image", image.convert("RGB")
    elif isinstance(image, np.ndarray) and image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3:
        what, picture = "The image", PIL.Image.fromarray(image)
    else:
        raise ArgumentError("An image is a file, a PIL image, or a uint8 array of height x width x 3.")
    try:
        found = apply(picture, geometry)
    except (ArgumentError, ImageError) as error:
        raise ImageError(f"{what}: {error}") from error
    if min(found.shape[:2]) < SMALLEST_SIDE:
        raise ImageError(f"{what} is {found.shape[1]}x{found.shape[0]} pixels; corruptions need {SMALLEST_SIDE}.")
    return found
