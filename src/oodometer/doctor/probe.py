"""One image file, read once: its digest, its size in pixels, what is particular about it, and whether it is whole."""

from __future__ import annotations

import enum
import hashlib
import io
import os
import re
from dataclasses import dataclass

import PIL.Image
import PIL.ImageFile

from oodometer.datasets.decode import decode
from oodometer.errors import ImageError

__all__ = ["Probe", "Trait", "Trouble", "digest", "probe", "probe_file"]


class Trait(enum.IntFlag):
    """What may matter about a readable image."""

    NONE = 0
    GRAY = enum.auto()
    CMYK = enum.auto()
    ALPHA = enum.auto()
    DEEP = enum.auto()
    TURNED = enum.auto()
    ANIMATED = enum.auto()
    MISNAMED = enum.auto()


class Trouble(enum.StrEnum):
    """Why an image is of no use; the values are the codes of the findings."""

    EMPTY = "empty-file"
    NO_IMAGE = "not-an-image"
    DAMAGED = "damaged-image"
    FORBIDDEN = "unreadable-file"
    DEAD_LINK = "dead-link"


@dataclass(frozen=True, slots=True)
class Probe:
    """What one file holds.

    ``digest`` are the first 16 bytes of the SHA-256 of the file (zeros if it could not be read), ``bytes`` its length;
    ``width`` and ``height`` are 0 for what is no image. ``reason`` says in words what the trouble is.
    """

    digest: bytes
    bytes: int
    width: int = 0
    height: int = 0
    traits: Trait = Trait.NONE
    trouble: Trouble | None = None
    reason: str = ""


_EXTENSIONS = {
    "JPEG": {".jpg", ".jpeg"},
    "MPO": {".jpg", ".jpeg"},  # a JPEG with further pictures behind it, as cameras write
    "PNG": {".png"},
    "BMP": {".bmp"},
    "GIF": {".gif"},
    "WEBP": {".webp"},
    "TIFF": {".tif", ".tiff"},
    "PPM": {".ppm"},
}
_FORMATS = tuple(name for name in _EXTENSIONS if name != "MPO")  # which Pillow opens as JPEG at first
_CAN_MOVE = {"GIF", "PNG", "WEBP"}
_ORIENTATION_TAG = 0x0112
_MODES = {
    "1": Trait.GRAY,
    "L": Trait.GRAY,
    "LA": Trait.GRAY | Trait.ALPHA,
    "I": Trait.GRAY | Trait.DEEP,
    "PA": Trait.ALPHA,
    "RGBA": Trait.ALPHA,
    "CMYK": Trait.CMYK,
    "YCCK": Trait.CMYK,
}
_BEGINNINGS = (b"\xff\xd8", b"\x89PNG", b"GIF8", b"RIFF", b"II*\0", b"MM\0*")
"""How files of the usual formats begin."""

_SIGNS = (
    (rb"version https://git-lfs", "a pointer of Git LFS in place of the file"),
    (rb"[\w./-]*/annex/objects/", "a pointer of git-annex in place of the file"),
    (rb"<", "a web page, as a server sends for an error"),
    (rb"PK\x03\x04", "a zip archive"),
    (rb"\x1f\x8b", "gzip data"),
    (rb"\x93NUMPY", "a NumPy array"),
)
"""What else is found under the name of an image, by its first bytes."""


def digest(content: bytes | memoryview) -> bytes:
    """Return 16 bytes that differ for different contents: SHA-256 cut short, which processors have instructions for."""
    return hashlib.sha256(content).digest()[:16]


def probe_file(path: str) -> Probe:
    """Read and examine one file; see ``probe``."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - text, for millions of names
            content = file.read()
    except OSError as error:
        trouble = Trouble.DEAD_LINK if os.path.islink(path) and not os.path.exists(path) else Trouble.FORBIDDEN  # noqa: PTH110, PTH114
        return Probe(bytes(16), 0, trouble=trouble, reason=error.strerror or str(error))
    return probe(content, os.path.splitext(path)[1].lower())  # noqa: PTH122


def probe(content: bytes, extension: str = "") -> Probe:
    """Examine the bytes of one image file. Thread-safe.

    Every image is decoded to its end, so that a file which is cut off is found; JPEGs without building their colours
    (see ``_decode_jpeg``). The verdict is that of ``oodometer.datasets.decode``: what fails here fails there too.

    Parameters
    ----------
    content
        The file.
    extension
        In lower case with its dot, to compare with the content; empty if there is none.

    Raises
    ------
    DatasetError
        If Pillow is set to accept truncated images.
    """
    known = digest(content)
    try:
        width, height, traits = _examine(content, extension)
    except MemoryError:
        raise  # says nothing about the file
    except Exception:  # on damaged files Pillow's readers raise nearly any type, undocumented
        return _failed(content, known)
    return Probe(known, len(content), width, height, traits)


def _examine(content: bytes, extension: str) -> tuple[int, int, Trait]:
    with PIL.Image.open(io.BytesIO(content), formats=_FORMATS) as image:
        size, traits = image.size, _traits(image, extension)
        if image.format == "JPEG" and not PIL.ImageFile.LOAD_TRUNCATED_IMAGES:
            _decode_jpeg(image)
        else:
            decode(content)
    return *size, traits


def _decode_jpeg(image: PIL.Image.Image) -> None:
    """Read all coefficients of a JPEG, but compute one gray pixel of each 8 x 8: half the time, the same verdict."""
    image.draft("L", (1, 1))
    image.load()


def _traits(image: PIL.Image.Image, extension: str) -> Trait:
    traits = _MODES.get(image.mode, Trait.NONE)
    if image.mode.startswith("I;16"):
        traits |= Trait.GRAY | Trait.DEEP
    if "transparency" in image.info:
        traits |= Trait.ALPHA
    if "exif" in image.info and image.getexif().get(_ORIENTATION_TAG, 1) not in {0, 1}:
        traits |= Trait.TURNED
    if image.format in _CAN_MOVE and getattr(image, "is_animated", False):
        traits |= Trait.ANIMATED
    if extension and extension not in _EXTENSIONS.get(image.format or "", ()):
        traits |= Trait.MISNAMED
    return traits


def _failed(content: bytes, known: bytes) -> Probe:
    """Ask the decoder that the data sets use, whose verdict counts."""
    if not content:
        return Probe(known, 0, trouble=Trouble.EMPTY, reason="the file is empty")
    try:
        image = decode(content, name="")
    except ImageError as error:
        reason = str(error.__cause__).rstrip(".") or "damaged"
        trouble = Trouble.DAMAGED
        if isinstance(error.__cause__, PIL.UnidentifiedImageError):
            begun = content.startswith(_BEGINNINGS)
            reason = "it ends or is damaged within its header" if begun else _looks_like(content)
            trouble = Trouble.DAMAGED if begun else Trouble.NO_IMAGE
        return Probe(known, len(content), trouble=trouble, reason=reason)
    return Probe(known, len(content), *image.size)


def _looks_like(content: bytes) -> str:
    if not any(content):
        return "zeros alone, as a copy that broke off leaves"
    start = content[:512].lstrip()
    return next((words for sign, words in _SIGNS if re.match(sign, start)), "the content is of no known format")
