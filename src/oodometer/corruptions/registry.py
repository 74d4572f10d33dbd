"""All corruptions in one mapping, filled here and nowhere else."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from oodometer.arguments import choice
from oodometer.corruptions import blur, digital, noise, weather
from oodometer.corruptions.severity import Row, Table
from oodometer.errors import ArgumentError
from oodometer.families import GROUPS, RENDITIONS
from oodometer.types import Image

__all__ = ["REGISTRY", "Corruption", "Kernel", "find", "groups", "list_corruptions", "register"]

Kernel = Callable[..., Image]
"""``kernel(image, rng, *constants) -> image``: pure, from an image that it does not change to a new one.

The image is uint8, H x W x 3, contiguous, at least 16 pixels on a side; ``rng`` is a ``numpy.random.RandomState``, the
only source of chance; the constants are a row of the corruption's table.
"""


@dataclass(frozen=True)
class Corruption:
    """One corruption: its constants, its kernels, and whether it draws.

    Parameters
    ----------
    name, family
        As published, or as the author of an own corruption calls them.
    table
        The constants by edition and severity.
    reference
        The plain kernel, which defines the meaning and matches the published images.
    fast
        The module of ``corruptions.fast`` that has a quicker kernel of the same name and meaning, if there is one.
    random
        Whether the result depends on the seed.
    """

    name: str
    family: str
    table: Table
    reference: Kernel
    fast: str | None = None
    random: bool = True

    def constants(self, edition: str, severity: float) -> Row | None:
        """Return the kernel's constants; ``None`` at severity 0, where the image stays as it is.

        Raises
        ------
        ArgumentError
            If the severity is above 5 and this corruption has none there.
        """
        if severity == 0:
            return None
        try:
            return self.table.row(edition, severity)
        except ArgumentError as error:
            raise ArgumentError(f"{self.name} has {error}") from None

    def fast_kernel(self) -> Kernel | None:
        """Import the quicker kernel, if there is one: ``kernel(image, key, *constants) -> image``.

        ``key`` is uint32, shape (4,), and names the stream of ``fast.streams`` that the kernel draws from.
        """
        return None if self.fast is None else _imported_kernel(self.fast, self.name)


@functools.cache  # importing again takes microseconds, as some kernels do
def _imported_kernel(module: str, name: str) -> Kernel:
    kernel: Kernel = getattr(importlib.import_module(f"oodometer.corruptions.fast.{module}"), name)  # imports Numba
    return kernel


_corruptions: dict[str, Corruption] = {}

REGISTRY: Mapping[str, Corruption] = MappingProxyType(_corruptions)
"""The 15 corruptions of ImageNet-C in the published order, the 4 extra ones, renditions, then own ones."""


def register(corruption: Corruption) -> None:
    """Add a corruption; a name that is taken is an error."""
    if corruption.name in _corruptions:
        raise ArgumentError(f"There is a corruption called {corruption.name!r} already.")
    _corruptions[corruption.name] = corruption


for _published in (
    Corruption("gaussian_noise", "noise", noise.GAUSSIAN_NOISE, noise.gaussian_noise, "noise"),
    Corruption("shot_noise", "noise", noise.SHOT_NOISE, noise.shot_noise, "noise"),
    Corruption("impulse_noise", "noise", noise.IMPULSE_NOISE, noise.impulse_noise, "noise"),
    Corruption("defocus_blur", "blur", blur.DEFOCUS_BLUR, blur.defocus_blur, "defocus", random=False),
    Corruption("glass_blur", "blur", blur.GLASS_BLUR, blur.glass_blur, "glass"),
    Corruption("motion_blur", "blur", blur.MOTION_BLUR, blur.motion_blur, "blur"),
    Corruption("zoom_blur", "blur", blur.ZOOM_BLUR, blur.zoom_blur, "zoom", random=False),
    Corruption("snow", "weather", weather.SNOW, weather.snow, "weather"),
    Corruption("frost", "weather", weather.FROST, weather.frost, "weather"),
    Corruption("fog", "weather", weather.FOG, weather.fog, "weather"),
    Corruption("brightness", "weather", weather.BRIGHTNESS, weather.brightness, "tone", random=False),
    Corruption("contrast", "digital", digital.CONTRAST, digital.contrast, "tone", random=False),
    Corruption("elastic_transform", "digital", digital.ELASTIC_TRANSFORM, digital.elastic_transform, "elastic"),
    Corruption("pixelate", "digital", digital.PIXELATE, digital.pixelate, "digital", random=False),
    Corruption("jpeg_compression", "digital", digital.JPEG_COMPRESSION, digital.jpeg_compression, "jpeg", random=False),
    Corruption("speckle_noise", "noise", noise.SPECKLE_NOISE, noise.speckle_noise, "noise"),
    Corruption("gaussian_blur", "blur", blur.GAUSSIAN_BLUR, blur.gaussian_blur, "blur", random=False),
    Corruption("spatter", "weather", weather.SPATTER, weather.spatter, "spatter"),
    Corruption("saturate", "digital", digital.SATURATE, digital.saturate, "tone", random=False),
):
    register(_published)


def find(name: str) -> Corruption:
    """Return the corruption of a name, or raise ``ArgumentError`` with the names that are near."""
    return REGISTRY[choice("corruption", name, REGISTRY)]


def groups() -> dict[str, tuple[str, ...]]:
    """Return the names of corruptions by group: the published groups, own ones, and the families of own ones.

    The published groups never grow by what a user registers, or evaluations of "all" would not compare.
    """
    ours = {*GROUPS["all"], *RENDITIONS}
    own = [corruption for corruption in REGISTRY.values() if corruption.name not in ours]
    families: dict[str, tuple[str, ...]] = {"own": tuple(corruption.name for corruption in own)}
    for corruption in own:
        if corruption.family not in ("own", "renditions"):  # which do not grow by it
            families[corruption.family] = (*families.get(corruption.family, ()), corruption.name)
    return {**GROUPS, "renditions": RENDITIONS, **families}


def list_corruptions(group: str = "imagenet-c") -> tuple[str, ...]:
    """Return the names of a group of corruptions, in the published order.

    Parameters
    ----------
    group
        ``"imagenet-c"``: the 15 that mCE counts; ``"extra"``: the 4 that it does not; ``"all"``: both; one of the four
        families of the 15, ``"noise"``, ``"blur"``, ``"weather"`` and ``"digital"``; ``"renditions"``: photographs
        redrawn by filters; ``"own"``: those registered with ``oodometer.corruption``, in that order; or a family that
        one of these was given.

    Returns
    -------
    tuple of str
        The names that ``corrupt`` takes.

    Raises
    ------
    ArgumentError
        If there is no such group; the message names those there are.
    """
    known = groups()
    return known[choice("group of corruptions", group, known)]
