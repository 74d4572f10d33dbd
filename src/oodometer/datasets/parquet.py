"""Parquet files of images, such as those on the hub of Hugging Face; read a group of rows at a time."""

from __future__ import annotations

import bisect
import contextlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from numpy.typing import NDArray

from oodometer.datasets.decode import decode
from oodometer.datasets.folder import title
from oodometer.datasets.labelling import Labelling
from oodometer.datasets.layout import some
from oodometer.datasets.patterns import expand
from oodometer.datasets.reopened import Reopened
from oodometer.datasets.tables import find_columns, image_bytes, label_rows, row_ids
from oodometer.errors import DatasetError
from oodometer.types import LabelSpace, Orientation, Sample

__all__ = ["PackedParquet", "ParquetImages", "open_parquet"]

_KEPT = 256 << 20
"""How many bytes of decompressed groups a reader keeps; the last one is kept whatever its size."""

_SPLIT = re.compile(r"(.+)-\d+-of-\d+\.parquet")


@dataclass
class ParquetImages:
    """The rows of Parquet files, as a ``Dataset``; use ``open_dataset`` to find the columns and the labels.

    Rows are in the order of the files; to read them in another order costs the decompression of a group for each.
    """

    root: Path
    name: str
    label_space: LabelSpace
    samples: Sequence[Sample]
    rows: dict[str, int]
    groups: Reopened[_Groups]
    notes: tuple[str, ...] = ()
    orientation: Orientation = "ignore"

    def read(self, sample: Sample) -> PIL.Image.Image:
        """Decode one image at full size, as RGB, by the rules in ``oodometer.datasets.decode``; thread-safe.

        Raises
        ------
        ImageError
            If the image cannot be read whole; the message names it.
        DatasetError
            If the Parquet file cannot be read.
        """
        return _decoded(self.groups, self.rows[sample.id], sample.id, self.root, self.orientation)

    def packed(self, ids: Sequence[str]) -> PackedParquet:
        """Return a reader of these images by their numbers, which needs little memory."""
        rows = np.array([self.rows[id_] for id_ in ids], np.int64)
        return PackedParquet(self.root, rows, self.groups, self.orientation)


@dataclass(frozen=True)
class PackedParquet:
    """Images in Parquet files by their numbers; ``rows`` are int64 of length N, counted over all files."""

    root: Path
    rows: NDArray[np.int64]
    groups: Reopened[_Groups]
    orientation: Orientation

    def read_row(self, row: int, id_: str) -> PIL.Image.Image:
        """Decode one image; see ``ParquetImages.read``."""
        return _decoded(self.groups, int(self.rows[row]), id_, self.root, self.orientation)


def _decoded(groups: Reopened[_Groups], row: int, id_: str, root: Path, orientation: Orientation) -> PIL.Image.Image:
    content = image_bytes(groups.get().value(row), id_, root)
    return decode(content, f"{id_} in {root}", orientation=orientation)


class _Groups:
    """The groups of rows of some Parquet files, of which the last ones that were used are kept: ``kept`` bytes."""

    def __init__(self, files: Sequence[Path], column: Sequence[str], kept: int) -> None:
        self._column = ".".join(column)
        self._limit = kept
        self._lock = threading.Lock()
        self._kept: OrderedDict[int, Any] = OrderedDict()
        self._places: list[tuple[Any, Path, int]] = []
        self._starts = [0]
        for path in files:
            file = _open(path)
            for group in range(file.num_row_groups):
                self._places.append((file, path, group))
                self._starts.append(self._starts[-1] + file.metadata.row_group(group).num_rows)

    def value(self, row: int) -> object:
        """Return the content of one row, counted over all files."""
        group = bisect.bisect_right(self._starts, row) - 1
        with self._lock:
            if group not in self._kept:
                self._kept[group] = self._load(group)
                while len(self._kept) > 1 and sum(column.nbytes for column in self._kept.values()) > self._limit:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(group)
            column = self._kept[group]
        return column[row - self._starts[group]].as_py()

    def _load(self, group: int) -> Any:  # noqa: ANN401
        file, path, number = self._places[group]
        with _errors_of(path):
            column = file.read_row_group(number, columns=[self._column], use_threads=False).column(0)
        return _flat(column)


