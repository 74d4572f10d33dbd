"""`oodometer corrupt`: corrupted images as files."""

from __future__ import annotations

import io
from typing import Any

import click

from oodometer.arguments import path
from oodometer.errors import ArgumentError

__all__ = ["corrupt"]

FORMATS = {
    ".png": "PNG",
    ".jpg": "JPEG",
    ".jpeg": "JPEG",
    ".webp": "WEBP",
    ".bmp": "BMP",
    ".tif": "TIFF",
    ".tiff": "TIFF",
}
"""What `oodometer corrupt` writes, by the ending of the name: formats that keep the size and the colours."""


@click.command()
@click.argument("image")
@click.option("-c", "--corruption", required=True, help="Its name; see `oodometer list`.")
@click.option("-s", "--severity", default=1.0, show_default=True, help="0 (none) to 10, as published from 1 to 5.")
@click.option("-o", "--out", required=True, metavar="FILE", help="Where to write; the ending gives the format.")
@click.option("--seed", default=0, show_default=True)
@click.option("--edition", default="imagenet224", show_default=True, help="Which published table of strengths.")
@click.option("--method", default="fast", show_default=True, help="fast or reference.")
def corrupt(image: str, corruption: str, severity: float, out: str, **options: Any) -> None:  # noqa: ANN401
    """Corrupt one IMAGE file, at its own size."""
    from oodometer import corruptions
    from oodometer.datasets.decode import decode
    from oodometer.outfolder import write_atomically

    made = corruptions.corrupt(decode(path("IMAGE", image)), corruption, severity, **options)
    target = path("The output", out)
    kind = FORMATS.get(target.suffix.lower())
    if kind is None:
        raise ArgumentError(f"{out}: no image format is known by this ending; use one of {', '.join(FORMATS)}.")
    buffer = io.BytesIO()
    made.save(buffer, kind)
    write_atomically(target, buffer.getvalue())
