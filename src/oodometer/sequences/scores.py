"""From the tables of a run to one score per video: the flip rate and the top-5 distance, by perturbation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from oodometer.datasets import image_of, split_difficulty
from oodometer.errors import StoreError
from oodometer.families import IMAGENET_P
from oodometer.metrics.sequences import is_noise, video_flip_rates, video_top5_distances
from oodometer.scoring import TOP
from oodometer.store import SEQUENCES, BenchmarkRecord, RunStore, Skipped
from oodometer.types import FRAME

__all__ = ["OfPerturbation", "aligned", "planned_scores", "read_scores"]


@dataclass(frozen=True, slots=True)
class OfPerturbation:
    """The scores of the videos of one perturbation.

    ``images`` say of what the videos were made; ``flips`` and ``distances`` are float, shape (videos,), the latter
    ``None`` if the run keeps no five best classes. ``step`` is ``None`` where frames are compared with the first.
    """

    record: BenchmarkRecord
    name: str
    perturbation: str
    difficulty: int
    step: int | None
    frames: int
    images: tuple[str, ...]
    flips: NDArray[np.float64]
    distances: NDArray[np.float64] | None
    skipped: tuple[Skipped, ...]

    @property
    def key(self) -> str:
        """The name of the published folder, under which a baseline knows it."""
        of_noise = self.step is None and self.difficulty > 1
        return f"{self.perturbation}_{self.difficulty}" if of_noise else self.perturbation

    @property
    def finished(self) -> bool:
        """Whether all of its videos were measured, or left out since they cannot be read."""
        return len(self.images) + len(self.skipped) == self.record.images

    def counts_at(self, difficulty: int) -> bool:
        """Return whether it belongs to the means at a difficulty."""
        return self.perturbation in IMAGENET_P and self.difficulty == difficulty and bool(self.images)


def read_scores(store: RunStore, difficulty: int) -> tuple[OfPerturbation, ...]:
    """Read what a run has measured of each of its perturbations.

    Parameters
    ----------
    store
        The run.
    difficulty
        By how many frames those lie apart that are compared, except in videos of noises, which have their own.

    Raises
    ------
    StoreError
        If the folder holds no run, or none over sequences.
    """
    records = [record for record in store.read_manifest().benchmarks if record.name.startswith(SEQUENCES)]
    if not records:
        raise StoreError(f"{store.path} holds no run over sequences. Read it with `oodometer report`, oodometer.Run.")
    return tuple(_read(store, record, difficulty) for record in records)


def planned_scores(record: BenchmarkRecord, difficulty: int = 1) -> OfPerturbation:
    """Return what is known of a perturbation before any of its videos has been measured."""
    name = record.name.removeprefix(SEQUENCES)
    perturbation, its_own = split_difficulty(name)
    noise = is_noise(perturbation)
    stored = record.protocol.stored
    frames = 0 if stored is None else len(stored.severities[FRAME])
    step = min(difficulty, max(frames - 1, 1))
    return OfPerturbation(
        record=record,
        name=name,
        perturbation=perturbation,
        difficulty=(its_own or 1) if noise else step,
        step=None if noise else step,
        frames=frames,
        images=(),
        flips=np.empty(0),
        distances=None,
        skipped=(),
    )


def _read(store: RunStore, record: BenchmarkRecord, difficulty: int) -> OfPerturbation:
    part = replace(planned_scores(record, difficulty), skipped=tuple(store.skipped(record.name)))
    table = store.table(record.name, record.label_spaces[0])
    if not table.images:
        return part
    order = np.argsort([condition.severity for condition in table.conditions])
    top = table.top[:, order]
    noise, step = part.step is None, part.step or 1
    return replace(
        part,
        images=tuple(image_of(id_) for id_ in table.images),
        flips=video_flip_rates(top[:, :, 0], noise, step),
        distances=video_top5_distances(top, noise, step) if top.shape[2] == TOP else None,
    )


def aligned(
    parts: Sequence[OfPerturbation], scores: Mapping[str, NDArray[np.float64]]
) -> tuple[tuple[str, ...], dict[str, NDArray[np.float64]]]:
    """Put scores of several perturbations into one order of images.

    Parameters
    ----------
    parts
        The perturbations.
    scores
        By their keys: one score for each of their videos.

    Returns
    -------
    tuple
        The images, sorted, and by key one score for each of them; masked where there is no video.
    """
    images = sorted({image for part in parts for image in part.images})
    place = {image: row for row, image in enumerate(images)}
    found = {}
    for part in parts:
        rows = [place[image] for image in part.images]
        column = np.ma.array(np.zeros(len(images)), mask=np.ones(len(images), dtype=np.bool_))
        column[rows] = scores[part.key]
        found[part.key] = column if len(rows) < len(images) else np.ma.getdata(column)
    return tuple(images), found
