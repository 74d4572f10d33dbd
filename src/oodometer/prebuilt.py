"""An evaluation of pictures that were corrupted before: what the set is, what of it is evaluated, and by what protocol.

Everything after that is the road of any evaluation, so the numbers mean the same. What was settled when the pictures
were made cannot be asked for again, and is recorded as far as the set says it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from oodometer import arguments, plan
from oodometer.clean_images import find_clean
from oodometer.datasets import build_manifest
from oodometer.errors import ArgumentError, DatasetError
from oodometer.families import GROUPS
from oodometer.preprocess import PREPROCESS
from oodometer.stored import StoredSet
from oodometer.types import Condition, CorruptedDataset, Dataset, Protocol, Stored

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
        If the set has none of the corruptions, was not finished, or clean images are missing or are of another set.
    """
    for option, value in given.items():
        if value is not None:
            raise ArgumentError(
                f"{option}={value!r} says how pictures are made, and those of {dataset.name} were made before: they go "
                "to the model as they are stored. Leave it out, or give the clean images as the data."
            )
    manifest = _manifest(dataset)
    there = _severities(dataset.conditions)
    asked = plan.corruption_names(corruptions, tuple(there))
    chosen = tuple(name for name in asked if name in there)
    if asked and not chosen:
        raise DatasetError(
            f"{dataset.name} has none of the corruptions asked for. It has {', '.join(there)}: name those to evaluate."
        )
    made_by = manifest["protocol"]["preprocess"]["name"] if manifest else None
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
        edition=manifest["protocol"]["edition"] if manifest else "unknown",
        method=manifest["protocol"]["method"] if manifest else "unknown",
        corruptions=chosen,
        seed=arguments.whole("seed", seed),
        stored=stored,
    )
    source = manifest["source"]["digest"] if manifest else ""
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


def _manifest(dataset: CorruptedDataset) -> dict[str, Any] | None:
    """Read what Oodometer wrote about a set that it built; ``None`` for others."""
    root = getattr(dataset, "root", None)
    manifest = None if root is None else build_manifest(root)
    if manifest is None:
        _check_is_json(root)
        return None
    try:
        msgspec.convert(manifest["protocol"], Protocol)
        complete, _, _ = manifest["complete"], manifest["quality"], manifest["source"]["digest"]
    except (KeyError, TypeError, msgspec.ValidationError) as error:
        raise DatasetError(
            f"{root}/manifest.json is damaged ({error}). `oodometer check` says what is there."
        ) from error
    if not complete:
        raise DatasetError(f"{root} is a build that is not finished. Run the command that makes it again.")
    return manifest


def _check_is_json(root: Path | None) -> None:
    """Refuse a manifest that is damaged, or what Oodometer built would be taken for a published set."""
    if root is None or not (root / "manifest.json").is_file():
        return
    try:
        json.loads((root / "manifest.json").read_bytes())
    except (OSError, ValueError) as error:
        raise DatasetError(
            f"{root / 'manifest.json'} is damaged: {error}. Restore it, or remove it if the set is no build."
        ) from error


def _described(dataset: CorruptedDataset, manifest: dict[str, Any] | None) -> Stored:
    if manifest is None:
        published = any(condition.corruption in GROUPS["all"] for condition in dataset.conditions)
        known = _KINDS if published and hasattr(dataset, "root") else {}  # not of what is no reader of ours
        return Stored(known.get(dataset.label_space.name, "other"), {}, None)
    protocol = msgspec.convert(manifest["protocol"], Protocol)
    return Stored("build", {}, None, protocol.preprocess, manifest["quality"], protocol.seed)
