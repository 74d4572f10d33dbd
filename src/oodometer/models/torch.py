"""PyTorch classifiers: a module, a factory by its import path, or a TorchScript or ``torch.export`` file."""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from oodometer.errors import ModelError
from oodometer.models.importing import called, first_line, imported
from oodometer.models.normalization import IMAGENET, Normalization
from oodometer.models.options import TORCH_OPTIONS, ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.types import Images, Logits

__all__ = ["OPTIONS", "TorchModel", "from_file", "load", "moved", "placed"]

OPTIONS = TORCH_OPTIONS | {"normalization"}

_AUTOCAST = {"bf16": torch.bfloat16, "fp16": torch.float16}


class TorchModel:
    """A ``torch.nn.Module`` that maps normalised float32 N x 3 x height x width to N x classes, as a classifier.

    Parameters
    ----------
    module
        The network. It is put into evaluation mode and left so.
    normalization
        Mean and std of its inputs; the usual ImageNet values unless given.
    name
        What to call it in reports; the name of its class unless given.
    batch
        The only number of images that the network takes at once, if there is such a number.
    options
        The device, to which the module is moved (with ``"auto"`` it stays where it is), and how it is run there.
    input_size
        The size of pictures that it was made for; any will do unless given.
    settings
        What else changes its answers, for the record.

    Raises
    ------
    ModelError
        If there is no such device.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        normalization: Normalization = IMAGENET,
        name: str | None = None,
        batch: int | None = None,
        *,
        options: ModelOptions = ModelOptions(),  # noqa: B008 - it is frozen
        input_size: InputSize | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        # Exported programs refuse eval(): they were frozen in the mode in which they were exported.
        with contextlib.suppress(NotImplementedError):
            module.eval()
        self.module = module if options.device == "auto" else moved(module, options.device)
        self._batch = batch
        self.normalization = normalization
        self.name = name or type(module).__name__
        self.fingerprint = _fingerprint(module)
        self.input_size = input_size
        held = next((t for t in (*module.parameters(), *module.buffers())), torch.empty(0))
        self._device = held.device
        self._autocast = _AUTOCAST.get(options.dtype)
        self._format = torch.channels_last if options.channels_last else torch.contiguous_format
        if options.channels_last:
            module.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # torch's stubs lack it
        self._forward = torch.compile(module) if options.compile else module
        self._mean, self._std = (
            torch.tensor(values, dtype=torch.float32, device=self._device).view(1, 3, 1, 1)
            for values in (normalization.mean, normalization.std)
        )
        self.settings = {**(settings or {}), **({"Precision": f"{options.dtype} autocast"} if self._autocast else {})}
        self.environment = _environment(self._device, options)

    def predict(self, images: Images) -> Logits:
        """Map uint8 pictures, N x height x width x 3, to float32 logits, N x classes.

        Raises
        ------
        ModelError
            If the network does not give one tensor.
        """
        with torch.inference_mode():
            pixels = torch.from_numpy(np.ascontiguousarray(images)).to(self._device).permute(0, 3, 1, 2)
            inputs = (pixels.to(torch.float32) / 255 - self._mean) / self._std
            if self.normalization.channels == "BGR":
                inputs = inputs.flip(1)
            if self._batch is None:
                return self._logits(inputs)
            filled = torch.nn.functional.pad(inputs, (0, 0, 0, 0, 0, 0, 0, -len(inputs) % self._batch))
            return np.concatenate([self._logits(part) for part in torch.split(filled, self._batch)])[: len(inputs)]

    def _logits(self, inputs: torch.Tensor) -> Logits:
        with torch.autocast(self._device.type, self._autocast, enabled=self._autocast is not None):
            outputs = self._forward(inputs.contiguous(memory_format=self._format))
        if not isinstance(outputs, torch.Tensor):
            raise ModelError(
                f"{self.name} gives {type(outputs).__name__} where one tensor of logits is expected. Wrap it in a "
                "module whose forward returns the logits alone."
            )
        return np.asarray(outputs.float().cpu().numpy())


def load(path: str, options: ModelOptions) -> TorchModel:
    """Import ``package.module:factory``, call it without arguments, and adapt the module it returns.

    Raises
    ------
    ModelError
        If it cannot be imported, fails, or returns something else than a ``torch.nn.Module`` or a ``TorchModel``.
    ArgumentError
        If it returns a ``TorchModel``, which was set up already, and options were given for it.
    """
    made = called("torch", path, imported("torch", path))
    if isinstance(made, TorchModel):
        if options.given_normalization() in (None, made.normalization):
            options = replace(options, normalization=None)
        options.check_taken(f"torch:{path} returned a TorchModel, which", ())
        return made
    if not isinstance(made, torch.nn.Module):
        raise ModelError(f"torch:{path} returned {type(made).__name__}, not a torch.nn.Module.")
    return TorchModel(made, options.given_normalization() or IMAGENET, name=path, options=placed(options))


def from_file(path: Path, options: ModelOptions) -> TorchModel:
    """Load a ``torch.export`` file (``.pt2``) or a TorchScript file without unpickling objects.

    Raises
    ------
    ModelError
        If the file is neither; a pickled module or a state dict is refused, since unpickling can run any code.
    ArgumentError
        If an option was given that is for modules in Python code.
    """
    options.check_taken(path.name, OPTIONS - {"channels_last", "compile"})
    options = placed(options)
    batch, size = None, None
    try:
        if path.suffix == ".pt2":
            with _no_arbitrary_pickle(), _quiet():
                program = torch.export.load(path)
                if options.device != "cpu":
                    from torch.export.passes import move_to_device_pass

                    program = move_to_device_pass(program, options.device)
                module, (batch, size) = program.module(), _fixed_shape(program)
        else:
            with _quiet():
                module = torch.jit.load(path, map_location=options.device)  # type: ignore[no-untyped-call]
    except Exception as error:  # torch raises RuntimeError, UnpicklingError, zipfile's and more
        raise ModelError(
            f"{path} is neither a TorchScript file (.pt) nor a torch.export file (.pt2) that loads without unpickling "
            f"objects ({first_line(error)}). A pickle or a state dict is not loaded, since that can run any "
            "code: write a function that builds the model and loads its weights, and give torch:module:factory."
        ) from error
    return TorchModel(
        module,
        options.given_normalization() or IMAGENET,
        name=path.name,
        batch=batch,
        options=replace(options, device="auto"),
        input_size=size,
    )


def placed(options: ModelOptions) -> ModelOptions:
    """Settle on a device for a model that is loaded: the graphics processor, if there is one."""
    if options.device != "auto":
        return options
    if torch.cuda.is_available():
        return replace(options, device="cuda")
    return replace(options, device="mps" if torch.backends.mps.is_available() else "cpu")


def moved(module: torch.nn.Module, device: str) -> torch.nn.Module:
    """Move a module to a device; raises ``ModelError`` if there is no such device."""
    try:
        return module.to(device)
    except (RuntimeError, AssertionError) as error:  # the latter if PyTorch was built without CUDA
        raise ModelError(f"The model cannot be moved to the device {device!r}: {first_line(error)}.") from error


def calculating_threads() -> int:
    """Return on how many threads PyTorch calculates on the processor in this process."""
    return torch.get_num_threads()


def _environment(device: torch.device, options: ModelOptions) -> dict[str, str]:
    """Say with what and on what the network is run, as far as the last digits depend on it."""
    kind = f"cuda ({torch.cuda.get_device_name(device)})" if device.type == "cuda" else device.type
    ways = [
        words for given, words in ((options.channels_last, "channels last"), (options.compile, "compiled")) if given
    ]
    return {"torch": torch.__version__, "device": ", ".join([kind, *ways])}


def _fixed_shape(program: torch.export.ExportedProgram) -> tuple[int | None, InputSize | None]:
    """Return the batch and the size of pictures to which an exported program is bound; exports are, unless told so."""
    first = program.graph_signature.user_inputs[0]
    (node,) = [node for node in program.graph.nodes if node.op == "placeholder" and node.name == first]
    batch, *shape = node.meta["val"].shape
    height, width = shape[-2:]
    size = InputSize(((height, width),)) if isinstance(height, int) and isinstance(width, int) else None
    return batch if isinstance(batch, int) else None, size


def _fingerprint(module: torch.nn.Module) -> str:
    """Hash the architecture as printed and all weights, so that a run is never continued with another model."""
    digest = hashlib.sha256(repr(module).encode())
    digest.update(str(getattr(module, "code", "")).encode())
    for name, tensor in sorted((*module.named_parameters(), *module.named_buffers())):
        if tensor.is_meta or torch.nn.parameter.is_lazy(tensor):
            raise ModelError(f"The parameter {name} has no values yet: load the weights, and run one batch.")
        values = tensor.detach().cpu()
        values = values.to_dense() if values.layout != torch.strided else values.resolve_conj().resolve_neg()
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(values.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


@contextlib.contextmanager
def _no_arbitrary_pickle() -> Iterator[None]:
    """Forbid the fallback of ``torch.export.load`` to full unpickling, by PyTorch's own switch for it."""
    switch = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(switch)
    os.environ[switch] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[switch]
        else:
            os.environ[switch] = before


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep PyTorch's own warnings and tracebacks off the screen: the ``ModelError`` says what the user needs."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
