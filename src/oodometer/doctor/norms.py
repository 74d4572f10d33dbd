"""What the published sets hold, as numbers, and which of them a set belongs to.

Counted from the released archives and their lists of files: ImageNet-C and Tiny-ImageNet-C (Hendrycks & Dietterich,
ICLR 2019), ImageNet-R (Hendrycks et al., ICCV 2021), ImageNet-A (CVPR 2021), ImageNetV2 (Recht et al., ICML 2019),
ImageNet-Sketch (Wang et al., NeurIPS 2019).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from oodometer.datasets.label_spaces import custom, imagenet1k, imagenet_a, imagenet_r
from oodometer.datasets.layout import positions
from oodometer.datasets.recognise import STYLES
from oodometer.types import LabelSpace

__all__ = ["RENDITIONS", "STYLED", "VALIDATION", "Norm", "known_as"]


@dataclass(frozen=True, slots=True)
class Norm:
    """One published set, or one cell of it.

    ``images`` is their number (0 if there is none to expect), ``classes`` the number of classes and ``space`` which
    ones they are, if that is known; ``per_class`` the least and the most images of one class, ``sides`` the lengths in
    pixels that square images can have, empty if images have any size.
    """

    name: str
    images: int
    classes: int
    space: LabelSpace | None = None
    per_class: tuple[int, int] | None = None
    sides: tuple[int, ...] = ()

    @property
    def members(self) -> frozenset[str]:
        """The names of the class folders, empty if they are not known."""
        return frozenset(positions(self.space) if self.space else ())


RENDITIONS: dict[str, int] = dict(
    zip(
        STYLES,
        (1528, 3726, 2163, 722, 941, 644, 5673, 550, 2835, 1196, 4634, 508, 1947, 1511, 1422),
        strict=True,
    )
)
"""The images of ImageNet-R by the style that begins their names."""

STYLED = re.compile(rf"({'|'.join(STYLES)})_\d+\.")
"""The file names of ImageNet-R."""

VALIDATION = re.compile(r"ILSVRC2012_val_\d{8}\.", re.IGNORECASE)
"""The file names of ImageNet's validation images."""

_SKETCH = re.compile(r"sketch_\d+\.JPEG$")


def known_as(kind: str, ids: Sequence[str]) -> Norm | None:
    """Return which published set the images of a set or cell belong to, also if the damage hides it from its look.

    Parameters
    ----------
    kind
        What it was taken for.
    ids
        The ids of the images, ``class/name``.
    """
    folders = {id_.partition("/")[0] for id_ in ids}
    if not folders:
        return None
    if kind == "tiny-imagenet-c":
        return Norm("Tiny-ImageNet-C", 10_000, 200, per_class=(50, 50), sides=(64,))
    if kind == "imagenet-v2":
        digits = len(max(folders, key=len)) if any(re.match("0.", folder) for folder in folders) else 1
        return Norm("ImageNetV2", 10_000, 1000, custom([f"{index:0{digits}}" for index in range(1000)]), (10, 10))
    if len(folders.intersection(imagenet1k().classes)) * 2 < len(folders):
        return None
    if kind == "imagenet-c":
        published = _mostly(ids, VALIDATION)  # else it was made of other images of these classes, of any number
        per_class = (50, 50) if published else None
        return Norm("ImageNet-C", 50_000 if published else 0, 1000, imagenet1k(), per_class, (224, 299))
    if kind == "imagenet-a":
        return Norm("ImageNet-A", 7_500, 200, imagenet_a())
    if kind == "imagenet-sketch" or _mostly(ids, _SKETCH):
        return Norm("ImageNet-Sketch", 50_889, 1000, imagenet1k())
    if kind == "imagenet-r" or _mostly(ids, STYLED):
        return Norm("ImageNet-R", 30_000, 200, imagenet_r(), (51, 430))
    if _mostly(ids, VALIDATION):
        return Norm("ImageNet's validation set", 50_000, 1000, imagenet1k(), (50, 50))
    return Norm("ImageNet", 0, 1000, imagenet1k())


def _mostly(ids: Sequence[str], pattern: re.Pattern[str]) -> bool:
    return sum(bool(pattern.match(id_.rpartition("/")[2])) for id_ in ids) * 10 >= 9 * len(ids)
