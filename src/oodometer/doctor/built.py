"""A set that ``oodometer corrupt`` built: its files against its manifest, its cells against each other."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from oodometer.building.manifest import BuildFolder, Manifest
from oodometer.building.verify import verify
from oodometer.datasets import read_build
from oodometer.datasets.decode import decode
from oodometer.doctor.cells import Cell
from oodometer.doctor.copies import find_copies
from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.order import check_order
from oodometer.doctor.reading import Reader
from oodometer.errors import DatasetError, StoreError
from oodometer.report.words import listed
from oodometer.types import CLEAN

__all__ = ["examine_build"]

_AGAIN = "Run the command that built it once more, with the same sources: it makes what is missing or damaged"
_PROBLEMS = {
    "unfinished": ("build-unfinished", "Builds that were not finished", f"{_AGAIN}."),
    "manifest": ("build-manifest", "Parts of the manifest that are missing or damaged", f"{_AGAIN}."),
    "missing": ("file-missing", "Files of the manifest that are not there", f"{_AGAIN}."),
    "size": ("file-changed-size", "Files of another length than when they were written", f"{_AGAIN}."),
    "content": ("file-changed", "Files of another content than when they were written", f"{_AGAIN}."),
    "unknown": ("file-unknown", "Files that the manifest does not know", "Move them out of the folder of the build."),
}

_PLAIN = {"unfinished", "missing", "unknown"}
"""The problems of which there is no more to say."""


def examine_build(folder: BuildFolder, workers: int, reader: Reader, findings: Findings) -> None:
    """Examine a built set. Its files are not decoded: they are the ones that were written if their checksums say so.

    Parameters
    ----------
    folder
        Of the build.
    workers
        Threads.
    reader
        Whose progress bar is told.
    findings
        Where to add what is wrong, and what was looked at.
    """
    try:
        read_build(folder.path)  # refuses what no evaluation can use, too
        manifest = folder.read_manifest()
        faults = verify(folder.path, reader.observer, workers)
    except (StoreError, DatasetError) as error:
        fix = "Use a version of Oodometer that can read it, or build anew into another folder."
        findings.fault("build-manifest", str(error), fix, ["manifest.json"])
        return
    for problem, (code, title, fix) in _PROBLEMS.items():
        if found := [fault for fault in faults if fault.problem == problem]:
            first = "" if problem in _PLAIN else f" The first: {found[0].detail}"
            findings.fault(code, f"{title}: {len(found):,}.{first}", fix, [fault.path for fault in found])
    _note_skipped(manifest, findings)
    findings.count("images", manifest.pictures)
    if not faults:
        _compare(folder, findings)


def _note_skipped(manifest: Manifest, findings: Findings) -> None:
    if manifest.skipped:
        findings.note(
            "sources-skipped",
            f"Source images that could not be read and are in no cell: {len(manifest.skipped):,}.",
            "Nothing to do if they may be missing; else mend them and build anew, into another folder.",
            [skipped.image for skipped in manifest.skipped],
        )


@dataclass
class _Column:
    """The pictures of one condition, gathered block by block."""

    corruption: str
    severity: float
    rows: list[int] = field(default_factory=list)
    digests: bytearray = field(default_factory=bytearray)

    def cell(self, name: str) -> Cell:
        """Return them in the order of their rows. Sizes are not known, and equal where they count."""
        order = np.argsort(self.rows)
        digests = np.frombuffer(bytes(self.digests), np.uint64).reshape(-1, 2)[order]
        sizes = np.ones(digests.shape, np.int32)
        return Cell(self.corruption, name, np.array(self.rows, np.int32)[order], digests, sizes)


def _compare(folder: BuildFolder, findings: Findings) -> None:
    """Compare the cells by the checksums in the manifest, if each picture has a file of its own."""
    images: dict[str, int] = {}
    names: list[str] = []
    columns: dict[str, _Column] = {}
    for number in folder.blocks():
        pictures = folder.read_block(number)
        if len({picture.path for picture in pictures}) < len(pictures):
            return
        findings.count("bytes", sum(picture.bytes for picture in pictures))
        for picture in pictures:
            parts = picture.path.split("/")
            deep = 2 if picture.severity else 1
            row = images.setdefault(picture.image, len(images))
            if row == len(names):
                names.append("/".join(parts[deep:]))
            column = columns.setdefault("/".join(parts[:deep]), _Column(picture.corruption, picture.severity))
            column.rows.append(row)
            column.digests += bytes.fromhex(picture.sha256)[:16]
    ordered = sorted(columns.items(), key=lambda item: (item[1].severity > 0, item[1].corruption, item[1].severity))
    cells = [column.cell(name) for name, column in ordered]
    findings.count("cells", len(cells))

    def look(cell: Cell, at: int) -> NDArray[np.uint8]:
        return np.asarray(decode(folder.path / cell.name / names[cell.rows[at]]))

    for group in find_copies(cells, look).equal:
        equal = [cell.name for cell in group]
        findings.note(
            "cells-equal",
            f"{listed(equal, most=6)} hold the same files: there, the corruption gives the same for all strengths.",
            "Nothing to do if these strengths are meant.",
            equal,
        )
    if cells and cells[0].corruption == CLEAN.corruption:
        check_order(cells[0], cells[1:], look, findings)
