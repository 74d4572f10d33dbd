"""One candidate's file, looked at once: the picture as people see it, and what has to be done to keep it."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path

import PIL.Image
import PIL.ImageOps

from oodometer.datasets.decode import decode
from oodometer.errors import DatasetError, ImageError, OodometerError

__all__ = ["Picture", "is_blank", "look"]

_EXTENSIONS = {
    "JPEG": {".jpg", ".jpeg"},
    "PNG": {".png"},
    "TIFF": {".tif", ".tiff"},
    "PPM": {".ppm"},
    "BMP": {".bmp"},
    "GIF": {".gif"},
    "WEBP": {".webp"},
}
_STORED = {"JPEG": ".jpg", "PNG": ".png"}
_MODES = {"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "RGBX"}
_ORIENTATION_TAG = 0x0112
_BLANK = 4
"""How many levels JPEG may add to a picture of one colour."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A candidate's picture.

    ``image`` is RGB, upright as its tag asks for, on white where it is transparent. ``sha256`` is of the file and
    ``pixels`` of the image and its size. ``conversion`` is one of ``oodometer.renditions.reasons.CONVERSIONS`` or
    empty. ``extension`` is that of a file with the same bytes which every reader shows like ``image``; empty if there
    is none, so that the image must be written anew.
    """

    image: PIL.Image.Image
    format: str
    sha256: str
    pixels: str
    conversion: str
    extension: str


def look(path: Path, name: str) -> Picture:
    """Decode a candidate's file whole. Safe to call from several threads.

    Parameters
    ----------
    path
        The file.
    name
        What to call it in an error.

    Raises
    ------
    ImageError
        If it cannot be decoded whole; the message names it.
    DatasetError
        If the system cannot give the file.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DatasetError(f"Cannot read the file {path}: {error.strerror or error}.") from error
    try:
        return _looked(content, path.suffix.lower(), decode(content, name, orientation="apply"))
    except (OodometerError, MemoryError):
        raise
    except Exception as error:  # on damaged tags and frames Pillow's readers raise nearly any type, undocumented
        raise ImageError(f"Cannot read the image {name}: {str(error) or type(error).__name__}.") from error


def _looked(content: bytes, extension: str, upright: PIL.Image.Image) -> Picture:
    with PIL.Image.open(io.BytesIO(content), formats=tuple(_EXTENSIONS)) as file:
        transparent = file.has_transparency_data
        image = _on_white(file) if transparent else upright
        conversion = _conversion(file, extension)
        format_ = str(file.format)
    if not conversion and transparent and is_blank(upright) and not is_blank(image):
        conversion = "alpha"
    as_it_is = not transparent and conversion in {"", "extension_mismatch"}
    return Picture(
        image,
        format_,
        hashlib.sha256(content).hexdigest(),
        hashlib.sha256(f"{image.size}".encode() + image.tobytes()).hexdigest(),
        conversion,
        _STORED.get(format_, "") if as_it_is else "",
    )


def _on_white(file: PIL.Image.Image) -> PIL.Image.Image:
    drawn = PIL.ImageOps.exif_transpose(file).convert("RGBA")
    white = PIL.Image.new("RGBA", drawn.size, "white")
    white.alpha_composite(drawn)
    return white.convert("RGB")


def _conversion(file: PIL.Image.Image, extension: str) -> str:
    """Return the first thing that keeps a file from being taken as it is, transparency aside."""
    if getattr(file, "n_frames", 1) > 1:
        return "animation"
    if file.mode.startswith("I"):
        return "bit_depth"
    if file.mode not in _MODES:
        return "colour_mode"
    if _turned(file):
        return "exif_orientation"
    if extension not in _EXTENSIONS.get(str(file.format), ()):
        return "extension_mismatch"
    return "" if file.format in _STORED else "format"


def _turned(file: PIL.Image.Image) -> bool:
    try:
        return file.getexif().get(_ORIENTATION_TAG, 1) in range(2, 9)
    except Exception:  # damaged tags raise nearly any type; they ask for nothing
        return False


def is_blank(image: PIL.Image.Image) -> bool:
    """Return whether a picture shows one colour, up to what JPEG adds."""
    return all(high - low <= _BLANK for low, high in image.getextrema())  # type: ignore[misc]  # RGB: three pairs
