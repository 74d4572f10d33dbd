"""PyTorch classifiers: a module, a factory by its import path, or a TorchScript or ``torch.export`` file."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import logging
import os
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from oodometer.errors import ModelError
from oodometer.models.normalization import IMAGENET, Normalization
from oodometer.types import Images, Logits

try:
    import torch
except ModuleNotFoundError as missing:
    raise ModelError("This model needs PyTorch: pip install 'oodometer[torch]'.") from missing

__all__ = ["TorchModel", "from_factory", "from_file"]


class TorchModel:
    """A ``torch.nn.Module`` that maps normalised float32 N x 3 x height x width to N x classes, as a classifier.

    Parameters
    ----------
    module
        The network. It is put into evaluation mode and left so, and stays on the device where its parameters are.
    normalization
        Mean and std of its inputs; the usual ImageNet values unless given.
    name
        What to call it in reports; the name of its class unless given.
    batch
        The only number of images that the network takes at once, if there is such a number.
    """

    def __init__(
        self,
        module: torch.nn.Module,
        normalization: Normalization = IMAGENET,
        name: str | None = None,
        batch: int | None = None,
    ) -> None:
        # Exported programs refuse eval(): they were frozen in the mode in which they were exported.
        with contextlib.suppress(NotImplementedError):
            module.eval()
        self.module = module
        self._batch = batch
        self.normalization = normalization
        self.name = name or type(module).__name__
        self.fingerprint = _fingerprint(module)
        held = next((t for t in (*module.parameters(), *module.buffers())), torch.empty(0))
        self._device = held.device
        self._mean, self._std = (
            torch.tensor(values, dtype=torch.float32, device=self._device).view(1, 3, 1, 1)
            for values in (normalization.mean, normalization.std)
        )

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
            if self._batch is None:
                return self._logits(inputs)
            filled = torch.nn.functional.pad(inputs, (0, 0, 0, 0, 0, 0, 0, -len(inputs) % self._batch))
            return np.concatenate([self._logits(part) for part in torch.split(filled, self._batch)])[: len(inputs)]

    def _logits(self, inputs: torch.Tensor) -> Logits:
        outputs = self.module(inputs)
        if not isinstance(outputs, torch.Tensor):
            raise ModelError(
                f"{self.name} gives {type(outputs).__name__} where one tensor of logits is expected. Wrap it in a "
                "module whose forward returns the logits alone."
            )
        return np.asarray(outputs.float().cpu().numpy())


def from_factory(path: str, normalization: Normalization | None) -> TorchModel:
    """Import ``package.module:factory``, call it without arguments, and adapt the module it returns.

    Raises
    ------
    ModelError
        If it cannot be imported, fails, or returns something else than a ``torch.nn.Module`` or a ``TorchModel``.
    """
    module_name, _, attribute = path.partition(":")
    if not module_name or not attribute:
        raise ModelError(f"torch:{path} is not of the form torch:package.module:factory.")
    try:
        factory = getattr(importlib.import_module(module_name), attribute)
        made = factory()
    except (Exception, SystemExit) as error:  # the factory is the user's code and may raise anything
        if isinstance(error, ModuleNotFoundError) and f"{module_name}.".startswith(f"{error.name}."):
            raise ModelError(
                f"torch:{path}: {error}. The module must be importable: installed, or in a folder on PYTHONPATH."
            ) from error
        raise ModelError(f"torch:{path} failed: {type(error).__name__}: {error}.") from error
    if isinstance(made, TorchModel):
        return made
    if not isinstance(made, torch.nn.Module):
        raise ModelError(f"torch:{path} returned {type(made).__name__}, not a torch.nn.Module.")
    return TorchModel(made, normalization or IMAGENET, name=path)


def from_file(path: Path, normalization: Normalization | None) -> TorchModel:
    """Load a ``torch.export`` file (``.pt2``) or a TorchScript file, on the CPU, without unpickling objects.

    Raises
    ------
    ModelError
        If the file is neither; a pickled module or a state dict is refused, since unpickling can run any code.
    """
    batch = None
    try:
        if path.suffix == ".pt2":
            with _no_arbitrary_pickle(), _quiet():
                program = torch.export.load(path)
                module, batch = program.module(), _fixed_batch(program)
        else:
            with _quiet():
                module = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    except Exception as error:  # torch raises RuntimeError, UnpicklingError, zipfile's and more
        raise ModelError(
            f"{path} is neither a TorchScript file (.pt) nor a torch.export file (.pt2) that loads without unpickling "
            f"objects ({_first_line(error)}). A pickle or a state dict is not loaded, since that can run any "
            "code: write a function that builds the model and loads its weights, and give torch:module:factory."
        ) from error
    return TorchModel(module, normalization or IMAGENET, name=path.name, batch=batch)


def _fixed_batch(program: torch.export.ExportedProgram) -> int | None:
    """Return the batch size to which an exported program is bound; exports are, unless told otherwise."""
    first = program.graph_signature.user_inputs[0]
    (node,) = [node for node in program.graph.nodes if node.op == "placeholder" and node.name == first]
    size = node.meta["val"].shape[0]
    return size if isinstance(size, int) else None


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


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0][:160]
