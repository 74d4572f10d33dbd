"""Keras files (``.keras``, ``.h5``) and TensorFlow's SavedModel folders."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import keras
import numpy as np

from oodometer.errors import ModelError
from oodometer.models.batching import padded
from oodometer.models.importing import loading, needed
from oodometer.models.normalization import RAW, Normalization
from oodometer.models.options import ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.types import Images, Logits

__all__ = ["OPTIONS", "KerasModel", "load"]

OPTIONS = frozenset({"normalization"})


class KerasModel:
    """A model that maps N x height x width x 3 (or N x 3 x height x width) to N x classes.

    Parameters
    ----------
    call
        The model: an array of inputs to one of outputs.
    shape
        Of its input, with ``None`` for what may vary.
    normalization
        Of its inputs.
    outputs
        What it gives.
    path
        Where it was found.
    environment
        With what it is run.

    Raises
    ------
    ModelError
        If its input does not hold pictures.
    """

    def __init__(
        self,
        call: Any,  # noqa: ANN401 - of Keras or of TensorFlow
        shape: tuple[int | None, ...],
        normalization: Normalization,
        outputs: Literal["logits", "probabilities"],
        path: Path,
        environment: dict[str, str],
    ) -> None:
        self._call = call
        self._channels_first = len(shape) == 4 and shape[1] == 3 and shape[3] != 3
        if len(shape) != 4 or 3 not in (shape[1], shape[3]):
            raise ModelError(
                f"{path} must take pictures, N x height x width x 3 or N x 3 x height x width; it takes {shape}."
            )
        height, width = shape[2:] if self._channels_first else shape[1:3]
        self._batch = shape[0]
        self.input_size = InputSize(((height, width),)) if height and width else None
        self.normalization, self.outputs = normalization, outputs
        self.name = path.name
        self.fingerprint = _digest(path)
        self.settings: dict[str, str] = {}
        self.environment = environment

    def predict(self, images: Images) -> Logits:
        """Map uint8 pictures, N x height x width x 3, to N x classes."""
        return padded(self._run, images, self._batch)

    def _run(self, images: Images) -> Logits:
        inputs = self.normalization.apply(images)
        return np.asarray(self._call(inputs.transpose(0, 3, 1, 2) if self._channels_first else inputs))


def load(path: str, options: ModelOptions) -> KerasModel:
    """Load a Keras file, or the ``serving_default`` signature of a SavedModel folder.

    A model of Keras with layers that rescale or normalise gets pixels of 0..255. Nothing else says how the pixels of
    its training were scaled, so it must be told. Code in a Keras file (a lambda) is not run; a SavedModel is a program,
    to be taken only from those whom you trust.

    Raises
    ------
    ModelError
        If it cannot be loaded, has another input or output, or lacks a normalization.
    """
    place = Path(path)
    if not place.exists():
        raise ModelError(f"There is no model file {path}.")
    with loading(f"keras:{path}"):
        return _saved_model(place, options) if place.is_dir() else _keras_file(place, options)


def _keras_file(path: Path, options: ModelOptions) -> KerasModel:
    model = keras.saving.load_model(path, compile=False)
    if len(model.inputs) != 1 or len(model.outputs) != 1:
        raise ModelError(f"{path} has {len(model.inputs)} inputs and {len(model.outputs)} outputs; expected one each.")
    if _normalises(model):
        options.check_taken(path.name, ())
        normalization = RAW
    else:
        normalization = _told(path, options)
    last = model.layers[-1]
    softmax = isinstance(last, keras.layers.Softmax) or getattr(last, "activation", None) is keras.activations.softmax
    return KerasModel(
        model.predict_on_batch,
        tuple(model.inputs[0].shape),
        normalization,
        "probabilities" if softmax else "logits",
        path,
        {"keras": keras.__version__, "keras backend": keras.backend.backend()},
    )


def _saved_model(path: Path, options: ModelOptions) -> KerasModel:
    with needed("keras"):
        import tensorflow as tf
    signature = tf.saved_model.load(str(path)).signatures["serving_default"]
    inputs, outputs = signature.structured_input_signature[1], signature.structured_outputs
    if len(inputs) != 1 or len(outputs) != 1:
        raise ModelError(f"{path} has {len(inputs)} inputs and {len(outputs)} outputs; expected one each.")
    ((argument, spec),) = inputs.items()

    def call(pixels: Images) -> Logits:
        (made,) = signature(**{argument: tf.constant(pixels, spec.dtype)}).values()
        return np.asarray(made.numpy())

    environment = {"tensorflow": tf.__version__}
    return KerasModel(call, tuple(spec.shape), _told(path, options), "logits", path, environment)


def _told(path: Path, options: ModelOptions) -> Normalization:
    given = options.given_normalization()
    if given is None:
        raise ModelError(
            f"{path} does not say how its pixels are to be scaled. Say it (--normalization): raw for 0..255, 0.5/0.5 "
            "for -1..1, none for 0..1, or imagenet or caffe, which keras.applications calls torch and caffe."
        )
    return given


def _normalises(model: Any) -> bool:  # noqa: ANN401 - Keras publishes no types
    """Whether a model rescales or normalises pixels before the first layer that mixes them."""
    for layer in _layers(model):
        if isinstance(layer, keras.layers.Rescaling | keras.layers.Normalization):
            return True
        if layer.weights:
            return False
    return False


def _layers(model: Any) -> Iterator[Any]:  # noqa: ANN401
    for layer in model.layers:
        yield from _layers(layer) if hasattr(layer, "layers") else (layer,)


def _digest(path: Path) -> str:
    """Hash a file, or all files of a folder with their names."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.is_file():
            digest.update(file.relative_to(path).as_posix().encode() if file != path else b"")
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()
