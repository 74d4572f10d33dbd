"""One image file to one corrupted image file."""

from __future__ import annotations

import io
from pathlib import Path
from typing import get_args

import PIL.Image

from oodometer.arguments import choice
from oodometer.building.encodings import JPEG85
from oodometer.building.recipe import Options, read_severities
from oodometer.corruptions import SMALLEST_SIDE, corrupt
from oodometer.datasets.decode import EXTENSIONS, decode
from oodometer.errors import ArgumentError, ImageError
from oodometer.outfolder import write_atomically
from oodometer.plan import make_protocol
from oodometer.preprocess import apply
from oodometer.types import Orientation

__all__ = ["IMAGE_FORMATS", "corrupt_file", "is_one_image"]

IMAGE_FORMATS = {
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".png": "PNG",
    ".webp": "WEBP",
    ".bmp": "BMP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
"""What an image is written as, by the ending of its name: formats that keep the size and the colours."""


def is_one_image(source: Path, target: Path) -> bool:
    """Return whether the names are those of two files, not of a data set and its folder."""
    return source.suffix.lower() in EXTENSIONS and not source.is_dir() and bool(target.suffix) and not target.is_dir()


def corrupt_file(source: Path, target: Path, options: Options) -> None:
    """Read one image, corrupt it under one condition and write it.

    Parameters
    ----------
    source
        The image.
    target
        Where to write; the ending gives the format. JPEG has quality 85, as in a built data set.
    options
        Of these, those count that are not about a set of images. The image has no id, as in ``oodometer.corrupt``.

    Raises
    ------
    ArgumentError
        If there is more than one condition, if no format has that ending, or if the target is the source.
    ImageError
        If the image cannot be read.
    StoreError
        If the file cannot be written.
    """
    kind = IMAGE_FORMATS.get(target.suffix.lower())
    if kind is None:
        raise ArgumentError(
            f"{target}: no image format has this ending; use one of {', '.join(IMAGE_FORMATS)}, or the name of a "
            "folder, without an ending, for a data set of one image."
        )
    protocol = make_protocol(
        corruptions=options.corruptions,
        preprocess=options.preprocess,
        encoding="memory",
        edition=options.edition,
        method=options.method,
        seed=options.seed,
    )
    severities = read_severities(options.severities)
    if len(protocol.corruptions) * len(severities) != 1:
        raise ArgumentError(
            "One image in one file takes one corruption and one severity, such as --corruptions fog --severities 3. "
            "For more of them give a folder as the output."
        )
    if target.exists() and target.samefile(source):
        raise ArgumentError(f"{target} is the source itself, which would be lost. Name another file.")
    choice("orientation", options.orientation, get_args(Orientation))
    picture = decode(source, orientation=options.orientation)
    try:
        image = apply(picture, protocol.preprocess)
    except (ArgumentError, ImageError) as error:
        raise ImageError(f"{source}: {error}") from error
    if min(image.shape[:2]) < SMALLEST_SIDE:
        raise ImageError(
            f"{source} is {image.shape[1]}x{image.shape[0]} pixels, and corruptions need {SMALLEST_SIDE} on each side."
        )
    made = corrupt(
        image,
        protocol.corruptions[0],
        severities[0],
        seed=protocol.seed,
        method=protocol.method,
        edition=protocol.edition,
    )
    buffer = io.BytesIO(JPEG85.encode(made) if kind == "JPEG" else b"")
    if kind != "JPEG":
        PIL.Image.fromarray(made).save(buffer, kind)
    write_atomically(target, buffer.getvalue())
