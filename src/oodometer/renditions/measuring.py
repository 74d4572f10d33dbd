"""What is measured of one file: everything that a decision needs, so that no picture stays in memory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from oodometer.errors import ImageError
from oodometer.renditions.collecting import UNSUPPORTED
from oodometer.renditions.collection import Candidate
from oodometer.renditions.likeness import Hashes, hashes
from oodometer.renditions.photographs import looks_photographed
from oodometer.renditions.pictures import is_blank, look
from oodometer.renditions.screened import Finding

__all__ = ["UNMEASURED", "Measured", "measure", "measure_clean"]


@dataclass(frozen=True, slots=True)
class Measured:
    """One file. ``facts`` are the fields of ``Screened`` from ``conversion`` on; ``hashes`` are of usable pictures."""

    facts: dict[str, str | int]
    found: tuple[Finding, ...] = ()
    hashes: Hashes | None = None

    @property
    def pixels(self) -> str:
        """The digest of the pixels, empty if there are none."""
        return str(self.facts.get("pixels", ""))


UNMEASURED = Measured({})
"""Of rows that name no file."""


def measure(root: Path, candidate: Candidate, smallest: int) -> Measured:
    """Measure a candidate's file; what is wrong with it is in ``found``. Safe to call from several threads.

    Raises
    ------
    DatasetError
        If the system cannot give the file.
    """
    path = root / candidate.path
    if candidate.problem not in {"", "no_label", "conflicting_rows"}:
        return UNMEASURED
    if path.suffix.lower() in UNSUPPORTED:
        return Measured({}, (Finding("unsupported_format", f"{path.suffix} is not read; save it as PNG or JPEG"),))
    try:
        picture = look(path, candidate.path)
    except ImageError as error:
        return Measured({}, (Finding("unreadable", str(error)),))
    width, height = picture.image.size
    facts: dict[str, str | int] = {
        "conversion": picture.conversion,
        "extension": picture.extension,
        "format": picture.format,
        "width": width,
        "height": height,
        "sha256": picture.sha256,
        "pixels": picture.pixels,
    }
    if min(width, height) < smallest:
        size = f"{width} x {height} pixels; the shorter side has fewer than {smallest}"
        return Measured(facts, (Finding("too_small", size),))
    if is_blank(picture.image):
        return Measured(facts, (Finding("blank"),))
    found = [Finding(picture.conversion)] if picture.conversion else []
    if looks_photographed(picture.image):
        found.append(Finding("not_a_rendition", "many colours and fine texture, up to the frame"))
    return Measured(facts, tuple(found), hashes(picture.image))


def measure_clean(path: Path, name: str) -> Measured | None:
    """Measure a clean image: its pixels and hashes; ``None`` if it cannot be read."""
    try:
        picture = look(path, name)
    except ImageError:
        return None
    return Measured({"pixels": picture.pixels}, (), hashes(picture.image, turns=1))
