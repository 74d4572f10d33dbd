"""The outputs of a model with other classes than the data set, picked by the names of their classes."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import ArgumentError, ModelError
from oodometer.types import LabelSpace, Logits

__all__ = ["Picked", "pick_outputs"]

LACKING = 0.01
"""Which share of the classes of the images a model may lack; the lists of 21,000 or 12,000 lack up to 9 of the 1000."""

BELOW = 20.0
"""How far under all its outputs a class is put that the model lacks: a probability below 1e-8, and finite."""


@dataclass(frozen=True, slots=True)
class Picked:
    """Where the classes of a label space are among the outputs of a model; -1 for those that it lacks.

    ``lacking`` are those of them that images are of.
    """

    columns: NDArray[np.intp]
    width: int
    lacking: tuple[str, ...]
    source: str

    def apply(self, outputs: Logits, name: str) -> Logits:
        """Return the logits of the data set's classes; a class that the model lacks is never its answer.

        Raises
        ------
        ModelError
            If the model called ``name`` has not as many outputs as were named.
        """
        if outputs.shape[1] != self.width:
            raise ModelError(f"{self.source} names {self.width} outputs, and {name} has {outputs.shape[1]}.")
        picked = outputs[:, self.columns]
        picked[:, self.columns < 0] = outputs.min(axis=1, keepdims=True) - BELOW
        return picked

    def __str__(self) -> str:
        found = f"{np.count_nonzero(self.columns >= 0)} of {self.width}, by {self.source}"
        return f"{found}; always wrong on what the model lacks: {', '.join(self.lacking)}" if self.lacking else found


def pick_outputs(path: Path, space: LabelSpace | None) -> Picked:
    """Find the classes of a data set among the outputs of a model.

    Parameters
    ----------
    path
        A text file, a line for each output: the identifier of its class, alone or followed by a blank and words.
    space
        The classes of the data sets; if it has ``columns``, images are of these alone, and the model may do without
        the others, such as one of the 200 classes of ImageNet-R.

    Raises
    ------
    ArgumentError
        If there is no label space.
    ModelError
        If the file cannot be read, names a class of the label space twice, or lacks more than a hundredth both of all
        classes and of those that there are images of.
    """
    if space is None:
        raise ArgumentError("The classes of a model's outputs were named, but no label space to pick from them.")
    try:
        content = path.read_bytes()
        lines = [line.strip() for line in content.decode("utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"The classes of the model's outputs cannot be read: {path}: {error}.") from error
    known = set(space.classes)
    names = [line if line in known or not line else line.split()[0] for line in lines]
    places, counts = {name: i for i, name in enumerate(names)}, Counter(names)
    needed = space.classes if space.columns is None else tuple(space.classes[column] for column in space.columns)
    lacking = tuple(name for name in needed if name not in places)
    twice = [name for name in space.classes if counts[name] > 1]
    unknown = sum(name not in places for name in space.classes)
    if twice or (len(lacking) > LACKING * len(needed) and unknown > LACKING * space.width):
        what, first = ("names more than once", twice) if twice else ("does not name", lacking)
        raise ModelError(
            f"{path} {what} {len(first)} of the {len(needed)} classes of {space.name} that there are images of, such "
            f"as {first[0]!r}. Each line names the class of one output, in their order."
        )
    columns = np.array([places.get(name, -1) for name in space.classes])
    return Picked(columns, len(names), lacking, f"{path.name} (SHA-256 {hashlib.sha256(content).hexdigest()[:16]})")
