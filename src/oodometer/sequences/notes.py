"""What a reader must know about the numbers of a run over sequences before they are quoted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from oodometer.datasets import image_of
from oodometer.families import IMAGENET_P
from oodometer.perturbations import published_frames
from oodometer.report.words import count, listed
from oodometer.sequences.baseline import SequenceBaseline, is_exact
from oodometer.sequences.scores import OfPerturbation
from oodometer.sequences.summary import Number
from oodometer.sharding import Cut

__all__ = ["NO_BASELINE", "NO_TOP5", "notes"]

_FEW = 1000
"""Below so many videos a note says on how many published numbers rest."""

NO_BASELINE = (
    "There is no baseline, so there is no mFR and no mT5D. They are relative to AlexNet, whose flip rates were "
    "published in no file; give the run of a baseline (--baseline RUN), or a file of its numbers."
)
NO_TOP5 = "There is no T5D: it needs the five best classes of every frame, and here there are fewer, or one alone."


def notes(
    parts: Sequence[OfPerturbation],
    difficulty: int,
    baseline: SequenceBaseline | None,
    reason: str,
    relative: Mapping[str, Number],
    shard: Cut | None,
) -> Iterator[str]:
    """Say what a reader must know, most important first.

    Parameters
    ----------
    parts
        All perturbations of the run.
    difficulty
        At which they are read.
    baseline, reason
        What they are measured by; why the one that the run was made with does not serve, or nothing.
    relative
        The means of the multiples of the baseline's numbers, by their names.
    shard
        Which part of the videos the run has, if several processes share them.
    """
    counted = [part for part in parts if part.counts_at(difficulty)]
    yield from _left_out(parts, shard)
    yield from _not_as_published(counted, difficulty)
    videos = max(len(part.images) for part in parts)
    if videos < _FEW:
        yield (
            f"These are at most {count(videos, 'video')} for a perturbation; ImageNet-P is made of the 50,000 "
            "validation images."
        )
    if any(part.images and part.distances is None for part in parts):
        yield NO_TOP5
    if reason:
        yield f"The baseline that the run was made with does not serve here: {reason}"
    elif baseline is None:
        yield NO_BASELINE
    else:
        yield from _of_the_baseline(baseline, relative)


def _left_out(parts: Sequence[OfPerturbation], shard: Cut | None) -> Iterator[str]:
    more = "The same command continues."
    if shard is not None:
        more = f"This is shard {shard.shard}: `oodometer merge` makes the whole run of all."
    for part in parts:
        if not part.finished:
            yield (
                f"{part.name} is not finished: {len(part.images) + len(part.skipped):,} of "
                f"{count(part.record.images, 'video')}. {more}"
            )
        if part.skipped:
            were = "was" if len(part.skipped) == 1 else "were"
            yield f"{part.name}: {count(len(part.skipped), 'video')} could not be read and {were} left out."


def _not_as_published(counted: Sequence[OfPerturbation], difficulty: int) -> Iterator[str]:
    there = {part.perturbation for part in counted}
    if missing := [name for name in IMAGENET_P if name not in there]:
        yield (
            f"The means are not over the {len(IMAGENET_P)} perturbations of ImageNet-P, so they are not comparable "
            f"with published ones: at difficulty {difficulty} there is no {listed(missing, 10)}."
        )
    other = [part for part in counted if part.frames != published_frames(part.perturbation)]
    if other:
        each = [f"{part.name} {part.frames} in place of {published_frames(part.perturbation)}" for part in other]
        yield (
            "Videos have not as many frames as the published ones, so their numbers are not comparable with those: "
            f"{listed(each)}."
        )
    # Whether they could be read or not: what was left out is said elsewhere.
    sets = [{*part.images, *(image_of(s.image) for s in part.skipped)} for part in counted if part.finished]
    if sets and (everywhere := set.intersection(*sets)) != (somewhere := set.union(*sets)):
        yield (
            f"The perturbations are not of the same images: of {count(len(somewhere), 'image')}, "
            f"{len(everywhere):,} have a video under each of {len(sets)}."
        )


def _of_the_baseline(baseline: SequenceBaseline, relative: Mapping[str, Number]) -> Iterator[str]:
    for name, number in relative.items():
        if number.estimate is None and number.words != NO_TOP5:
            yield f"There is no {name}. {number.words}"
    if is_exact(baseline):
        yield f"The numbers of the baseline {baseline.name} are taken as exact: nothing is known of their own error."
