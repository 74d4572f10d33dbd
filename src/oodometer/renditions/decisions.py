"""What people decided about pictures: the files that the contact sheets save, read back and held to the collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, get_args

import msgspec

from oodometer.datasets.layout import some
from oodometer.errors import DatasetError
from oodometer.renditions.rows import read_text
from oodometer.renditions.screened import Screened

__all__ = ["FORMAT", "VERDICTS", "Reviewer", "Verdict", "read_decisions"]

FORMAT = "oodometer-renditions-decisions-1"
"""What a file of decisions says it is."""

Verdict: TypeAlias = Literal["keep", "drop", "wrong class", "wrong style", "unsure"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""What a person can say of a picture."""


class _Judged(msgspec.Struct):
    """One picture as it was when it was judged: it counts only as long as file, class and style are the same."""

    path: str
    sha256: str
    label: str
    style: str
    decision: Verdict


class _File(msgspec.Struct):
    format: str
    reviewer: str
    decisions: list[_Judged]


@dataclass(frozen=True, slots=True)
class Reviewer:
    """What one person said: the verdict by path. ``outdated`` are pictures whose class or style has changed since."""

    name: str
    verdicts: dict[str, Verdict]
    outdated: tuple[str, ...]


def read_decisions(places: Sequence[Path], screened: Iterable[Screened]) -> list[Reviewer]:
    """Read files of decisions; those of one person belong together.

    Parameters
    ----------
    places
        Files, or folders with ``.json`` files in them.
    screened
        The rows of the collection that was reviewed.

    Returns
    -------
    list of Reviewer
        Sorted by name.

    Raises
    ------
    DatasetError
        If a file cannot be read, is of another collection, or says something else of a picture than another file of the
        same person; the message names the file and says what to do.
    """
    rows = {row.path: row for row in screened}
    said: dict[str, dict[str, tuple[_Judged, Path]]] = {}
    for path in _files(places):
        file = _read(path)
        _check(file, path, rows)
        mine = said.setdefault(file.reviewer.strip(), {})
        for judged in file.decisions:
            before = mine.setdefault(judged.path, (judged, path))
            if before[0] != judged:
                raise DatasetError(
                    f"{path} says {judged.decision!r} of {judged.path}, and {before[1]}, of the same reviewer "
                    f"({file.reviewer}), says {before[0].decision!r}. Give only the later file."
                )
    return [_reviewer(name, mine, rows) for name, mine in sorted(said.items())]


def _files(places: Sequence[Path]) -> list[Path]:
    found = []
    for place in places:
        inside = sorted(place.glob("*.json")) if place.is_dir() else [place]
        if not inside:
            raise DatasetError(f"{place} holds no .json files. Save the decisions from the contact sheets into it.")
        found += inside
    return list(dict.fromkeys(found))


def _read(path: Path) -> _File:
    try:
        file = msgspec.json.decode(read_text(path), type=_File)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise DatasetError(f"{path} is no file of decisions: {error}. Save it again from the contact sheet.") from error
    if file.format != FORMAT:
        raise DatasetError(f"{path} is of the format {file.format!r}, not {FORMAT!r}. Save it again from the sheet.")
    if not file.reviewer.strip():
        raise DatasetError(f"{path} names no reviewer. Enter a name at the top of the contact sheet, and save again.")
    return file


def _check(file: _File, path: Path, rows: dict[str, Screened]) -> None:
    foreign = [j.path for j in file.decisions if j.path not in rows or rows[j.path].sha256 != j.sha256]
    if foreign:
        raise DatasetError(
            f"{path} is of another collection, or pictures have changed since: {len(foreign)} of its "
            f"{len(file.decisions)} decisions are about pictures that are not in this one ({some(foreign)}). Give the "
            "files of this collection, or review these pictures again."
        )


def _reviewer(name: str, said: dict[str, tuple[_Judged, Path]], rows: dict[str, Screened]) -> Reviewer:
    valid, outdated = dict[str, Verdict](), []
    for path, (judged, _) in sorted(said.items()):
        if (judged.label, judged.style) == (rows[path].label, rows[path].style):
            valid[path] = judged.decision
        else:
            outdated.append(path)
    return Reviewer(name, valid, tuple(outdated))
