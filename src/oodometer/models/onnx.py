"""ONNX files, run by ONNX Runtime."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import onnxruntime

from oodometer.errors import ModelError
from oodometer.models.batching import padded
from oodometer.models.importing import loading
from oodometer.models.normalization import IMAGENET
from oodometer.models.options import ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.types import Images, Logits

__all__ = ["OPTIONS", "OnnxModel", "load"]

OPTIONS = frozenset({"normalization", "device"})

_DTYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}
_PROVIDERS = {"cuda": "CUDAExecutionProvider", "cpu": "CPUExecutionProvider"}


class OnnxModel:
    """An ONNX file with one picture input and one output of N x classes.

    Layout, type, size and batch of the input are those that the file declares. A file that takes uint8 gets the pixels
    as they are; any other gets them normalised, by the usual ImageNet values unless given.

    Parameters
    ----------
    path
        The file.
    options
        Its normalization and device.

    Raises
    ------
    ModelError
        If it cannot be loaded, or its input or output is of another kind.
    """

    def __init__(self, path: Path, options: ModelOptions) -> None:
        self.name = path.name
        quiet = onnxruntime.SessionOptions()
        quiet.log_severity_level = 3
        with loading(f"onnx:{path}"):
            self._session = onnxruntime.InferenceSession(path, quiet, providers=_providers(options.device))
            self.fingerprint = _digest(path)
        self._input, self._dtype, self._channels_first = _picture_input(self._session, path)
        self._output = _logits_output(self._session, path)
        batch, *shape = self._input.shape
        self._batch = batch if isinstance(batch, int) else None
        side = shape[1:] if self._channels_first else shape[:2]
        self.input_size = InputSize((tuple(side),)) if all(isinstance(length, int) for length in side) else None
        raw = self._dtype is np.uint8
        if raw:
            options.check_taken(f"{path.name} takes uint8 and", {"device"})
        self.normalization = None if raw else options.given_normalization() or IMAGENET
        self.settings: dict[str, str] = {}
        self.environment = {
            "onnxruntime": onnxruntime.__version__,
            "device": self._session.get_providers()[0].removesuffix("ExecutionProvider").lower(),
        }

    def predict(self, images: Images) -> Logits:
        """Map uint8 pictures, N x height x width x 3, to N x classes."""
        return padded(self._run, images, self._batch)

    def _run(self, images: Images) -> Logits:
        inputs = images if self.normalization is None else self.normalization.apply(images).astype(self._dtype)
        if self._channels_first:
            inputs = inputs.transpose(0, 3, 1, 2)
        (outputs,) = self._session.run([self._output], {self._input.name: np.ascontiguousarray(inputs)})
        # Some give N x classes x 1 x 1.
        return np.asarray(outputs).reshape(len(images), -1)


def load(path: str, options: ModelOptions) -> OnnxModel:
    """Load an ONNX file; see ``OnnxModel``."""
    if not Path(path).is_file():
        raise ModelError(f"There is no model file {path}.")
    return OnnxModel(Path(path), options)


def _providers(device: str) -> list[str | tuple[str, dict[str, str]]]:
    """Choose where to run: with ``auto`` on CUDA if this build of ONNX Runtime has it."""
    kind, _, number = device.partition(":")
    if kind == "auto":
        return [name for name in _PROVIDERS.values() if name in onnxruntime.get_available_providers()]
    provider = _PROVIDERS.get(kind, "")
    if provider not in onnxruntime.get_available_providers():
        raise ModelError(f"This build of ONNX Runtime has nothing for the device {device!r}; onnxruntime-gpu has CUDA.")
    return [(provider, {"device_id": number})] if number else [provider]


def _picture_input(session: onnxruntime.InferenceSession, path: Path) -> tuple[onnxruntime.NodeArg, type, bool]:
    """Find the input for pictures, its type, and whether the channels come first."""
    inputs = session.get_inputs()
    shape = inputs[0].shape if len(inputs) == 1 and inputs[0].type in _DTYPES else []
    channels_first = len(shape) == 4 and shape[1] == 3
    if len(shape) != 4 or 3 not in (shape[1], shape[3]):
        found = ", ".join(f"{i.name} {i.type} {i.shape}" for i in inputs)
        raise ModelError(
            f"{path} must have one input of float or uint8 pictures, N x 3 x height x width or N x height x width x 3; "
            f"it has {found or 'none'}."
        )
    return inputs[0], _DTYPES[inputs[0].type], channels_first


def _logits_output(session: onnxruntime.InferenceSession, path: Path) -> str:
    """Find the output of N x classes."""
    outputs = session.get_outputs()
    fitting = [o.name for o in outputs if len(o.shape) >= 2 and set(o.shape[2:]) <= {1}]
    if len(fitting) != 1:
        found = ", ".join(f"{o.name} {o.type} {o.shape}" for o in outputs)
        raise ModelError(f"{path} must have one output of N x classes; it has {found}.")
    return str(fitting[0])


def _digest(path: Path) -> str:
    """Hash the file, and the files beside it that hold its weights; each is named in it as a ``location``."""
    content = path.read_bytes()
    digest = hashlib.sha256(content)
    places = {
        content[m.end() : m.end() + m.group(1)[0]].decode("utf-8", "replace")
        for m in re.finditer(rb"\x0a\x08location\x12([\x01-\x7f])", content)
    }
    for place in sorted(places):
        with (path.parent / place).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
