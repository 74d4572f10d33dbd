"""Which runs there are in a folder, and what an index says of each; what is damaged is listed with the reason."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from oodometer import arguments
from oodometer.errors import ArgumentError, OodometerError, StoreError
from oodometer.families import IMAGENET_C
from oodometer.metrics import Estimate
from oodometer.outfolder import MANIFEST
from oodometer.report import Summary, summarize
from oodometer.report.summary import Corruptions, Counts, Renditions, is_partial
from oodometer.sequences import SequenceRun, holds_sequences
from oodometer.store import SEQUENCES, BenchmarkRecord, Manifest, RunStore
from oodometer.viewing.outcomes import Outcomes

__all__ = ["TITLES", "Listed", "Runs", "Viewed"]

TITLES = ("mCE", "Mean error", "Clean error", "ImageNet-R accuracy")
"""The numbers that an index shows."""

_DEPTH = 4
"""How many folders deep runs are looked for."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A run as the index shows it; ``numbers`` are by title, and ``None`` where there is no such number.

    ``lines`` say what was measured; ``reason`` says why a damaged run shows nothing.
    """

    token: str
    name: str
    model: str = ""
    lines: tuple[str, ...] = ()
    partial: bool = False
    numbers: dict[str, Estimate | None] = field(default_factory=dict)
    created: str = ""
    sequences: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Viewed:
    """One run, as it was at the time of ``state``: what changes when its files do."""

    token: str
    name: str
    state: str
    store: RunStore = field(compare=False)

    @property
    def sequences(self) -> bool:
        """Whether its images are videos, of which there is a table and no more."""
        return holds_sequences(self.store.path)

    def manifest(self) -> Manifest:
        """Read what was done; raises ``StoreError``."""
        return self.store.read_manifest()

    def listed(self) -> Listed:
        """Return what the index says of it."""
        return _listed(self)

    def summary(self) -> Summary:
        """Return what its report says; raises ``StoreError`` if it cannot be read."""
        return _summary(self)

    def table(self) -> str:
        """Return the table of a run over sequences as text."""
        return str(SequenceRun(self.store.path).table())

    def records(self) -> tuple[BenchmarkRecord, ...]:
        """Return its sets of images."""
        return () if self.sequences else self.manifest().benchmarks

    def outcomes(self, benchmark: str) -> Outcomes:
        """Return what the model said of the images of one set, in the label space of the set."""
        return _outcomes(self, benchmark)


class Runs:
    """The runs in a folder, or the one that the folder is; each is known by a token that is made of its path.

    Parameters
    ----------
    root
        The folder.

    Raises
    ------
    ArgumentError
        If there is no such folder.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = arguments.path("The folder", root).absolute()
        if not self.root.is_dir():
            raise ArgumentError(f"There is no folder {self.root}: give a run, or a folder of runs.")
        self._paths: dict[str, Path] = {}

    def find(self) -> dict[str, Viewed]:
        """Look for runs, which come and go: by token, in the order of their paths."""
        self._paths = {_token(path, self.root): path for path in _places(self.root, _DEPTH)}
        return {token: self._viewed(token, path) for token, path in self._paths.items()}

    def get(self, token: str) -> Viewed | None:
        """Return one run as it is now; ``None`` if there is none of this token."""
        path = self._paths.get(token)
        return self.find().get(token) if path is None else self._viewed(token, path)

    def _viewed(self, token: str, path: Path) -> Viewed:
        name = self.root.name if path == self.root else str(path.relative_to(self.root))
        return Viewed(token, name, _state(path), RunStore(path))


def _token(path: Path, root: Path) -> str:
    return hashlib.sha256(os.fsencode(path.relative_to(root))).hexdigest()[:16]


