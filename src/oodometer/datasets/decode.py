"""One image file to one RGB picture: read whole, by content, or refused by name.

The rules of conversion, the same for every copy of an image:

- The content decides the format, not the extension; of several frames the first counts.
- The orientation that EXIF, XMP or TIFF tags ask for is ignored, as the usual ImageNet loaders do, so the pixels are
  those that are stored; or it is applied, if wanted, all eight values of it. The result carries no tag either way.
- Gray and palette pictures become RGB; alpha is dropped, not blended, so colour under transparent pixels shows.
- CMYK becomes RGB without a colour profile. Four-channel JPEGs are taken as stored inverted, with the marker of Adobe
  and without, as Pillow, OpenCV and the browsers do.
- 16-bit gray keeps its high byte (Pillow alone would clip at 255 and give white); 16-bit colour likewise.
"""

from __future__ import annotations

import errno
import io
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import PIL.Image
import PIL.ImageFile
from PIL.Image import Transpose

from oodometer import arguments
from oodometer.errors import DatasetError, ImageError

__all__ = ["EXTENSIONS", "decode"]

EXTENSIONS = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm"})
"""The extensions, in lower case, of the files that count as images."""

# Named, because Pillow would also hand a file to formats that run other programs (EPS starts Ghostscript).
_FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM")

# Other numbers are the system's: no such file, no permission, a fault of the disk. They may pass, and say nothing about
# the image, so that it must not be left out. Pillow's own errors have none, and damaged offsets make invalid seeks.
_OF_THE_IMAGE = (None, errno.EINVAL)


# What each value of the tag asks for, so that the picture stands upright; 1 and unknown values ask for nothing.
_TURNS = {
    2: Transpose.FLIP_LEFT_RIGHT,
    3: Transpose.ROTATE_180,
    4: Transpose.FLIP_TOP_BOTTOM,
    5: Transpose.TRANSPOSE,
    6: Transpose.ROTATE_270,
    7: Transpose.TRANSVERSE,
    8: Transpose.ROTATE_90,
}
_BACK = {Transpose.ROTATE_90: Transpose.ROTATE_270, Transpose.ROTATE_270: Transpose.ROTATE_90}  # others undo themselves
_ORIENTATION_TAG = 0x0112


def decode(
    source: Path | bytes,
    name: str | None = None,
    *,
    orientation: Literal["ignore", "apply"] = "ignore",
    most: int | None = None,
) -> PIL.Image.Image:
    """Decode one image file at full size, as RGB. Safe to call from several threads.

    Parameters
    ----------
    source
        The file, or its bytes; the content decides its format.
    name
        What to call it in an error; its path unless given.
    orientation
        Whether to turn the picture as its tags ask for. Damaged tags ask for nothing.
    most
        How many pixels it may have: one that claims more is refused before any of them is decoded. By default only
        Pillow's own guard against decompression bombs holds.

    Returns
    -------
    PIL.Image.Image
        Mode RGB, without metadata, independent of the file.

    Raises
    ------
    ImageError
        If the file is empty, truncated, too large, or not an image; the message names it. JPEG has no checksums: damage
        within one that leaves its end intact goes unseen.
    DatasetError
        If the system cannot give the file: missing, no permission, a fault of the disk. Or if
        ``PIL.ImageFile.LOAD_TRUNCATED_IMAGES`` is on: Pillow would then fill missing halves with gray and not say so,
        and the switch cannot be overruled for one file without changing it for all threads.
    ArgumentError
        If ``orientation`` is neither of the two.
    """
    upright = arguments.choice("orientation", orientation, ("ignore", "apply")) == "apply"
    if PIL.ImageFile.LOAD_TRUNCATED_IMAGES:
        raise DatasetError(
            "PIL.ImageFile.LOAD_TRUNCATED_IMAGES is on, so damaged images would pass as whole ones with gray parts: "
            "set it to False before reading a data set (some libraries set it when they are imported)."
        )
    place = source if isinstance(source, Path) else name or f"of {len(source)} bytes in memory"
    try:
        with _opened(source) as file:
            return _decoded(file, upright, most)
    except MemoryError:
        raise  # says nothing about the file: the image must not be left out
    except Exception as error:  # on damaged files Pillow's readers raise nearly any type, undocumented
        if isinstance(error, OSError) and error.errno not in _OF_THE_IMAGE:
            raise DatasetError(f"Cannot read the file {place}: {error.strerror}.") from error
        raise ImageError(f"Cannot read the image {name or place}: {_reason(source, error)}.") from error


def _opened(source: Path | bytes) -> BinaryIO:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


def _decoded(file: BinaryIO, upright: bool, most: int | None) -> PIL.Image.Image:
    with PIL.Image.open(file, formats=_FORMATS) as image:
        if most is not None and image.width * image.height > most:
            raise ValueError(f"{image.width}x{image.height} pixels are more than the {most:,} that are taken")
        if image.format == "PNG":
            _verify(file)
        turns_itself = image.format == "TIFF"  # when Pillow loads it
        turn = _turn(image) if upright or turns_itself else None
        image.load()
        rgb = _rgb(image)
    if turn is None or upright == turns_itself:
        return rgb
    return rgb.transpose(turn if upright else _BACK.get(turn, turn))


def _verify(file: BinaryIO) -> None:
    """Check the checksums of a PNG file, which Pillow passes over when it decodes; the file stays where it is."""
    place = file.tell()
    with PIL.Image.open(file, formats=("PNG",)) as image:
        image.verify()
    file.seek(place)


def _turn(image: PIL.Image.Image) -> Transpose | None:
    """Return how to turn a picture that is not loaded yet so that it stands upright, if it is not upright as stored."""
    try:
        return _TURNS.get(image.getexif().get(_ORIENTATION_TAG, 1))
    except Exception:  # nearly any type again
        return None


def _rgb(image: PIL.Image.Image) -> PIL.Image.Image:
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in {"PNG", "PPM"}):
        image = PIL.Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    elif image.mode in {"I", "F"}:
        raise ValueError(f"pixels of mode {image.mode} (32 bits) have no defined white; save them with 8 or 16 bits")
    image.info.pop("transparency", None)  # alpha is dropped anyway, and Pillow would warn about palettes with it
    rgb = image.convert("RGB")
    rgb.info.clear()  # pixels only: a later save must not write an orientation or a profile that was not applied
    return rgb


def _reason(source: Path | bytes, error: Exception) -> str:
    if isinstance(error, PIL.UnidentifiedImageError):
        size = len(source) if isinstance(source, bytes) else source.stat().st_size
        return "the content is not an image of a known format" if size else "the file is empty"
    return str(error).rstrip(".") or type(error).__name__
