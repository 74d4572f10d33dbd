"""From the outcomes that runs share to a ``Comparison``."""

from __future__ import annotations

import os
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer import metrics
from oodometer.arguments import text_of
from oodometer.comparison.reading import C, Outcomes, R, check_comparable, opened, shared
from oodometer.comparison.result import Comparison
from oodometer.errors import MetricError
from oodometer.families import IMAGENET_C
from oodometer.metrics import Baseline, BaselineSpec, Estimate, Misses
from oodometer.report.details import defined
from oodometer.report.differences import Compared, Effective, EffectiveRow, OfCorruption, Pair, Tested, letter
from oodometer.report.words import count
from oodometer.run import Run
from oodometer.run_baseline import find_baseline
from oodometer.shifts import title_of
from oodometer.types import Protocol

__all__ = ["compare"]

_Errors: typing.TypeAlias = NDArray[typing.Any] | None


@dataclass(frozen=True, slots=True)
class _Side:
    """One run's part of what is shared: corruptions, renditions, and clean images among the renditions' classes."""

    letter: str
    run: Run
    corrupted: Outcomes
    renditions: Outcomes | None
    clean_r: Outcomes | None


def compare(runs: Sequence[Run | str | os.PathLike[str]], baseline: BaselineSpec = None) -> Comparison:
    """Compare runs on the images that all of them saw: every other run with the first.

    Parameters
    ----------
    runs
        At least two runs, or their folders.
    baseline
        What the mCEs are divided by; ``None`` means the one that the first run was made with. Differences take it as
        exact.

    Returns
    -------
    Comparison
        Prints as a table.

    Raises
    ------
    ArgumentError
        If there are fewer than two runs, or the baseline is unknown.
    MetricError
        If the runs have different label spaces, images or protocols, or share no image.
    StoreError
        If a run cannot be read.
    """
    found = opened(runs)
    record = check_comparable(found, C)[0]
    divisor = find_baseline(found[0].manifest.baseline if baseline is None else baseline, record)
    sides, left_out = _sides(found, record.label_spaces[0])
    names = _common(sides)
    return Comparison(
        dataset=record.dataset,
        label_space=record.label_spaces[0],
        protocol=record.protocol,
        baseline=None if divisor is None else divisor.name,
        baseline_source=None if divisor is None else divisor.source,
        corruptions=names,
        runs=tuple(_compared(side, names, divisor) for side in sides),
        pairs=tuple(_pair(sides[0], side, names, divisor) for side in sides[1:]),
        effective=tuple(_effective(sides, names)),
        notes=(*left_out, *_notes(sides, names, divisor, chosen=baseline is not None)),
    )


def _sides(runs: Sequence[Run], space: str) -> tuple[list[_Side], list[str]]:
    """Read what the runs share; the renditions only if they can be compared, else say why not."""
    corrupted = shared(runs, C, space)
    nothing: list[Outcomes | None] = [None] * len(runs)
    renditions, clean_r, notes = nothing, nothing, []
    if any(run.manifest.benchmark(R) for run in runs):
        try:
            check_comparable(runs, R)
            renditions = list(shared(runs, R, R))
            clean_r = list(shared(runs, C, R))
        except MetricError as error:
            notes.append(f"Renditions are left out, or their gap: {error}")
    parts = zip(runs, corrupted, renditions, clean_r, strict=True)
    return [_Side(letter(k), *part) for k, part in enumerate(parts)], notes


def _common(sides: Sequence[_Side]) -> tuple[str, ...]:
    """List the corruptions that all runs have, in the first one's order."""
    return tuple(c for c in sides[0].corrupted.misses if all(c in side.corrupted.misses for side in sides))


def _counted(side: _Side, names: Sequence[str]) -> Misses:
    """Pick the outcomes under those of the 15 corruptions that all runs have."""
    return {name: side.corrupted.misses[name] for name in IMAGENET_C if name in names}


