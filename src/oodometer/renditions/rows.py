"""Tables that people can read and mend: dataclasses as CSV files, a row each."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from oodometer.errors import DatasetError
from oodometer.outfolder import write_atomically

__all__ = ["read_rows", "read_text", "write_rows"]

Row = TypeVar("Row")


def write_rows(path: Path, kind: type[Row], rows: Iterable[Row]) -> None:
    r"""Write dataclasses as a CSV file (UTF-8, ``\n``), with their fields as the header; whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # a dataclass
    writer.writerow(names)
    writer.writerows([getattr(row, name) for name in names] for row in rows)
    write_atomically(path, text.getvalue().encode())


def read_rows(path: Path, kind: type[Row], made_by: str) -> list[Row]:
    """Read what ``write_rows`` wrote, also after a person edited it.

    Parameters
    ----------
    path
        The file.
    kind
        The dataclass of a row, whose fields have defaults or stand in the header; numbers are read from text.
    made_by
        The command that makes the file, for messages.

    Raises
    ------
    DatasetError
        If the file is missing or has another form; the message names the file, the line and the command.
    """
    if not path.is_file():
        raise DatasetError(f"There is no {path}. Run `{made_by}` first.")
    rows = csv.DictReader(io.StringIO(read_text(path), newline=""), strict=True)
    try:
        if not rows.fieldnames:
            raise DatasetError(f"{path} is empty, without even a header. Make it again with `{made_by}`.")
        return [msgspec.convert(row, kind, strict=False) for row in rows]
    except (csv.Error, msgspec.ValidationError) as error:
        raise DatasetError(
            f"{path}, line {rows.line_num}, cannot be read: {error}. Mend it, or make the file again with `{made_by}`."
        ) from error


def read_text(path: Path) -> str:
    """Read a UTF-8 file, with or without a byte order mark.

    Raises
    ------
    DatasetError
        If it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise DatasetError(f"Cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError as error:
        raise DatasetError(f"{path} is not UTF-8 text ({error}). Save it as UTF-8.") from error
