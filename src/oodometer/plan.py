"""What is to be run: a data set under conditions, in label spaces, by a protocol - settled before any work begins."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from oodometer import corruptions as corruption_kernels
from oodometer import textures
from oodometer.arguments import choice, positive, whole
from oodometer.corruptions import registry
from oodometer.corruptions.apply import SEEDS
from oodometer.datasets import SequenceSet, digest
from oodometer.errors import ArgumentError, DatasetError
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.pairing import Partner, find_partner
from oodometer.preprocess import PREPROCESS
from oodometer.seeding import order_stream
from oodometer.sharding import Cut
from oodometer.store import SEQUENCES, BenchmarkRecord, Design, Step
from oodometer.stored import StoredSet
from oodometer.types import CLEAN, FRAME, UNLABELLED, Condition, Dataset, LabelSpace, Protocol, Sample, Stored

__all__ = ["Benchmark", "corrupted", "corruption_names", "make_protocol", "seeded_order", "sequences", "shifted"]

Encoding = Literal["memory", "jpeg85"]
Method = Literal["fast", "reference"]
_Planned: TypeAlias = Dataset | StoredSet | SequenceSet


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One data set with all that is to be done with it.

    Under ``CLEAN`` predictions are kept in the data set's own label space and in the ``also`` ones (there only for the
    images whose class takes part); under a corruption only in its own. ``limit`` takes the first images of the seeded
    order; ``unavailable`` maps the corruptions that were asked for and cannot be run to the reason. ``half_width`` is
    half the width that the interval of the mCE may have in the end (a fraction, or ``None``: whatever it will be), or
    of its difference from that of the ``partner``, whose images and conditions are then the only ones. ``cut`` says
    which of the images this process takes, where several share the work; all else is of the whole.
    """

    name: str
    dataset: _Planned
    protocol: Protocol
    also: tuple[LabelSpace, ...] = ()
    limit: int | None = None
    unavailable: Mapping[str, str] = field(default_factory=dict)
    half_width: float | None = None
    partner: Partner | None = None
    cut: Cut | None = None

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """Clean first, then every corruption at every published severity; of stored pictures what there is of it."""
        stored, names = self.protocol.stored, self.protocol.corruptions
        if stored is None:
            return (CLEAN, *(Condition(name, severity) for name in names for severity in SEVERITIES))
        first = () if stored.clean is None else (CLEAN,)
        return (*first, *(Condition(name, severity) for name in names for severity in stored.severities[name]))

    @property
    def labelled(self) -> bool:
        """Whether the images have labels; without them nothing is known of errors, only of changes."""
        return _has_labels(self.dataset)

    @property
    def order(self) -> list[Sample]:
        """The images that this process takes, in their order."""
        return [sample for _, sample in self.own]

    @property
    def own(self) -> list[tuple[int, Sample]]:
        """Of the placed images those that this process takes."""
        cut = self.cut
        return [entry for entry in self.placed if cut is None or cut.takes(entry[0])]

    @property
    def placed(self) -> list[tuple[int, Sample]]:
        """The images in their order, each with its place in the seeded order of the whole data set."""
        placed = list(enumerate(seeded_order(self.dataset.samples, self.protocol.seed)[: self.limit]))
        if self.partner is None:
            return placed
        theirs = set(self.partner.table.images)
        return [(place, sample) for place, sample in placed if sample.id in theirs]

    @property
    def offered(self) -> tuple[Step, ...]:
        """Through how many conditions images can go at most: all, or as many as those of the partner did."""
        placed, every = self.placed, len(self.conditions)
        if self.partner is None:
            return (Step(0, len(placed), every),)
        each = dict(zip(self.partner.table.images, self.partner.table.seen.sum(axis=1).tolist(), strict=True))
        runs = itertools.groupby(placed, key=lambda entry: each[entry[1].id])
        edges = [(places[0][0], places[-1][0] + 1, count) for count, run in runs for places in [list(run)]]
        return tuple(Step(start, stop, count) for start, stop, count in edges)

    @property
    def passes(self) -> int | None:
        """How many pictures will go through the model; ``None`` where that is seen in the course of the work."""
        if self.half_width is not None:
            return None
        partner = self.partner
        return len(self.own) * len(self.conditions) if partner is None else int(partner.table.seen.sum())

    @property
    def design(self) -> Design | None:
        """What the manifest says of the choice of images and conditions, if that is not simply all of them."""
        if self.half_width is None and self.partner is None:
            return None
        return Design(self.half_width, None if self.partner is None else self.partner.plan)

    def record(self) -> BenchmarkRecord:
        """Return what the manifest says of this benchmark."""
        space = self.dataset.label_space
        return BenchmarkRecord(
            name=self.name,
            dataset=self.dataset.name,
            digest=digest(self.dataset),
            images=len(self.placed),
            classes=space.classes,
            class_names=space.names,
            label_spaces=(space.name, *(s.name for s in self.also)),
            protocol=self.protocol,
            unavailable=dict(self.unavailable),
            design=self.design,
            labelled=self.labelled,
        )


