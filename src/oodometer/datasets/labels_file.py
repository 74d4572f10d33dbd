"""A table of labels: which class each folder or file has, as a CSV file, a JSON object or a mapping."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from oodometer import arguments
from oodometer.datasets.label_spaces import custom, imagenet1k
from oodometer.datasets.layout import near, positions, some
from oodometer.errors import ArgumentError, DatasetError
from oodometer.types import LabelSpace

__all__ = ["described", "read_labels", "resolve"]


def read_labels(source: str | Path | Mapping[str, int | str]) -> dict[str, int | str]:
    """Read a table of labels, and check its form.

    Parameters
    ----------
    source
        A mapping, or a file: JSON if its name ends so (an object), else CSV with the header ``name,label``; UTF-8.

    Returns
    -------
    dict
        Names with ``/`` between folders and none at the ends; labels are int if they can be, else str.

    Raises
    ------
    DatasetError
        If the file cannot be read, has another form, no entry, or a name twice.
    """
    where = described(source)
    table: dict[str, int | str] = {}
    entries = source.items() if isinstance(source, Mapping) else _entries(arguments.path("labels", source), where)
    for name, label in entries:
        if not isinstance(name, str):
            raise ArgumentError(f"{where}: a name is text, not {name!r}.")
        key = "/".join(part for part in name.replace("\\", "/").split("/") if part not in {"", "."})
        if key in table:
            raise DatasetError(f"{where} has the name {name!r} more than once.")
        table[key] = _label(label, f"{where}, name {name!r}")
    if not table:
        raise DatasetError(f"{where} has no entries.")
    return table


def described(source: str | Path | Mapping[str, int | str]) -> str:
    """Return how to call a table of labels in a message."""
    return "The mapping of labels" if isinstance(source, Mapping) else f"The labels file {source}"


def resolve(
    table: Mapping[str, int | str], where: str, space: LabelSpace | None, classes: int | None
) -> tuple[LabelSpace, dict[str, int]]:
    """Return the label space of a table of labels, and the class index of each of its names.

    Parameters
    ----------
    table
        As ``read_labels`` gives it.
    where
        How to call the table in a message.
    space
        The classes of the model, if known; else those that the table implies: ``custom`` for indices, and
        ImageNet-1k for identifiers.
    classes
        The number of classes of the model, if the indices cover only some of them.

    Raises
    ------
    DatasetError
        If labels are of two kinds, not in the label space, or indices that leave gaps without ``classes``.
    ArgumentError
        If ``classes`` is given with identifiers.
    """
    labels = set(table.values())
    indices = {label for label in labels if isinstance(label, int)}
    if indices and indices != labels:
        raise DatasetError(f"{where} mixes class indices and names of classes; use one of the two.")
    if classes is not None and not indices:
        raise ArgumentError(
            f"classes={classes} goes with class indices, but {where[0].lower()}{where[1:]} names classes."
        )
    if space is None:
        space = _space_of(table, indices, where, classes) if indices else imagenet1k()
    known = positions(space)
    meaning = dict[int | str, int](zip(known.values() if indices else known, known.values(), strict=True))
    wrong = sorted(str(label) for label in labels if label not in meaning)
    if wrong:
        raise DatasetError(
            f"{where} has labels that are not classes of {space.name}: {some(wrong)}. {near(wrong[0], space)}".rstrip()
        )
    return space, {name: meaning[label] for name, label in table.items()}


def _space_of(table: Mapping[str, int | str], indices: set[int], where: str, classes: int | None) -> LabelSpace:
    if classes is None and indices != set(range(len(indices))):
        raise DatasetError(
            f"{where} has {len(indices)} different class indices from {min(indices)} to {max(indices)}; they must run "
            "from 0 up without a gap. If the model has more classes than occur here, say how many (--classes K, "
            "classes=K); if the indices are those of ImageNet, say so (--label-space imagenet-1k)."
        )
    space = custom([str(index) for index in range(classes or len(indices))])
    # A class that one folder stands for is called like it.
    called: dict[int | str, list[str]] = {}
    for name, index in table.items():
        called.setdefault(index, []).append(name)
    found = [called.get(index, []) for index in range(space.width)]
    return replace(
        space, names=tuple(f[0] if len(f) == 1 else id_ for id_, f in zip(space.classes, found, strict=True))
    )


def _entries(path: Path, where: str) -> Iterable[tuple[str, object]]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DatasetError(f"{where} cannot be read: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{where} is not UTF-8 text: {error}.") from error
    return _json_entries(text, where) if path.suffix.lower() == ".json" else _csv_entries(text, where)


def _json_entries(text: str, where: str) -> Iterable[tuple[str, object]]:
    try:
        pairs = json.loads(text, object_pairs_hook=tuple)  # a dict would lose a name that occurs twice
    except (ValueError, RecursionError) as error:  # also for numbers of more digits than Python reads
        raise DatasetError(f"{where} is not JSON: {error}.") from error
    if not isinstance(pairs, tuple):
        raise DatasetError(f"{where} must hold one JSON object of names and labels, not a {type(pairs).__name__}.")
    return pairs


def _csv_entries(text: str, where: str) -> Iterable[tuple[str, object]]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    try:
        if not {"name", "label"} <= set(rows.fieldnames or ()):
            raise DatasetError(f"{where} must begin with the header name,label; it begins with {rows.fieldnames}.")
        for row in rows:
            if not row["name"] or not row["label"]:
                raise DatasetError(f"{where}, line {rows.line_num}: a name and a label are needed.")
            yield row["name"], row["label"]
    except csv.Error as error:
        raise DatasetError(f"{where}, line {rows.line_num}, is not CSV: {error}.") from error


def _label(label: object, where: str) -> int | str:
    if isinstance(label, str):
        return int(label) if re.fullmatch(r"\s*[+-]?\d{1,9}\s*", label) else label.strip()
    try:
        return arguments.whole("a label", label)
    except ArgumentError:
        raise DatasetError(f"{where}: a label is a class index or the name of a class, not {label!r}.") from None
