"""Data sets that ``save_to_disk`` of Hugging Face datasets wrote: Arrow files, memory-mapped."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import PIL.Image

from oodometer.datasets.decode import decode
from oodometer.datasets.folder import title
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.layout import some
from oodometer.datasets.reopened import Reopened
from oodometer.datasets.tables import find_columns, image_bytes, label_rows, row_ids
from oodometer.errors import DatasetError
from oodometer.types import LabelSpace, Orientation, Sample

__all__ = ["ArrowImages", "open_huggingface"]


@dataclass
class ArrowImages:
    """The rows of a saved data set, as a ``Dataset``; use ``open_dataset`` to find the columns and the labels."""

    root: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    rows: dict[str, int]
    content: Reopened[Any]
    notes: tuple[str, ...] = ()
    orientation: Orientation = "ignore"

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Decode one image at full size, as RGB, by the rules in ``oodometer.datasets.decode``; thread-safe.

        Raises
        ------
        ImageError
            If the image cannot be read whole; the message names it.
        DatasetError
            If the Arrow files cannot be read.
        """
        content = image_bytes(self.content.get()[self.rows[sample.id]].as_py(), sample.id, self.root)
        return decode(content, f"{sample.id} in {self.root}", orientation=self.orientation)


def open_huggingface(
    root: Path, labelling: Labelling, orientation: Orientation = "ignore", name: str | None = None
) -> ArrowImages:
    """Map the rows of a saved data set and label them; the images are not read.

    Parameters
    ----------
    root
        What was given to ``save_to_disk``; of a ``DatasetDict`` with several splits, the folder of one of them.
    labelling, orientation, name
        As for the other readers. Labels come from a column: names of classes, or indices of those in the schema.

    Returns
    -------
    ArrowImages
        Ids are the paths in the table if each row has its own, else the numbers of the rows.

    Raises
    ------
    DatasetError
        If it cannot be read, has no column of images or several splits, or if labels do not fit.
    """
    import pyarrow.compute

    root = _one_split(root)
    table = _table(root)
    columns = find_columns(table.schema, root)
    content = _nested(table, columns.content)
    if not len(content):
        raise DatasetError(f"There are no rows in {root}.")
    ids = row_ids(_nested(table, columns.path).to_pylist() if columns.path else [None] * len(content))
    labels = table.column(columns.label).to_pylist() if columns.label else None
    space, indices = label_rows(root, ids, labels, columns, labelling)
    sizes = pyarrow.compute.binary_length(content).to_pylist()
    samples = tuple(Sample(id_, label, size or 0) for id_, label, size in zip(ids, indices, sizes, strict=True))
    rows = {id_: row for row, id_ in enumerate(ids)}
    mapped = Reopened(partial(_content, root, columns.content))
    return ArrowImages(root, name or title(root), space, samples, rows, mapped, (), orientation)


def _one_split(root: Path) -> Path:
    if not (root / "dataset_dict.json").is_file():
        return root
    splits = _json(root / "dataset_dict.json").get("splits", [])
    if len(splits) != 1:
        raise DatasetError(f"{root} holds the splits {some(splits)}; open one of them: huggingface:{root / splits[0]}")
    return root / str(splits[0])


def _content(root: Path, column: Sequence[str]) -> Any:  # noqa: ANN401
    return _nested(_table(root), column)


def _table(root: Path) -> Any:  # noqa: ANN401
    """Return the rows of a saved data set as one ``pyarrow.Table`` over the mapped files."""
    import pyarrow
    import pyarrow.ipc

    state = _json(root / "state.json")
    if state.get("_indices_data_files"):
        raise DatasetError(f"{root} has a table of indices beside its rows: save it anew, after flatten_indices().")
    files = [root / str(entry.get("filename")) for entry in state.get("_data_files", [])]
    if not files:
        raise DatasetError(f"{root / 'state.json'} names no files.")
    try:
        tables = [pyarrow.ipc.open_stream(pyarrow.memory_map(str(file))).read_all() for file in files]
        return pyarrow.concat_tables(tables)
    except (pyarrow.ArrowException, OSError) as error:
        raise DatasetError(f"Cannot read the Arrow files in {root}: {error}.") from error


def _nested(table: Any, column: Sequence[str]) -> Any:  # noqa: ANN401
    import pyarrow.compute

    outer, *inner = column
    return pyarrow.compute.struct_field(table.column(outer), inner) if inner else table.column(outer)


def _json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DatasetError(f"Cannot read {file}: {error}.") from error
    if not isinstance(value, dict):
        raise DatasetError(f"{file} must hold a JSON object.")
    return value
