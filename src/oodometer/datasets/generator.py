"""A data set as a generator of arrays with a known signature, as ``tf.data.Dataset.from_generator`` wants it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from oodometer.types import Dataset, Image

__all__ = ["ArrayGenerator"]


@dataclass(frozen=True)
class ArrayGenerator:
    """Call it for an iterator over (image, label) in the order of the samples, as often as wanted.

    The image is uint8, height x width x 3, RGB; the label is int64. ``signature`` says so as (shape, dtype) of each::

        view = ArrayGenerator(open_dataset("imagenet-r:PATH"))
        signature = tuple(tf.TensorSpec(shape, dtype) for shape, dtype in view.signature)
        data = tf.data.Dataset.from_generator(view, output_signature=signature)
    """

    dataset: Dataset
    signature: ClassVar[tuple[tuple[tuple[int | None, ...], str], ...]] = (((None, None, 3), "uint8"), ((), "int64"))

    def __call__(self) -> Iterator[tuple[Image, np.int64]]:
        """Yield the images and labels once."""
        for sample in self.dataset.samples:
            yield np.asarray(self.dataset.read(sample)), np.int64(sample.label)