def _compared(side: _Side, names: Sequence[str], baseline: Baseline | None) -> Compared:
    misses, renditions = _counted(side, names), side.renditions
    clean_r, shifted = (None if part is None else part.clean for part in (side.clean_r, renditions))
    of_c, of_r = side.corrupted, renditions
    return Compared(
        letter=side.letter,
        model=side.run.manifest.model.name,
        folder=text_of(side.run.path.name),
        images=of_c.images,
        dropped=of_c.dropped,
        renditions=of_r.images if of_r else 0,
        dropped_renditions=of_r.dropped if of_r else 0,
        clean_error=None if of_c.clean is None else metrics.clean_error_estimate(of_c.clean),
        mean_error=defined(lambda: metrics.mean_error_estimate(misses)) if misses else None,
        mce=defined(lambda: metrics.mce_estimate(misses, baseline, of_c.ids)),
        accuracy_r=None if shifted is None else metrics.accuracy(~shifted),
        gap=None if clean_r is None or shifted is None else metrics.accuracy_gap(~clean_r, ~shifted),
    )


def _pair(first: _Side, second: _Side, names: Sequence[str], baseline: Baseline | None) -> Pair:
    _check_overlap(first, second, names)
    one, other = _counted(first, names), _counted(second, names)
    clean = _tested(first.corrupted, second.corrupted)
    renditions, clean_r = _tested(first.renditions, second.renditions), _tested(first.clean_r, second.clean_r)
    return Pair(
        first=first.letter,
        second=second.letter,
        clean_error=clean,
        mean_error=defined(lambda: metrics.mean_error_difference(one, other)) if one else None,
        mce=defined(lambda: metrics.mce_difference(one, other, baseline)),
        accuracy_r=None if renditions is None else Tested(_negative(renditions.difference), renditions.p),
        gap=metrics.gap_difference(clean_r.difference, renditions.difference) if clean_r and renditions else None,
        corruptions=_of_corruptions(first.corrupted.misses, second.corrupted.misses, names),
    )


def _check_overlap(first: _Side, second: _Side, names: Sequence[str]) -> None:
    """Refuse runs that went through few conditions an image each, and hardly through the same."""
    one, other = first.corrupted.misses, second.corrupted.misses
    both = {name: ~(np.ma.getmaskarray(one[name]) | np.ma.getmaskarray(other[name])) for name in names}
    few = [(int(n), name, k + 1) for name, there in both.items() for k, n in enumerate(there.sum(axis=0)) if n < 2]
    if few and not all(there.all() for there in both.values()):
        n, name, severity = min(few)
        raise MetricError(
            f"{first.run.path} and {second.run.path} cannot be compared: not every image went through every condition, "
            f"and {count(n, 'image')} through {name} at severity {severity} in both. Evaluate one again with "
            f"--paired and the other's folder, which takes the same images and conditions."
        )


def _tested(first: Outcomes | None, second: Outcomes | None) -> Tested | None:
    """Compare the errors on uncorrupted images."""
    one, other = _clean(first), _clean(second)
    if one is None or other is None:
        return None
    both = ~(np.ma.getmaskarray(one) | np.ma.getmaskarray(other))
    one, other = np.ma.getdata(one)[both], np.ma.getdata(other)[both]
    if not len(one):
        return None
    return Tested(metrics.clean_error_difference(one, other), metrics.mcnemar_test(one, other))


def _negative(estimate: Estimate) -> Estimate:
    """Turn a difference of errors into one of accuracies."""
    return Estimate(0 - estimate.value, 0 - estimate.high, 0 - estimate.low, estimate.se, estimate.n)


def _of_corruptions(first: Misses, second: Misses, names: Sequence[str]) -> tuple[OfCorruption, ...]:
    found = metrics.error_differences({name: first[name] for name in names}, {name: second[name] for name in names})
    values = {name: metrics.sign_flip_test(_more_wrong(first[name], second[name])) for name in names}
    adjusted = metrics.holm(values)
    return tuple(OfCorruption(name, found[name], values[name], adjusted[name]) for name in names)


