"""Images in tables, as Hugging Face writes them to Parquet and Arrow: which columns hold what, ids and labels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oodometer.datasets.labelling import Labelling
from oodometer.datasets.layout import some
from oodometer.datasets.scan import identifier
from oodometer.errors import DatasetError, ImageError
from oodometer.types import LabelSpace

__all__ = ["Columns", "find_columns", "image_bytes", "label_rows", "row_ids"]

_IMAGE_NAMES = ("image", "img", "jpg", "png", "image_bytes", "bytes")
_LABEL_NAMES = ("label", "labels", "fine_label", "wnid", "cls", "class")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table that matter.

    ``content`` and ``path`` are the ways to the bytes and to the name of the image: a column, or a column and a field
    in it. ``label`` may be missing, and ``names`` are those of its classes, if the schema has them.
    """

    content: tuple[str, ...]
    path: tuple[str, ...] | None
    label: str | None
    names: tuple[str, ...] | None


def find_columns(schema: Any, where: str | Path) -> Columns:  # noqa: ANN401  # pyarrow has no types
    """Find the image and the label in a ``pyarrow.Schema``, by the features of Hugging Face or by type and name.

    Raises
    ------
    DatasetError
        If there is no image column, or several that could be it; or a label column that holds neither numbers nor text.
    """
    features = _features(schema)
    image = _image_column(schema, features, where)
    struct = _is_struct(schema.field(image).type)
    has_path = struct and "path" in {inner.name for inner in schema.field(image).type}
    label = _label_column(schema, features)
    names = features.get(label, {}).get("names") if label else None
    return Columns(
        content=(image, "bytes") if struct else (image,),
        path=(image, "path") if has_path else None,
        label=label,
        names=tuple(map(str, names)) if names else None,
    )


def row_ids(paths: Sequence[str | None]) -> list[str]:
    """Return an id for each row: the path that stands with its image, if all have one of their own; else its number."""
    if paths and all(paths):
        ids = [identifier(str(path)) for path in paths]
        if len(set(ids)) == len(ids):
            return ids
    return [f"{row:08d}" for row in range(len(paths))]


def label_rows(
    root: Path, ids: Sequence[str], labels: Sequence[Any] | None, columns: Columns, labelling: Labelling
) -> tuple[LabelSpace, list[int]]:
    """Return the label space and the class index of each row; -1 among the names of classes stands for no label."""
    if labels is None:
        return labelling.by_folder(root, ids)
    own = [None if columns.names and label == -1 else label for label in labels]
    wrong = [repr(label) for label in own if type(label) not in {int, str, type(None)}]
    if wrong:
        raise DatasetError(f"The column {columns.label} of {root} holds no class indices or names: {some(wrong)}.")
    return labelling.by_own(root, ids, own, columns.names)


def image_bytes(value: object, id_: str, where: Path) -> bytes:
    """Return the bytes of an image that a table gave, or raise ``ImageError`` if the row has none."""
    if not isinstance(value, bytes):
        raise ImageError(f"Cannot read the image {id_}: its row in {where} holds no bytes.")
    return value


def _features(schema: Any) -> dict[str, dict[str, Any]]:  # noqa: ANN401
    """Return what the metadata of Hugging Face says of each column; nothing if there is none."""
    try:
        found = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, ValueError, TypeError):
        return {}
    return {name: feature for name, feature in found.items() if isinstance(feature, dict) and name in schema.names}


def _image_column(schema: Any, features: dict[str, dict[str, Any]], where: str | Path) -> str:  # noqa: ANN401
    said = [name for name, feature in features.items() if feature.get("_type") == "Image"]
    fitting = said or [field.name for field in schema if _is_struct(field.type) or _is_binary(field.type)]
    named = [name for name in _IMAGE_NAMES if name in fitting]
    usable = [name for name in fitting if _is_struct(schema.field(name).type) or _is_binary(schema.field(name).type)]
    if not usable or (len(usable) > 1 and not named):
        raise DatasetError(
            f"{where} has no column of images" + (" that stands out" if usable else "") + ": bytes of image files, or "
            f"a struct with bytes and path. Its columns are {', '.join(f'{f.name} ({f.type})' for f in schema)}."
        )
    return usable[0] if len(usable) == 1 else named[0]


def _label_column(schema: Any, features: dict[str, dict[str, Any]]) -> str | None:  # noqa: ANN401
    said = [name for name, feature in features.items() if feature.get("_type") == "ClassLabel"]
    named = [name for name in _LABEL_NAMES if name in (said or schema.names)]
    return said[0] if len(said) == 1 else named[0] if named else None


def _is_struct(type_: Any) -> bool:  # noqa: ANN401
    import pyarrow.types

    return pyarrow.types.is_struct(type_) and any(f.name == "bytes" and _is_binary(f.type) for f in type_)


def _is_binary(type_: Any) -> bool:  # noqa: ANN401
    import pyarrow.types

    return pyarrow.types.is_binary(type_) or pyarrow.types.is_large_binary(type_) or str(type_) == "binary_view"
