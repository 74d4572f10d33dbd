"""What a kernel is given: a picture with the part of it that the frames show, and its random streams."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.types import Image

__all__ = ["Kernel", "Keys", "Window"]

Keys: typing.TypeAlias = Callable[[int], NDArray[np.uint32]]
"""Gives the key of the i-th random stream of a video, uint32, shape (4,); see ``oodometer.seeding``."""

Kernel: typing.TypeAlias = Callable[..., Iterator[Image]]
"""``kernel(window, keys, *constants)`` yields the frames one by one.

It does not know how many will be taken, so that no frame can depend on that. Chance comes from the keys alone.
"""


@dataclass(frozen=True, slots=True)
class Window:
    """A picture, uint8, height x width x 3, and the rectangle of it that an unmoved frame shows, in pixels."""

    picture: Image
    left: int
    top: int
    width: int
    height: int

    def still(self) -> Image:
        """Return the unmoved, unchanged frame."""
        return self.shifted(0)

    def shifted(self, right: int) -> Image:
        """Return a new frame that shows the picture moved to the right; black where there is no picture."""
        frame = np.zeros((self.height, self.width, 3), np.uint8)
        first = self.left - right
        inner = self.picture[self.top : self.top + self.height, max(first, 0) : max(first + self.width, 0)]
        start = max(-first, 0)
        frame[:, start : start + inner.shape[1]] = inner
        return frame
