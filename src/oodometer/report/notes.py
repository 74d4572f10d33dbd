"""The sentences that a reader must see before quoting a number: what this run is, and what it is not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from oodometer.report.summary import (
    Corruptions,
    Counts,
    Design,
    Outliers,
    Renditions,
    Shifted,
    Unlabelled,
    unfinished,
)
from oodometer.report.words import count, interval, listed, percent
from oodometer.sharding import Cut
from oodometer.shifts import SHIFTED_SETS, title_of
from oodometer.store import BenchmarkRecord, Manifest, Skipped

__all__ = ["notes"]

_PUBLISHED_C = 50_000
_PUBLISHED_SETS = {"imagenet-c": _PUBLISHED_C, "tiny-imagenet-c": 10_000, "cifar10-c": 10_000, "cifar100-c": 10_000}
"""How many images published scores rest on."""

_WIDE = 0.02
"""Half the length of an interval, from which on the report warns: two points decide most comparisons of models."""


def notes(
    manifest: Manifest,
    corruptions: Corruptions | None,
    unlabelled: Unlabelled | None,
    renditions: Renditions | None,
    shifted: Sequence[Shifted],
    outliers: Outliers | None,
    unread: Mapping[str, Sequence[Skipped]],
) -> tuple[str, ...]:
    """Say what a reader must know about the numbers of a run, most important first.

    Parameters
    ----------
    manifest
        The plan, to tell what has not been begun.
    corruptions, unlabelled, renditions, shifted, outliers
        What was measured.
    unread
        By benchmark, the images that could not be read.
    """
    found = [*_on_size(manifest), *_on_answers(manifest, corruptions)]
    parts: dict[str, Corruptions | Unlabelled | Renditions | Outliers | None] = {
        "imagenet-c": corruptions or unlabelled,
        "imagenet-r": renditions,
        "imagenet-o": outliers,
        **{one.name: one.part for one in shifted},
    }
    for record in manifest.benchmarks:
        part = parts.get(record.name)
        if part is not None:
            found += _on_counts(record.name, part.counts, manifest.shard, partial=unfinished(part))
        else:
            found += _on_nothing(record, unread.get(record.name, ()))
    if corruptions is not None and not corruptions.clean_only:
        found += _on_corruptions(corruptions)
    if unlabelled is not None:
        found += _on_unlabelled(unlabelled)
    if renditions is not None:
        found += _on_shifted("imagenet-r", renditions, "rendition")
    for one in shifted:
        found += _on_shifted(one.name, one.part, "image")
    if outliers is not None:
        found += _on_outliers(outliers)
    return tuple(found)


def _on_size(manifest: Manifest) -> Iterator[str]:
    """Warn of a result at the model's own size, where the pictures had another one when they were corrupted."""
    resized = manifest.model.resized
    crops = {record.protocol.preprocess.crop for record in manifest.benchmarks}
    if resized and not all(resized.startswith(f"{crop}x{crop} ") for crop in crops):
        yield (
            f"The model's input is {resized.partition(' ')[0]} pixels, and every picture of another size was resized "
            "to it after its corruption. Do not compare this result with models that saw the pictures as they were "
            "corrupted, nor with a baseline that did, such as the published one of 224x224."
        )


def _on_answers(manifest: Manifest, corruptions: Corruptions | None) -> Iterator[str]:
    """Say what a model that names classes in words may be compared with, and what cannot be known of it."""
    answers = manifest.benchmarks[0].protocol.answers
    if answers is None:
        return
    yield (
        f"The model was asked in words: {answers}. That is a protocol of its own: compare it with models that were "
        "asked in the same way, and not with such as give logits. Answers come without probabilities, so there is no "
        "top-5 error, no likelihood, no Brier score, no calibration error and no error by confidence."
    )
    if corruptions is not None and corruptions.baseline is not None and corruptions.baseline.exact:
        yield (
            f"CE and mCE divide by the errors of {corruptions.baseline.name}, which was not asked in words: they reach "
            "across two protocols, and say less than the errors themselves."
        )


def _on_nothing(record: BenchmarkRecord, unread: Sequence[Skipped]) -> Iterator[str]:
    """Say why there is no number of a set."""
    if len(unread) < record.images:
        yield f"None of the {count(record.images, 'image')} of {record.name} has been measured yet."
    if unread:
        yield _unread(record.name, unread)


def _unread(name: str, skipped: Sequence[Skipped]) -> str:
    # A reason often names its file already.
    names = [s.reason if s.image in s.reason else f"{s.image}: {s.reason}" for s in skipped]
    return (
        f"{count(len(names), 'image')} of {name} could not be read and {'is' if len(names) == 1 else 'are'} left "
        f"out of every condition alike: {listed([name.rstrip('.') for name in names])}."
    )


def _on_counts(name: str, counts: Counts, shard: Cut | None, *, partial: bool) -> Iterator[str]:
    if partial and shard is not None:
        yield (
            f"This is shard {shard.shard} of a run: its numbers rest on {counts.measured:,} of the {counts.planned:,} "
            f"images planned for {name}. Its images were drawn by the seed, so they are valid estimates with wider "
            "intervals. `oodometer merge` makes the whole run of all shards."
        )
    elif partial:
        yield (
            f"This run is partial: its numbers rest on {counts.measured:,} of the {counts.planned:,} images planned "
            f"for {name}. Images are taken in a seeded random order, so they are valid estimates with wider intervals. "
            "Repeat the command to finish."
        )
    if counts.skipped:
        yield _unread(name, counts.skipped)


