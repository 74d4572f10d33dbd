"""The way of an examination: what a path holds, who examines that kind, and what is said at the end."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from oodometer import arguments
from oodometer.building.manifest import BuildFolder
from oodometer.datasets.manifest import BUILD
from oodometer.datasets.recognise import Look, recognise
from oodometer.doctor.arrays import examine_cifar, examine_pair
from oodometer.doctor.built import examine_build
from oodometer.doctor.containers import examine_container
from oodometer.doctor.diagnosis import Diagnosis, Findings
from oodometer.doctor.reading import Reader
from oodometer.doctor.trees import examine_cells, examine_classes, examine_image
from oodometer.errors import ArgumentError, DatasetError
from oodometer.families import IMAGENET_C
from oodometer.progress import ProgressBar, Silent
from oodometer.threads import threads

__all__ = ["check"]

_CELLS = {"imagenet-c", "tiny-imagenet-c"}
_CONTAINERS = {"webdataset", "parquet", "huggingface"}
_CIFAR = {"cifar10-c": 10, "cifar100-c": 100}


def check(
    path: str | os.PathLike[str],
    *,
    clean: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: bool = True,
) -> Diagnosis:
    """Examine a data set on disk: whether all of it is there, readable, and what it says it is.

    Every image is decoded to its end (JPEGs without their colours), so that a file which is cut off is found; damage
    within a JPEG that leaves its structure intact cannot be seen, since JPEG has no checksums. What ``oodometer
    corrupt`` built is compared with the checksums in its manifest instead.

    Parameters
    ----------
    path
        The data set, of any kind that ``oodometer.open_dataset`` reads; what it was taken for is said.
    clean
        For a tree of corruptions: the folder of the clean images, class folders with the same names in them. Cells are
        then compared with it too. Clean crops in the folder ``clean`` of the tree are found without it.
    workers
        Threads; by default one for each processor.
    progress
        Whether to show a progress bar on stderr.

    Returns
    -------
    Diagnosis
        The findings, each with a fix. ``ok`` is false if one of them is a fault; notes are allowed, but may surprise.

    Raises
    ------
    DatasetError
        If there is nothing, or nothing that counts as a data set.
    ArgumentError
        If ``workers`` is no positive number, or ``clean`` is given for a set that has no cells.
    """
    place = arguments.path("The data set", path)
    look = _recognised(place)
    beside = _clean_folder(clean, look)
    findings = Findings()
    _note_nesting(place, look, findings)
    count = threads(workers)
    bar = ProgressBar() if progress else contextlib.nullcontext(Silent())
    with bar as observer, Reader(count, observer) as reader:
        if look.kind == BUILD:
            examine_build(BuildFolder(look.root), count, reader, findings)
        else:
            _examine(look, beside, reader, findings)
    if not any(finding.severity == "fault" for finding in findings.found) and not findings.looked_at.get("images"):
        findings.fault("no-images", "There are no images to look at.", "Copy, unpack or fetch the set again.")
    return Diagnosis(str(place), look.kind, str(look.root), look.said, findings.looked_at, tuple(findings.sorted()))


def _recognised(place: Path) -> Look:
    """Recognise a set, also one like CIFAR-10-C that has lost its labels."""
    try:
        return recognise(place)
    except DatasetError:
        if not any((place / f"{corruption}.npy").is_file() for corruption in IMAGENET_C):
            raise
        return Look("cifar10-c", place, f"{place} was taken for CIFAR-10-C, by the names of its arrays.")


def _clean_folder(clean: str | os.PathLike[str] | None, look: Look) -> Path | None:
    if clean is None:
        return None
    if look.kind not in _CELLS:
        raise ArgumentError(f"clean goes with a tree of corruptions alone. {look.said}")
    folder = arguments.path("The clean images", clean)
    if not folder.is_dir():
        raise DatasetError(f"The clean images must be a folder; {folder} is none.")
    return folder


def _examine(look: Look, clean: Path | None, reader: Reader, findings: Findings) -> None:
    if look.kind in _CELLS:
        examine_cells(look.root, look.kind, clean, reader, findings)
    elif look.kind in _CIFAR:
        examine_cifar(look.root, _CIFAR[look.kind], reader, findings)
    elif look.kind == "npy":
        examine_pair(look.root, reader, findings)
    elif look.kind in _CONTAINERS:
        examine_container(look.kind, look.root, reader, findings)
    elif look.kind == "image":
        examine_image(look.root, reader, findings)
    else:
        examine_classes(look.root, look.kind, reader, findings)


def _note_nesting(place: Path, look: Look, findings: Findings) -> None:
    if place.is_dir() and look.root != place:
        findings.note(
            "nested",
            f"The set itself lies further down, in {look.root.relative_to(place)}.",
            "Nothing to do here; other programs want that folder.",
        )
