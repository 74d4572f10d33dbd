"""Many files at once: probed by threads, kept as a few columns, so that millions of files need little memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from oodometer.doctor.diagnosis import Findings
from oodometer.doctor.probe import Probe, Trait, Trouble
from oodometer.progress import Observer
from oodometer.threads import ahead

__all__ = ["Digests", "Reader", "Reading", "Troubles", "report_traits"]

Digests: TypeAlias = NDArray[np.uint64]
"""Digests of N images, uint64, N x 2; zeros for what could not be read."""

Item = TypeVar("Item")

_CHUNK = 32
"""How many files a thread takes at a time: few enough to share work evenly, enough to make the handing over cheap."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a sequence of images holds, in columns: one row for each, in the order in which they were given.

    ``digests`` is uint64, N x 2; ``sizes`` int32, N x 2, width and height (zeros for what is no image); ``traits``
    uint16, N, sums of ``Trait``; ``bytes`` the length of all files together.
    """

    digests: Digests
    sizes: NDArray[np.int32]
    traits: NDArray[np.uint16]
    bytes: int

    @property
    def readable(self) -> NDArray[np.bool_]:
        """Which images are whole."""
        return self.sizes[:, 0] > 0


@dataclass
class Troubles:
    """The images of a set that are of no use, by kind of trouble: place and reason."""

    places: dict[Trouble, list[tuple[str, str]]] = field(default_factory=dict)

    def add(self, place: str, trouble: Trouble, reason: str) -> None:
        """Write down an image that is of no use."""
        self.places.setdefault(trouble, []).append((place, reason))

    def report(self, findings: Findings) -> None:
        """Turn them into findings, one for each kind of trouble and reason."""
        for trouble, (title, fix) in _TROUBLES.items():
            found = self.places.get(trouble, [])
            reasons = dict.fromkeys(reason for _, reason in found)
            if trouble is Trouble.DAMAGED and found:
                reasons = {f"for the first one, {found[0][1]}": None}  # nearly every file has a reason of its own
            for reason in reasons:
                where = [place for place, its in found if trouble is Trouble.DAMAGED or its == reason]
                findings.fault(str(trouble), f"{title}: {len(where):,} ({reason}).", fix, where)


_AGAIN = "Fetch, copy or unpack these files again"
_TROUBLES = {
    Trouble.EMPTY: ("Files without content", f"{_AGAIN}; check that the disk was not full."),
    Trouble.NO_IMAGE: ("Files that are no images", f"{_AGAIN}; for pointers of Git LFS run `git lfs pull`."),
    Trouble.DAMAGED: ("Images that cannot be read whole", f"{_AGAIN}: they are cut off or damaged."),
    Trouble.DEAD_LINK: (
        "Links that lead nowhere",
        "Restore what they point to, or copy the set again with the files themselves (cp -L, rsync -L).",
    ),
    Trouble.FORBIDDEN: (
        "Files that the system does not give",
        "Give yourself the right to read them (chmod -R u+r FOLDER), or have the disk looked at.",
    ),
}


class Reader:
    """Probes files in threads and tells a progress bar."""

    def __init__(self, workers: int, observer: Observer) -> None:
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="oodometer")
        self.observer = observer

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def read(
        self, items: Sequence[Item], probe: Callable[[Item], Probe], troubles: Troubles, place: Callable[[Item], str]
    ) -> Reading:
        """Probe items in parallel.

        Parameters
        ----------
        items
            What is read, such as ids of files.
        probe
            Reads one item.
        troubles
            Where images that are of no use are written down.
        place
            Says where an item is, relative to the root of the set.
        """
        digests = np.zeros((len(items), 2), np.uint64)
        sizes = np.zeros((len(items), 2), np.int32)
        traits = np.zeros(len(items), np.uint16)
        total = 0
        for row, made in enumerate(self._in_order(items, probe)):
            digests[row] = np.frombuffer(made.digest, np.uint64)
            sizes[row] = made.width, made.height
            traits[row] = made.traits
            total += made.bytes
            if made.trouble is not None:
                troubles.add(place(items[row]), made.trouble, made.reason)
        return Reading(digests, sizes, traits, total)

    def _in_order(self, items: Sequence[Item], probe: Callable[[Item], Probe]) -> Iterator[Probe]:
        left = iter(items)
        chunks = iter(lambda: list(islice(left, _CHUNK)), [])
        for made in ahead(self._pool, lambda chunk: [probe(item) for item in chunk], chunks, self._workers + 1):
            yield from made
            self.observer.advance(len(made))


_TRAITS = {
    Trait.MISNAMED: (
        "other-format",
        "Images whose name says another format than their content",
        "Nothing to do here, where the content decides; for programs that go by the name, rename them.",
    ),
    Trait.CMYK: (
        "cmyk",
        "CMYK images",
        "Nothing to do here: they are read as RGB. Programs differ in how they do that.",
    ),
    Trait.TURNED: (
        "orientation",
        "Images with an EXIF tag that asks for turning them",
        "Nothing to do here: the tag is ignored, as the usual ImageNet loaders do. Other programs turn them.",
    ),
    Trait.ALPHA: (
        "alpha",
        "Images with transparency",
        "Nothing to do here: it is dropped, so that hidden colour shows. Other programs blend.",
    ),
    Trait.ANIMATED: ("animated", "Images that move", "Nothing to do here: the first frame counts."),
    Trait.DEEP: (
        "deep",
        "Images of 16 bits",
        "Nothing to do here: the high byte counts. Other programs clip them to white.",
    ),
}


def report_traits(findings: Findings, places: dict[Trait, list[str]]) -> None:
    """Note what is particular about readable images, by trait."""
    for trait, (code, title, fix) in _TRAITS.items():
        if where := places.get(trait):
            findings.note(code, f"{title}: {len(where):,}.", fix, where)
