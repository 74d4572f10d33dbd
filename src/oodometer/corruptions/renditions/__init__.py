"""Renditions: photographs redrawn by classic filters, for people whose classes have no art. No mean counts them.

They are a family of their own, ``renditions``, with the interface of the corruptions. They are no stand-in for
ImageNet-R: a filter keeps the outline and the place of things, which artists do not.
"""

from __future__ import annotations

import importlib
import typing

import numpy as np

from oodometer.corruptions.own import corruption
from oodometer.families import RENDITIONS
from oodometer.types import Image

__all__: list[str] = []

_FAMILY = "renditions"

_STRENGTHS: dict[str, tuple[str, list[tuple[float, ...]]]] = {
    # width of the glow around lines, how much colour stays, how dark the hatching is
    "pencil": ("drawn", [(3, 0.6, 0.3), (4, 0.35, 0.45), (5, 0.15, 0.6), (7, 0, 0.7), (10, 0, 0.85)]),
    # width of a line, how much colour stays, how dark a tone must be to be filled
    "ink": ("drawn", [(0.7, 0.8, 0.25), (0.9, 0.5, 0.2), (1.1, 0.25, 0.15), (1.5, 0, 0.1), (2.2, 0, 0.05)]),
    # steps of lightness, width of the smoothing, how dark the outlines are
    "cartoon": ("drawn", [(14, 2, 0.5), (10, 3, 0.7), (8, 4, 0.85), (6, 5, 1), (4, 6, 1)]),
    # radius of the brush, how far the hand trembles, how much the pigment clots
    "watercolour": (
        "painted",
        [(2, 0.7, 0.06), (3, 1.2, 0.1), (4, 1.8, 0.14), (5, 2.6, 0.18), (7, 3.6, 0.22)],
    ),
    # radius of the brush, times that it is applied, height of its relief
    "oil": ("painted", [(2, 1, 0.02), (3, 1, 0.03), (4, 2, 0.04), (6, 2, 0.05), (8, 3, 0.06)]),
    # side of a tile, width of the joint
    "mosaic": ("printed", [(4, 0.8), (5.5, 1), (7, 1.2), (9, 1.4), (12, 1.7)]),
    # distance of dots, how much colour stays
    "halftone": ("printed", [(3, 1), (4, 0.8), (5, 0.5), (6, 0.2), (8, 0)]),
    # smoothness of the outline, how much of the inside shows
    "silhouette": ("printed", [(2, 0.9), (3, 0.6), (4, 0.35), (5, 0.15), (7, 0)]),
}
"""The module of each kernel, and its constants at severities 1 to 5."""


class _Imported:
    """A kernel whose module, with OpenCV, is imported when it is called."""

    def __init__(self, module: str, name: str) -> None:
        self.__name__ = name
        self._module = module

    def __call__(self, image: Image, rng: np.random.RandomState, *constants: float) -> Image:
        module = importlib.import_module(f"{__name__}.{self._module}")
        made: Image = getattr(module, self.__name__)(image, rng, *constants)
        return made


for _name in RENDITIONS:
    _module, _rows = _STRENGTHS[_name]
    corruption(_name, severities=_rows, family=_FAMILY, random=_name not in ("cartoon",))(
        typing.cast("typing.Any", _Imported(_module, _name))
    )
