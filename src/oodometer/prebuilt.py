"""An evaluation of pictures that were corrupted before: what the set is, what of it is evaluated, and by what protocol.

Everything after that is the road of any evaluation, so the numbers mean the same. What was settled when the pictures
were made cannot be asked for again, and is recorded as far as the set says it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from oodometer import arguments, plan
from oodometer.clean_images import find_clean
from oodometer.datasets import BuildManifest, lost_cells, read_build
from oodometer.datasets.layout import some
from oodometer.errors import ArgumentError, DatasetError
from oodometer.families import GROUPS
from oodometer.preprocess import PREPROCESS
from oodometer.stored import StoredSet
from oodometer.types import CLEAN, Condition, CorruptedDataset, Dataset, Protocol, Stored

__all__ = ["Settled", "settle"]

_KINDS = {
    "imagenet-1k": "imagenet-c",
    "tiny-imagenet-200": "tiny-imagenet-c",
    "cifar-10": "cifar10-c",
    "cifar-100": "cifar100-c",
}
"""What a set is taken for that no manifest describes, by its label space."""


@dataclass(frozen=True, slots=True)
class Settled:
    """What is settled of an evaluation; ``lacking`` maps corruptions that a set of stored pictures lacks to the reason.

    ``renditions`` is the protocol of pictures that are not corrupted, beside those.
    """

    dataset: Dataset | StoredSet
    protocol: Protocol
    renditions: Protocol
    lacking: Mapping[str, str] = field(default_factory=dict)


def settle(
    dataset: CorruptedDataset,
    *,
    clean: str | os.PathLike[str] | Dataset | None,
    out: str | os.PathLike[str] | None,
    corruptions: str | Sequence[str],
    preprocess: str | None,
    seed: int,
    given: Mapping[str, str | None],
) -> Settled:
    """Settle the evaluation of a set of corrupted pictures.

    Parameters
    ----------
    dataset
        The set.
    clean
        The clean images, if the set has none of its own: whatever ``open_dataset`` opens, or a ``Dataset``.
    out
        The run's folder, which must lie apart from them.
    corruptions, preprocess, seed
        As for ``evaluate``; the preprocessing is of the pictures as they are stored, by default none.
    given
        Options about how pictures are made, which is over here: each must be ``None``.

    Raises
    ------
    ArgumentError
        If one of these options is given, or a name is unknown.
    DatasetError
        If the set has none of the corruptions, is a build that was not finished or has lost cells since, or clean
        images are missing or are of another set.
    """
    for option, value in given.items():
        if value is not None:
            raise ArgumentError(
                f"{option}={value!r} says how pictures are made, and those of {dataset.name} were made before: they go "
                "to the model as they are stored. Leave it out, or give the clean images as the data."
            )
    there = _severities(dataset.conditions)
    asked = plan.corruption_names(corruptions, tuple(there))
    manifest = _manifest(dataset, asked, with_clean=clean is None)
    chosen = tuple(name for name in asked if name in there)
    if asked and not chosen:
        raise DatasetError(
            f"{dataset.name} has none of the corruptions asked for. It has {', '.join(there)}: name those to evaluate."
        )
    made_by = manifest.protocol.preprocess.name if manifest else None
    found = find_clean(dataset, clean, out, made_by)
    if not chosen and found is None:
        raise ArgumentError(f"No corruptions were asked for, and {dataset.name} has no clean images either.")
    stored = replace(
        _described(dataset, manifest),
        severities={name: there[name] for name in chosen},
        clean=None if found is None else "the set" if clean is None else found.geometry.label,
    )
    protocol = Protocol(
        preprocess=PREPROCESS[arguments.choice("preprocessing", preprocess or "none", PREPROCESS)],
        encoding="files",
        edition=manifest.protocol.edition if manifest else "unknown",
        method=manifest.protocol.method if manifest else "unknown",
        corruptions=chosen,
        seed=arguments.whole("seed", seed),
        stored=stored,
    )
    source = manifest.source.digest if manifest else ""
    return Settled(
        StoredSet(dataset, found, source, getattr(dataset, "notes", ())),
        protocol,
        _of_renditions(protocol),
        {name: f"not in {dataset.name}" for name in asked if name not in there},
    )


def _of_renditions(protocol: Protocol) -> Protocol:
    """Return the protocol of renditions, which go through the geometry that the pictures of the set went through."""
    stored, geometry = protocol.stored, protocol.preprocess
    if geometry.name == "none":
        geometry = (None if stored is None else stored.preprocess) or PREPROCESS["imagenet224"]
    return replace(protocol, preprocess=geometry, encoding="memory", edition="imagenet224", method="fast", stored=None)


def _severities(conditions: Sequence[Condition]) -> dict[str, tuple[int, ...]]:
    found: dict[str, list[int]] = {}
    for condition in conditions:
        found.setdefault(condition.corruption, []).append(condition.severity)
    return {name: tuple(sorted(severities)) for name, severities in found.items()}


def _manifest(dataset: CorruptedDataset, asked: Sequence[str], *, with_clean: bool) -> BuildManifest | None:
    """Read what Oodometer wrote about a set that it built, and see that all that is asked for is there still.

    ``None`` for sets of others, which may lack what they like.
    """
    root = getattr(dataset, "root", None)
    manifest = None if root is None else read_build(root)
    if root is None or manifest is None:
        return None
    if not manifest.complete:
        raise DatasetError(f"{root} is a build that is not finished. Run the command that makes it again.")
    wanted = {*asked, *([CLEAN.corruption] if with_clean else [])}
    if lost := [str(condition) for condition in lost_cells(root, manifest) if condition.corruption in wanted]:
        raise DatasetError(f"Missing from the build {root}: {some(lost)}. Run its command again, which makes them.")
    return manifest


def _described(dataset: CorruptedDataset, manifest: BuildManifest | None) -> Stored:
    if manifest is None:
        published = any(condition.corruption in GROUPS["all"] for condition in dataset.conditions)
        known = _KINDS if published and hasattr(dataset, "root") else {}  # not of what is no reader of ours
        return Stored(known.get(dataset.label_space.name, "other"), {}, None)
    return Stored("build", {}, None, manifest.protocol.preprocess, manifest.quality, manifest.protocol.seed)
