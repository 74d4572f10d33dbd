"""The options of the command line that are about the model, collected into one object."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

__all__ = ["with_model_options"]

_OPTIONS = [
    click.option(
        "--normalization",
        metavar="NAME",
        help="imagenet, none, raw, caffe, or MEAN/STD such as 0.5/0.5, for models that do not carry their own.",
    ),
    click.option(
        "--resize-to-model",
        "resize",
        is_flag=True,
        help="Resize every picture, after its corruption, to the size that the model declares.",
    ),
    click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:NUMBER or mps."),
    click.option("--dtype", default="fp32", show_default=True, help="fp32, or bf16 or fp16 by PyTorch's autocast."),
    click.option("--channels-last", is_flag=True, help="PyTorch's memory format of that name."),
    click.option("--compile", is_flag=True, help="Run the model through torch.compile."),
    click.option(
        "--outputs", default="logits", show_default=True, help="What the model gives: logits or probabilities."
    ),
    click.option(
        "--logits-offset",
        default=0,
        show_default=True,
        help="Leading outputs that belong to no class: 1 for the 1001 of a background class.",
    ),
    click.option(
        "--model-classes",
        metavar="FILE",
        help="Names the class of each output, one a line; those of the data are picked.",
    ),
    click.option(
        "--prompts",
        default="imagenet80",
        show_default=True,
        help="Of zero-shot models: imagenet80, imagenet7, or a file of templates with {}.",
    ),
    click.option(
        "--candidates",
        type=int,
        metavar="K",
        help="Of vlm: among how many classes to choose, drawn for each image; default: all.",
    ),
    click.option("--requests", default=8, show_default=True, help="Of vlm: how many are under way at once."),
    click.option("--per-minute", type=int, metavar="N", help="Of vlm: no more than N requests a minute."),
]
_NAMES = (
    "normalization",
    "resize",
    "device",
    "dtype",
    "channels_last",
    "compile",
    "outputs",
    "logits_offset",
    "prompts",
    "candidates",
    "requests",
    "per_minute",
)


def with_model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options about the model; it receives them as ``model_options``."""

    @functools.wraps(command)
    def collected(*, model_classes: str | None, **given: Any) -> None:  # noqa: ANN401 - whatever the command takes
        from oodometer.models import ModelOptions

        options = ModelOptions(**{name: given.pop(name) for name in _NAMES}, classes=model_classes)
        command(model_options=options, **given)

    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), collected)
