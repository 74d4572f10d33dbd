"""Sets of image files: a tree of class folders, or one such tree for each cell of a corruption set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oodometer.datasets.decode import decode
from oodometer.doctor.cells import Cell, check_same_images, most_common
from oodometer.doctor.classes import check_classes, check_total
from oodometer.doctor.copies import find_copies
from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.grid import check_conditions, find_grid
from oodometer.doctor.names import check_names
from oodometer.doctor.norms import VALIDATION, known_as
from oodometer.doctor.order import check_order
from oodometer.doctor.probe import Trait, probe_file
from oodometer.doctor.reading import Reader, Reading, Troubles, report_traits
from oodometer.doctor.sizes import check_sizes
from oodometer.doctor.twins import check_equal_files, check_validation_names
from oodometer.doctor.walk import Oddities, walk
from oodometer.types import CLEAN

__all__ = ["examine_cells", "examine_classes", "examine_image"]

_TINY_CLASSES = 200


@dataclass
class _Files:
    """Reads the images of folders of one set and gathers what is odd about single files; ``above`` begins places."""

    root: Path
    reader: Reader
    above: str = ""
    troubles: Troubles = field(default_factory=Troubles)
    traits: dict[Trait, list[str]] = field(default_factory=dict)

    def read(self, folder: str, ids: Sequence[str], findings: Findings) -> Reading:
        """Read the images of one folder, in the order given."""
        prefix = f"{folder}/" if folder else ""
        reading = self.reader.read(
            ids,
            lambda id_: probe_file(f"{self.root}/{prefix}{id_}"),
            self.troubles,
            lambda id_: f"{self.above}{prefix}{id_}",
        )
        for trait in Trait:
            places = [f"{self.above}{prefix}{ids[int(row)]}" for row in np.flatnonzero(reading.traits & trait)]
            self.traits.setdefault(trait, []).extend(places)
        findings.count("images", len(ids))
        findings.count("bytes", reading.bytes)
        return reading

    def report(self, findings: Findings) -> None:
        self.troubles.report(findings)
        report_traits(findings, self.traits)


def examine_classes(root: Path, kind: str, reader: Reader, findings: Findings) -> None:
    """Examine a tree of class folders, or a flat folder.

    Parameters
    ----------
    root
        Of the set.
    kind
        What it was taken for.
    reader
        Reads the files.
    findings
        Where to add what is wrong, and what was looked at.
    """
    odd, files = Oddities(), _Files(root, reader)
    ids = walk(str(root), "", odd)
    reader.observer.begin("check", len(ids), 0)
    reading = files.read("", ids, findings)
    odd.report(findings)
    files.report(findings)
    check_names(ids, findings)
    if kind == "flat":
        _check_flat(ids, findings)
        return
    norm = known_as(kind, ids)
    findings.count("classes", len({id_.partition("/")[0] for id_ in ids if "/" in id_}))
    check_classes({"": ids}, norm, findings)
    check_total(ids, norm, findings)
    check_validation_names(ids, findings)
    check_equal_files(ids, [id_.partition("/")[0] for id_ in ids], reading, findings)


def examine_image(path: Path, reader: Reader, findings: Findings) -> None:
    """Examine a single image file."""
    files = _Files(path.parent, reader)
    reader.observer.begin("check", 1, 0)
    files.read("", [path.name], findings)
    files.report(findings)


def _check_flat(ids: Sequence[str], findings: Findings) -> None:
    if all(VALIDATION.match(id_.rpartition("/")[2]) for id_ in ids):
        findings.fault(
            "no-class-folders",
            "ImageNet's validation images as they are unpacked: without class folders, so without classes.",
            "Move them into folders named by their wnids (the development kit has the list), or give a file of labels "
            "to the commands that take --labels.",
        )
    elif any("/" in id_ for id_ in ids):
        findings.fault(
            "no-class-folders",
            "All images lie in one folder called images, which is no class.",
            "Make a folder for each class, or give a file of labels to the commands that take --labels.",
        )
    else:
        findings.note(
            "no-labels",
            "The images are not in class folders, so they have no labels here.",
            "Give a file of labels to the commands that take --labels.",
        )


def examine_cells(root: Path, kind: str, clean: Path | None, reader: Reader, findings: Findings) -> None:
    """Examine the cells of a corruption set, each a tree of class folders, and compare them with each other.

    Parameters
    ----------
    clean
        A folder with the clean images under the same names, instead of the clean crops below the root.
    root, kind, reader, findings
        As for ``examine_classes``.
    """
    odd, files = Oddities(), _Files(root, reader)
    grid = find_grid(root, odd)
    if clean is not None:
        grid.cells = [cell for cell in grid.cells if cell[0] != CLEAN]
    names: dict[str, int] = {}
    rows = [_numbered(walk(str(root), folder, odd), names) for _, folder in grid.cells]
    ids = list(names)
    partners = _partners(clean, ids) if clean is not None else {}
    reader.observer.begin("check", sum(map(len, rows)) + len(partners), 0)
    cells = [_read_clean(clean, partners, reader, findings)] if clean is not None else []
    for (condition, folder), held in zip(grid.cells, rows, strict=True):
        reading = files.read(folder, [ids[row] for row in held], findings)
        cells.append(Cell(condition.corruption, folder, held, reading.digests, reading.sizes))
    findings.count("cells", len(grid.cells))
    grid.report(findings)
    check_conditions([condition for condition, _ in grid.cells if condition != CLEAN], findings)
    odd.report(findings)
    files.report(findings)
    check_names(ids, findings)
    _compare(cells, ids, kind, _Pictures(root, ids, clean, partners), findings)


@dataclass(frozen=True)
class _Pictures:
    """Decodes single images of the cells, for a closer look; clean ones may lie elsewhere."""

    root: Path
    ids: Sequence[str]
    clean: Path | None
    partners: Mapping[int, str]

    def __call__(self, cell: Cell, at: int) -> NDArray[np.uint8]:
        row = int(cell.rows[at])
        if self.clean is not None and cell.corruption == CLEAN.corruption:
            return np.asarray(decode(self.clean / self.partners[row]))
        return np.asarray(decode(self.root / cell.name / self.ids[row]))


def _numbered(found: Sequence[str], names: dict[str, int]) -> NDArray[np.int32]:
    """Return the numbers of ids, ascending; an id that is new gets the next one."""
    return np.sort(np.array([names.setdefault(id_, len(names)) for id_ in found], np.int32))


def _partners(clean: Path, ids: Sequence[str]) -> dict[int, str]:
    """Return the clean image of each row, in their order: of the same name, whatever the extension."""
    rows = {id_.rpartition(".")[0]: row for row, id_ in enumerate(ids)}
    found = walk(str(clean), "", Oddities())
    return dict(sorted((rows[stem], id_) for id_ in found if (stem := id_.rpartition(".")[0]) in rows))


def _read_clean(clean: Path, partners: Mapping[int, str], reader: Reader, findings: Findings) -> Cell:
    files = _Files(clean, reader, f"{clean}/")
    reading = files.read("", list(partners.values()), findings)
    files.troubles.report(findings)
    return Cell(CLEAN.corruption, CLEAN.corruption, np.array(list(partners), np.int32), reading.digests, reading.sizes)


def _compare(cells: Sequence[Cell], ids: Sequence[str], kind: str, look: _Pictures, findings: Findings) -> None:
    """Check the cells against each other and against what was published."""
    cells = _without_broken_frost(cells, ids, kind, findings)
    clean = next((cell for cell in cells if cell.corruption == CLEAN.corruption), None)
    corrupted = [cell for cell in cells if cell is not clean]
    if not corrupted:
        return
    inside = corrupted if look.clean is not None else cells
    whole = [ids[row] for row in most_common(inside).rows]
    norm = known_as(kind, whole)
    findings.count("classes", len({id_.partition("/")[0] for id_ in whole}))
    check_same_images(inside, ids, findings)
    different = {cell.rows.tobytes(): cell for cell in reversed(inside)}.values()
    check_classes({f"{cell.name}/": [ids[row] for row in cell.rows] for cell in different}, norm, findings)
    check_total(whole, norm, findings)
    check_validation_names(whole, findings)
    check_sizes(corrupted, ids, norm, findings)
    find_copies(cells, look).report(ids, findings)
    if clean is not None:
        check_order(clean, corrupted, look, findings)
        if look.clean is not None:
            _check_partners(clean, most_common(corrupted), ids, findings)


def _check_partners(clean: Cell, cell: Cell, ids: Sequence[str], findings: Findings) -> None:
    alone = [f"{cell.name}/{ids[row]}" for row in np.setdiff1d(cell.rows, clean.rows)]
    if alone:
        findings.fault(
            "no-clean-image",
            f"Images without a clean one of the same name: {len(alone):,} of {len(cell.rows):,}.",
            "Give --clean the folder with the class folders of the images that the set was made of.",
            alone,
        )


def _without_broken_frost(cells: Sequence[Cell], ids: Sequence[str], kind: str, findings: Findings) -> list[Cell]:
    """Report the frost of the first release of Tiny-ImageNet-C, and leave it out of the comparisons."""
    broken = [
        cell
        for cell in cells
        if kind == "tiny-imagenet-c"
        and cell.corruption == "frost"
        and len({ids[row].partition("/")[0] for row in cell.rows}) > 2 * _TINY_CLASSES
    ]
    if broken:
        findings.fault(
            "tiny-frost",
            "frost is that of the first release of Tiny-ImageNet-C, which has the wrong class folders.",
            "Fetch the mended release, Zenodo record 8206060 (oodometer fetch tiny-imagenet-c).",
            [cell.name for cell in broken],
        )
    return [cell for cell in cells if cell not in broken]
