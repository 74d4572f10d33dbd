"""Results that were published by others, with their sources; never mixed with measured ones."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["PUBLISHED", "PublishedResult"]

_HENDRYCKS = "README of hendrycks/robustness"
_ROBUSTA = "README of bethgelab/robustness (robusta)"
_PRIME = "README of PRIME-augmentations"
_EASYROBUST = "model zoo of alibaba/easyrobust"


@dataclass(frozen=True, slots=True)
class PublishedResult:
    """An mCE in percent, relative to AlexNet, as its ``source`` prints it."""

    model: str
    mce: float
    source: str


PUBLISHED: tuple[PublishedResult, ...] = (
    PublishedResult("ResNet-50 (torchvision, v1)", 76.7, f"{_HENDRYCKS}, robusta, easyrobust"),
    PublishedResult("ResNet-50", 76.1, _PRIME),
    PublishedResult("ResNet-50, AugMix", 65.3, "README of google-research/augmix"),
    PublishedResult("ResNet-50, DeepAugment", 60.4, f"{_ROBUSTA}, {_PRIME}"),
    PublishedResult("ResNet-50, DeepAugment + AugMix", 53.6, f"{_HENDRYCKS}, {_ROBUSTA}"),
    PublishedResult("ResNet-50, Assemble", 56.5, _HENDRYCKS),
    PublishedResult("ResNet-50, ANT", 63.0, _HENDRYCKS),
    PublishedResult("ResNet-50, BlurAfterConv", 64.9, _HENDRYCKS),
    PublishedResult("ResNet-50, Stylized ImageNet", 69.3, _HENDRYCKS),
    PublishedResult("ResNet-50, Patch Uniform", 74.3, _HENDRYCKS),
    PublishedResult("ResNeXt-101", 62.2, _HENDRYCKS),
    PublishedResult("ResNeXt-101 32x8d, DeepAugment + AugMix", 44.5, _ROBUSTA),
    PublishedResult("ResNet-50, PRIME with JSD", 55.5, _PRIME),
    PublishedResult("ResNet-50, PRIME without JSD", 57.5, _PRIME),
    PublishedResult("ResNet-50, APR", 65.56, _EASYROBUST),
    PublishedResult("ResNet-50, batch norm adapted (partial)", 65.0, _ROBUSTA),
    PublishedResult("ResNet-50, batch norm adapted (full)", 62.2, _ROBUSTA),
)
"""mCE on the published files of ImageNet-C; most sources do not say whether they resized these."""