def make_protocol(
    *,
    corruptions: str | Sequence[str],
    preprocess: str,
    encoding: str,
    edition: str,
    method: str,
    seed: int,
) -> Protocol:
    """Check the choices of a protocol by name and put them into one object.

    Raises
    ------
    ArgumentError
        If a name is unknown; near names are listed.
    """
    return Protocol(
        preprocess=PREPROCESS[choice("preprocessing", preprocess, PREPROCESS)],
        encoding=choice("encoding", encoding, get_args(Encoding)),  # type: ignore[arg-type]  # one of these
        edition=choice("edition", edition, corruption_kernels.EDITIONS),
        method=choice("method", method, get_args(Method)),  # type: ignore[arg-type]  # one of these
        corruptions=corruption_names(corruptions),
        seed=whole("seed", seed, *SEEDS),
    )


def corrupted(
    dataset: Dataset | StoredSet,
    protocol: Protocol,
    *,
    lacking: Mapping[str, str] | None = None,
    limit: int | None = None,
    masked: Sequence[LabelSpace] = (),
    precision: float | None = None,
    paired: object = None,
) -> Benchmark:
    """Plan a run over clean images and their corruptions (ImageNet-C).

    Frost is left out, and said to be, if its textures are nowhere to be found; ``lacking`` are the corruptions that
    stored pictures lack, with the reasons. ``masked`` are label spaces over the same classes, such as the 200 of
    ImageNet-R, in which the clean predictions, if there are any, are kept too: a gap needs them. ``precision`` is half
    the width in points that the interval of the mCE may have, ``paired`` a run to be compared with; see ``Benchmark``.

    Raises
    ------
    ArgumentError
        If ``limit`` or ``precision`` is not positive, or there are too few images or corruptions for a precision.
    DatasetError
        If ``limit`` is more images than there are, or the run to be paired with has none of the images.
    StoreError
        If that run cannot be read, or is one of another data set or protocol.
    """
    _check_samples(dataset)
    limit = _limited(dataset, limit)
    unavailable = dict(lacking or {})
    if "frost" in protocol.corruptions and protocol.stored is None and textures.find_frost() is None:
        unavailable["frost"] = (
            "its textures are not on this machine: run `oodometer fetch frost`, or name their folder in OODOMETER_FROST"
        )
    protocol = replace(protocol, corruptions=tuple(c for c in protocol.corruptions if c not in unavailable))
    benchmark = Benchmark(
        name="imagenet-c",
        dataset=dataset,
        protocol=protocol,
        also=tuple(masked) if _has_labels(dataset) and _has_clean(protocol) else (),
        limit=limit,
        unavailable=unavailable,
        half_width=None if precision is None else positive("precision", precision) / 100,
        partner=None if paired is None else find_partner(paired, dataset.label_space.name, digest(dataset), protocol),
    )
    _check_design(benchmark)
    return benchmark


def shifted(name: str, dataset: Dataset, protocol: Protocol, space: LabelSpace, limit: int | None = None) -> Benchmark:
    """Plan a run over images that are shifted already, such as renditions: no corruption.

    They are scored among the classes of the data set's label space, and, where these are not all, among ``space`` too.
    Raises as ``corrupted`` does.
    """
    _check_samples(dataset)
    also = () if dataset.label_space.columns is None else (space,)
    return Benchmark(name, dataset, replace(protocol, corruptions=()), also=also, limit=_limited(dataset, limit))


def sequences(dataset: SequenceSet, protocol: Protocol, limit: int | None = None) -> Benchmark:
    """Plan a run over the videos of one perturbation, whose frames are the conditions.

    The order depends on the ids, so that a limit takes the videos of the same images under every perturbation.
    Raises as ``corrupted`` does.
    """
    _check_samples(dataset)
    frames = tuple(range(1, dataset.frames + 1))
    stored = Stored("imagenet-p", {FRAME: frames}, None)
    protocol = replace(protocol, encoding="files", corruptions=(FRAME,), stored=stored)
    return Benchmark(f"{SEQUENCES}{dataset.perturbation}", dataset, protocol, limit=_limited(dataset, limit))


