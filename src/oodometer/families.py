"""The published corruptions by name: which there are, their families, and which of them an mCE counts.

Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations", ICLR 2019.
"""

from __future__ import annotations

__all__ = [
    "EXTRA",
    "FAMILIES",
    "FAMILY_OF",
    "GROUPS",
    "IMAGENET_C",
    "IMAGENET_P",
    "IMAGENET_P_VALIDATION",
    "RENDITIONS",
    "SEVERITIES",
]

SEVERITIES = (1, 2, 3, 4, 5)
"""The published severities, weakest first."""

FAMILIES: dict[str, tuple[str, ...]] = {
    "noise": ("gaussian_noise", "shot_noise", "impulse_noise"),
    "blur": ("defocus_blur", "glass_blur", "motion_blur", "zoom_blur"),
    "weather": ("snow", "frost", "fog", "brightness"),
    "digital": ("contrast", "elastic_transform", "pixelate", "jpeg_compression"),
}
"""The 15 corruptions of ImageNet-C by family, in the published order."""

IMAGENET_C: tuple[str, ...] = tuple(name for family in FAMILIES.values() for name in family)
"""The 15 corruptions that mCE is a mean over, in the published order."""

EXTRA: tuple[str, ...] = ("speckle_noise", "gaussian_blur", "spatter", "saturate")
"""The 4 extra corruptions, one for each family; never part of an mCE."""

RENDITIONS: tuple[str, ...] = ("pencil", "ink", "cartoon", "watercolour", "oil", "mosaic", "halftone", "silhouette")
"""Photographs redrawn by filters: no corruption of ImageNet-C, and part of no mean."""

FAMILY_OF: dict[str, str] = {name: family for family, names in FAMILIES.items() for name in names} | dict(
    zip(EXTRA, FAMILIES, strict=True)
)
"""The family of each of the 15 + 4."""

GROUPS: dict[str, tuple[str, ...]] = {"imagenet-c": IMAGENET_C, "extra": EXTRA, "all": IMAGENET_C + EXTRA, **FAMILIES}
"""Names for several corruptions at once."""

IMAGENET_P: tuple[str, ...] = (
    *("gaussian_noise", "shot_noise", "motion_blur", "zoom_blur", "snow"),
    *("brightness", "translate", "rotate", "tilt", "scale"),
)
"""The 10 perturbations of ImageNet-P that a mean flip rate is a mean over, in the published order."""

IMAGENET_P_VALIDATION: tuple[str, ...] = ("speckle_noise", "gaussian_blur", "spatter", "shear")
"""The 4 further perturbations that were published; part of no mean."""
