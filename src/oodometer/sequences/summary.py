"""What a run over sequences says, as plain data: everything that any output prints. ``reading.py`` fills it."""

from __future__ import annotations

from dataclasses import dataclass

from oodometer.families import IMAGENET_P
from oodometer.metrics import Estimate
from oodometer.report.summary import BaselineName, Counts
from oodometer.store import ModelRecord
from oodometer.types import Protocol

__all__ = ["Number", "SequenceRow", "SequenceSummary"]


@dataclass(frozen=True, slots=True)
class Number:
    """A number over several perturbations; without ``estimate``, ``words`` say why there is none."""

    estimate: Estimate | None
    words: str = ""


@dataclass(frozen=True, slots=True)
class SequenceRow:
    """One perturbation.

    ``name`` is that of its folder. ``difficulty`` is that of its videos if they are of a noise, whose later frames are
    compared with the first one (``step`` is ``None``); else it is the ``step``, by how many frames those lie apart that
    are compared. ``counted`` says whether it belongs to the means. ``relative_flip_rate`` and
    ``relative_top5_distance`` are multiples of the baseline's. What does not exist is ``None``.
    """

    name: str
    perturbation: str
    difficulty: int
    step: int | None
    counted: bool
    frames: int
    counts: Counts
    flip_rate: Estimate | None
    top5_distance: Estimate | None
    relative_flip_rate: Estimate | None
    relative_top5_distance: Estimate | None


@dataclass(frozen=True, slots=True)
class SequenceSummary:
    """A whole run.

    The means are over the ``counted`` perturbations, which are all 10 of ImageNet-P or what there is of them
    (``missing`` are the others). ``mfr`` and ``mt5d`` are the means of the multiples of the baseline's numbers; they
    bear these names only if nothing is missing (see ``whole``).
    """

    model: ModelRecord
    data: str
    label_space: str
    protocol: Protocol
    difficulty: int
    baseline: BaselineName | None
    rows: tuple[SequenceRow, ...]
    counted: tuple[str, ...]
    missing: tuple[str, ...]
    mean_flip_rate: Number
    mean_top5_distance: Number
    mfr: Number
    mt5d: Number
    notes: tuple[str, ...]
    created: str
    command: str
    environment: dict[str, str]

    @property
    def whole(self) -> bool:
        """Whether all of the 10 perturbations are in the means."""
        return not self.missing

    @property
    def over(self) -> str:
        """Over what the means are, in words."""
        return f"the {len(IMAGENET_P)}" if self.whole else f"{len(self.counted)} of {len(IMAGENET_P)}"
