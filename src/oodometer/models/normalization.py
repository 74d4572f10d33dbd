"""The numbers that turn 8-bit pictures into a network's inputs: ``(pixel / 255 - mean) / std`` per channel."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import ArgumentError
from oodometer.types import Images

__all__ = ["CAFFE", "IMAGENET", "NONE", "RAW", "Normalization", "parse_normalization"]


@dataclass(frozen=True, slots=True)
class Normalization:
    """Per-channel (R, G, B) mean and standard deviation, on the scale 0..1, and the order of the network's channels."""

    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    channels: Literal["RGB", "BGR"] = "RGB"

    def __post_init__(self) -> None:
        # Plain floats whatever came in, since a run records them.
        for name in ("mean", "std"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        values = (*self.mean, *self.std)
        if len(self.mean) != 3 or len(self.std) != 3 or not all(map(math.isfinite, values)) or min(self.std) <= 0:
            raise ArgumentError(
                f"A normalization has three finite means and three positive standard deviations on the scale 0..1, "
                f"not mean {self.mean} and std {self.std}."
            )
        if max(map(abs, values)) > 10:
            raise ArgumentError(
                f"The normalization mean {self.mean}, std {self.std} looks like the scale 0..255; divide it by 255."
            )
        if self.channels not in ("RGB", "BGR"):
            raise ArgumentError(f"The channels of a normalization are RGB or BGR, not {self.channels!r}.")

    def apply(self, images: Images) -> NDArray[np.float32]:
        """Normalise N x height x width x 3 pictures; the result is float32 of that shape, in the network's order."""
        mean, std = (np.array(values, dtype=np.float32) for values in (self.mean, self.std))
        inputs: NDArray[np.float32] = (images.astype(np.float32) / np.float32(255) - mean) / std
        return np.ascontiguousarray(inputs[..., ::-1]) if self.channels == "BGR" else inputs

    def record(self) -> dict[str, Any]:
        """Return what a run records; the order of the channels only where it is not the usual one."""
        found = asdict(self)
        return found if self.channels == "BGR" else {"mean": found["mean"], "std": found["std"]}


IMAGENET = Normalization((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""What most ImageNet classifiers were trained with."""

NONE = Normalization((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
"""Only the division by 255; for models that normalise by themselves."""

RAW = Normalization((0.0, 0.0, 0.0), (1 / 255, 1 / 255, 1 / 255))
"""Pixels of 0..255 as they are; for models that rescale by themselves, as many of Keras do."""

CAFFE = Normalization((123.68 / 255, 116.779 / 255, 103.939 / 255), (1 / 255, 1 / 255, 1 / 255), "BGR")
"""Pixels of 0..255 less their mean, blue first: the mode ``caffe`` of ``keras.applications``."""

_NAMED = {"imagenet": IMAGENET, "none": NONE, "raw": RAW, "caffe": CAFFE}


def parse_normalization(text: str) -> Normalization:
    """Read a normalization as a user writes it: ``imagenet``, ``none``, ``raw``, ``caffe`` or ``MEAN/STD``.

    ``MEAN`` and ``STD`` are one number or three with commas, such as ``0.5/0.5`` or ``0.48,0.46,0.41/0.27,0.26,0.28``.

    Raises
    ------
    ArgumentError
        If it is none of these.
    """
    if text in _NAMED:
        return _NAMED[text]
    try:
        mean, std = ([float(v) for v in part.split(",")] for part in text.split("/"))
    except ValueError:
        raise ArgumentError(
            f"Unknown normalization {text!r}: expected imagenet, none, raw, caffe or MEAN/STD, such as 0.5/0.5 or "
            "0.48,0.46,0.41/0.27,0.26,0.28."
        ) from None
    mean, std = (part * 3 if len(part) == 1 else part for part in (mean, std))
    return Normalization(tuple(mean), tuple(std))  # type: ignore[arg-type]  # the length is checked there
