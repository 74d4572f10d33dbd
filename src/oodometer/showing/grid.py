"""One image under corruptions by severity, as a table of pictures, with what a model says of each."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import jinja2
import numpy as np
import PIL.Image
import PIL.ImageDraw

from oodometer import arguments
from oodometer.corruptions import EDITIONS, corrupt
from oodometer.errors import ArgumentError
from oodometer.models import ModelOptions
from oodometer.outfolder import write_atomically
from oodometer.plan import corruption_names
from oodometer.showing.asking import Asker
from oodometer.showing.lettering import font, write
from oodometer.showing.source import Shown, clean_image, target
from oodometer.types import Image

__all__ = ["Cell", "Grid", "show"]

SIDE = 128
"""How large a picture is drawn, in pixels."""

_MARGIN, _GAP, _NAMES, _HEADING, _LINE = 8, 4, 132, 24, 15
_FORMATS = {".png": "PNG", ".jpg": "JPEG", ".jpeg": "JPEG", ".webp": "WEBP"}
ENDINGS = (*_FORMATS, ".html", ".htm")
"""What the name of a file of a grid may end in."""


@dataclass(frozen=True, slots=True)
class Cell:
    """The image under one condition; ``prediction`` and ``confidence`` (0..1) are there if there is a model."""

    image: Image
    prediction: str | None = None
    confidence: float | None = None

    @property
    def said(self) -> str:
        """What the model says, in a line; empty without one."""
        return "" if self.prediction is None else f"{100 * (self.confidence or 0):.0f} % {self.prediction}"


@dataclass(frozen=True, slots=True)
class Grid:
    """One image under corruptions (rows) by severity (columns, 0 is clean): ``cells[row][column]``.

    It shows itself in a notebook; ``save`` writes it as a picture or a page, but never over ``source``, the file of the
    image.
    """

    title: str
    corruptions: tuple[str, ...]
    severities: tuple[float, ...]
    cells: tuple[tuple[Cell, ...], ...]
    source: str | os.PathLike[str] | None = None

    def picture(self) -> PIL.Image.Image:
        """Draw the grid as one RGB picture."""
        said = _LINE if self.cells[0][0].prediction is not None else 0
        height, width = (min(SIDE, side) for side in self.cells[0][0].image.shape[:2])
        right = _NAMES + len(self.severities) * (width + _GAP) + _MARGIN
        bottom = _HEADING + len(self.corruptions) * (height + said + _GAP) + _MARGIN
        page = PIL.Image.new("RGB", (right, bottom), "white")
        draw, name, small = PIL.ImageDraw.Draw(page), font(14), font(11)
        write(draw, (_MARGIN, 5), self.title, name, _NAMES - _MARGIN)
        for column, severity in enumerate(self.severities):
            heading = f"{severity:g}" if severity else "clean"
            write(draw, (_NAMES + column * (width + _GAP) + width / 2, 5), heading, name, width, "ma")
        for row, cells in enumerate(self.cells):
            top = _HEADING + row * (height + said + _GAP)
            write(draw, (_MARGIN, top + height / 2), self.corruptions[row], name, _NAMES - 2 * _MARGIN, "lm")
            for column, cell in enumerate(cells):
                left = _NAMES + column * (width + _GAP)
                page.paste(_small(cell.image, width, height), (left, top))
                write(draw, (left + 1, top + height + 1), cell.said, small, width)
        return page

    def page(self) -> str:
        """Write the grid as a page that stands alone: pictures inside, no network, no script."""
        return _template("page").render(grid=self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the grid to a file, whose ending says as what: .png, .jpg, .webp or .html.

        Raises
        ------
        ArgumentError
            If the ending is another, or the file is that of the image.
        StoreError
            If the file cannot be written.
        """
        file = target(path, ENDINGS, self.source)
        kind = _FORMATS.get(file.suffix.lower())
        write_atomically(file, _encoded(self.picture(), kind) if kind else self.page().encode())

    def _repr_html_(self) -> str:
        return _template("table").render(grid=self)

    def _repr_png_(self) -> bytes:
        return _encoded(self.picture(), "PNG")


def show(
    image: Shown,
    *,
    corruptions: str | Sequence[str] = "all",
    severities: Sequence[float] = (0, 1, 2, 3, 4, 5),
    preprocess: str = "imagenet224",
    edition: str = "imagenet224",
    seed: int = 0,
    model: object = None,
    model_options: ModelOptions | None = None,
) -> Grid:
    """Put one image under corruptions at several severities, and ask a model about each.

    Parameters
    ----------
    image
        A file, a PIL image or an array (uint8, height x width x 3).
    corruptions
        Names of corruptions and groups, as for ``evaluate``; all 19 by default.
    severities
        Real numbers from 0 (clean) to 10.
    preprocess, edition, seed
        As for ``evaluate``.
    model, model_options
        As for ``evaluate``, of the 1000 classes of ImageNet: what it says is written under each picture.

    Returns
    -------
    Grid
        The pictures, which show themselves in a notebook and can be saved.

    Raises
    ------
    OodometerError
        For everything that a user can mend: an image that is not there or cannot be read, an unknown name, a severity
        out of range, a model that fails.
    """
    clean = clean_image(image, preprocess)
    names = corruption_names(corruptions)
    arguments.choice("edition", edition, EDITIONS)
    try:
        steps = tuple(float(severity) for severity in severities)
    except (TypeError, ValueError):
        raise ArgumentError(f"severities are numbers from 0 to 10, such as (0, 2.5, 5); not {severities!r}.") from None
    if not names or not steps:
        raise ArgumentError("A grid has at least one corruption and one severity.")
    pictures = [[corrupt(clean, name, severity, seed=seed, edition=edition) for severity in steps] for name in names]
    said = iter(
        [(None, None)] * (len(names) * len(steps)) if model is None else _asked(model, model_options, names, pictures)
    )
    cells = tuple(tuple(Cell(picture, *next(said)) for picture in row) for row in pictures)
    source = image if isinstance(image, str | os.PathLike) else None
    title = "severity" if source is None else os.path.basename(source)  # noqa: PTH119
    return Grid(str(title), names, steps, cells, source)


def _asked(
    model: object, options: ModelOptions | None, names: Sequence[str], pictures: Sequence[Sequence[Image]]
) -> Iterator[tuple[str, float]]:
    """Ask for the class of each picture, row by row."""
    asker = Asker(model, options)
    for name, row in zip(names, pictures, strict=True):
        scores = asker(np.stack(row), name)
        classes = (asker.space.names[best] for best in scores.top[:, 0])
        yield from zip(classes, map(float, scores.confidence), strict=True)


def _small(image: Image, width: int, height: int) -> PIL.Image.Image:
    picture = PIL.Image.fromarray(image)
    return picture if picture.size == (width, height) else picture.resize((width, height), PIL.Image.Resampling.LANCZOS)


def _encoded(picture: PIL.Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, kind, **({"quality": 90} if kind != "PNG" else {"optimize": True}))
    return buffer.getvalue()


def _jpeg(image: Image) -> str:
    height, width = (min(SIDE, side) for side in image.shape[:2])
    return base64.b64encode(_encoded(_small(image, width, height), "JPEG")).decode("ascii")


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("oodometer.showing"), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters["jpeg"] = _jpeg
    return environment.get_template(f"{name}.html")
