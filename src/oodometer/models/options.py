"""What a user can say about how a model is run, as one object."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, fields

from oodometer import arguments
from oodometer.errors import ArgumentError
from oodometer.models.normalization import Normalization, parse_normalization

__all__ = ["TORCH_OPTIONS", "ModelOptions"]

DTYPES = ("fp32", "bf16", "fp16")
OUTPUTS = ("logits", "probabilities")
PROMPTS = ("imagenet80", "imagenet7")
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d+)?")

TORCH_OPTIONS = frozenset({"device", "dtype", "channels_last", "compile"})
"""The options that PyTorch models take."""

_OF_FRAMEWORKS = TORCH_OPTIONS | {"normalization", "prompts", "candidates", "requests", "per_minute"}
"""The options that some kinds of model take and others do not."""

_OF_LOGITS = frozenset({"resize", "outputs", "logits_offset", "classes"})
"""The options that all models take which give logits."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """How a model is run, and what is made of its inputs and outputs.

    Parameters
    ----------
    normalization
        Mean and std of the inputs, for models that do not carry their own: a ``Normalization``, ``"imagenet"`` (the
        default of PyTorch and ONNX models), ``"none"`` (pixels / 255), ``"raw"`` (pixels as they are), ``"caffe"``
        (``keras.applications``' mode of that name), or ``"MEAN/STD"``.
    resize
        Resize pictures, after their corruption, to the size that the model declares, by the interpolation that it
        declares. Without it, pictures of another size are refused. The result is marked as not comparable.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``, ``"cuda:1"``, ``"mps"``. With ``"auto"`` a module that you hand over stays
        where it is, and a model that is loaded goes to the graphics processor if there is one.
    dtype
        ``"fp32"``, or ``"bf16"`` and ``"fp16"`` by autocast. On newer NVIDIA processors PyTorch's own default lets
        convolutions of ``"fp32"`` use TF32.
    channels_last, compile
        Use PyTorch's memory format of that name; use ``torch.compile``. Neither changes more than the float noise.
    outputs
        ``"logits"``, or ``"probabilities"``, of which the logarithm is then taken.
    logits_offset
        How many leading outputs belong to no class and are dropped: 1 for models of 1001 outputs, the first of which
        is the background.
    classes
        A text file that names the class of each output, one a line, by the identifiers of the data set's classes (wnids
        for ImageNet; what follows them on the line is ignored). The columns of the data set's classes are then picked
        by name, so that a head of 21,000 classes can be evaluated on 1000; the model is always wrong on those (one in a
        hundred at most) that it lacks.
    prompts
        Of zero-shot models: ``"imagenet80"``, the templates of the published results; ``"imagenet7"``, the subset of
        them that CLIP's authors selected, with an eleventh of the work; or a text file of templates, one a line, with
        ``{}`` where the name of the class goes.
    candidates
        Of vision-language models: among how many classes they choose, drawn for each image with the run's seed, the
        true one among them; ``None`` for all.
    requests, per_minute
        Of models behind an endpoint: how many requests are under way at once, and how many go in a minute at most
        (``None`` for any number).

    Raises
    ------
    ArgumentError
        If a choice is unknown, or two exclude each other.
    """

    normalization: str | Normalization | None = None
    resize: bool = False
    device: str = "auto"
    dtype: str = "fp32"
    channels_last: bool = False
    compile: bool = False
    outputs: str = "logits"
    logits_offset: int = 0
    classes: str | os.PathLike[str] | None = None
    prompts: str | os.PathLike[str] = "imagenet80"
    candidates: int | None = None
    requests: int = 8
    per_minute: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.normalization, str):
            object.__setattr__(self, "normalization", parse_normalization(self.normalization))
        if not isinstance(self.normalization, Normalization | None):
            raise ArgumentError(f"A normalization is a name, MEAN/STD or a Normalization, not {self.normalization!r}.")
        if not isinstance(self.device, str) or not _DEVICE.fullmatch(self.device):
            raise ArgumentError(f"Unknown device {self.device!r}. Known: auto, cpu, cuda, cuda:NUMBER, mps.")
        arguments.choice("dtype", self.dtype, DTYPES)
        arguments.choice("kind of outputs", self.outputs, OUTPUTS)
        object.__setattr__(self, "logits_offset", arguments.whole("logits_offset", self.logits_offset, lowest=0))
        if self.classes is not None:
            object.__setattr__(self, "classes", arguments.path("The classes of the model's outputs", self.classes))
            if self.logits_offset:
                raise ArgumentError("logits_offset and classes exclude each other: the file names every output.")
        if self.prompts not in PROMPTS:
            object.__setattr__(self, "prompts", arguments.path("The file of prompts", self.prompts))
        for name, lowest, highest in (("candidates", 2, None), ("requests", 1, 128), ("per_minute", 1, None)):
            if getattr(self, name) is not None or name == "requests":
                object.__setattr__(self, name, arguments.whole(name, getattr(self, name), lowest, highest))
        for name in ("resize", "channels_last", "compile"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentError(f"{name} is True or False, not {getattr(self, name)!r}.")

    def given_normalization(self) -> Normalization | None:
        """Return the normalization, which is read from text as soon as it is given."""
        return self.normalization  # type: ignore[return-value]  # see __post_init__

    def check_taken(self, what: str, taken: Collection[str], *, logits: bool = True) -> None:
        """Refuse an option that was given for a kind of model that has no use for it.

        Parameters
        ----------
        what
            What the model is, for the message.
        taken
            The options that its kind takes, besides those that all models take which give ``logits``.
        logits
            Whether it is one of these.

        Raises
        ------
        ArgumentError
            Naming the option.
        """
        refused = (_OF_FRAMEWORKS if logits else _OF_FRAMEWORKS | _OF_LOGITS) - set(taken)
        for field in fields(self):
            if field.name in refused and getattr(self, field.name) != field.default:
                reason = "carries its own normalization" if field.name == "normalization" else f"takes no {field.name}"
                raise ArgumentError(f"{what} {reason}; leave the option out.")
