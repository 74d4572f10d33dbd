"""All corruptions in one mapping, filled here and nowhere else."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from oodometer.corruptions import blur, digital, noise, weather
from oodometer.corruptions.severity import Table
from oodometer.errors import unknown_name
from oodometer.families import EXTRA, FAMILIES, IMAGENET_C
from oodometer.types import Image

__all__ = ["REGISTRY", "Corruption", "Kernel", "find", "group"]

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
        As published.
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

    def fast_kernel(self) -> Kernel | None:
        """Import the quicker kernel, if there is one: ``kernel(image, key, *constants) -> image``.

        ``key`` is uint32, shape (4,), and names the stream of ``fast.streams`` that the kernel draws from.
        """
        if self.fast is None:
            return None
        module = importlib.import_module(f"oodometer.corruptions.fast.{self.fast}")  # imports Numba
        kernel: Kernel = getattr(module, self.name)
        return kernel


def by_name(corruptions: Iterable[Corruption]) -> Mapping[str, Corruption]:
    """Return the corruptions as a read-only mapping in their order; a name that occurs twice is an error."""
    mapping: dict[str, Corruption] = {}
    for corruption in corruptions:
        if corruption.name in mapping:
            raise ValueError(f"Two corruptions are called {corruption.name!r}.")
        mapping[corruption.name] = corruption
    return MappingProxyType(mapping)


REGISTRY = by_name(
    [
        Corruption("gaussian_noise", "noise", noise.GAUSSIAN_NOISE, noise.gaussian_noise, "noise"),
        Corruption("shot_noise", "noise", noise.SHOT_NOISE, noise.shot_noise, "noise"),
        Corruption("impulse_noise", "noise", noise.IMPULSE_NOISE, noise.impulse_noise, "noise"),
        Corruption("defocus_blur", "blur", blur.DEFOCUS_BLUR, blur.defocus_blur, "blur", random=False),
        Corruption("glass_blur", "blur", blur.GLASS_BLUR, blur.glass_blur, "blur"),
        Corruption("motion_blur", "blur", blur.MOTION_BLUR, blur.motion_blur, "blur"),
        Corruption("zoom_blur", "blur", blur.ZOOM_BLUR, blur.zoom_blur, "blur", random=False),
        Corruption("snow", "weather", weather.SNOW, weather.snow),
        Corruption("frost", "weather", weather.FROST, weather.frost),
        Corruption("fog", "weather", weather.FOG, weather.fog),
        Corruption("brightness", "weather", weather.BRIGHTNESS, weather.brightness, random=False),
        Corruption("contrast", "digital", digital.CONTRAST, digital.contrast, random=False),
        Corruption("elastic_transform", "digital", digital.ELASTIC_TRANSFORM, digital.elastic_transform),
        Corruption("pixelate", "digital", digital.PIXELATE, digital.pixelate, random=False),
        Corruption("jpeg_compression", "digital", digital.JPEG_COMPRESSION, digital.jpeg_compression, "jpeg", random=False),
        Corruption("speckle_noise", "noise", noise.SPECKLE_NOISE, noise.speckle_noise, "noise"),
        Corruption("gaussian_blur", "blur", blur.GAUSSIAN_BLUR, blur.gaussian_blur, "blur", random=False),
        Corruption("spatter", "weather", weather.SPATTER, weather.spatter),
        Corruption("saturate", "digital", digital.SATURATE, digital.saturate, random=False),
    ]
)
"""The 15 corruptions of ImageNet-C in the published order, then the 4 extra ones."""


def find(name: str) -> Corruption:
    """Return the corruption of a name, or raise ``ArgumentError`` with the names that are near."""
    if name not in REGISTRY:
        raise unknown_name("corruption", name, REGISTRY)
    return REGISTRY[name]


def group(name: str) -> tuple[str, ...]:
    """Return the names of a group, in the published order, or raise ``ArgumentError``."""
    groups = {"imagenet-c": IMAGENET_C, "extra": EXTRA, "all": tuple(REGISTRY), **FAMILIES}
    if name not in groups:
        raise unknown_name("group of corruptions", name, groups)
    return groups[name]