def _on_design(part: Corruptions, design: Design) -> Iterator[str]:
    """Say what a precision means where the images do not suffice for it."""
    number, wanted = part.mce or part.mean_error, design.half_width
    if wanted is None or design.paired or number is None or (number.high - number.low) / 2 <= wanted:
        return
    images = count(part.counts.planned, "image")
    if design.reached and design.of_all is not None:
        yield (
            f"{images} do not tell the {_called(part)} to {percent(wanted)} points, or only at a great part of the "
            f"full cost. The run stopped when it knew to {percent(wanted)} points what all conditions of all of them "
            f"would give: {percent(design.of_all.value)} {interval(design.of_all)}."
        )
    elif not part.counts.partial:
        yield f"All of {images} were used, and the precision of {percent(wanted)} points was not reached."


def _called(part: Corruptions) -> str:
    return "mCE" if part.mce is not None else part.mean_error_title.lower()


def _on_corruptions(part: Corruptions) -> Iterator[str]:
    if part.design is not None:
        yield from _on_design(part, part.design)
    if part.mce_unavailable:
        yield f"There is no mCE. {part.mce_unavailable}{_remedy(part)}"
    elif part.relative_mce_unavailable:
        yield f"There is no relative mCE. {part.relative_mce_unavailable}"
    if part.clean_error is None:
        yield (
            "There are no clean images beside these stored pictures, so there is no clean error, no relative CE and no "
            "gap, and nothing is known of how often a corruption changes the prediction."
        )
    yield from _on_stored(part)
    yield from _on_unavailable([name for name in part.unavailable if name not in part.missing], part)
    number = part.mean_error or part.clean_error
    wide = 0.0 if number is None else max(number.high - number.value, number.value - number.low)
    if wide > _WIDE:
        yield (
            f"The corruptions were measured on {count(part.counts.measured, 'image')}, so the intervals are wide: "
            f"the {part.mean_error_title.lower() if part.mean_error else 'clean error'} is known to within "
            f"about {percent(wide)} points. Published scores rest on {_PUBLISHED_C:,} images."
        )
    stored = part.protocol.stored
    lossless = stored is not None and stored.kind == "build" and stored.quality is None
    if part.protocol.encoding == "memory" or lossless:
        yield (
            f"The corrupted pictures {'were stored without loss' if lossless else 'went to the model from memory'}. "
            "The published ImageNet-C files were stored as JPEG after the corruption, which changes the errors by some "
            "points: do not compare across the two."
        )


def _on_stored(part: Corruptions) -> Iterator[str]:
    """Say what a set of stored pictures is not."""
    if part.other_cells:
        names = listed([*dict.fromkeys(cell.corruption for cell in part.other_cells)])
        yield (
            f"The set has other severities than the published five of {names}. CE and all means are over the five; "
            "errors at the others stand by themselves."
        )
    stored = part.protocol.stored
    images = None if stored is None else _PUBLISHED_SETS.get(stored.kind)
    if stored is None or images is None:
        return
    if part.counts.planned != images:
        yield (
            f"{part.dataset} was taken for a part of a published set, which has {images:,} images; this run is over "
            f"{part.counts.planned:,}, and its scores are not those of the whole set."
        )


def _on_unavailable(names: list[str], part: Corruptions | Unlabelled) -> Iterator[str]:
    if names:
        reasons = listed([f"{name} ({part.unavailable[name].rstrip('.')})" for name in names])
        yield f"Asked for, but could not be run: {reasons}."


def _on_unlabelled(part: Unlabelled) -> Iterator[str]:
    yield (
        "The images have no labels, so this says how often a corruption changes the prediction, not how often the "
        "prediction is wrong: a change may be for the better, and a model that always errs may never change."
    )
    yield from _on_unavailable(list(part.unavailable), part)


def _remedy(part: Corruptions) -> str:
    if any(name in part.unavailable for name in part.missing):
        return " Mend that and evaluate again, into another folder."
    if part.baseline is None and not part.missing:
        return " Name or give a baseline to have one; the mean error needs none."
    return ""


def _on_shifted(name: str, part: Renditions, what: str) -> Iterator[str]:
    counts = part.counts
    known = next((known for known in SHIFTED_SETS.values() if known.benchmark == name), None)
    if known is not None and counts.planned != known.images:
        yield (
            f"{known.title} as published is {count(known.images, what)} of {known.classes:,} classes. This is "
            f"{count(counts.measured, what)} of {counts.classes:,} of them ({part.dataset}): a part "
            f"or a stand-in, whose accuracy is not the published {known.title} score."
        )
    if part.clean_accuracy is None:
        whose = "the renditions' classes" if name == "imagenet-r" else f"the classes of {title_of(name)}"
        yield f"There is no gap to clean accuracy: the run has no clean images of {whose}."
    elif not part.same_classes:
        yield (
            f"The gap compares {what}s of {count(counts.classes, 'class', 'classes')} with "
            f"{count(part.clean_accuracy.n, 'clean image')} of {count(part.clean_classes, 'class', 'classes')}, not "
            "all the same; part of it may be the choice of classes."
        )


def _on_outliers(part: Outliers) -> Iterator[str]:
    known = SHIFTED_SETS["o"]
    if part.counts.planned != known.images:
        yield (
            f"{known.title} as published is {count(known.images, 'image')}; this is "
            f"{count(part.counts.measured, 'image')} ({part.dataset}), whose numbers are not the published ones."
        )
    if part.aupr is not None:
        yield (
            f"AUROC and AUPR compare the confidence in {count(part.counts.measured, 'image')} of {known.title} with "
            f"that in {count(part.clean_images, 'clean image')} of the classes its folders name. AUPR depends on how "
            "many there are of each: compare it only at equal numbers."
        )
