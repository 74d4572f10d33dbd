"""What a run says, as plain data: everything that any output prints. ``reader.py`` fills it, nothing else computes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from oodometer.families import IMAGENET_C
from oodometer.metrics import Estimate, ReliabilityBin
from oodometer.report.shift import ShiftDetails
from oodometer.store import Manifest, ModelRecord, Skipped
from oodometer.types import CLEAN, Condition, Protocol

__all__ = [
    "AtSeverity",
    "BaselineName",
    "ChangeRow",
    "Confidence",
    "Corruptions",
    "Counts",
    "Design",
    "Losses",
    "OfCell",
    "OfClass",
    "OfFamily",
    "Outliers",
    "Picture",
    "Renditions",
    "Risk",
    "Row",
    "Shifted",
    "Strip",
    "Summary",
    "Unlabelled",
    "Unmapped",
    "UnmappedRow",
    "is_partial",
    "unfinished",
]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many images a benchmark planned and measured, how many classes these have, and which could not be read.

    Images without labels have no class.
    """

    planned: int
    measured: int
    classes: int
    skipped: tuple[Skipped, ...]

    @property
    def done(self) -> int:
        """How many images need no more work: measured, or found unreadable."""
        return self.measured + len(self.skipped)

    @property
    def partial(self) -> bool:
        """Whether the run stopped before all planned images were done."""
        return self.done < self.planned


@dataclass(frozen=True, slots=True)
class Design:
    """How images and conditions were chosen, in a run in which no image went through all conditions.

    ``half_width`` is half the width that the interval of the mCE may have, or, where the run is ``paired`` with
    another, of the difference from it; ``reached`` says whether that is so. An image went through ``fewest`` to
    ``most`` of the ``conditions``, in all through ``passes``; ``share`` is the part of the cost of the full run,
    decoding included. ``of_all`` is what all conditions of all planned images would give for the mCE (for the mean
    error, if there is no baseline), with the interval of that.
    """

    half_width: float | None
    paired: bool
    fewest: int
    most: int
    conditions: int
    passes: int
    share: float
    reached: bool
    of_all: Estimate | None


@dataclass(frozen=True, slots=True)
class BaselineName:
    """The classifier that CE and mCE are relative to, and where its errors come from.

    ``exact`` says whether these are taken as exact numbers; else their own uncertainty is in the intervals.
    """

    name: str
    source: str
    exact: bool = True


@dataclass(frozen=True, slots=True)
class Losses:
    """What the probabilities of all classes are worth; ``None`` where a number is not defined or was not kept.

    ``top5_error`` is ``None`` if there are no more than five classes, ``brier`` if the run is of a format without it.
    """

    top5_error: Estimate | None
    nll: Estimate | None
    brier: Estimate | None


@dataclass(frozen=True, slots=True)
class Risk:
    """The error among the most confident images, if only so large a share of all is answered."""

    coverage: float
    error: Estimate


@dataclass(frozen=True, slots=True)
class Confidence:
    """Whether the confidence on ``n`` uncorrupted images can be believed; intervals by the bootstrap.

    ``ece`` has 15 bins of equal width, as ``reliability`` beside it, ``ece_equal_mass`` 15 of equally many images,
    ``rms_calibration_error`` bins of 100 images, and the ``published`` one lacks its last bin (``None`` below 200
    images).
    """

    ece: Estimate
    ece_equal_mass: Estimate
    rms_calibration_error: Estimate
    rms_calibration_error_published: Estimate | None
    aurra: Estimate
    aurc: Estimate
    risk_at_coverage: tuple[Risk, ...]
    n: int


@dataclass(frozen=True, slots=True)
class Row:
    """One corruption: the error at each severity from 1 up, their mean, and CE and relative CE if there is a baseline.

    ``changes`` say how often the prediction is another one than for the clean image, ``changed`` is their mean; they
    need no labels. ``None`` if the run has no clean images.
    """

    name: str
    family: str
    errors: tuple[Estimate, ...]
    mean: Estimate
    ce: Estimate | None
    relative_ce: Estimate | None
    top5_error: Estimate | None
    changes: tuple[Estimate, ...] | None
    changed: Estimate | None


@dataclass(frozen=True, slots=True)
class AtSeverity:
    """Means over the counted corruptions at one severity; ``ece`` is the mean of theirs."""

    severity: int
    error: Estimate
    losses: Losses
    ece: Estimate | None
    changed: Estimate | None


@dataclass(frozen=True, slots=True)
class OfFamily:
    """Mean error over the corruptions of one family and their severities."""

    name: str
    error: Estimate


