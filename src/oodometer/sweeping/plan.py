"""The file of a sweep: what it may say, and that it says nothing else.

::

    [[model]]
    name = "resnet50"                    # names the folder of the model's runs
    spec = "timm:resnet50"               # and any option of `oodometer evaluate` about models, workers and batches

    [[benchmark]]
    name = "corruptions"
    data = "path/to/val"                 # and any option of `oodometer evaluate` about data and how they are measured

Keys are the names of options, with ``_`` or ``-``; ``suite`` is a table of names and paths. Paths are relative to the
current folder, as on the command line.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Any, Literal

import msgspec

from oodometer import arguments
from oodometer.errors import ArgumentError

__all__ = ["BESIDE", "TABLES", "BenchmarkEntry", "ModelEntry", "SweepPlan", "read_plan"]

_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,99}")
TABLES = ("sweep.md", "sweep.csv")
"""What the tables of a sweep are called, in its folder."""

BESIDE = (".log", ".json")
"""How the names of the files end that lie beside the folder of a run: what it printed, and what became of it."""


class ModelEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A model, and how it is run; see ``oodometer.ModelOptions``. What is ``None`` is as ``evaluate`` has it."""

    name: str
    spec: str
    normalization: str | None = None
    resize_to_model: bool = False
    device: str | None = None
    dtype: str | None = None
    channels_last: bool = False
    compile: bool = False
    outputs: str | None = None
    logits_offset: int | None = None
    model_classes: str | None = None
    prompts: str | None = None
    candidates: int | None = None
    requests: int | None = None
    per_minute: int | None = None
    batch_size: int | Literal["auto"] | None = None
    workers: int | None = None


class BenchmarkEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is measured, and how; see ``oodometer.evaluate``. What is ``None`` is as that has it."""

    name: str
    data: str | None = None
    clean: str | None = None
    imagenet_r: str | None = None
    suite: dict[str, str] = {}
    labels: str | None = None
    classes: int | None = None
    label_space: str | None = None
    unlabelled: bool = False
    corruptions: str | tuple[str, ...] | None = None
    preprocess: str | None = None
    encoding: str | None = None
    edition: str | None = None
    method: str | None = None
    baseline: str | None = None
    seed: int | None = None
    limit: int | None = None
    precision: float | None = None


class SweepPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Models and benchmarks; every pair is a run."""

    model: tuple[ModelEntry, ...]
    benchmark: tuple[BenchmarkEntry, ...]


def read_plan(path: str | os.PathLike[str]) -> SweepPlan:
    """Read the file of a sweep.

    Raises
    ------
    ArgumentError
        If it cannot be read, is no TOML, has an unknown key (near names are listed) or a value of another kind, lacks
        models or benchmarks, or gives two of them one name.
    """
    file = arguments.path("The plan", path)
    content = {
        arguments.choice(f"key in {file}", key, SweepPlan.__struct_fields__): value
        for key, value in _content(file).items()
    }
    for kind, entry in (("model", ModelEntry), ("benchmark", BenchmarkEntry)):
        tables = content.get(kind)
        if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
            raise ArgumentError(f"{file} needs at least one [[{kind}]].")
        content[kind] = [_with_known_keys(table, f"{kind} {k}", file, entry) for k, table in enumerate(tables, start=1)]
    try:
        plan = msgspec.convert(content, SweepPlan)
    except msgspec.ValidationError as error:
        raise ArgumentError(f"{file}: {error}. ($.model[0] is the first model.)") from error
    _check_names("model", [entry.name for entry in plan.model], file)
    _check_names("benchmark", [entry.name for entry in plan.benchmark], file)
    return plan


def _content(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ArgumentError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ArgumentError(f"{file} is not TOML: {error}.") from error


def _with_known_keys(table: dict[str, Any], where: str, file: Path, entry: type[msgspec.Struct]) -> dict[str, Any]:
    """Return a table with the names of fields for keys; msgspec knows no near names."""
    known = entry.__struct_fields__
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = arguments.choice(f"key of {where} in {file}", key.replace("-", "_"), known)
        if name in found:
            raise ArgumentError(f"{file}: {where} has {key!r} twice, once with - and once with _.")
        found[name] = value
    return found


def _check_names(kind: str, names: list[str], file: Path) -> None:
    for name in names:
        if not _NAME.fullmatch(name) or name in TABLES or name.endswith(BESIDE):
            raise ArgumentError(
                f"{file}: {name!r} cannot be the name of a {kind}, which becomes that of a folder: letters, digits and "
                "_ . + - within, and another ending than those of the files beside it."
            )
        if sum(other.casefold() == name.casefold() for other in names) > 1:
            raise ArgumentError(f"{file} has the {kind} {name!r} more than once.")
