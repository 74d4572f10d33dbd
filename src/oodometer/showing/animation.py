"""One corruption as an animation: it grows, and recedes."""

from __future__ import annotations

import io
import os

import numpy as np
import PIL.Image
import PIL.ImageDraw

from oodometer import arguments
from oodometer.corruptions import EDITIONS, corrupt
from oodometer.errors import ArgumentError
from oodometer.families import SEVERITIES
from oodometer.outfolder import write_atomically
from oodometer.plan import corruption_names
from oodometer.showing.lettering import font, write
from oodometer.showing.source import Shown, clean_image, target

__all__ = ["animate"]

_FORMATS = {".gif": "GIF", ".webp": "WEBP", ".png": "PNG"}
_STEP, _MILLISECONDS, _LINE = 0.25, 120, 22


def animate(
    image: Shown,
    corruption: str,
    path: str | os.PathLike[str],
    *,
    preprocess: str = "imagenet224",
    edition: str = "imagenet224",
    seed: int = 0,
) -> None:
    """Write one image under one corruption of growing severity, from 0 to 5 and back, as an animation.

    Parameters
    ----------
    image
        A file, a PIL image or an array (uint8, height x width x 3).
    corruption
        The name of one corruption.
    path
        Where to write it; .gif, .webp or .png (APNG).
    preprocess, edition, seed
        As for ``evaluate``.

    Raises
    ------
    ArgumentError
        If the ending is another, the file is the image itself, or a name is unknown.
    ImageError
        If the image cannot be read.
    StoreError
        If the file cannot be written.
    """
    file = target(path, tuple(_FORMATS), image)
    names = corruption_names(corruption)
    if len(names) != 1:
        raise ArgumentError(f"An animation shows one corruption, and {corruption!r} is a group of them.")
    clean = clean_image(image, preprocess)
    arguments.choice("edition", edition, EDITIONS)
    rising = np.arange(0, SEVERITIES[-1] + _STEP / 2, _STEP)
    frames = [_frame(corrupt(clean, names[0], s, seed=seed, edition=edition), f"{names[0]} {s:.2f}") for s in rising]
    frames += frames[-2:0:-1]
    buffer = io.BytesIO()
    frames[0].save(
        buffer, _FORMATS[file.suffix.lower()], save_all=True, append_images=frames[1:], duration=_MILLISECONDS, loop=0
    )
    write_atomically(file, buffer.getvalue())


def _frame(image: np.ndarray, words: str) -> PIL.Image.Image:
    height, width = image.shape[:2]
    page = PIL.Image.new("RGB", (width, height + _LINE), "white")
    page.paste(PIL.Image.fromarray(image), (0, _LINE))
    write(PIL.ImageDraw.Draw(page), (3, 3), words, font(14), width - 6)
    return page
