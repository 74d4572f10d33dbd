"""What a tracker is told of a run: its numbers, how they were made, and the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from oodometer.arguments import text_of
from oodometer.metrics import Estimate
from oodometer.report import results
from oodometer.report.html import page_html
from oodometer.report.words import one_line
from oodometer.run import Run
from oodometer.sequences import SequenceRun
from oodometer.tracking.quantities import quantities, sequence_quantities

__all__ = ["Record", "record"]


@dataclass(frozen=True, slots=True)
class Record:
    """One run as trackers take it.

    ``name`` is that of the run's folder, ``plan`` the SHA-256 of its plan. ``estimates`` are by the names of
    ``tracking.quantities``, ``settings`` say how they were made, in words, and ``files`` are ``report.html`` and
    ``results.json``, or ``sequences.json`` of a run over sequences.
    """

    name: str
    plan: str
    estimates: dict[str, Estimate]
    settings: dict[str, str]
    files: dict[str, bytes]


def record(run: Run | SequenceRun) -> Record:
    """Make the record of a run, from its store alone; nothing is written.

    Raises
    ------
    StoreError
        If the run cannot be read, or nothing of it has been measured yet.
    """
    if isinstance(run, SequenceRun):
        estimates, files = sequence_quantities(run.summary()), {"sequences.json": _json(run.results())}
    else:
        summary = run.summary()
        estimates = quantities(summary)
        files = {"report.html": page_html(summary).encode(), "results.json": _json(results(summary))}
    settings = {name: one_line(value) for name, value in _settings(run).items()}
    return Record(text_of(run.path.resolve().name), run.store.plan_digest(), estimates, settings, files)


def _json(content: dict[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(content), indent=1)


def _settings(run: Run | SequenceRun) -> dict[str, str]:
    manifest = run.manifest
    baseline = manifest.baseline
    found = {
        "model/name": manifest.model.name,
        "model/fingerprint": manifest.model.fingerprint,
        **({"model/resized": manifest.model.resized} if manifest.model.resized else {}),
        **{f"model/{name}": value for name, value in manifest.model.settings.items()},
        "baseline": str(baseline["name"]) if isinstance(baseline, dict) else baseline or "none",
        "plan": run.store.plan_digest(),
    }
    for part in manifest.benchmarks:
        protocol = part.protocol
        said = {
            "dataset": part.dataset,
            "dataset_digest": part.digest,
            "images": str(part.images),
            "measured": str(len(run.store.done(part.name)) - len(run.store.skipped(part.name))),
            "protocol": protocol.label,
            "edition": protocol.edition,
            "method": protocol.method,
            "seed": str(protocol.seed),
            "corruptions": ", ".join(protocol.corruptions) or "none",
        }
        found |= {f"data/{part.name}/{name}": value for name, value in said.items()}
    environment = {f"environment/{name}": version for name, version in manifest.environment.items()}
    return {**found, "created": manifest.created, "command": manifest.command, **environment}