@dataclass(frozen=True, slots=True)
class OfClass:
    """The images of one class: how many, their clean error, and their mean error over the counted corruptions."""

    identifier: str
    name: str
    n: int
    clean_error: Estimate | None
    error: Estimate | None


@dataclass(frozen=True, slots=True)
class OfCell:
    """The error under one condition."""

    corruption: str
    severity: int
    error: Estimate


@dataclass(frozen=True, slots=True)
class Corruptions:
    """The ImageNet-C part of a run.

    ``rows`` are those of the 15 counted corruptions that were measured, in the published order; ``extra`` are all
    others, which no mean takes in. ``missing`` maps the rest of the 15 to why they are not there, ``unavailable`` every
    corruption that could not be run. ``mean_error`` is over ``rows``; where ``mce`` or ``relative_mce`` is ``None``,
    the field beside it says why, and ``mean_ce`` is the mean of those CEs that there are, which is no mCE. ``changed``
    is the mean over ``rows`` of how often the prediction changes; ``losses``, ``confidence`` and
    ``reliability`` are of clean images, ``reliability_corrupted`` is over all conditions of ``rows`` (``None`` by a
    design; both, of a model that says no confidence).
    Stored pictures may be without clean ones, and then numbers that need these are ``None``; or at other severities
    than the published five, and then these ``other_cells`` are in no mean and no row.
    """

    dataset: str
    label_space: str
    protocol: Protocol
    counts: Counts
    design: Design | None
    baseline: BaselineName | None
    rows: tuple[Row, ...]
    extra: tuple[Row, ...]
    missing: dict[str, str]
    unavailable: dict[str, str]
    clean_error: Estimate | None
    mean_error: Estimate | None
    mce: Estimate | None
    mce_unavailable: str | None
    relative_mce: Estimate | None
    relative_mce_unavailable: str | None
    mean_ce: Estimate | None
    changed: Estimate | None
    losses: Losses
    confidence: Confidence | None
    reliability: tuple[ReliabilityBin, ...] | None
    reliability_corrupted: tuple[ReliabilityBin, ...] | None
    by_severity: tuple[AtSeverity, ...]
    by_family: tuple[OfFamily, ...]
    by_class: tuple[OfClass, ...]
    other_cells: tuple[OfCell, ...] = ()

    @property
    def clean_only(self) -> bool:
        """Whether only the clean images were asked for, for shifted sets to be compared with."""
        return not self.protocol.corruptions and not self.unavailable

    @property
    def families(self) -> tuple[tuple[str, tuple[Row, ...]], ...]:
        """The counted rows by family, in the published order."""
        groups = itertools.groupby(self.rows, key=lambda row: row.family)
        return tuple((family, tuple(rows)) for family, rows in groups)

    @property
    def mean_error_title(self) -> str:
        """What the mean error may be called: a mean over fewer than the 15 says so."""
        if not self.missing:
            return "Mean corruption error"
        return f"Mean error ({len(self.rows)} of {len(IMAGENET_C)} corruptions)"


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """One corruption: how often it makes the prediction another one, at each severity from 1 up, and their mean."""

    name: str
    family: str
    changes: tuple[Estimate, ...]
    changed: Estimate


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """What is known of a run over images without labels: how often a corruption changes the prediction.

    The fields are those of ``Corruptions``, as far as they need no label.
    """

    dataset: str
    label_space: str
    protocol: Protocol
    counts: Counts
    rows: tuple[ChangeRow, ...]
    extra: tuple[ChangeRow, ...]
    missing: dict[str, str]
    unavailable: dict[str, str]
    changed: Estimate | None

    @property
    def changed_title(self) -> str:
        """What the mean may be called: one over fewer than the 15 says so."""
        over = "" if not self.missing else f" ({len(self.rows)} of {len(IMAGENET_C)} corruptions)"
        return f"Changed predictions{over}"


@dataclass(frozen=True, slots=True)
class UnmappedRow:
    """One corruption: how often an answer named no class, at each severity from 1 up, and the mean of these shares."""

    name: str
    family: str
    shares: tuple[Estimate, ...]
    mean: Estimate


@dataclass(frozen=True, slots=True)
class Unmapped:
    """How often answers named no class, of a model that is asked in words: ``mean`` is over ``rows``."""

    clean: Estimate | None
    rows: tuple[UnmappedRow, ...]
    extra: tuple[UnmappedRow, ...]
    mean: Estimate | None


