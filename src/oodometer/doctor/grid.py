"""Where the cells of a corruption tree are: <corruption>/<severity>, some below the parent folders of the archives."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from oodometer.datasets.scan import hidden, is_folder, is_image_name
from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.walk import Oddities
from oodometer.families import EXTRA, FAMILIES, IMAGENET_C, SEVERITIES
from oodometer.report.words import listed
from oodometer.types import CLEAN, Condition

__all__ = ["Grid", "check_conditions", "find_grid", "note_corruptions"]

_PARENTS = (*FAMILIES, "extra")
_OTHER_SETS = {
    *("blue_noise_sample", "brownish_noise", "caustic_refraction", "checkerboard_cutout", "cocentric_sine_waves"),
    *("inverse_sparkles", "perlin_noise", "plasma_noise", "single_frequency_greyscale", "sparkles"),
    *("near_focus", "far_focus", "bit_error", "color_quant", "flash", "fog_3d", "h265_abr", "h265_crf", "iso_noise"),
    *("low_light", "xy_motion_blur", "z_motion_blur"),
}
"""The corruptions of ImageNet-C-bar (one is spelt as published) and ImageNet-3DCC, which have the same layout."""


@dataclass
class Grid:
    """The cells of a tree as pairs of condition and folder, and what else lies in the upper folders.

    Folders are relative to the root, with ``/``; the clean crops of a build are a cell of their own, ``CLEAN``.
    """

    cells: list[tuple[Condition, str]] = field(default_factory=list)
    parents: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)

    def report(self, findings: Findings) -> None:
        """Turn what is odd about the folders into findings."""
        names = Counter(str(condition) for condition, _ in self.cells)
        twice = [folder for condition, folder in self.cells if names[str(condition)] > 1]
        if self.strange:
            findings.fault(
                "unknown-folder",
                f"Folders that are neither a severity from 1 to 5 nor hold any: {len(self.strange):,}.",
                "Rename them if they are cells (fog/3); else move them away.",
                self.strange,
            )
        if twice:
            findings.fault("cell-twice", "Cells that are there more than once.", "Keep one of each.", twice)
        if self.loose:
            findings.fault(
                "loose-images",
                f"Images outside of the cells: {len(self.loose):,}.",
                "Move them into their cells and class folders, or away.",
                self.loose,
            )
        if self.parents:
            findings.note(
                "archive-folders",
                f"Corruptions lie in the parent folders that their archives have: {listed(self.parents, most=6)}.",
                "Nothing to do here; for programs that do not know them, move the corruptions one folder up.",
                self.parents,
            )


def find_grid(root: Path, odd: Oddities) -> Grid:
    """Find the cells of a corruption tree: clean crops first, then in the order of publication.

    Parameters
    ----------
    root
        Of the tree.
    odd
        Where to write down hidden, empty and unreadable entries of the upper folders.
    """
    grid = Grid()
    _search(root, "", grid, odd)
    order = {name: position for position, name in enumerate((*IMAGENET_C, *EXTRA))}
    grid.cells.sort(key=lambda cell: (cell[0] != CLEAN, order.get(cell[0].corruption, len(order)), cell[1]))
    return grid


def _search(root: Path, above: str, grid: Grid, odd: Oddities) -> None:
    for name in _folders(root, above, grid, odd):
        folder = f"{above}{name}"
        if not above and name == CLEAN.corruption:
            grid.cells.append((CLEAN, folder))
            continue
        inside = _folders(root, f"{folder}/", grid, odd)
        severities = [severity for severity in SEVERITIES if str(severity) in inside]
        if severities:
            grid.cells += [(Condition(name, severity), f"{folder}/{severity}") for severity in severities]
            grid.strange += [f"{folder}/{inner}" for inner in inside if inner not in map(str, severities)]
        elif not above and name in _PARENTS and inside:
            grid.parents.append(name)
            _search(root, f"{folder}/", grid, odd)
        elif inside:
            grid.strange.append(folder)
        else:
            odd.empty.append(folder)


def _folders(root: Path, folder: str, grid: Grid, odd: Oddities) -> list[str]:
    """Return the visible folders in an upper folder of the tree, sorted; write down what else is there."""
    try:
        with os.scandir(root / folder) as entries:
            found = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        odd.forbidden.append(folder.rstrip("/"))
        return []
    odd.hidden += [folder + entry.name for entry in found if hidden(entry.name)]
    shown = [entry for entry in found if not hidden(entry.name)]
    grid.loose += [folder + entry.name for entry in shown if is_image_name(entry.name) and not is_folder(entry)]
    return [entry.name for entry in shown if is_folder(entry)]


def check_conditions(conditions: Sequence[Condition], findings: Findings) -> None:
    """Check that every corruption has the same severities, and note which of the 15 are not there.

    Parameters
    ----------
    conditions
        Of all cells but the clean one.
    findings
        Where to add what is wrong.
    """
    severities = sorted({condition.severity for condition in conditions})
    corruptions = list(dict.fromkeys(condition.corruption for condition in conditions))
    there = set(conditions)
    missing = [f"{c}/{s}" for c in corruptions for s in severities if Condition(c, s) not in there]
    if missing:
        findings.fault(
            "missing-cell",
            f"Cells that are missing, while other corruptions have these severities: {listed(missing, most=6)}.",
            "Copy, unpack or make them: the mean over severities of a corruption needs all of them.",
            missing,
        )
    if len(severities) < len(SEVERITIES):
        findings.note(
            "part-severities",
            f"Of the severities 1 to 5 there are {listed([str(s) for s in severities], most=5)}.",
            "Nothing to do if that is meant; a CE is a sum over all five.",
        )
    note_corruptions(corruptions, findings)


def note_corruptions(corruptions: Sequence[str], findings: Findings) -> None:
    """Note names of corruptions that nobody published, and which of the 15 are not there."""
    missing = [name for name in IMAGENET_C if name not in corruptions]
    unknown = [name for name in corruptions if name not in {*IMAGENET_C, *EXTRA, *_OTHER_SETS}]
    for name in unknown:
        near = difflib.get_close_matches(name, missing, n=1)
        findings.note(
            "unknown-corruption",
            f"{name} is none of the published corruptions." + (f" Did you mean {near[0]}?" if near else ""),
            f"Rename it to {near[0]}." if near else "Nothing to do if it is one of your own.",
            [name],
        )
    if missing and len(missing) < len(IMAGENET_C):
        findings.note(
            "part-corruptions",
            f"Of the 15 corruptions that an mCE counts, {len(missing)} are not here: {listed(missing, most=15)}.",
            "Nothing to do if that is meant; an mCE needs all of them.",
        )
