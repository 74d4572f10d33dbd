"""One picture in several places of a set: equal files, and one validation image under two classes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.norms import VALIDATION
from oodometer.doctor.reading import Reading

__all__ = ["check_equal_files", "check_validation_names"]


def check_validation_names(ids: Sequence[str], findings: Findings) -> None:
    """Check that the name of each of ImageNet's validation images occurs once.

    Parameters
    ----------
    ids
        Of all images of a set: ``class/name``.
    findings
        Where to add what was found.
    """
    places: dict[str, list[str]] = {}
    for id_ in ids:
        name = id_.rpartition("/")[2]
        if VALIDATION.match(name):
            places.setdefault(name.partition(".")[0].upper(), []).append(id_)
    if several := sorted(_several(places.values())):
        findings.fault(
            "image-in-two-classes",
            f"Validation images whose name occurs more than once: {len(several):,}.",
            "Each of them has one class: remove the copy in the wrong folder.",
            several,
        )


def check_equal_files(ids: Sequence[str], classes: Sequence[object], reading: Reading, findings: Findings) -> None:
    """Look for files that are equal. They are notes, as published sets have some: pictures that were collected twice.

    Parameters
    ----------
    ids
        Of all images of a set.
    classes
        The class of each, whatever names it.
    reading
        Of their files, in that order.
    findings
        Where to add what was found.
    """
    readable = np.flatnonzero(reading.readable)
    _, which, counts = np.unique(reading.digests[readable], axis=0, return_inverse=True, return_counts=True)
    groups: dict[int, list[int]] = {}
    for at in np.flatnonzero(counts[which] > 1):
        groups.setdefault(int(which[at]), []).append(int(readable[at]))
    across = [group for group in groups.values() if len({classes[row] for row in group}) > 1]
    within = [group for group in groups.values() if len({classes[row] for row in group}) == 1]
    for code, found, title, fix in (
        (
            "copies-across-classes",
            across,
            "Files that another class has too, so that one of the labels is wrong",
            "Nothing to do in a published set, which may have some; else remove the wrong ones.",
        ),
        (
            "copies",
            within,
            "Files that their class has more than once",
            "Nothing to do in a published set, which may have some; else remove all but one of each.",
        ),
    ):
        if places := sorted(ids[row] for group in found for row in group):
            findings.note(code, f"{title}: {len(places):,}.", fix, places)


def _several(groups: Iterable[list[str]]) -> list[str]:
    return [id_ for group in groups if len(group) > 1 for id_ in group]
