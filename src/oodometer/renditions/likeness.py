"""Pictures that look the same: perceptual hashes that know copies which are turned, mirrored, framed or encoded anew.

A hash is that of ``imagehash.phash``: which of the 16 x 16 lowest cosine coefficients of the gray picture lie above
their median. Unrelated pictures differ in about half of these 256 bits, give or take 8. Each picture is hashed twice,
as it is and without the plain ground around what it shows, so that a border or another margin changes only one of them;
and in all 8 ways to turn and mirror it. Two pictures are alike if, in one of these ways, at most a quarter of the bits
of either hash differ.

A drawing that is exactly its own mirror image has coefficients of 0, whose bits are chance: of such a one a copy that
was encoded anew may go unseen, as may one that was cropped by more than its margin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice

import numpy as np
import PIL.Image
from numpy.typing import NDArray
from PIL.Image import Resampling

from oodometer.errors import MissingDataError
from oodometer.threads import threads

__all__ = ["ALIKE", "BITS", "SHAPE", "Hashes", "Nearest", "hashes", "nearest"]

BITS = 256
"""The bits of a hash."""

ALIKE = BITS // 4
"""How many bits may differ between pictures that are alike."""

SHAPE = (2, 8, BITS // 8)
"""The hashes of one picture: two views, eight turns of which the first is none, so many bytes each."""

_SIDE = 256
_HASHED = 64
"""The side that ``phash`` itself reduces a picture to, so that it need not."""

_GROUND = 32
_SMALLEST = 8
_AT_ONCE = 256

Hashes = NDArray[np.uint8]
"""The hashes of one picture: uint8, of the shape ``SHAPE``, or with fewer turns."""


@dataclass(frozen=True, slots=True)
class Nearest:
    """For each picture, the place of the one most like it (-1: none is alike) and how many bits differ: int64, N."""

    place: NDArray[np.int64]
    distance: NDArray[np.int64]


def hashes(image: PIL.Image.Image, turns: int = SHAPE[1]) -> Hashes:
    """Hash a picture in its views and turns; safe to call from several threads.

    Parameters
    ----------
    image
        RGB, of any size and shape: it is squeezed into a square.
    turns
        How many to make; 1 is enough for pictures that others are compared with.

    Returns
    -------
    numpy.ndarray
        uint8, 2 views x turns x 32 bytes.

    Raises
    ------
    MissingDataError
        If the package ``imagehash`` is not installed.
    """
    phash = _phash()
    gray = image.convert("L").resize((_SIDE, _SIDE), Resampling.LANCZOS)
    inner = _without_margin(gray)
    made = []
    for seen in [gray] if inner is gray else [gray, inner]:
        levels = np.asarray(seen.resize((_HASHED, _HASHED), Resampling.LANCZOS))
        made.append([phash(PIL.Image.fromarray(turned)) for turned in islice(_turned(levels), turns)])
    return np.array([made[0], made[-1]], np.uint8)


def _phash() -> Callable[[PIL.Image.Image], NDArray[np.uint8]]:
    try:
        import imagehash
    except ModuleNotFoundError as error:
        raise MissingDataError(
            "Near duplicates are found with the package imagehash: pip install 'oodometer[renditions]'."
        ) from error
    return lambda image: np.packbits(imagehash.phash(image, hash_size=16).hash)


def _turned(levels: NDArray[np.uint8]) -> Iterator[NDArray[np.uint8]]:
    for quarters in range(4):
        turned = np.rot90(levels, quarters)
        yield np.ascontiguousarray(turned)
        yield np.ascontiguousarray(turned[:, ::-1])


def _without_margin(gray: PIL.Image.Image) -> PIL.Image.Image:
    """Return the part of a picture that differs from the ground, which is what most of its frame shows."""
    levels = np.asarray(gray).astype(np.int16)
    ground = np.median(np.concatenate([levels[0], levels[-1], levels[:, 0], levels[:, -1]]))
    shown = np.abs(levels - ground) > _GROUND
    rows, columns = np.flatnonzero(shown.any(axis=1)), np.flatnonzero(shown.any(axis=0))
    if min(len(rows), len(columns)) < _SMALLEST or len(rows) == len(columns) == _SIDE:
        return gray
    return gray.crop((int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1))


def nearest(these: NDArray[np.uint8], those: NDArray[np.uint8] | None = None, workers: int | None = None) -> Nearest:
    """Find for each picture the one that is most like it, if any is alike; exact.

    Parameters
    ----------
    these
        The hashes of some pictures: uint8, N x 2 x 8 x 32.
    those
        Those of others, M x 2 x turns x 32, of which the first turn alone counts. Without them each picture is compared
        with those before it.
    workers
        Threads; one for each processor unless given.
    """
    from oodometer.renditions.search import search

    found = Nearest(np.full(len(these), -1), np.full(len(these), ALIKE + 1))
    words = np.ascontiguousarray(these).view(np.uint64)
    others = np.ascontiguousarray((these if those is None else those)[:, :, 0]).view(np.uint64)
    spans = [(begin, min(begin + _AT_ONCE, len(these))) for begin in range(0, len(these), _AT_ONCE)]

    def enter(span: tuple[int, int]) -> None:
        begin, end = span
        search(words, others, begin, end, those is None, found.place, found.distance)

    with ThreadPoolExecutor(threads(workers)) as pool:
        list(pool.map(enter, spans))
    return found
