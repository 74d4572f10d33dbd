"""What becomes of each candidate without a person: measured picture by picture, then decided for all together.

A decision depends on the pictures, the table and the clean images, never on the order in which files are listed or on
the number of threads: of pictures that are alike, the first by the bytes of its path stays.
"""

from __future__ import annotations

import difflib
import functools
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from oodometer import arguments
from oodometer.datasets.recognise import STYLES
from oodometer.datasets.scan import image_ids
from oodometer.errors import DatasetError
from oodometer.progress import Observer, Silent
from oodometer.renditions.collection import Candidate, Collection
from oodometer.renditions.likeness import BITS, SHAPE, Nearest, nearest
from oodometer.renditions.measuring import Measured, measure, measure_clean
from oodometer.renditions.reasons import decision_of
from oodometer.renditions.screened import Finding, Screened, decided, write_screening
from oodometer.renditions.vocabulary import Vocabulary
from oodometer.threads import ahead, threads

__all__ = ["SMALLEST", "screen"]

SMALLEST = 16
"""The shorter side, in pixels, under which a picture is too small."""

Item = TypeVar("Item")
Made = TypeVar("Made")
_Found = list[list[Finding]]


def screen(
    collection: Collection,
    clean: Sequence[str | os.PathLike[str]] = (),
    *,
    smallest: int = SMALLEST,
    workers: int | None = None,
    observer: Observer | None = None,
) -> tuple[Screened, ...]:
    """Decide about every candidate, and write each decision with its reasons into the collection's ``screening.csv``.

    Parameters
    ----------
    collection
        The candidates.
    clean
        Folders of clean and training images, in which no candidate may occur.
    smallest
        The shorter side, in pixels, under which a picture is too small.
    workers
        Threads; one for each processor unless given.
    observer
        Told of the progress.

    Returns
    -------
    tuple of Screened
        One row for each candidate, in their order; nothing is deleted.

    Raises
    ------
    DatasetError
        If the system cannot give a file, or a clean folder has no images.
    MissingDataError
        If the package ``imagehash`` is not installed.
    """
    arguments.whole("smallest", smallest, lowest=1)
    watcher, count = observer or Silent(), threads(workers)
    places = [place for folder in clean for place in _images(arguments.path("A clean folder", folder))]
    with ThreadPoolExecutor(count) as pool, warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")  # on single files; what matters is in the decisions
        one = functools.partial(measure, collection.root, smallest=smallest)
        measured = _watched(pool, one, collection.candidates, "Candidates", watcher, count)
        others = _watched(pool, lambda place: measure_clean(*place), places, "Clean images", watcher, count)
    found = [
        [*_said_of(candidate, collection.classes), *m.found]
        for candidate, m in zip(collection.candidates, measured, strict=True)
    ]
    known = [(name, m) for (_, name), m in zip(places, others, strict=True) if m is not None]
    if len(known) < len(places):
        watcher.say(f"{len(places) - len(known)} of the clean images cannot be read and were not compared.")
    _find_copies(collection.candidates, measured, known, found)
    _find_likeness(collection.candidates, measured, known, found, count)
    made = tuple(
        decided(candidate, findings, m.facts)
        for candidate, findings, m in zip(collection.candidates, found, measured, strict=True)
    )
    write_screening(collection, made)
    return made


def _images(folder: Path) -> Iterator[tuple[Path, str]]:
    ids = sorted(image_ids(folder))
    if not ids:
        raise DatasetError(f"The folder of clean images {folder} holds no images.")
    yield from ((folder / id_, f"clean:{folder.resolve().name}/{id_}") for id_ in ids)


def _watched(
    pool: ThreadPoolExecutor,
    function: Callable[[Item], Made],
    items: Sequence[Item],
    title: str,
    watcher: Observer,
    workers: int,
) -> list[Made]:
    if items:
        watcher.begin(title, len(items), 0)
    made = []
    for one in ahead(pool, function, items, 4 * workers):
        made.append(one)
        watcher.advance(1)
    return made


def _said_of(candidate: Candidate, classes: Vocabulary) -> Iterator[Finding]:
    """Yield what the table alone says against a candidate."""
    mended = candidate.problem == "no_label" and candidate.label  # in the table, by a person
    if candidate.problem and not mended:
        yield Finding(candidate.problem, candidate.detail)
        if candidate.problem != "conflicting_rows":
            return
    fault = classes.fault(candidate.label) if candidate.label else ("no_label", "the label is empty")
    if fault:
        yield Finding(*fault)
    if candidate.style not in STYLES:
        near = difflib.get_close_matches(candidate.style, STYLES, n=2, cutoff=0.5)
        meant = f"; did you mean {' or '.join(near)}?" if near else f"; known are {', '.join(STYLES)}"
        yield Finding("unknown_style", f"{candidate.style or 'none is given'}{meant}")
    if not candidate.licence:
        yield Finding("missing_licence", "add the licence to the table, or leave the picture out")


def _usable(found: _Found, measured: Sequence[Measured]) -> list[int]:
    """Return the places of the candidates that nothing speaks against so far, or that wait for a person."""
    out = {"drop", "ignore", "report"}
    return [
        place
        for place, findings in enumerate(found)
        if measured[place].hashes is not None and not {decision_of(finding.reason) for finding in findings} & out
    ]


def _find_copies(
    candidates: Sequence[Candidate], measured: Sequence[Measured], clean: Sequence[tuple[str, Measured]], found: _Found
) -> None:
    """Find the pictures whose pixels are those of a clean image or of another candidate."""
    leaks = {m.pixels: name for name, m in reversed(clean)}
    first: dict[str, dict[str, int]] = {}
    # A copy without a label contradicts none that has one, so those with a label come first; sorting is stable.
    for place in sorted(_usable(found, measured), key=lambda place: not candidates[place].label):
        pixels = measured[place].pixels
        if pixels in leaks:
            found[place].append(Finding("leaked", "has the same pixels", leaks[pixels]))
            continue
        same = first.setdefault(pixels, {})
        label = candidates[place].label or next(iter(same), "")
        if label in same:
            found[place].append(Finding("duplicate", "", candidates[same[label]].path))
        else:
            same[label] = place
    for same in first.values():
        for label, place in same.items():
            others = [candidates[p].path for other, p in same.items() if other != label]
            if others:
                found[place].append(Finding("label_conflict", "at most one of them may stay", others[0]))


def _find_likeness(
    candidates: Sequence[Candidate],
    measured: Sequence[Measured],
    clean: Sequence[tuple[str, Measured]],
    found: _Found,
    workers: int,
) -> None:
    """Find the pictures that look like a clean image, or like a candidate whose path comes before theirs."""
    places = _usable(found, measured)
    own = _stacked([measured[place] for place in places], SHAPE[1])
    names = [candidates[place].path for place in places]
    _enter("near_duplicate", nearest(own, workers=workers), names, places, found)
    theirs = _stacked([m for _, m in clean], 1)
    _enter("near_leak", nearest(own, theirs, workers), [name for name, _ in clean], places, found)


def _enter(reason: str, result: Nearest, names: Sequence[str], places: Sequence[int], found: _Found) -> None:
    for place, other, distance in zip(places, result.place, result.distance, strict=True):
        if other >= 0:
            detail = f"{distance} of {BITS} bits of the perceptual hash differ"
            found[place].append(Finding(reason, detail, names[other]))


def _stacked(measured: Sequence[Measured], turns: int) -> NDArray[np.uint8]:
    return np.array([m.hashes for m in measured], np.uint8).reshape(-1, SHAPE[0], turns, SHAPE[2])
