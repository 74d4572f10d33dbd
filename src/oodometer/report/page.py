"""What the page says that no single summary does: the runs in their order, card by card, and what they are held to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oodometer.published_results import PUBLISHED, PublishedResult
from oodometer.report.differences import Numbers, letter
from oodometer.report.headlines import Headline, headlines
from oodometer.report.panels import OfRun
from oodometer.report.summary import Corruptions, Renditions, Strip, Summary
from oodometer.report.words import told_apart

__all__ = [
    "Card",
    "OfSet",
    "PublishedRow",
    "cards",
    "lettered",
    "notes_of",
    "published_rows",
    "same_as_published",
    "sets",
]

PUBLISHED_IMAGES = 50_000
"""How many images published scores rest on."""


@dataclass(frozen=True, slots=True)
class Card:
    """One number that runs are quoted by: its title, and what each run that has it says."""

    title: str
    lines: tuple[tuple[OfRun, Headline], ...]


@dataclass(frozen=True, slots=True)
class OfSet:
    """One set of shifted images: its title, the part of each run that has it, and the pictures that each kept."""

    title: str
    parts: tuple[tuple[OfRun, Renditions], ...]
    strips: tuple[tuple[Strip, ...], ...]


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One line of the comparison with published results: one of these, or a run of the same protocol."""

    mce: float
    run: OfRun | None
    published: PublishedResult | None


def lettered(summaries: Sequence[Summary], compared: Numbers | None = None) -> tuple[OfRun, ...]:
    """Give several runs the letters by which the page calls them, as ``compare`` does; a single one has none.

    Parameters
    ----------
    summaries
        What the runs say, in their order.
    compared
        How several differ; it knows the folders of the runs, which tell models of one name apart.
    """
    several = len(summaries) > 1
    models = [summary.model.name for summary in summaries]
    names = models if compared is None else told_apart(models, [run.folder for run in compared.runs])
    return tuple(
        OfRun(letter(k) if several else "", k, summary, name)
        for k, (summary, name) in enumerate(zip(summaries, names, strict=True))
    )


def cards(runs: Sequence[OfRun]) -> tuple[Card, ...]:
    """Put the numbers that runs are quoted by beside each other, by their titles.

    Parameters
    ----------
    runs
        One or several.
    """
    found: dict[str, list[tuple[OfRun, Headline]]] = {}
    for run in runs:
        for line in headlines(run.summary):
            found.setdefault(line.title, []).append((run, line))
    return tuple(Card(title, tuple(lines)) for title, lines in found.items())


def notes_of(runs: Sequence[OfRun]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """List what must be read before a number is quoted, each once, with the letters of the runs if not of all.

    Parameters
    ----------
    runs
        One or several.
    """
    found: dict[str, list[str]] = {}
    for run in runs:
        for note in run.summary.notes:
            found.setdefault(note, []).append(run.letter)
    return tuple((note, tuple(letters) if len(letters) < len(runs) else ()) for note, letters in found.items())


def sets(runs: Sequence[OfRun]) -> tuple[OfSet, ...]:
    """Put the parts of each shifted set beside each other, ImageNet-R first.

    Parameters
    ----------
    runs
        One or several.
    """
    found: dict[str, list[tuple[OfRun, Renditions, tuple[Strip, ...]]]] = {}
    for run in runs:
        kept = (run.summary.rendition_strips,) if run.summary.renditions is not None else ()
        strips = (*kept, *(one.strips for one in run.summary.shifted))
        for (title, part), pictures in zip(run.summary.shifted_parts, strips, strict=True):
            found.setdefault(title, []).append((run, part, pictures))
    return tuple(
        OfSet(title, tuple((run, part) for run, part, _ in entries), tuple(strips for _, _, strips in entries))
        for title, entries in found.items()
    )


def same_as_published(part: Corruptions | None) -> bool:
    """Tell whether an mCE may stand beside published ones: of all published files of ImageNet-C, and AlexNet's errors.

    Parameters
    ----------
    part
        What a run says of corruptions.
    """
    if part is None or part.mce is None or part.baseline is None or part.protocol.stored is None:
        return False
    stored, whole = part.protocol.stored, part.counts.measured == PUBLISHED_IMAGES
    return stored.kind == "imagenet-c" and part.baseline.name == "alexnet" and whole and part.design is None


def published_rows(runs: Sequence[OfRun]) -> tuple[PublishedRow, ...]:
    """List published mCEs, and among them those of the runs that were measured alike; the best first.

    Parameters
    ----------
    runs
        One or several.
    """
    rows = [PublishedRow(result.mce / 100, None, result) for result in PUBLISHED]
    for run in runs:
        part = run.summary.corruptions
        if part is not None and part.mce is not None and same_as_published(part):
            rows.append(PublishedRow(part.mce.value, run, None))
    return tuple(sorted(rows, key=lambda row: row.mce))
