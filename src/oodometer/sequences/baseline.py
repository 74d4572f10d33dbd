"""What flip rates and top-5 distances are multiples of: another run over sequences, or a file of numbers.

Nothing stands here by itself: mFR and mT5D are defined relative to AlexNet, whose numbers were published in no file.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oodometer.errors import ArgumentError, MetricError, StoreError
from oodometer.metrics import Sample
from oodometer.metrics.baselines import read_baseline_file
from oodometer.metrics.sequences import FARTHEST
from oodometer.run_baseline import same_protocol
from oodometer.sequences.scores import OfPerturbation, aligned, read_scores
from oodometer.store import RunStore

__all__ = ["SequenceBaseline", "SequenceBaselineSpec", "find_baseline", "is_exact", "recorded"]

_FORM = '{"name": ..., "flip_rates": {perturbation: rate}, "top5_distances": {perturbation: distance}}'


@dataclass(frozen=True, slots=True)
class SequenceBaseline:
    """The numbers of the classifier that others are measured against, by the published name of each folder.

    ``flip_rates`` are from 0 to 1, ``top5_distances`` from 0 to 18, both at ``difficulty``. ``flips`` and ``distances``
    are the scores of its videos, if they are known: then the numbers have their own uncertainty, else they are taken as
    exact.
    """

    name: str
    source: str
    flip_rates: Mapping[str, float]
    top5_distances: Mapping[str, float] = field(default_factory=dict)
    difficulty: int = 1
    flips: Sample | None = field(default=None, compare=False, repr=False)
    distances: Sample | None = field(default=None, compare=False, repr=False)


SequenceBaselineSpec: typing.TypeAlias = str | os.PathLike[str] | Mapping[str, Any] | SequenceBaseline | None
"""The folder of a run over sequences, a JSON file, its content, a ready baseline, or none."""


def find_baseline(
    spec: SequenceBaselineSpec, parts: Sequence[OfPerturbation], difficulty: int | None = None
) -> SequenceBaseline | None:
    """Find a baseline.

    Parameters
    ----------
    spec
        The folder of a run over sequences; a JSON file with ``name``, ``flip_rates`` and ``top5_distances`` (of the
        latter two one is enough), and perhaps ``source`` and ``difficulty``; such a mapping; ``None`` or ``"none"``.
    parts
        What is to be measured by it; a run of another label space or protocol is refused.
    difficulty
        That of the numbers. Without it the numbers of a file are of any, and those of a run of difficulty 1.

    Raises
    ------
    ArgumentError
        If there is no such file, or it does not have this form.
    MetricError
        If a number is impossible, or the baseline comes from another difficulty, label space or protocol.
    StoreError
        If the folder holds no run over sequences that can be read.
    """
    if spec is None or spec == "none":
        return None
    if isinstance(spec, str | os.PathLike) and os.fspath(spec) and (Path(spec) / "manifest.json").is_file():
        return _measured(Path(spec), parts, difficulty or 1)
    if isinstance(spec, Mapping) and "run" in spec:
        return _again(spec, parts, difficulty or 1)
    baseline = spec if isinstance(spec, SequenceBaseline) else _from_content(*_content(spec))
    if difficulty not in (baseline.difficulty, None):
        raise MetricError(
            f"The baseline {baseline.name} has numbers of difficulty {baseline.difficulty}, and these results are of "
            f"difficulty {difficulty}."
        )
    return baseline


def recorded(baseline: SequenceBaseline | None) -> dict[str, Any] | None:
    """Return what a run keeps of its baseline, so that the store alone gives the same numbers."""
    if baseline is None:
        return None
    content = {
        "name": baseline.name,
        "source": baseline.source,
        "flip_rates": dict(baseline.flip_rates),
        "top5_distances": dict(baseline.top5_distances),
        "difficulty": baseline.difficulty,
    }
    return content if baseline.flips is None else content | {"run": baseline.flips.origin}


def _again(spec: Mapping[str, Any], parts: Sequence[OfPerturbation], difficulty: int) -> SequenceBaseline:
    """Read a recorded run once more, if it is still there and still fits: it lends its scores, or another difficulty.

    Else the numbers are those that were recorded, taken as exact.
    """
    kept = _from_content({key: value for key, value in spec.items() if key != "run"}, "recorded in the run")
    try:
        found = _measured(Path(str(spec["run"])), parts, difficulty)
    except (MetricError, StoreError):
        found = None
    if found is not None and (found == kept or difficulty != kept.difficulty):
        return found
    if difficulty != kept.difficulty:
        raise MetricError(
            f"The baseline {kept.name} is no longer in {spec['run']}, and its numbers that were recorded are of "
            f"difficulty {kept.difficulty}."
        )
    return kept


def _content(spec: object) -> tuple[object, str]:
    if isinstance(spec, Mapping):
        return spec, "given as a mapping"
    if not isinstance(spec, str | os.PathLike) or not os.fspath(spec):
        raise ArgumentError(f"Expected a baseline as the folder of a run, a file or a mapping, not {spec!r}.")
    path = Path(spec)
    if not path.is_file():
        raise ArgumentError(
            f"There is no baseline {path}: expected the folder of a run over sequences, or a JSON file {_FORM}. No "
            "baseline is built in: AlexNet's flip rates were published in no file."
        )
    return read_baseline_file(path), str(path)


def _from_content(content: object, origin: str) -> SequenceBaseline:
    keys = {"name", "source", "flip_rates", "top5_distances", "difficulty"}
    if not isinstance(content, Mapping) or not isinstance(content.get("name"), str) or content.keys() - keys:
        raise ArgumentError(f"Baseline {origin}: expected {_FORM}.")
    rates, distances = content.get("flip_rates", {}), content.get("top5_distances", {})
    if not isinstance(rates, Mapping) or not isinstance(distances, Mapping) or not (rates or distances):
        raise ArgumentError(f"Baseline {origin}: expected {_FORM}, with numbers in at least one of the two.")
    difficulty = content.get("difficulty", 1)
    if difficulty not in (1, 2, 3) or isinstance(difficulty, bool):
        raise ArgumentError(f"Baseline {origin}: the difficulty is 1, 2 or 3, not {difficulty!r}.")
    return SequenceBaseline(
        name=content["name"],
        source=str(content.get("source", origin)),
        flip_rates=_numbers(origin, "flip rate", rates, 1),
        top5_distances=_numbers(origin, "top-5 distance", distances, FARTHEST),
        difficulty=int(difficulty),
    )


def _numbers(origin: str, what: str, given: Mapping[Any, Any], greatest: float) -> dict[str, float]:
    for name, value in given.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 <= value <= greatest:
            hint = " Rates are fractions here: divide percentages by 100." if number and greatest == 1 < value else ""
            raise MetricError(
                f"Baseline {origin}: expected a {what} from 0 to {greatest} for {name!r}, not {value!r}.{hint}"
            )
    return {str(name): float(value) for name, value in given.items()}


def _measured(path: Path, parts: Sequence[OfPerturbation], difficulty: int) -> SequenceBaseline:
    """Take the numbers of another run."""
    store = RunStore(path)
    planned = read_scores(store, difficulty)
    theirs = [part for part in planned if part.images]
    if not theirs:
        raise MetricError(f"The run {path} has measured no video yet, so it is no baseline.")
    here = {part.key: part for part in parts}
    common = [part for part in theirs if part.key in here]
    if not common:
        raise MetricError(f"The run {path} has none of the perturbations of this one, so it is no baseline of it.")
    for part in common:
        _check_fits(path, part, here[part.key])
    # Images of one name in two data sets are not the same image.
    same = all(part.record.digest == here[part.key].record.digest for part in common)
    ranked = [part for part in theirs if part.distances is not None]
    flips = {part.key: part.flips for part in theirs}
    distances = {part.key: part.distances / FARTHEST for part in ranked if part.distances is not None}
    measured = sum(len(part.images) for part in theirs)
    of = "" if all(part.finished for part in planned) else f" of {sum(part.record.images for part in planned):,}"
    what = f"{measured:,}{of} videos of {_data(theirs[0])}{' (not finished)' if of else ''}"
    return SequenceBaseline(
        name=store.read_manifest().model.name,
        source=f"run {path.absolute().name}: {what}, {theirs[0].record.protocol.label}",
        flip_rates={key: float(scores.mean()) for key, scores in flips.items()},
        top5_distances={key: float(FARTHEST * scores.mean()) for key, scores in distances.items()},
        difficulty=difficulty,
        flips=_sample(theirs, flips, path, same=same),
        distances=_sample(ranked, distances, path, same=same),
    )


def _data(part: OfPerturbation) -> str:
    return part.record.dataset.partition("/")[0]


def _sample(parts: Sequence[OfPerturbation], scores: Mapping[str, Any], path: Path, *, same: bool) -> Sample | None:
    if not parts:
        return None
    images, columns = aligned(parts, scores)
    marked = images if same else tuple(f"{parts[0].record.digest}/{image}" for image in images)
    return Sample(marked, {key: column[:, None] for key, column in columns.items()}, None, origin=str(path.absolute()))


def _check_fits(path: Path, there: OfPerturbation, here: OfPerturbation) -> None:
    one, other = there.record, here.record
    if one.label_spaces[0] != other.label_spaces[0] or one.classes != other.classes:
        raise MetricError(
            f"The baseline {path} was measured on the label space {one.label_spaces[0]!r}, these results on "
            f"{other.label_spaces[0]!r} with other classes. Give a baseline of that label space, or none."
        )
    if there.frames != here.frames:
        raise MetricError(
            f"The baseline {path} has videos of {there.frames} frames for {there.name}, and these have {here.frames}."
        )
    if found := same_protocol(one.protocol, other.protocol):
        raise MetricError(f"The baseline {path} was measured under another protocol. {found}")


def is_exact(baseline: SequenceBaseline) -> bool:
    """Return whether the numbers are taken as exact."""
    return baseline.flips is None and baseline.distances is None
