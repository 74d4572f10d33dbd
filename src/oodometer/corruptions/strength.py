"""How strong a corruption is to the eye of a ruler: the distance of its images from the clean ones."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.corruptions.apply import corrupt
from oodometer.corruptions.images import Array, unpack
from oodometer.corruptions.registry import find
from oodometer.errors import ArgumentError
from oodometer.families import SEVERITIES
from oodometer.types import Image

__all__ = ["Strength", "natural_like", "strength"]

_SIDES = {"imagenet224": 224, "inception299": 299, "tiny64": 64, "cifar32": 32}
_COUNT = 4
"""How many pictures the built-in set has."""


@dataclass(frozen=True, slots=True)
class Strength:
    """The measured distance of one corruption at one severity from the clean image, over ``images`` pictures.

    ``mean_absolute`` is the mean of the absolute differences, ``root_mean_square`` the square root of the mean of
    their squares, both in levels of 0..255 and with equal weight for each picture.
    """

    corruption: str
    severity: float
    edition: str
    method: str
    images: int
    mean_absolute: float
    root_mean_square: float


def strength(
    corruption: str,
    severities: Iterable[float] = SEVERITIES,
    *,
    edition: str = "imagenet224",
    method: str = "fast",
    images: Array | PIL.Image.Image | Iterable[Array | PIL.Image.Image] | None = None,
    seed: int = 0,
) -> tuple[Strength, ...]:
    """Measure how far a corruption moves pixels, as a function of its severity.

    Parameters
    ----------
    corruption, edition, method, seed
        As for ``corrupt``.
    severities
        Numbers from 0 to 10.
    images
        The reference set: pictures of any kind that ``corrupt`` takes. By default four made-up ones of the edition's
        size, with edges at every scale and the spectrum of photographs; measure on your own images to match strengths
        on them. In random corruptions each picture and severity has its own draws, so that few pictures give an uneven
        function where much depends on one draw (frost's texture, fog).

    Returns
    -------
    tuple of Strength
        One for each severity, in their order; ``pandas.DataFrame(strength(...))`` is a tidy table.

    Raises
    ------
    ArgumentError
        If an argument is not one that ``corrupt`` takes, or there is no image.

    Notes
    -----
    Distances between corruptions of one kind compare well; a shift of every pixel and a loss of detail can have the
    same distance and yet a very different effect.

    Examples
    --------
    >>> [round(s.root_mean_square) for s in strength("contrast", (0, 1, 2))]
    [0, 30, 35]
    """
    if not isinstance(severities, Iterable):
        raise ArgumentError(f"The severities must be a sequence of numbers, such as (1, 3, 5), not {severities!r}.")
    find(corruption)  # also where no severity is asked for
    pictures = _pictures(images, edition)
    return tuple(_measured(corruption, severity, pictures, edition, method, seed) for severity in severities)


def _pictures(
    images: Array | PIL.Image.Image | Iterable[Array | PIL.Image.Image] | None, edition: str
) -> Sequence[Image]:
    if images is None:
        # An unknown edition is for ``corrupt`` to refuse.
        return natural_like(_SIDES.get(edition, 224))
    each = [images] if isinstance(images, np.ndarray | PIL.Image.Image) else images
    pictures = [picture for image in each for picture in unpack(image).pictures]
    if not pictures:
        raise ArgumentError("There is no image to measure a strength on.")
    return pictures


def _measured(
    corruption: str, severity: float, pictures: Sequence[Image], edition: str, method: str, seed: int
) -> Strength:
    absolute, squared = [], []
    for place, picture in enumerate(pictures):
        made = corrupt(picture, corruption, severity, seed=seed, method=method, edition=edition, image_id=str(place))
        difference = made.astype(np.float64) - picture
        absolute.append(np.abs(difference).mean())
        squared.append((difference**2).mean())
    return Strength(
        corruption=corruption,
        severity=float(severity),
        edition=edition,
        method=method,
        images=len(pictures),
        mean_absolute=float(np.mean(absolute)),
        root_mean_square=float(np.sqrt(np.mean(squared))),
    )


@functools.lru_cache(maxsize=len(_SIDES))
def natural_like(side: int) -> tuple[Image, ...]:
    """Return the built-in reference set: made-up pictures, uint8, side x side x 3, always the same ones."""
    return tuple(_leaves(side, np.random.RandomState(number)) for number in range(_COUNT))


def _leaves(side: int, rng: np.random.RandomState) -> Image:
    """Draw a picture of fallen leaves: disks that hide each other, many small and few large ones, on a rough ground.

    Radii with a density of ``1 / r^3`` give the edges, and the ground the amplitudes of ``1 / f``, that photographs
    have (Lee, Mumford & Huang, "Occlusion Models for Natural Images", IJCV 2001).
    """
    rows, columns = np.mgrid[:side, :side]
    # Mostly gray, as photographs are: one lightness, and a third of its spread for each channel.
    lightness = 115 + 45 * _rough(side, rng)
    ground = np.stack([lightness + 15 * _rough(side, rng) for _ in range(3)], axis=-1)
    picture = ground.copy()
    smallest, largest = side / 50, side / 3
    for _ in range(120):
        # The inverse of the distribution function of 1 / r^3 between the two radii.
        radius = (smallest**-2 - rng.random_sample() * (smallest**-2 - largest**-2)) ** -0.5
        row, column = rng.uniform(0, side, 2)
        leaf = rng.normal(0, 50) + rng.normal(0, 17, 3)
        inside = (rows - row) ** 2 + (columns - column) ** 2 <= radius**2
        picture[inside] = 60 + ground[inside] / 2 + leaf
    levels: Image = np.clip(np.rint(picture), 0, 255).astype(np.uint8)
    return levels


def _rough(side: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """Draw a random field with amplitudes of ``1 / f``, mean 0 and deviation 1."""
    across, down = np.fft.rfftfreq(side), np.fft.fftfreq(side)[:, np.newaxis]
    frequency = np.hypot(across, down)
    frequency[0, 0] = np.inf  # no mean
    field = np.fft.irfft2(np.fft.rfft2(rng.normal(0, 1, (side, side))) / frequency, (side, side))
    rough: NDArray[np.float64] = field / field.std()
    return rough
