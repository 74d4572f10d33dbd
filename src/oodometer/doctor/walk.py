"""What lies below a folder, the odd things included: where the readers of data sets raise, the doctor writes down."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from oodometer.datasets.scan import hidden, is_folder, is_image_name
from oodometer.doctor.diagnosis import Findings, Severity

__all__ = ["Oddities", "walk"]

_MEANING: tuple[tuple[str, Severity, str, str, str], ...] = (
    ("loops", "fault", "link-loop", "Links to a folder that holds them", "Remove the links."),
    (
        "forbidden",
        "fault",
        "unreadable-folder",
        "Folders that the system does not let us read",
        "Give yourself the right to read them (chmod -R u+rX FOLDER), or have the disk looked at.",
    ),
    (
        "empty",
        "fault",
        "empty-folder",
        "Folders without images",
        "Copy or unpack them again. If such a class is meant to be absent, remove its folder.",
    ),
    ("special", "note", "special-file", "Pipes, sockets or devices with the name of an image", "Remove them."),
    (
        "hidden",
        "note",
        "hidden-files",
        "Hidden entries, which other loaders take for images or classes",
        "Delete them.",
    ),
    (
        "strays",
        "note",
        "stray-files",
        "Files among the images that have no image extension and are passed over",
        "Delete them; if they are images, give them their extension.",
    ),
)


@dataclass
class Oddities:
    """What is below a folder besides images, as paths relative to the root of the set."""

    hidden: list[str] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)
    special: list[str] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)

    def report(self, findings: Findings) -> None:
        """Turn them into findings."""
        for attribute, severity, code, title, fix in _MEANING:
            if places := sorted(getattr(self, attribute)):
                findings.add(severity, code, f"{title}: {len(places):,}.", fix, places)

    @property
    def told(self) -> int:
        """How many there are that say why a folder has no images."""
        return len(self.loops) + len(self.forbidden) + len(self.empty)


def walk(root: str, folder: str, odd: Oddities) -> list[str]:
    """Find the images below a folder of a set.

    Parameters
    ----------
    root
        The root of the set.
    folder
        The folder in it, relative to the root with ``/``; empty for the root itself.
    odd
        Where to write down everything else.

    Returns
    -------
    list of str
        The ids relative to ``folder``, sorted; links are followed, but never back into a folder above.
    """
    found: list[str] = []
    _descend(f"{root}/{folder}" if folder else root, "", f"{folder}/" if folder else "", frozenset(), found, odd)
    found.sort()
    return found


def _descend(path: str, inner: str, prefix: str, above: frozenset[str], found: list[str], odd: Oddities) -> None:
    name = (prefix + inner).rstrip("/") or "."
    place = os.path.realpath(path)
    if place in above:
        odd.loops.append(name)
        return
    try:
        with os.scandir(path) as scan:
            entries = list(scan)
    except OSError:
        odd.forbidden.append(name)
        return
    before = len(found) + odd.told
    for entry in entries:
        id_ = inner + entry.name
        if hidden(entry.name):
            odd.hidden.append(prefix + id_)
        elif is_folder(entry):
            _descend(entry.path, f"{id_}/", prefix, above | {place}, found, odd)
        elif not is_image_name(entry.name):
            if inner:  # at the top, a README or a list of labels is at home
                odd.strays.append(prefix + id_)
        elif entry.is_symlink() or entry.is_file():  # a link to nowhere stands for an image: reading it will tell
            found.append(id_)
        else:
            odd.special.append(prefix + id_)
    if inner and before == len(found) + odd.told:
        odd.empty.append(name)
