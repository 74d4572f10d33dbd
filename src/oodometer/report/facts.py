"""What was measured, and how, as names and values for people; the same in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oodometer.report.summary import (
    BaselineName,
    Corruptions,
    Counts,
    Design,
    Outliers,
    Renditions,
    Summary,
    Unlabelled,
)
from oodometer.report.words import count
from oodometer.types import Protocol

__all__ = ["Fact", "facts"]

_KINDS = {
    "imagenet-c": "taken for the published ImageNet-C",
    "tiny-imagenet-c": "taken for the published Tiny-ImageNet-C",
    "cifar10-c": "taken for the published CIFAR-10-C",
    "cifar100-c": "taken for the published CIFAR-100-C",
}
"""What sets of stored pictures that Oodometer did not build are."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing to know about the run."""

    name: str
    value: str


def facts(summary: Summary) -> tuple[Fact, ...]:
    """List what was measured, and how: model, normalisation, data, protocol, baseline.

    Parameters
    ----------
    summary
        What the run says.
    """
    model = summary.model
    found = [Fact("Model", model.name), Fact("Normalisation", _normalization(summary))]
    if model.resized:
        found.append(Fact("Model input", f"{model.resized}: pictures of another size were resized to it"))
    found += [Fact(name, value) for name, value in model.settings.items()]
    if summary.corruptions is not None:
        name = "Clean" if summary.corruptions.clean_only else "ImageNet-C"
        found += _of_benchmark(name, summary.corruptions)
        if summary.corruptions.design is not None:
            found.append(Fact("ImageNet-C design", _design(summary.corruptions.design)))
        baseline = summary.corruptions.baseline
        if not summary.corruptions.clean_only:
            found.append(Fact("Baseline", "none" if baseline is None else _baseline(baseline)))
    if summary.unlabelled is not None:
        found += _of_benchmark("ImageNet-C", summary.unlabelled)
    if summary.renditions is not None:
        found += _of_benchmark("ImageNet-R", summary.renditions)
    for shifted in summary.shifted:
        found += _of_benchmark(shifted.title, shifted.part)
    if summary.outliers is not None:
        found += _of_benchmark("ImageNet-O", summary.outliers)
    return tuple(found)


def _of_benchmark(name: str, part: Corruptions | Unlabelled | Renditions | Outliers) -> Iterator[Fact]:
    protocol = part.protocol
    yield Fact(f"{name} images", f"{part.dataset}: {_images(part.counts)}")
    yield Fact(f"{name} protocol", protocol.label + (f"; {_making(protocol)}" if protocol.corruptions else ""))


def _making(protocol: Protocol) -> str:
    """Say how the corrupted pictures were made, as far as that is known."""
    stored = protocol.stored
    made = f"edition {protocol.edition}, method {protocol.method}, seed"
    if stored is None:
        return f"{made} {protocol.seed}"
    kind = _KINDS.get(stored.kind, "corrupted before, nobody wrote down how")
    if stored.preprocess is not None:
        kept = "without loss" if stored.quality is None else f"as JPEG {stored.quality}"
        kind = f"built by Oodometer ({stored.preprocess.label}, {made} {stored.seed}, kept {kept})"
    clean = {None: "no clean images", "the set": "clean images of the set"}.get(
        stored.clean, f"clean images given ({stored.clean})"
    )
    return f"{kind}; {clean}; order of seed {protocol.seed}"


def _design(design: Design) -> str:
    """Say how much was done, and of what it is a part."""
    goal = "" if design.half_width is None else f"precision of {100 * design.half_width:g} points"
    aim = " and ".join(filter(None, [goal, "paired with another run" if design.paired else ""]))
    each = f"{design.fewest}" if design.fewest == design.most else f"{design.fewest} to {design.most}"
    return (
        f"{aim}: {each} of {design.conditions} conditions an image, {design.passes:,} passes, "
        f"{100 * design.share:.{1 if design.share >= 0.01 else 2}f} % of the full cost"
    )


def _baseline(baseline: BaselineName) -> str:
    said = "taken as exact" if baseline.exact else "its own error is in the intervals"
    return f"{baseline.name}: {baseline.source}; {said}"


def _images(counts: Counts) -> str:
    of_classes = count(counts.classes, "class", "classes") if counts.classes else "no labels"
    text = f"{counts.measured:,} of {count(counts.planned, 'image')}, {of_classes}"
    return f"{text}, {len(counts.skipped):,} skipped" if counts.skipped else text


def _normalization(summary: Summary) -> str:
    found = summary.model.normalization
    if found is None:
        return "none: the model takes the pixels as they are"
    return ", ".join(f"{name} {value}" for name, value in found.items())