def _more_wrong(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count how many more of each image's outcomes are wrong in the second run, among those that both have."""
    difference = second.astype(np.int64) - first.astype(np.int64)
    return np.asarray(np.ma.filled(difference, 0).sum(axis=1))


def _effective(sides: Sequence[_Side], names: Sequence[str]) -> Iterator[Effective]:
    """Tabulate effective robustness where there are enough runs, and all images went through everything."""
    errors = [_error_of_images(_counted(side, names)) for side in sides]
    yield from _table(sides, "corruptions", [side.corrupted.clean for side in sides], errors)
    clean_r, renditions = ([_clean(side.clean_r) for side in sides], [_clean(side.renditions) for side in sides])
    yield from _table(sides, "renditions", clean_r, renditions)


def _clean(outcomes: Outcomes | None) -> NDArray[np.bool_] | None:
    return None if outcomes is None else outcomes.clean


def _error_of_images(misses: Misses) -> NDArray[np.float64] | None:
    """Take the mean error of each image; masked if it did not go through everything."""
    if not misses:
        return None
    joined = np.ma.concatenate([*misses.values()], axis=1)  # type: ignore[no-untyped-call]
    found: NDArray[np.float64] = joined.mean(axis=1)
    return np.ma.array(found, mask=np.ma.getmaskarray(joined).any(axis=1))


def _table(
    sides: Sequence[_Side], shift: str, clean: Sequence[_Errors], shifted: Sequence[_Errors]
) -> Iterator[Effective]:
    """Tabulate one kind of shift; nothing if there are too few runs, or a run lacks outcomes."""
    right, right_shifted = _right(clean), _right(shifted)
    if right is None or right_shifted is None:
        return
    same = shift == "corruptions"
    found = defined(lambda: metrics.effective_robustness(right, right_shifted, same_images=same))
    if found is None:
        return
    yield Effective(
        shift,
        tuple(
            EffectiveRow(side.letter, _accuracy(right[:, k]), _accuracy(right_shifted[:, k]), found[k])
            for k, side in enumerate(sides)
        ),
    )


def _right(errors: Sequence[_Errors]) -> NDArray[np.float64] | None:
    """Put the runs' outcomes beside each other, images x runs; ``None`` if any is missing."""
    there = [np.asarray(e, dtype=np.float64) for e in errors if e is not None and not np.ma.is_masked(e)]
    return 1 - np.stack(there, axis=1) if len(there) == len(errors) else None


def _accuracy(right: NDArray[np.float64]) -> Estimate:
    return metrics.bounded_mean(right, 0, 1)


def _draws(protocol: Protocol) -> int | None:
    """Return the seed of the corruptions; of stored pictures that of the run is of their order alone."""
    return protocol.seed if protocol.stored is None else protocol.stored.seed


def _notes(sides: Sequence[_Side], names: Sequence[str], baseline: Baseline | None, *, chosen: bool) -> Iterator[str]:
    """Say what a reader must know, though it does not forbid the comparison."""
    manifests = [side.run.manifest for side in sides]
    if not names:
        yield "The runs share no corruption at all five severities: nothing is compared but uncorrupted images."
    if others := dict.fromkeys(b.name for m in manifests for b in m.benchmarks if b.name not in (C, R)):
        yield f"Not compared: {', '.join(map(title_of, others))}. The report of each run has its own."
    elsewhere = dict.fromkeys(c for side in sides for c in side.corrupted.misses if c not in names)
    if elsewhere:
        yield f"Corruptions that not all runs have are left out: {', '.join(elsewhere)}."
    if len({_draws(m.benchmark(C).protocol) for m in manifests}) > 1:  # type: ignore[union-attr]  # checked before
        yield "The runs have different seeds, so their images were corrupted by different draws."
    if len({m.model.resized for m in manifests}) > 1:
        yield "The models resized the pictures to different sizes after the corruption."
    if not chosen and any(m.baseline != manifests[0].baseline for m in manifests):
        name = "none" if baseline is None else baseline.name
        yield f"The runs were made with different baselines; here all are relative to that of A: {name}."
    if baseline is not None and baseline.sample is not None:
        yield f"In the differences the baseline {baseline.name} is taken as exact."
