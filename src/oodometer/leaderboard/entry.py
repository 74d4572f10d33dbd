"""What is exchanged of a run: its numbers, what was done, and the digests of the predictions that they follow from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from oodometer import arguments
from oodometer.errors import StoreError
from oodometer.metrics import Estimate
from oodometer.outfolder import mapped_errors, write_atomically
from oodometer.report.headlines import headlines
from oodometer.report.summary import is_partial
from oodometer.run import Run
from oodometer.store import ModelRecord
from oodometer.types import Protocol

__all__ = ["FORMAT", "Entry", "Part", "entry_of", "export", "read_entry"]

FORMAT = 1
"""The format of an exported result: 1 - first."""


@dataclass(frozen=True, slots=True)
class Part:
    """One data set of a run: as ``oodometer.store.BenchmarkRecord`` says it, but for the names of the classes."""

    name: str
    dataset: str
    digest: str
    images: int
    measured: int
    protocol: Protocol


@dataclass(frozen=True, slots=True)
class Entry:
    """One exported result.

    ``numbers`` are those that a run is quoted by, by their titles, as fractions with 95 % intervals; ``predictions``
    maps the files of predictions, relative to the run, to their SHA-256. ``baseline`` is what the mCE is divided by:
    the name of a published one, the content of another, or ``None``. ``plan`` is the SHA-256 of the run's plan.
    """

    format: int
    model: ModelRecord
    parts: tuple[Part, ...]
    baseline: str | dict[str, Any] | None
    numbers: dict[str, Estimate]
    partial: bool
    plan: str
    predictions: dict[str, str]
    created: str
    command: str
    environment: dict[str, str]

    @property
    def protocol(self) -> str:
        """How the first data set was shown, in a few words."""
        return self.parts[0].protocol.label


def export(run: Run, path: str | os.PathLike[str]) -> Entry:
    """Write a run's result as one JSON file.

    Parameters
    ----------
    run
        The run, finished or not; a partial one is marked.
    path
        The file.

    Raises
    ------
    StoreError
        If the run cannot be read, or the file cannot be written.
    """
    entry = entry_of(run)
    content = msgspec.json.format(msgspec.json.encode(entry), indent=1) + b"\n"
    write_atomically(arguments.path("The result", path), content)
    return entry


def entry_of(run: Run) -> Entry:
    """Make the entry of a run, from its store alone."""
    manifest, summary = run.manifest, run.summary()
    counts = {record.name: len(run.store.done(record.name)) for record in manifest.benchmarks}
    baseline = manifest.baseline
    return Entry(
        format=FORMAT,
        model=manifest.model,
        parts=tuple(
            Part(b.name, b.dataset, b.digest, b.images, counts[b.name], b.protocol) for b in manifest.benchmarks
        ),
        # Where a run that served as the baseline lay is of no use elsewhere.
        baseline={k: v for k, v in baseline.items() if k != "run"} if isinstance(baseline, dict) else baseline,
        numbers={line.title: line.estimate for line in headlines(summary) if line.estimate is not None},
        partial=is_partial(summary, manifest),
        plan=run.store.plan_digest(),
        predictions=_digests(run.path),
        created=manifest.created,
        command=manifest.command,
        environment=manifest.environment,
    )


def read_entry(path: str | os.PathLike[str]) -> Entry:
    """Read an exported result.

    Raises
    ------
    StoreError
        If it cannot be read, is none, or is of a format that this version does not know.
    """
    file = arguments.path("The result", path)
    try:
        raw = file.read_bytes()
        content = msgspec.json.decode(raw)
        version = content.get("format")
        if "benchmarks" in content:
            raise StoreError(f"{file} is the manifest of a run: make a result of it with oodometer export.")
        if version != FORMAT:
            raise StoreError(f"{file} has format {version!r}; this version of Oodometer reads format {FORMAT}.")
        return msgspec.json.decode(raw, type=Entry)
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror or error}.") from error
    except (msgspec.DecodeError, AttributeError, UnicodeDecodeError) as error:
        raise StoreError(f"{file} is no exported result: {error}.") from error


def _digests(root: Path) -> dict[str, str]:
    files = sorted((root / "predictions").rglob("*.parquet"))
    with mapped_errors(f"reading {root}"):
        return {path.relative_to(root).as_posix(): sha256(path.read_bytes()).hexdigest() for path in files}
