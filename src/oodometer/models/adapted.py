"""What all adapted models have in common: the input's size, the memory at hand, and what the outputs mean."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import ArgumentError, ModelError
from oodometer.models.batching import find_batch_size, is_out_of_memory
from oodometer.models.normalization import Normalization
from oodometer.models.options import ModelOptions
from oodometer.models.picking import pick_outputs
from oodometer.models.sizing import InputSize, fitted
from oodometer.types import Image, Images, LabelSpace, Logits

__all__ = ["AdaptedModel", "Network"]


class Network(Protocol):
    """What the file of a framework makes of a model: uint8 pictures in, all its outputs out, and what it declares.

    ``input_size`` is ``None`` if pictures of any size will do. ``settings`` are choices that change what it answers,
    and ``environment`` the versions and the device on which its last digits depend, both as names and values for
    people. ``outputs``, where it knows, is what it gives: ``"logits"`` or ``"probabilities"``.
    """

    name: str
    fingerprint: str
    normalization: Normalization | None
    input_size: InputSize | None
    settings: Mapping[str, str]
    environment: Mapping[str, str]

    def predict(self, images: Images) -> Logits:
        """Map N pictures to N rows of outputs."""
        ...


class AdaptedModel:
    """A network as the road wants it: pictures of the declared size go in, the logits of the data set's classes out.

    Parameters
    ----------
    network
        The model of a framework, or any object with ``predict`` and what it carries of the rest.
    options
        What the user asked for.
    space
        The classes of the data set; needed if the outputs are to be picked by name.
    stranger
        Whether it is an object of the user's, which is asked for nothing but the predictions: it may count, or cost.

    Raises
    ------
    ArgumentError
        If resizing was asked for and the model declares no size.
    ModelError
        If the file that names the outputs cannot be read, or does not fit the classes of the data set.
    """

    def __init__(
        self, network: Network, options: ModelOptions, space: LabelSpace | None = None, *, stranger: bool = False
    ) -> None:
        self._network, self._options, self._stranger = network, options, stranger
        self.name = getattr(network, "name", type(network).__name__)
        self.fingerprint = getattr(network, "fingerprint", self.name)
        self.normalization = getattr(network, "normalization", None)
        self.environment = dict(getattr(network, "environment", {}))
        self.input_size: InputSize | None = getattr(network, "input_size", None)
        if options.resize and self.input_size is None:
            raise ArgumentError(f"{self.name} declares no input size to resize to; leave the option out.")
        self.resized = str(self.input_size) if options.resize else None
        self._offset = options.logits_offset
        self._picked = None if options.classes is None else pick_outputs(Path(options.classes), space)
        self._probabilities = "probabilities" in (options.outputs, getattr(network, "outputs", None))
        self.settings = {**getattr(network, "settings", {}), **self._of_outputs()}
        self._most: int | None = None

    def predict(self, images: Images) -> Logits:
        """Map N uint8 pictures to N rows of logits.

        Raises
        ------
        ModelError
            If the pictures are not of the declared size, or the outputs are not what was said of them.
        """
        return self._logits(self._within_memory(self._sized(images)))

    def find_batch_size(self, picture: Image, largest: int) -> int | None:
        """Return how many pictures like this one to ask for at once, unless that is not ours to measure."""
        if self._stranger:
            return None
        return find_batch_size(lambda images: self._network.predict(self._sized(images)), picture, largest)

    def _sized(self, images: Images) -> Images:
        if self.input_size is None:
            return images
        return fitted(images, self.input_size, self.name, resize=self._options.resize)

    def _within_memory(self, images: Images) -> Logits:
        """Ask for fewer pictures at once, from now on, when the memory does not suffice."""
        while True:
            most = self._most or len(images)
            parts = [images[i : i + most] for i in range(0, len(images), most)]
            try:
                made = [self._network.predict(part) for part in parts]
                return made[0] if len(made) == 1 else np.concatenate(made)
            except Exception as error:  # each framework has its own
                if not is_out_of_memory(error) or len(parts[0]) == 1:
                    raise
            # Outside the handler, so that the failed batch is no longer held by its traceback.
            self._most = -(-len(parts[0]) // 2)

    def _logits(self, outputs: Logits) -> Logits:
        if np.ma.isMaskedArray(outputs) or np.ndim(outputs) != 2:
            return outputs  # the road says what is wrong with it
        outputs = np.asarray(outputs)
        if self._probabilities:
            outputs = _logarithms(outputs, self.name)
        elif _are_probabilities(outputs):
            raise ModelError(
                f"{self.name} gives probabilities where logits are expected: each row is at least 0 and sums to 1. Say "
                "so (--outputs probabilities), and their logarithm is taken, which has the same softmax."
            )
        return outputs[:, self._offset :] if self._picked is None else self._picked.apply(outputs, self.name)

    def _of_outputs(self) -> dict[str, str]:
        """Say what is made of the outputs, as far as it is not the usual thing."""
        found = {}
        if self._probabilities:
            found["Outputs"] = "probabilities, of which the logarithm was taken"
        if self._offset:
            found["Outputs left out"] = f"the first {self._offset}"
        if self._picked is not None:
            found["Outputs picked by name"] = str(self._picked)
        return found


def _are_probabilities(outputs: Logits) -> bool:
    # Two numbers that are no probabilities sum to 1 too easily.
    return outputs.shape[1] > 2 and bool((outputs >= 0).all() and (np.abs(_sums(outputs) - 1) < 1e-3).all())


def _sums(outputs: Logits) -> NDArray[np.float64]:
    # In double precision, since a thousand logits in half precision may sum to more than it holds.
    return np.asarray(outputs.sum(axis=1, dtype=np.float64))


def _logarithms(outputs: Logits, name: str) -> Logits:
    sums = _sums(outputs)
    if not ((outputs >= 0).all() and (np.abs(sums - 1) < 1e-2).all()):
        raise ModelError(
            f"{name} does not give probabilities: they reach from {outputs.min():.3g} to {outputs.max():.3g}, and a "
            f"row sums to {sums[int(np.argmax(np.abs(sums - 1)))]:.3g}."
        )
    return np.log(np.maximum(outputs, np.finfo(np.float32).tiny))
