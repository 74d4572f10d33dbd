"""One image file to one RGB picture: read whole, by content, or refused by name.

The rules of conversion, the same for every copy of an image:

- The content decides the format, not the extension; of several frames the first counts.
- EXIF orientation is ignored, as the usual ImageNet loaders do, so the pixels are those that are stored.
- Gray and palette pictures become RGB; alpha is dropped, not blended, so colour under transparent pixels shows.
- CMYK becomes RGB without a colour profile. Four-channel JPEGs are taken as stored inverted, with the marker of Adobe
  and without, as Pillow, OpenCV and the browsers do.
- 16-bit gray keeps its high byte (Pillow alone would clip at 255 and give white); 16-bit colour likewise.
"""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageFile

from oodometer.errors import DatasetError, ImageError

__all__ = ["EXTENSIONS", "decode"]

EXTENSIONS = frozenset({".jpg", ".jpeg", ".png", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".ppm"})
"""The extensions, in lower case, of the files that count as images."""

# Named, because Pillow would also hand a file to formats that run other programs (EPS starts Ghostscript).
_FORMATS = ("JPEG", "PNG", "BMP", "GIF", "WEBP", "TIFF", "PPM")

# Other numbers are the system's: no such file, no permission, a fault of the disk. They may pass, and say nothing about
# the image, so that it must not be left out. Pillow's own errors have none, and damaged offsets make invalid seeks.
_OF_THE_IMAGE = (None, errno.EINVAL)


def decode(path: Path, name: str | None = None) -> PIL.Image.Image:
    """Decode one image file at full size, as RGB. Safe to call from several threads.

    Parameters
    ----------
    path
        The file; the content decides its format.
    name
        What to call it in an error; its path unless given.

    Returns
    -------
    PIL.Image.Image
        Mode RGB, without metadata, independent of the file.

    Raises
    ------
    ImageError
        If the file is empty, truncated, too large for Pillow's guard against decompression bombs, or not an image; the
        message names it. JPEG has no checksums: damage within one that leaves its end intact goes unseen.
    DatasetError
        If the system cannot give the file: missing, no permission, a fault of the disk. Or if
        ``PIL.ImageFile.LOAD_TRUNCATED_IMAGES`` is on: Pillow would then fill missing halves with gray and not say so,
        and the switch cannot be overruled for one file without changing it for all threads.
    """
    if PIL.ImageFile.LOAD_TRUNCATED_IMAGES:
        raise DatasetError(
            "PIL.ImageFile.LOAD_TRUNCATED_IMAGES is on, so damaged images would pass as whole ones with gray parts: "
            "set it to False before reading a data set (some libraries set it when they are imported)."
        )
    try:
        with PIL.Image.open(path, formats=_FORMATS) as image:
            if image.format == "PNG":
                _verify(path)
            image.load()
            return _rgb(image)
    except MemoryError:
        raise  # says nothing about the file: the image must not be left out
    except Exception as error:  # on damaged files Pillow's readers raise nearly any type, undocumented
        if isinstance(error, OSError) and error.errno not in _OF_THE_IMAGE:
            raise DatasetError(f"Cannot read the file {path}: {error.strerror}.") from error
        raise ImageError(f"Cannot read the image {name or path}: {_reason(path, error)}.") from error


def _verify(path: Path) -> None:
    """Check the checksums of a PNG file, which Pillow passes over when it decodes."""
    with PIL.Image.open(path, formats=("PNG",)) as image:
        image.verify()


def _rgb(image: PIL.Image.Image) -> PIL.Image.Image:
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format in {"PNG", "PPM"}):
        image = PIL.Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
    elif image.mode in {"I", "F"}:
        raise ValueError(f"pixels of mode {image.mode} (32 bits) have no defined white; save them with 8 or 16 bits")
    image.info.pop("transparency", None)  # alpha is dropped anyway, and Pillow would warn about palettes with it
    rgb = image.convert("RGB")
    rgb.info.clear()  # pixels only: a later save must not write an orientation or a profile that was not applied
    return rgb


def _reason(path: Path, error: Exception) -> str:
    if isinstance(error, PIL.UnidentifiedImageError):
        empty = path.stat().st_size == 0
        return "the file is empty" if empty else "the content is not an image of a known format"
    return str(error).rstrip(".") or type(error).__name__
