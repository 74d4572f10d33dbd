"""Another run as the baseline: its errors, and with its predictions their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from oodometer.arguments import text_of
from oodometer.continuing import differences
from oodometer.errors import MetricError, StoreError
from oodometer.metrics import BASELINES, Baseline, BaselineSpec, Sample, load_baseline
from oodometer.store import BenchmarkRecord, Manifest, RunStore
from oodometer.tables import by_corruption, of_clean
from oodometer.types import CLEAN, Protocol

__all__ = ["find_baseline", "recorded", "same_protocol"]

_C = "imagenet-c"


def find_baseline(spec: BaselineSpec, record: BenchmarkRecord) -> Baseline | None:
    """Find a baseline: what ``metrics.load_baseline`` takes, or the folder of a run.

    Parameters
    ----------
    spec
        A published name, a JSON file, its content, ``None`` or ``"none"``; or the folder of a run, whose images may be
        the same or others.
    record
        What the results to be measured were made on. A run of another label space or protocol is refused.

    Raises
    ------
    ArgumentError
        If the name is unknown, or the file does not describe a baseline.
    MetricError
        If the baseline comes from another label space or protocol, or has measured nothing.
    StoreError
        If the folder holds no run that can be read.
    """
    space = record.label_spaces[0]
    if isinstance(spec, str | Path) and spec != "" and (Path(spec) / "manifest.json").is_file():
        return _measured(Path(spec), record)
    if not isinstance(spec, Mapping) or "run" not in spec:
        return load_baseline(spec, space)
    content = {key: value for key, value in spec.items() if key != "run"}
    baseline = load_baseline(content, space)
    again = _again(str(spec["run"]), record)
    # The numbers are those that were recorded; the run lends its outcomes as long as they are these numbers' own.
    return again if again == baseline else baseline


def recorded(baseline: Baseline | None) -> str | dict[str, Any] | None:
    """Name a published baseline; keep the content of any other, so that the store alone gives the same numbers."""
    if baseline is None:
        return None
    if BASELINES.get(baseline.name) == baseline:
        return baseline.name
    content: dict[str, Any] = msgspec.to_builtins(replace(baseline, sample=None))
    del content["sample"]
    return content if baseline.sample is None else content | {"run": baseline.sample.origin}


def same_protocol(there: Protocol, here: Protocol, *, but: tuple[str, ...] = ("corruptions", "seed")) -> str:
    """Say in what two protocols differ, but for the entries that do not matter; empty if in nothing."""
    one, other = (msgspec.to_builtins(protocol) for protocol in (there, here))
    # Of stored pictures the severities belong to the corruptions, and the draws have a seed of their own.
    within = {"corruptions": "severities", "seed": "seed"}
    for entries in (one, other):
        for entry in but:
            del entries[entry]
            if entries["stored"]:
                del entries["stored"][within[entry]]
    return differences(one, other)


def _again(path: str, record: BenchmarkRecord) -> Baseline | None:
    """Read the run once more, if it is still there and still fits."""
    try:
        return _measured(Path(path), record)
    except (MetricError, StoreError):
        return None


def _measured(path: Path, record: BenchmarkRecord) -> Baseline:
    """Take a run's errors as the baseline's."""
    store = RunStore(path)
    manifest = store.read_manifest()
    there = manifest.benchmark(_C)
    if there is None:
        raise MetricError(f"The run {path} has no errors under corruptions, so it is no baseline.")
    _check_fits(path, there, record)
    table = store.table(_C, there.label_spaces[0])
    if not table.images:
        raise MetricError(f"The run {path} has measured no image yet, so it is no baseline.")
    misses = by_corruption(table, table.misses)
    if not misses:
        raise MetricError(f"The run {path} has no errors under corruptions, so it is no baseline.")
    clean = of_clean(table, table.misses) if CLEAN in table.conditions else None
    # Images of one name in two data sets are not the same image.
    here = there.digest == record.digest
    images = table.images if here else tuple(f"{there.digest}/{image}" for image in table.images)
    return Baseline(
        name=_name(manifest),
        source=f"run {text_of(path.name)}: {len(images):,} images of {there.dataset}, {there.protocol.label}",
        errors={name: tuple(map(float, array.mean(axis=0))) for name, array in misses.items()},
        clean_error=None if clean is None else float(clean.mean()),
        label_space=there.label_spaces[0],
        sample=Sample(images, misses, clean, origin=text_of(path.absolute())),
    )


def _name(manifest: Manifest) -> str:
    name = manifest.model.name
    return f"{name} (measured)" if name in BASELINES else name


def _check_fits(path: Path, there: BenchmarkRecord, here: BenchmarkRecord) -> None:
    if there.label_spaces[0] != here.label_spaces[0] or there.classes != here.classes:
        raise MetricError(
            f"The baseline {path} was measured on the label space {there.label_spaces[0]!r}, these results on "
            f"{here.label_spaces[0]!r} with other classes. Give a baseline of that label space, or none."
        )
    if found := same_protocol(there.protocol, here.protocol):
        raise MetricError(f"The baseline {path} was measured under another protocol. {found}")