def _places(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the folders that hold a run, or what is left of one; not what lies within runs, or behind links."""
    if (folder / MANIFEST).is_file() and _is_run(folder):
        yield folder
        return
    try:
        below = sorted(p for p in folder.iterdir() if p.is_dir() and not p.is_symlink() and not p.name.startswith("."))
    except OSError:  # not ours to read
        return
    for inner in below if depth else ():
        yield from _places(inner, depth - 1)


def _is_run(folder: Path) -> bool:
    """Return whether a manifest is that of a run; other things have one, too."""
    if (folder / "predictions").is_dir():
        return True
    try:
        RunStore(folder).read_manifest()
    except StoreError:
        return False
    return True


def _state(path: Path) -> str:
    """Return a text that changes when a file of the run does."""
    total = hashlib.sha256()
    for file in (path / MANIFEST, *sorted(path.glob("predictions/**/*.parquet")), *sorted(path.glob("steps/*.json"))):
        try:
            found = file.stat()
        except OSError:  # gone since it was listed
            continue
        total.update(f"{found.st_size} {found.st_mtime_ns} ".encode() + os.fsencode(file) + b"\0")
    return total.hexdigest()


@functools.lru_cache(maxsize=1000)
def _listed(run: Viewed) -> Listed:
    try:
        return _of_sequences(run) if run.sequences else _of_summary(run)
    except OodometerError as error:
        return Listed(run.token, run.name, reason=str(error))
    except Exception as error:  # a file that somebody made by hand may hold anything, and the others are to be listed
        return Listed(run.token, run.name, reason=f"It cannot be read: {type(error).__name__}: {error}")


def _of_summary(run: Viewed) -> Listed:
    summary = run.summary()
    corrupted, renditions = summary.corruptions, summary.renditions
    known = [
        ("Clean" if corrupted is not None and corrupted.clean_only else "ImageNet-C", corrupted),
        ("ImageNet-C", summary.unlabelled),
        *summary.shifted_parts,
        ("ImageNet-O", summary.outliers),
    ]
    parts = [(title, part) for title, part in known if part is not None]
    return Listed(
        token=run.token,
        name=run.name,
        model=summary.model.name,
        lines=(
            *(f"{title}: {part.dataset}, {_images(part.counts)}; {part.protocol.label}" for title, part in parts),
            *_about_means(corrupted),
        ),
        partial=is_partial(summary, run.manifest()),
        numbers=dict(zip(TITLES, _numbers(corrupted, renditions), strict=True)),
        created=summary.created,
    )


def _numbers(corrupted: Corruptions | None, renditions: Renditions | None) -> tuple[Estimate | None, ...]:
    of_corruptions: tuple[Estimate | None, ...] = (None, None, None)
    if corrupted is not None:
        of_corruptions = (corrupted.mce, corrupted.mean_error, corrupted.clean_error)
    return (*of_corruptions, None if renditions is None else renditions.accuracy)


def _about_means(part: Corruptions | None) -> Iterator[str]:
    """Say what must be known of the means to tell whether those of two runs may be put side by side."""
    if part is None or part.clean_only:
        return
    if part.missing:
        yield f"Mean error over {len(part.rows)} of {len(IMAGENET_C)} corruptions"
    if part.mce is not None and part.baseline is not None:
        yield f"mCE relative to {part.baseline.name}"


def _images(counts: Counts) -> str:
    return f"{counts.measured:,} of {counts.planned:,} images"


def _of_sequences(run: Viewed) -> Listed:
    manifest, table = run.manifest(), SequenceRun(run.store.path).summary()
    names = ", ".join(record.name.removeprefix(SEQUENCES) for record in manifest.benchmarks)
    return Listed(
        token=run.token,
        name=run.name,
        model=manifest.model.name,
        lines=(f"Sequences of {table.data}: {names}; {table.protocol.label}",),
        partial=any(row.counts.partial for row in table.rows),
        created=manifest.created,
        sequences=True,
    )


@functools.lru_cache(maxsize=16)  # with the pictures for the report, some megabytes each
def _summary(run: Viewed) -> Summary:
    return summarize(run.store)


@functools.lru_cache(maxsize=4)  # a hundred megabytes, of all of ImageNet's validation images
def _outcomes(run: Viewed, benchmark: str) -> Outcomes:
    record = run.manifest().benchmark(benchmark)
    if record is None:
        raise StoreError(f"{run.store.path} has no set {benchmark!r}.")
    return Outcomes(record, run.store.table(benchmark, record.label_spaces[0]), run.store.examples(benchmark))
