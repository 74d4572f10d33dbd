"""From what is asked for to what is to be run: the benchmarks of a run, each with its images and its protocol."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from oodometer import plan
from oodometer.datasets import imagenet1k
from oodometer.errors import ArgumentError
from oodometer.inputs import open_clean, open_data, open_shifted
from oodometer.metrics import BaselineSpec
from oodometer.plan import Benchmark
from oodometer.prebuilt import Settled, settle
from oodometer.shifts import OWN_NAME, SHIFTED_SETS, name_of
from oodometer.types import CorruptedDataset, Dataset, LabelSpace, Protocol

__all__ = ["Asked", "Given", "planned"]

Given: TypeAlias = str | os.PathLike[str] | Dataset
"""Where images lie, in a form that ``open_dataset`` takes, or a data set."""

MAKING = {"encoding": "memory", "edition": "imagenet224", "method": "fast"}
"""How pictures are corrupted on the way unless something else is asked for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What an evaluation is asked to measure, in the words of ``oodometer.evaluate``, which explains them."""

    data: Given | CorruptedDataset | None
    out: str | os.PathLike[str] | None
    clean: Given | None
    imagenet_r: Given | None
    suite: Mapping[str, Given]
    labels: str | Path | Mapping[str, int | str] | None
    classes: int | None
    label_space: str | None
    unlabelled: bool
    corruptions: str | Sequence[str]
    preprocess: str | None
    encoding: str | None
    edition: str | None
    method: str | None
    seed: int
    limit: int | None
    precision: float | None
    paired: object
    baseline: BaselineSpec

    @property
    def making(self) -> dict[str, str | None]:
        """How pictures are to be corrupted on the way, as far as that was said."""
        return {"encoding": self.encoding, "edition": self.edition, "method": self.method}


def planned(asked: Asked, answers: str | None) -> list[Benchmark]:
    """Plan what is asked for: the images with their corruptions, then each shifted set.

    Parameters
    ----------
    asked
        What is to be measured.
    answers
        How a model that names classes is asked; ``None`` for one that gives logits.

    Raises
    ------
    ArgumentError, DatasetError, MissingDataError, StoreError
        If it cannot be had, or not together; before any work.
    """
    asked, sets = _sorted_out(asked)
    found = _images(asked, own=any(key not in SHIFTED_SETS for key in sets))
    whole = imagenet1k() if found is None else found.label_space
    shifted = {key: open_shifted(key, data, asked.out, whole, asked.labels) for key, data in sets.items()}
    if found is None:
        return _shifted(shifted, replace(_on_the_way(asked), answers=answers), whole, asked.limit)
    settled = _settled(asked, found)
    spaces = [dataset.label_space for dataset in shifted.values() if dataset.label_space != whole]
    images = plan.corrupted(
        settled.dataset,
        replace(settled.protocol, answers=answers),
        lacking=settled.lacking,
        limit=asked.limit,
        masked=spaces,
        precision=asked.precision,
        paired=asked.paired,
    )
    return [images, *_shifted(shifted, replace(settled.renditions, answers=answers), whole, None)]


def _shifted(sets: Mapping[str, Dataset], protocol: Protocol, whole: LabelSpace, limit: int | None) -> list[Benchmark]:
    return [plan.shifted(name_of(key), dataset, protocol, whole, limit) for key, dataset in sets.items()]


def _sorted_out(asked: Asked) -> tuple[Asked, dict[str, Given]]:
    """Find what the data are and which shifted sets there are, in whichever way they were given."""
    if not isinstance(asked.suite, Mapping) or not all(isinstance(key, str) for key in asked.suite):
        raise ArgumentError(f"A suite maps names to sets, such as {{'r': 'path/to/imagenet-r'}}; not {asked.suite!r}.")
    sets = dict(asked.suite)
    taken = {"imagenet-1k", "imagenet-c", "clean", *(known.benchmark for known in SHIFTED_SETS.values())}
    for key in sets:
        if not OWN_NAME.fullmatch(key) or key in taken:
            raise ArgumentError(
                f"{key!r} cannot be the name of a set in a suite. It is one of c, {', '.join(SHIFTED_SETS)}, or a name "
                "of your own: small letters and digits, and . _ - within, other than the published names."
            )
    if asked.imagenet_r is not None:
        if "r" in sets:
            raise ArgumentError("ImageNet-R is given twice: as r of the suite, and by itself.")
        sets = {"r": asked.imagenet_r, **sets}
    if "c" in sets:
        if asked.data is not None:
            raise ArgumentError("The data are given twice: as c of the suite, and by themselves.")
        asked = replace(asked, data=_as_imagenet_c(sets.pop("c")))
    if asked.data is None and not sets:
        raise ArgumentError("There is nothing to measure: give data, ImageNet-R, or a suite.")
    return asked, sets


def _as_imagenet_c(data: Given) -> Given:
    """Name the kind of a path, unless the caller did."""
    bare = isinstance(data, os.PathLike) or (isinstance(data, str) and Path(data).exists())
    return f"imagenet-c:{os.fspath(data)}" if bare else data  # type: ignore[arg-type]  # it is a path


def _images(asked: Asked, *, own: bool) -> Dataset | CorruptedDataset | None:
    """Open the data; without any, the clean images that the shifted sets are compared with, if they are given.

    ``own`` is whether there is a set of the user's own, whose labels may then be the only ones to be given.
    """
    said = {"labels": asked.labels, "classes": asked.classes, "label_space": asked.label_space}
    if asked.data is not None:
        return open_data(asked.data, asked.out, unlabelled=asked.unlabelled, **said)  # type: ignore[arg-type]
    odd = {"unlabelled": asked.unlabelled or None, "precision": asked.precision, "paired": asked.paired, **asked.making}
    odd["baseline"] = None if asked.baseline in ("auto", "none") else asked.baseline
    if asked.corruptions != "imagenet-c":
        odd["corruptions"] = asked.corruptions
    if asked.clean is None:
        odd |= said | ({"labels": None} if own else {})
    if strange := [name for name, value in odd.items() if value is not None]:
        raise ArgumentError(
            f"{', '.join(strange)}: of data that are to be corrupted, and there are no data. Leave it out."
        )
    return None if asked.clean is None else open_clean(asked.clean, asked.out, **said)  # type: ignore[arg-type]


def _settled(asked: Asked, found: Dataset | CorruptedDataset) -> Settled:
    """Settle what the model is to see: stored pictures, or such as are made on the way."""
    if isinstance(found, CorruptedDataset):
        return settle(
            found,
            clean=asked.clean,
            out=asked.out,
            corruptions=asked.corruptions,
            preprocess=asked.preprocess,
            seed=asked.seed,
            given=asked.making,
        )
    if asked.clean is not None and asked.data is not None:
        raise ArgumentError(
            f"{found.name} holds clean images, which are corrupted on the way; clean goes with pictures that were "
            "corrupted before, or with shifted sets alone."
        )
    protocol = _on_the_way(asked)
    return Settled(found, protocol, protocol)


def _on_the_way(asked: Asked) -> Protocol:
    """Return the protocol of pictures that are corrupted on the way, or, without data, of such as are not at all."""
    choices = MAKING | {name: choice for name, choice in asked.making.items() if choice is not None}
    preprocess = "imagenet224" if asked.preprocess is None else asked.preprocess
    corruptions = () if asked.data is None else asked.corruptions
    return plan.make_protocol(corruptions=corruptions, preprocess=preprocess, seed=asked.seed, **choices)
