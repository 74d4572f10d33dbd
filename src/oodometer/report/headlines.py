"""The few numbers that a run is quoted by, each with its name and its meaning in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oodometer.families import IMAGENET_C
from oodometer.metrics import Estimate
from oodometer.report.summary import Corruptions, Renditions, Summary, Unlabelled, Unmapped
from oodometer.report.words import percent

__all__ = ["Headline", "headlines"]


@dataclass(frozen=True, slots=True)
class Headline:
    """One number; without ``estimate``, ``words`` say why there is none.

    Estimates are fractions and printed in ``unit``: ``"%"``, or ``"points"`` for a difference of percentages.
    ``images`` says how many images it rests on, ``better`` which way is good: ``"lower"`` or ``"higher"``.
    """

    title: str
    estimate: Estimate | None
    unit: str
    images: str
    better: str
    words: str


def headlines(summary: Summary) -> tuple[Headline, ...]:
    """List the numbers that a run is quoted by, in the order in which they are read.

    Parameters
    ----------
    summary
        What the run says.
    """
    found: list[Headline] = []
    if summary.corruptions is not None:
        found += _of_corruptions(summary.corruptions)
    if summary.unlabelled is not None:
        found.append(_of_unlabelled(summary.unlabelled))
    if summary.unmapped is not None:
        found += _of_unmapped(summary.unmapped)
    if summary.renditions is not None:
        found += _of_renditions(summary.renditions)
    return tuple(found)


def _of_corruptions(part: Corruptions) -> Iterator[Headline]:
    of = f" (baseline {part.baseline.name})" if part.baseline else ""
    if part.mean_error is not None:
        yield _headline(
            part.mean_error_title,
            part.mean_error,
            f"It gets {percent(part.mean_error.value)} of 100 corrupted pictures wrong.",
        )
    yield _headline(f"mCE{of}", part.mce, part.mce_unavailable or _against(part))
    if part.mean_ce is not None:
        counted = sum(row.ce is not None for row in part.rows)
        yield _headline(
            f"Mean CE ({counted} of {len(IMAGENET_C)} corruptions){of}",
            part.mean_ce,
            f"Partial: the mean of {counted} CEs is no mCE, and not to be compared with one.",
        )
    yield _headline(f"Relative mCE{of}", part.relative_mce, part.relative_mce_unavailable or _added(part))
    yield _headline(
        "Clean error",
        part.clean_error,
        "There are no clean images."
        if part.clean_error is None
        else f"It gets {percent(part.clean_error.value)} of 100 uncorrupted pictures wrong.",
    )


def _of_unlabelled(part: Unlabelled) -> Headline:
    if part.changed is None:
        return _headline("Changed predictions", None, "None of the corruptions that count was measured.")
    return _headline(
        part.changed_title,
        part.changed,
        f"Of 100 corrupted pictures it calls {percent(part.changed.value)} something else than the clean one.",
    )


def _of_unmapped(part: Unmapped) -> Iterator[Headline]:
    for what, pictures, share in (("clean", "uncorrupted", part.clean), ("corrupted", "corrupted", part.mean)):
        if share is not None:
            yield _headline(
                f"Unmapped answers, {what}",
                share,
                f"Of 100 answers about {pictures} pictures {percent(share.value)} named no class; they count as wrong.",
            )


def _headline(title: str, estimate: Estimate | None, words: str) -> Headline:
    """Build the line of a number of which less is better."""
    return Headline(title, estimate, "%", "" if estimate is None else f"{estimate.n:,}", "lower", words)


def _against(part: Corruptions) -> str:
    """Put an mCE in words, and whether these images suffice to tell the model from the baseline."""
    if part.mce is None or part.baseline is None:
        return ""
    name = part.baseline.name
    if part.mce.high < 1:
        verdict = f"Fewer errors than {name}"
    elif part.mce.low > 1:
        verdict = f"More errors than {name}"
    else:
        verdict = f"Not to be told apart from {name} by these images"
    return (
        f"{verdict}: {percent(part.mce.value)} for every 100 it makes, averaged over the {len(IMAGENET_C)} corruptions."
    )


def _added(part: Corruptions) -> str:
    if part.relative_mce is None or part.baseline is None:
        return ""
    return (
        f"Corruption adds {percent(part.relative_mce.value)} errors to its clean error for every 100 that it adds to "
        f"that of {part.baseline.name}."
    )


def _of_renditions(part: Renditions) -> Iterator[Headline]:
    yield Headline(
        "ImageNet-R accuracy (200 classes)",
        part.accuracy,
        "%",
        f"{part.accuracy.n:,}",
        "higher",
        f"It names {percent(part.accuracy.value)} of 100 renditions rightly, choosing among the classes of ImageNet-R.",
    )
    if part.accuracy_unmasked is not None:
        yield Headline(
            "Renditions, accuracy among all classes",
            part.accuracy_unmasked,
            "%",
            f"{part.accuracy_unmasked.n:,}",
            "higher",
            "The same renditions with all classes of the model to choose from; not the ImageNet-R accuracy.",
        )
    if part.clean_accuracy is not None and part.gap is not None:
        points, way = percent(abs(part.gap.value)), "lower" if part.gap.value >= 0 else "higher"
        yield Headline(
            "Gap, clean minus ImageNet-R",
            part.gap,
            "points",
            f"{part.clean_accuracy.n:,} + {part.accuracy.n:,}",
            "lower",
            f"On renditions the accuracy is {points} points {way} than on the clean pictures of its classes "
            f"({percent(part.clean_accuracy.value)} %).",
        )
    if part.unmapped is not None:
        yield _headline(
            "Unmapped answers, renditions",
            part.unmapped,
            f"Of 100 answers about renditions {percent(part.unmapped.value)} named no class; they count as wrong.",
        )
