"""The classes of a set: which there are, how many images each one has, and whether that is what was published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from oodometer.datasets.layout import near
from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.norms import RENDITIONS, STYLED, Norm
from oodometer.report.words import count, listed

__all__ = ["check_classes", "check_total"]

_MOST = 0.9
"""A set that holds more than this share of the published images is taken for a damaged one, and else for a part on
purpose: the parts that are in use hold a half or less."""


def check_classes(trees: Mapping[str, Sequence[str]], norm: Norm | None, findings: Findings) -> None:
    """Check that every image is in a class folder, and that the classes are those of the published set.

    Parameters
    ----------
    trees
        The ids of the images, ``class/name``, by the folder that they are below: the set itself is ``""``.
    norm
        What the published set holds that they belong to, if it is known.
    findings
        Where to add what is wrong.
    """
    if loose := [prefix + id_ for prefix, ids in trees.items() for id_ in ids if "/" not in id_]:
        findings.fault(
            "loose-images",
            f"Images beside the class folders, which have no class: {len(loose):,}.",
            "Move them into their class folders, or away.",
            loose,
        )
    if norm is None or norm.space is None:
        return
    folders = {prefix: {id_.partition("/")[0] for id_ in ids if "/" in id_} for prefix, ids in trees.items()}
    if unknown := sorted({name for names in folders.values() for name in names - norm.members}):
        findings.fault(
            "unknown-class",
            f"Folders that are no classes of {norm.name}: {len(unknown):,}. {near(unknown[0], norm.space)}".rstrip(),
            "Rename them to their classes, or move them away.",
            [prefix + name for prefix, names in folders.items() for name in sorted(names - norm.members)],
        )


def check_total(ids: Sequence[str], norm: Norm | None, findings: Findings) -> None:
    """Check the number of images against the published one, in all and in each class.

    A set that is clearly a part of the published one gets a note with its numbers, a nearly whole one a fault.

    Parameters
    ----------
    ids
        Of all images of the set, or of one cell.
    norm, findings
        As for ``check_classes``.
    """
    if norm is None or not norm.images:
        return
    classes = Counter(id_.partition("/")[0] for id_ in ids)
    whole = f"{norm.images:,} images in {norm.classes:,} classes"
    numbers = f"{count(len(ids), 'image')} in {count(len(classes), 'class', 'classes')}, of {whole}"
    fewest, most = norm.per_class or (0, norm.images)
    crowded = sorted(name for name, number in classes.items() if number > most)
    if crowded or len(ids) > norm.images:
        findings.fault(
            "too-many-images",
            f"More than {norm.name} holds: {numbers}; classes with more than {most:,}: {len(crowded):,}.",
            "Look for copies and for files of another set, and remove them.",
            crowded,
        )
    full = sum(number >= fewest for number in classes.values())
    short = sorted(name for name, number in classes.items() if number < fewest)
    missing = sorted(norm.members - classes.keys())
    nearly_whole = _MOST * norm.images < len(ids) < norm.images
    if nearly_whole or (short and fewest == most and 2 * full >= len(classes)):
        findings.fault(
            "incomplete",
            f"{norm.name} is not whole: {numbers}. {_by_style(ids, norm)}".rstrip(),
            "Copy or unpack it again, or fetch it anew.",
            [*missing, *short],
        )
    elif len(ids) < norm.images:
        findings.note(
            "part",
            f"A part of {norm.name}: {numbers}.",
            "Nothing to do if that is meant; its scores are not those of the published set.",
        )


def _by_style(ids: Sequence[str], norm: Norm) -> str:
    """Return which styles of ImageNet-R have lost images."""
    if norm.images != sum(RENDITIONS.values()):
        return ""
    matches = (STYLED.match(id_.rpartition("/")[2]) for id_ in ids)
    found = Counter(match[1] for match in matches if match)
    lacking = [
        f"{style} has {found[style]:,} of {whole:,}" for style, whole in RENDITIONS.items() if found[style] < whole
    ]
    return f"By style: {listed(lacking)}." if lacking else ""
