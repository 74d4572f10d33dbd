"""The finished set in ImageNet-R's layout, with everything that somebody who gets it needs to know about it.

What is written depends on the pictures, the table and the decisions alone: the same inputs give the same bytes.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from oodometer import arguments
from oodometer.errors import DatasetError
from oodometer.outfolder import TEMPORARY, check_apart, mapped_errors
from oodometer.progress import Observer, Silent
from oodometer.renditions.collection import Collection
from oodometer.renditions.datasheet import datasheet, licences
from oodometer.renditions.decisions import Reviewer
from oodometer.renditions.parts import Part
from oodometer.renditions.pictures import look
from oodometer.renditions.rows import write_rows
from oodometer.renditions.screened import Screened
from oodometer.renditions.settling import Settled, settle
from oodometer.renditions.vocabulary import Vocabulary
from oodometer.threads import ahead, threads

__all__ = ["CLASSES", "LABELS", "MANIFEST", "Exported", "export"]

MANIFEST, LABELS, CLASSES = "manifest.csv", "labels.csv", "classes.txt"
"""The tables beside the pictures: each file with its origin; the label of each folder; the classes in their order."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A finished set: where it is, its pictures, and those that were left out, each with the reason."""

    path: Path
    parts: tuple[Part, ...]
    left_out: tuple[Settled, ...]


def export(
    collection: Collection,
    screened: Sequence[Screened],
    reviewers: Sequence[Reviewer],
    out: str | os.PathLike[str],
    *,
    workers: int | None = None,
    observer: Observer | None = None,
) -> Exported:
    """Write the pictures that were kept, their manifest, licences, datasheet and list of classes.

    Parameters
    ----------
    collection, screened
        The collection and its screening.
    reviewers
        What people decided, if they did.
    out
        The set's folder, which must not be there yet; it appears whole, or not at all.
    workers
        Threads; one for each processor unless given.
    observer
        Told of the progress.

    Raises
    ------
    DatasetError
        If nothing is left, two pictures with the same pixels were kept, or a picture has changed since the screening.
    ArgumentError, StoreError
        If the folder is there, lies among the pictures, or cannot be written.
    """
    place = arguments.path("The output", out)
    check_apart(place, collection.root)
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise DatasetError(f"{place} is there already. Delete it, or name another folder.")
    settled = settle(screened, reviewers, collection.classes)
    taken = [one for one in settled if not one.why]
    if not taken:
        why = f"the first one {settled[0].why}" if settled else "none is usable"
        raise DatasetError(f"No picture of {collection.path} is kept: {why}.")
    temporary = place.with_name(f".{place.name}{TEMPORARY}")
    with mapped_errors(f"writing {place}"):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            parts = _write_pictures(collection.root, taken, temporary, threads(workers), observer or Silent())
            left_out = tuple(one for one in settled if one.why)
            _write_words(temporary, collection.classes, parts, left_out, reviewers)
            if place.exists():
                place.rmdir()
            temporary.replace(place)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return Exported(place, parts, left_out)


def _write_pictures(
    root: Path, taken: Sequence[Settled], out: Path, workers: int, watcher: Observer
) -> tuple[Part, ...]:
    numbers: Counter[tuple[str, str]] = Counter()
    named = []
    for one in taken:
        row = one.screened
        named.append((one, f"{row.label}/{row.style}_{numbers[row.label, row.style]}{row.extension or '.png'}"))
        numbers[row.label, row.style] += 1
    for label in {one.screened.label for one in taken}:
        (out / label).mkdir()
    watcher.begin("Pictures", len(named), 0)
    parts = []
    with ThreadPoolExecutor(workers) as pool:
        for part in ahead(pool, lambda item: _written(root, out, *item), named, 4 * workers):
            parts.append(part)
            watcher.advance(1)
    return tuple(sorted(parts, key=lambda part: part.file.encode()))


def _written(root: Path, out: Path, one: Settled, file: str) -> Part:
    """Write one picture: the candidate's own bytes if every reader shows them alike, else the picture as PNG."""
    row = one.screened
    picture = look(root / row.path, row.path)
    if picture.sha256 != row.sha256 or picture.extension != row.extension:
        raise DatasetError(f"{root / row.path} has changed since the screening. Screen the collection again.")
    if row.extension:
        content = (root / row.path).read_bytes()
    else:
        written = io.BytesIO()
        picture.image.save(written, "PNG", optimize=False)
        content = written.getvalue()
    (out / file).write_bytes(content)
    return Part(
        file=file,
        label=row.label,
        style=row.style,
        sha256=hashlib.sha256(content).hexdigest(),
        width=row.width,
        height=row.height,
        original=row.path,
        original_sha256=row.sha256,
        conversion=row.conversion or ("" if row.extension else "transparency on white"),
        source=row.source,
        author=row.author,
        licence=row.licence,
        judged_by="; ".join(one.judged_by),
    )


def _write_words(
    out: Path,
    classes: Vocabulary,
    parts: Sequence[Part],
    left_out: Sequence[Settled],
    reviewers: Sequence[Reviewer],
) -> None:
    write_rows(out / MANIFEST, Part, parts)
    has = {part.label for part in parts}
    (out / CLASSES).write_text("".join(f"{label}\n" for label in classes.classes), encoding="utf-8", newline="\n")
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["name", "label"])
    # ImageNet's classes go by their wnids; one's own by their places, which are the columns of the model's outputs.
    own = classes.name == "own"
    writer.writerows([label, place if own else label] for place, label in enumerate(classes.classes) if label in has)
    (out / LABELS).write_bytes(text.getvalue().encode())
    (out / "LICENSES.md").write_bytes(licences(parts).encode())
    (out / "DATASHEET.md").write_bytes(datasheet(classes, parts, left_out, reviewers).encode())