def open_parquet(
    pattern: Path,
    labelling: Labelling,
    orientation: Orientation = "ignore",
    name: str | None = None,
    *,
    share: int = 1,
) -> ParquetImages:
    """Find the rows of Parquet files and label them; the images are not read.

    Parameters
    ----------
    pattern
        A file, a folder (or one with a folder ``data`` of Parquet files), or a pattern such as ``data/test-*.parquet``.
    labelling, orientation, name
        As for the other readers. Labels come from a column: names of classes, or indices of those in the schema.
    share
        Among how many readers the memory for groups of rows is shared.

    Returns
    -------
    ParquetImages
        Ids are the paths in the table if each row has its own, else the numbers of the rows. ``size`` of a sample is
        its share of its file, since the true one is not known without reading.

    Raises
    ------
    DatasetError
        If a file cannot be read or has no column of images, if files are of several splits, or if labels do not fit.
    """
    files = _files(pattern)
    opened = [_open(file) for file in files]
    columns = find_columns(opened[0].schema_arrow, files[0])
    paths: list[str | None] = []
    labels: list[Any] = []
    sizes: list[int] = []
    for path, file in zip(files, opened, strict=True):
        if find_columns(file.schema_arrow, path) != columns:
            raise DatasetError(f"{path} has other columns, or other names of classes, than {files[0]}.")
        count = file.metadata.num_rows
        sizes += [path.stat().st_size // max(count, 1)] * count
        paths += _column(file, path, *columns.path) if columns.path else [None] * count
        labels += _column(file, path, columns.label) if columns.label else []
    if not sizes:
        raise DatasetError(f"There are no rows in {pattern}.")
    ids = row_ids(paths)
    space, indices = label_rows(pattern, ids, labels if columns.label else None, columns, labelling)
    samples = tuple(Sample(*entry) for entry in zip(ids, indices, sizes, strict=True))
    rows = {id_: row for row, id_ in enumerate(ids)}
    groups = Reopened(partial(_Groups, files, columns.content, _KEPT // share))
    return ParquetImages(pattern, name or title(pattern), space, samples, rows, groups, _notes(opened), orientation)


def _files(pattern: Path) -> list[Path]:
    inner = pattern / "data"
    nested = inner.is_dir() and not any(file.suffix == ".parquet" for file in pattern.iterdir())
    files = expand(inner if nested else pattern, ".parquet")
    splits = {found[1] if (found := _SPLIT.fullmatch(file.name)) else "" for file in files}
    if len(splits) > 1 and "" not in splits:
        raise DatasetError(
            f"{pattern} holds the splits {some(sorted(splits))}; open one of them: "
            f"parquet:{files[0].parent / sorted(splits)[0]}-*.parquet"
        )
    return files


def _open(path: Path) -> Any:  # noqa: ANN401
    import pyarrow.parquet

    with _errors_of(path):
        return pyarrow.parquet.ParquetFile(path)


def _column(file: Any, path: Path, *column: str) -> list[Any]:  # noqa: ANN401
    with _errors_of(path):
        values: list[Any] = _flat(file.read(columns=[".".join(column)], use_threads=False).column(0)).to_pylist()
    return values


def _flat(column: Any) -> Any:  # noqa: ANN401
    """Return the one column within a struct of which nothing else was read, or the column itself."""
    import pyarrow
    import pyarrow.compute

    return pyarrow.compute.struct_field(column, 0) if pyarrow.types.is_struct(column.type) else column


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise DatasetError(f"Cannot read the Parquet file {path}: {error}.") from error


def _notes(opened: Sequence[Any]) -> tuple[str, ...]:
    sizes = [file.metadata.row_group(g).total_byte_size for file in opened for g in range(file.num_row_groups)]
    if max(sizes) <= _KEPT:
        return ()
    return (
        f"The largest group of rows has {max(sizes) >> 20} MiB, which must be in memory for any of its images; files "
        "written with row_group_size=100 are read faster and with less.",
    )