@dataclass(frozen=True, slots=True)
class Renditions:
    """The ImageNet-R part of a run, or that of another shifted set.

    ``accuracy`` is among the classes of the set only (the ImageNet-R accuracy); ``accuracy_unmasked`` is among all
    classes of the model. ``clean_accuracy`` is masked like ``accuracy``, on those clean images of the run whose class
    is in the set, and ``gap`` is that less ``accuracy``; both are ``None`` if the run has no such images. They are of
    ``clean_classes`` classes; ``same_classes`` says whether these are the classes of the set's images. ``unmapped`` is
    how often an answer named no class, of a model that is asked in words. ``details`` are what is behind the accuracy.
    """

    dataset: str
    protocol: Protocol
    counts: Counts
    accuracy: Estimate
    accuracy_unmasked: Estimate | None
    clean_accuracy: Estimate | None
    clean_classes: int
    same_classes: bool
    gap: Estimate | None
    losses: Losses
    confidence: Confidence | None
    reliability: tuple[ReliabilityBin, ...] | None
    unmapped: Estimate | None
    details: ShiftDetails


@dataclass(frozen=True, slots=True)
class Outliers:
    """The ImageNet-O part of a run: images of no class of the model, which is to be less sure of them.

    ``auroc`` and ``aupr`` (outliers being the positive class) say how well the confidence among the set's classes tells
    its images from the clean ones of these classes; ``None`` if the run has no such clean images, or no confidence.
    """

    dataset: str
    protocol: Protocol
    counts: Counts
    clean_images: int
    auroc: Estimate | None
    aupr: Estimate | None


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture that the model saw, as JPEG, and what it said.

    ``right`` is ``None`` if that cannot be known, ``confidence`` if the model named a class and no more.
    """

    condition: Condition
    prediction: str
    confidence: float | None
    right: bool | None
    jpeg: bytes


@dataclass(frozen=True, slots=True)
class Strip:
    """One image under several conditions, clean first."""

    image: str
    label: str
    pictures: tuple[Picture, ...]

    @property
    def clean(self) -> tuple[Picture, ...]:
        """The picture that was not corrupted, if it was kept."""
        return tuple(p for p in self.pictures if p.condition == CLEAN)

    @property
    def corrupted(self) -> tuple[tuple[str, tuple[Picture, ...]], ...]:
        """The other pictures by corruption, in the published order."""
        others = (p for p in self.pictures if p.condition != CLEAN)
        groups = itertools.groupby(others, key=lambda p: p.condition.corruption)
        return tuple((corruption, tuple(pictures)) for corruption, pictures in groups)


@dataclass(frozen=True, slots=True)
class Shifted:
    """Another set of shifted images: its ``name`` in the run, what people call it, and the same numbers of it.

    ``part`` is scored among the classes of the set; where these are all classes, there is no other accuracy.
    ``strips`` are the pictures that were kept.
    """

    name: str
    title: str
    part: Renditions
    strips: tuple[Strip, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """Everything that a report says about one run.

    ``corruptions`` are of images with labels, ``unlabelled`` of images without; a run has one of them at most.
    ``unmapped`` is of either, and ``None`` for a model that gives logits. ``shifted`` are the sets of a suite beside
    ImageNet-R, but for ImageNet-O, whose images are ``outliers``.
    ``notes`` are the sentences that a reader must see before quoting a number. ``corruption_strips`` and
    ``rendition_strips`` are the pictures that were kept.
    """

    model: ModelRecord
    corruptions: Corruptions | None
    unlabelled: Unlabelled | None
    unmapped: Unmapped | None
    renditions: Renditions | None
    shifted: tuple[Shifted, ...]
    outliers: Outliers | None
    notes: tuple[str, ...]
    created: str
    command: str
    environment: dict[str, str]
    corruption_strips: tuple[Strip, ...]
    rendition_strips: tuple[Strip, ...]

    @property
    def shifted_parts(self) -> tuple[tuple[str, Renditions], ...]:
        """All sets of shifted images with labels, ImageNet-R first, with what people call them."""
        first = () if self.renditions is None else (("ImageNet-R", self.renditions),)
        return (*first, *((one.title, one.part) for one in self.shifted))


def unfinished(part: Corruptions | Unlabelled | Renditions | Outliers) -> bool:
    """Tell whether the run stopped before all planned images of a part were done, or known as well as was asked for.

    Parameters
    ----------
    part
        What the run says of one benchmark.
    """
    reached = isinstance(part, Corruptions) and part.design is not None and part.design.reached
    return part.counts.partial and not reached


def is_partial(summary: Summary, manifest: Manifest) -> bool:
    """Tell whether a run stopped before the end of its plan.

    Parameters
    ----------
    summary
        What the run says.
    manifest
        The plan, to tell what has not been begun.
    """
    known = (summary.corruptions, summary.unlabelled, summary.renditions, summary.outliers)
    parts = [part for part in (*known, *(one.part for one in summary.shifted)) if part is not None]
    return len(parts) < len(manifest.benchmarks) or any(map(unfinished, parts))
