"""The few numbers that a run is quoted by, each with its name and its meaning in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oodometer.families import IMAGENET_C
from oodometer.metrics import Estimate
from oodometer.report.summary import Corruptions, Outliers, Renditions, Shifted, Summary, Unlabelled, Unmapped
from oodometer.report.words import percent
from oodometer.shifts import SHIFTED_SETS

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
    for shifted in summary.shifted:
        found += _of_shifted(shifted)
    if summary.outliers is not None:
        found += _of_outliers(summary.outliers)
    return tuple(found)


def _of_corruptions(part: Corruptions) -> Iterator[Headline]:
    of = f" (baseline {part.baseline.name})" if part.baseline else ""
    if part.mean_error is not None:
        yield _headline(
            part.mean_error_title,
            part.mean_error,
            f"It gets {percent(part.mean_error.value)} of 100 corrupted pictures wrong.",
        )
    if not part.clean_only:
        yield from _mces(part, of)
    yield _headline(
        "Clean error",
        part.clean_error,
        "There are no clean images."
        if part.clean_error is None
        else f"It gets {percent(part.clean_error.value)} of 100 uncorrupted pictures wrong.",
    )


def _mces(part: Corruptions, of: str) -> Iterator[Headline]:
    yield _headline(f"mCE{of}", part.mce, part.mce_unavailable or _against(part))
    if part.mean_ce is not None:
        counted = sum(row.ce is not None for row in part.rows)
        yield _headline(
            f"Mean CE ({counted} of {len(IMAGENET_C)} corruptions){of}",
            part.mean_ce,
            f"Partial: the mean of {counted} CEs is no mCE, and not to be compared with one.",
        )
    yield _headline(f"Relative mCE{of}", part.relative_mce, part.relative_mce_unavailable or _added(part))


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
    yield from _gap(part, "ImageNet-R", "renditions")
    if part.unmapped is not None:
        yield _headline(
            "Unmapped answers, renditions",
            part.unmapped,
            f"Of 100 answers about renditions {percent(part.unmapped.value)} named no class; they count as wrong.",
        )


def _of_shifted(shifted: Shifted) -> Iterator[Headline]:
    part, title = shifted.part, shifted.title
    masked, images = part.accuracy_unmasked is not None, f"{part.accuracy.n:,}"
    known = next((one.classes for one in SHIFTED_SETS.values() if one.benchmark == shifted.name), None)
    among = f" ({'its' if known is None else known} classes)" if masked else ""
    yield Headline(
        f"{title} accuracy{among}",
        part.accuracy,
        "%",
        images,
        "higher",
        f"It names {percent(part.accuracy.value)} of 100 of its images rightly"
        f"{', choosing among the classes of the set' if masked else ''}.",
    )
    if part.accuracy_unmasked is not None:
        yield Headline(
            f"{title}, accuracy among all classes",
            part.accuracy_unmasked,
            "%",
            images,
            "higher",
            "The same images with all classes of the model to choose from.",
        )
    yield from _gap(part, title, "these images")
    if part.unmapped is not None:
        yield _headline(
            f"Unmapped answers, {title}",
            part.unmapped,
            f"Of 100 answers about these images {percent(part.unmapped.value)} named no class; they count as wrong.",
        )


def _gap(part: Renditions, title: str, what: str) -> Iterator[Headline]:
    if part.clean_accuracy is not None and part.gap is not None:
        points, way = percent(abs(part.gap.value)), "lower" if part.gap.value >= 0 else "higher"
        yield Headline(
            f"Gap, clean minus {title}",
            part.gap,
            "points",
            f"{part.clean_accuracy.n:,} + {part.accuracy.n:,}",
            "lower",
            f"On {what} the accuracy is {points} points {way} than on the clean pictures of their classes "
            f"({percent(part.clean_accuracy.value)} %).",
        )


def _of_outliers(part: Outliers) -> Iterator[Headline]:
    for name, estimate, words in (
        ("AUROC", part.auroc, "How often it is less sure of an image of no known class than of a clean one of a known"),
        (
            "AUPR",
            part.aupr,
            "Precision by recall, if images are called unknown by falling confidence; depends on the mix",
        ),
    ):
        images = f"{part.clean_images:,} + {part.counts.measured:,}"
        why = "It needs clean images of the set's classes, and the model's confidence."
        yield Headline(f"ImageNet-O {name}", estimate, "%", images, "higher", why if estimate is None else f"{words}.")
