"""Making the frames of a video: arguments checked, the part of the picture settled, the kernel called."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import PIL.Image

from oodometer import seeding
from oodometer.arguments import choice, whole
from oodometer.corruptions.apply import SEEDS
from oodometer.corruptions.images import SMALLEST_SIDE, Array, unpack
from oodometer.errors import ArgumentError
from oodometer.perturbations.registry import REGISTRY, Perturbation, folder_of
from oodometer.perturbations.window import Window
from oodometer.types import Image, Images

__all__ = ["perturb"]


def perturb(
    image: Array | PIL.Image.Image,
    name: str,
    *,
    seed: int = 0,
    image_id: str = "",
    frames: int | None = None,
    difficulty: int = 1,
    side: int | None = 224,
) -> Images:
    """Make the frames of a video in which a perturbation of a picture proceeds in small steps, as in ImageNet-P.

    Parameters
    ----------
    image
        One picture, in any form that ``oodometer.corrupt`` takes; it is never changed. Movements show what lies around
        the frames, so give it uncropped: for ImageNet-P resized to 256 pixels on the shorter side.
    name
        One of ``oodometer.perturbations.PERTURBATIONS``.
    seed
        An integer. The same arguments give the same pixels, in any order, thread or process.
    image_id
        Names the picture, so that others get other noise, flakes and drops with the same seed.
    frames
        How many, from the first on; by default all: 41 of translate, else 31. No frame depends on it.
    difficulty
        1, 2 or 3 for noises: their strength. Other perturbations have 1 alone: their greater difficulties are
        larger steps through the same frames.
    side
        The sides of a frame, which shows the centre of the picture; ``None``: all of it, whatever its size.

    Returns
    -------
    Images
        uint8, frames x height x width x 3, RGB.

    Raises
    ------
    ArgumentError
        If an argument is none of the above, or the picture is smaller than a frame.

    Notes
    -----
    Steps and constants are those of the public generator of ImageNet-P, whose videos went through x264; frames were
    never compared with them pixel by pixel. The table in ``docs/sequences.md`` says what each perturbation does.

    References
    ----------
    Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations",
    ICLR 2019, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> picture = np.tile(np.arange(256, dtype=np.uint8)[:, np.newaxis], (256, 1, 3))
    >>> perturb(picture, "translate")[20:23, 0, 0, 0]  # the unmoved crop, then one pixel to the right a frame
    array([16, 15, 14], dtype=uint8)
    """
    chosen = REGISTRY[choice("perturbation", name, REGISTRY)]
    level = _difficulty(chosen, difficulty)
    count = chosen.frames if frames is None else whole(f"frames of {name}", frames, 1, chosen.frames)
    number = whole("seed", seed, *SEEDS)
    if not isinstance(image_id, str):
        raise ArgumentError(f"The image_id must be a string, not {image_id!r}.")
    window = _window(_one(image), side)
    # No corruption has a name with a slash, so these streams are none of theirs.
    keys = functools.partial(seeding.stream_key, number, image_id, f"sequence/{folder_of(name, level)}")
    with np.errstate(under="ignore"):  # the ends of a bell may underflow to 0; a user may have asked NumPy to raise
        return np.stack([*itertools.islice(chosen.kernel(window, keys, *chosen.constants[level - 1]), count)])


def _difficulty(chosen: Perturbation, difficulty: int) -> int:
    most = len(chosen.constants)
    if most == 1 and difficulty != 1:
        raise ArgumentError(
            f"{chosen.name} has difficulty 1 alone, not {difficulty!r}: the greater ones of what is no noise are "
            "larger steps through the same frames, which an evaluation takes."
        )
    return whole("difficulty", difficulty, 1, most)


def _one(image: Array | PIL.Image.Image) -> Image:
    unpacked = unpack(image)
    if unpacked.kind == "batch":
        raise ArgumentError("A video is made of one picture, not of a batch: give them one by one.")
    return unpacked.pictures[0]


def _window(picture: Image, side: int | None) -> Window:
    height, width = picture.shape[:2]
    if side is None:
        return Window(picture, 0, 0, width, height)
    side = whole("side", side, SMALLEST_SIDE)
    if min(height, width) < side:
        raise ArgumentError(
            f"A frame of {side} x {side} pixels is no part of a picture of {height} x {width} (height x width). Resize "
            "the picture first, or give side=None."
        )
    # Python's round takes halves to even, as the published crop does.
    return Window(picture, round((width - side) / 2), round((height - side) / 2), side, side)