def seeded_order(samples: Sequence[Sample], seed: int) -> list[Sample]:
    """Shuffle images so that each beginning of the order holds every class in its share, or within one image of it.

    Parameters
    ----------
    samples
        The images of a data set, in any order.
    seed
        The seed of the run.

    Returns
    -------
    list of Sample
        Within a class the order is random; the k-th of its n images lies at a random place in the k-th n-th of the
        whole. So a run that is stopped early is a proportionally stratified sample of the data set.
    """
    by_id = sorted(samples, key=lambda s: s.id)
    rng = order_stream(seed, "images")
    shuffled = [by_id[i] for i in rng.permutation(len(by_id))]
    jitter = rng.random_sample(len(by_id))
    _, strata, counts = np.unique([s.label for s in shuffled], return_inverse=True, return_counts=True)
    rank = np.zeros_like(counts)
    places = np.empty(len(shuffled))
    for i, stratum in enumerate(strata):
        places[i] = (rank[stratum] + jitter[i]) / counts[stratum]
        rank[stratum] += 1
    return [shuffled[i] for i in np.argsort(places, kind="stable")]


def _check_design(benchmark: Benchmark) -> None:
    """Refuse a design that can give no number."""
    images = len(benchmark.placed)
    if not benchmark.labelled and benchmark.design is not None:
        raise ArgumentError(
            "A precision, and the pairing with another run, are about errors, and images without labels have none."
        )
    if benchmark.partner is not None and not images:
        raise DatasetError(f"{benchmark.dataset.name} has none of the images of {benchmark.partner.path}.")
    if benchmark.half_width is None:
        return
    if missing := [name for name in IMAGENET_C if name not in benchmark.protocol.corruptions]:
        reasons = [benchmark.unavailable.get(name, "it was not asked for") for name in missing]
        raise ArgumentError(
            f"A precision is one of the mean over the {len(IMAGENET_C)} corruptions of ImageNet-C, and there is no "
            f"{missing[0]}: {reasons[0]}."
        )
    published = {Condition(name, severity) for name in IMAGENET_C for severity in SEVERITIES}
    if lacking := published.difference(benchmark.conditions):
        raise ArgumentError(
            f"A precision is one of a mean over {len(SEVERITIES)} severities, and {benchmark.dataset.name} has no "
            f"{min(map(str, lacking))}."
        )
    if images < len(benchmark.conditions):
        raise ArgumentError(
            f"A precision needs at least {len(benchmark.conditions)} images, as many as there are conditions, and "
            f"there are {images}. Evaluate them without it."
        )


def _limited(dataset: _Planned, limit: int | None) -> int | None:
    """Check a limit: there must be so many images."""
    limit = None if limit is None else whole("limit", limit, lowest=1)
    if limit is not None and limit > len(dataset.samples):
        raise DatasetError(f"{limit} images were asked for, and {dataset.name} has {len(dataset.samples)}.")
    return limit


def _has_clean(protocol: Protocol) -> bool:
    return protocol.stored is None or protocol.stored.clean is not None


def _has_labels(dataset: _Planned) -> bool:
    return dataset.samples[0].label != UNLABELLED  # it is all or none, once they are checked


def _check_samples(dataset: _Planned) -> None:
    """Refuse a data set whose samples would make a wrong number, such as one of the user's own making."""
    ids = [sample.id for sample in dataset.samples]
    if not ids:
        raise DatasetError(f"{dataset.name} has no images.")
    if len(set(ids)) < len(ids):
        twice = next(id_ for id_ in sorted(ids) if ids.count(id_) > 1)
        raise DatasetError(f"{dataset.name} has the image {twice!r} more than once.")
    if all(sample.label == UNLABELLED for sample in dataset.samples):
        return
    for sample in dataset.samples:
        if not 0 <= sample.label < dataset.label_space.width:
            raise DatasetError(
                f"{dataset.name}: the label of {sample.id!r} is {sample.label}, and {dataset.label_space.name} has the "
                f"classes 0 to {dataset.label_space.width - 1}."
            )


def corruption_names(corruptions: str | Sequence[str], more: Sequence[str] = ()) -> tuple[str, ...]:
    """Read names of corruptions and of groups, with commas or as a sequence; each corruption once, in their order.

    ``more`` are further names that are known, such as those of a data set's own corruptions. Raises ``ArgumentError``
    for others.
    """
    asked = corruptions.split(",") if isinstance(corruptions, str) else corruptions
    if not isinstance(asked, Sequence) or not all(isinstance(name, str) for name in asked):
        raise ArgumentError(f"corruptions must be names of corruptions or of groups of them, not {corruptions!r}.")
    names = [*dict.fromkeys([*registry.REGISTRY, *more])]
    known = {**registry.groups(), **{name: (name,) for name in names}}
    chosen = {member for name in asked for member in known[choice("corruption", name.strip(), known)]}
    return tuple(name for name in names if name in chosen)
