"""The files that a pattern names: ``shards/{000..012}.tar``, ``data/*.parquet``, a file, or those in a folder."""

from __future__ import annotations

import glob
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from oodometer.datasets.layout import some
from oodometer.errors import DatasetError

__all__ = ["expand"]

_BRACES = re.compile(r"\{([^{}]*)\}")
_RANGE = re.compile(r"(\d+)\.\.(\d+)")
_MOST = 1_000_000  # more files than any set has: a slip of the pen must not fill the memory


def expand(pattern: str | Path, ending: str) -> list[Path]:
    """Return the files that a pattern names.

    Parameters
    ----------
    pattern
        A file; a folder, for the visible files in it with the ending; or a path with ``{a,b}``, ``{000..012}``, ``*``,
        ``?`` or ``[ab]``. What a pair of braces names must all be there.
    ending
        In lower case, such as ``.tar``.

    Returns
    -------
    list of Path
        In the order of the braces, and otherwise of the names; each once.

    Raises
    ------
    DatasetError
        If a file is missing, or there is none.
    """
    place = Path(pattern)
    if place.is_dir():
        files = sorted(file for file in place.iterdir() if _counts(file, ending))
    elif place.exists():
        files = [place]
    else:
        texts = list(itertools.islice(_spelled_out(str(pattern)), _MOST + 1))
        if len(texts) > _MOST:
            raise DatasetError(f"The braces in {pattern} stand for more than {_MOST} files.")
        files = [file for text in texts for file in _matching(text, ending)]
        missing = [str(file) for file in files if not file.is_file()]
        if missing:
            raise DatasetError(f"{len(missing)} of the {len(files)} files of {pattern} are missing: {some(missing)}.")
    if not files:
        raise DatasetError(f"There are no {ending} files in {pattern}.")
    return list(dict.fromkeys(files))


def _matching(text: str, ending: str) -> list[Path]:
    if not glob.has_magic(text):
        return [Path(text)]
    return sorted(file for file in map(Path, glob.glob(text)) if _counts(file, ending))  # noqa: PTH207  # also absolute


def _counts(file: Path, ending: str) -> bool:
    return file.name.lower().endswith(ending) and not file.name.startswith(".") and file.is_file()


def _spelled_out(text: str) -> Iterator[str]:
    """Yield the texts that braces stand for, innermost pair first."""
    found = _BRACES.search(text)
    if not found:
        yield text
        return
    for choice in _choices(found[1]):
        yield from _spelled_out(text[: found.start()] + choice + text[found.end() :])


def _choices(inner: str) -> Iterable[str]:
    bounds = _RANGE.fullmatch(inner)
    if not bounds:
        return inner.split(",")
    low, high = int(bounds[1]), int(bounds[2])
    if low > high:
        raise DatasetError(f"The range {{{inner}}} must go upwards.")
    padded = any(bound.startswith("0") and len(bound) > 1 for bound in bounds.groups())
    width = max(map(len, bounds.groups())) if padded else 1
    return (str(number).zfill(width) for number in range(low, high + 1))
