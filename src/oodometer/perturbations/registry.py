"""All perturbations in one mapping, filled here and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from oodometer.families import IMAGENET_P, IMAGENET_P_VALIDATION
from oodometer.perturbations import blurs, movements, noises, weathers
from oodometer.perturbations.window import Kernel

__all__ = ["FOLDERS", "GROUPS", "PERTURBATIONS", "REGISTRY", "Perturbation", "folder_of", "published_frames"]


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One perturbation.

    Parameters
    ----------
    name
        As published.
    kernel
        Yields the frames.
    frames
        How many a published video has, and the most there are.
    constants
        Those of each difficulty, the first being 1. What is no noise has one: its greater difficulties are larger steps
        through the same video.
    """

    name: str
    kernel: Kernel
    frames: int = 31
    constants: tuple[tuple[float, ...], ...] = ((),)


REGISTRY: Mapping[str, Perturbation] = MappingProxyType(
    {
        perturbation.name: perturbation
        for perturbation in (
            Perturbation("gaussian_noise", noises.gaussian_noise, constants=((0.03,), (0.05,), (0.08,))),
            Perturbation("shot_noise", noises.shot_noise, constants=((300,), (120,), (60,))),
            Perturbation("motion_blur", blurs.motion_blur),
            Perturbation("zoom_blur", blurs.zoom_blur),
            Perturbation("snow", weathers.snow),
            Perturbation("brightness", weathers.brightness),
            Perturbation("translate", movements.translate, frames=41),
            Perturbation("rotate", movements.rotate),
            Perturbation("tilt", movements.tilt),
            Perturbation("scale", movements.scale),
            Perturbation("speckle_noise", noises.speckle_noise, constants=((0.05,), (0.10,), (0.15,))),
            Perturbation("gaussian_blur", blurs.gaussian_blur),
            Perturbation("spatter", weathers.spatter),
            Perturbation("shear", movements.shear),
        )
    }
)
"""The ten of ImageNet-P in the published order, then the four that were published to validate on."""

PERTURBATIONS: tuple[str, ...] = tuple(REGISTRY)
"""The names of all perturbations."""

GROUPS: dict[str, tuple[str, ...]] = {
    "imagenet-p": IMAGENET_P,
    "validation": IMAGENET_P_VALIDATION,
    "all": PERTURBATIONS,
}
"""Names for several perturbations at once, at difficulty 1."""


def folder_of(name: str, difficulty: int) -> str:
    """Return the published folder of a perturbation's videos: its name, and from 2 on the difficulty."""
    return f"{name}_{difficulty}" if difficulty > 1 else name


def published_frames(name: str) -> int:
    """Return how many frames a published video of a perturbation has."""
    return REGISTRY[name].frames


FOLDERS: dict[str, tuple[str, int]] = {
    folder_of(name, difficulty): (name, difficulty)
    for name, perturbation in REGISTRY.items()
    for difficulty in range(1, 1 + len(perturbation.constants))
}
"""The perturbation and the difficulty of each published folder, such as ``gaussian_noise_2``."""
