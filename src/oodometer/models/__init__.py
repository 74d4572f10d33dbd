"""Classifiers behind one method: ``predict(uint8 images) -> logits``. One file per framework, imported when used."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from oodometer.errors import ArgumentError, ModelError, unknown_name
from oodometer.models.adapted import AdaptedModel
from oodometer.models.fake import FakeModel
from oodometer.models.importing import needed
from oodometer.models.normalization import IMAGENET, Normalization, parse_normalization
from oodometer.models.options import ModelOptions
from oodometer.models.sizing import InputSize
from oodometer.types import AnsweringModel, Classifier, LabelSpace, Model

__all__ = [
    "MODELS",
    "AdaptedModel",
    "FakeModel",
    "InputSize",
    "ModelOptions",
    "Normalization",
    "check_spec",
    "kind_of_answers",
    "load_model",
    "parse_normalization",
]

ADAPTERS: dict[str, str] = {
    "torch": "torch",
    "timm": "timm",
    "torchvision": "torchvision",
    "hf": "huggingface",
    "onnx": "onnx",
    "keras": "keras",
    "clip": "clip",
    "python": "python",
    "vlm": "vlm",
}
"""What stands before the colon of a specification, with the file that knows what to do with the rest."""

SUFFIXES: dict[str, str] = {".onnx": "onnx", ".keras": "keras", ".h5": "keras"}
"""The endings of files that are not PyTorch's, with what would stand before the colon."""

_OF_FILES = ("onnx", "keras")
"""The kinds whose models are files or folders."""

MODELS: dict[str, str] = {
    "demo": "EfficientNet-Lite0 on PyTorch (pip install 'oodometer[demo]')",
    "fake": "random logits drawn from each picture's bytes; tries the machinery without a framework",
    "torch:PACKAGE.MODULE:FACTORY": "a function of yours that returns a torch.nn.Module",
    "FILE.pt2": "a file of torch.export.save",
    "FILE.pt": "a file of torch.jit.save (TorchScript)",
    "timm:NAME": "a model of timm (pip install 'oodometer[timm]')",
    "torchvision:NAME[:WEIGHTS]": "a model of torchvision (pip install 'oodometer[torchvision]')",
    "hf:NAME": "an image classifier of Transformers, from the Hub or a folder (pip install 'oodometer[hf]')",
    "onnx:FILE": "an ONNX file, run by ONNX Runtime (pip install 'oodometer[onnx]')",
    "keras:FILE": "a Keras file or a SavedModel folder (pip install 'oodometer[keras]')",
    "clip:ARCH/PRETRAINED": "a zero-shot classifier of open_clip (pip install 'oodometer[clip]')",
    "python:PACKAGE.MODULE:OBJECT": "an object of yours with predict(images) -> logits, or what makes one",
    "vlm:URL#MODEL": "a vision-language model behind an OpenAI-compatible endpoint, such as http://localhost:8000/v1",
}
"""What a model can be, as the user writes it, with what it means."""


def load_model(model: object, options: ModelOptions | None = None, space: LabelSpace | None = None) -> Classifier:
    """Return a classifier from whatever a user has.

    Parameters
    ----------
    model
        A name or specification (see ``MODELS``), a ``torch.nn.Module``, or any object with
        ``predict(images) -> logits``, which is returned as it is unless the options, or an ``input_size`` of its own,
        ask for more. An ``oodometer.types.AnsweringModel`` will do, too.
    options
        How to run it, and what is made of its inputs and outputs.
    space
        The classes of the data set, for models that must be told them.

    Raises
    ------
    ModelError
        If it cannot be loaded.
    MissingDataError
        If the packages of its framework are not installed.
    ArgumentError
        If the name is unknown (near names are listed), or an option was given that this kind of model has no use for.
    """
    options = ModelOptions() if options is None else options
    if not isinstance(options, ModelOptions):
        raise ArgumentError(f"The options of a model are ModelOptions, not {options!r}.")
    network: Any = model
    if isinstance(model, str | Path):
        network = _from_text(str(model), options)
    elif "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        from oodometer.models import torch as torch_models

        network = torch_models.TorchModel(model, options.given_normalization() or IMAGENET, options=options)
    else:
        options.check_taken(type(model).__name__, ())
    if hasattr(network, "for_classes"):
        if space is None:
            raise ArgumentError(f"{model} classifies by words: it must be told the classes.")
        network = network.for_classes(space)
    if isinstance(network, AnsweringModel):
        what = str(model) if isinstance(model, str | Path) else type(model).__name__
        options.check_taken(what, ("candidates", "requests", "per_minute"), logits=False)
        return network
    if not callable(getattr(network, "predict", None)):
        raise ModelError(
            f"{type(network).__name__} is no model: it has no method predict(images) that maps uint8 images, "
            "N x height x width x 3, to logits, N x classes."
        )
    stranger = network is model or (isinstance(model, str) and model.startswith("python:"))
    if stranger and options == ModelOptions() and getattr(network, "input_size", None) is None:
        as_it_is: Model = network
        return as_it_is
    return AdaptedModel(network, options, space, stranger=stranger)


def kind_of_answers(model: object, options: ModelOptions | None = None) -> str | None:
    """Return what a protocol says of the answers of a model that gives no logits, without loading it; else ``None``."""
    if isinstance(model, str) and model.startswith("vlm:"):
        from oodometer.models.vlm.question import protocol

        return protocol((options or ModelOptions()).candidates)
    return model.answers if isinstance(model, AnsweringModel) else None


def check_spec(spec: str) -> None:
    """Refuse a specification that names no kind of model, or a file that is not there, without loading anything.

    Raises
    ------
    ModelError
        If there is no such file.
    ArgumentError
        If the name is unknown; near names are listed.
    """
    kind, rest = _kind_of(spec)
    if kind in _OF_FILES and not Path(rest).exists():
        raise ModelError(f"There is no model file {rest}.")
    if kind in ADAPTERS or spec in ("fake", "demo") or Path(spec).is_file():
        return
    raise _unknown(spec)


def _kind_of(spec: str) -> tuple[str, str]:
    """Return the adapter of a specification, by its beginning or the ending of a file, and what it is given."""
    kind, colon, rest = spec.partition(":")
    if colon and kind in ADAPTERS:
        return kind, rest
    return SUFFIXES.get(Path(spec).suffix, ""), spec


def _unknown(spec: str) -> ModelError | ArgumentError:
    if Path(spec).suffix in {".pt", ".pt2", ".pth", ".ts"}:
        return ModelError(f"There is no model file {spec}.")
    return unknown_name("model", spec, MODELS)


def _from_text(spec: str, options: ModelOptions) -> object:
    kind, rest = _kind_of(spec)
    if spec == "fake":
        options.check_taken(spec, ())
        return FakeModel()
    if spec == "demo":
        return _adapter(spec, spec, options).load(options)
    if kind:
        return _adapter(kind, spec, options).load(rest, options)
    if Path(spec).is_file():
        return _adapter("torch", spec, options).from_file(Path(spec), options)
    raise _unknown(spec)


def _adapter(kind: str, spec: str, options: ModelOptions) -> Any:  # noqa: ANN401 - a module
    """Import the file of a framework, and refuse options that it has no use for."""
    with needed(kind):
        adapter = importlib.import_module(f"oodometer.models.{ADAPTERS.get(kind, kind)}")
    options.check_taken(spec, adapter.OPTIONS)
    return adapter
