"""Words in pictures: they fit, or are cut with an ellipsis."""

from __future__ import annotations

import PIL.ImageDraw
import PIL.ImageFont

__all__ = ["DARK", "fitted", "font", "write"]

DARK = (40, 40, 40)

Font = PIL.ImageFont.FreeTypeFont | PIL.ImageFont.ImageFont


def font(size: float) -> Font:
    """Return Pillow's own font, which needs no file."""
    return PIL.ImageFont.load_default(size)


def fitted(text: str, using: Font, width: float) -> str:
    """Return as much of a text as is at most so many pixels wide, with an ellipsis if some is left out."""
    if using.getlength(text) <= width:
        return text
    kept = next((k for k in range(len(text), 0, -1) if using.getlength(text[:k].rstrip() + "…") <= width), 0)
    return text[:kept].rstrip() + "…"


def write(
    draw: PIL.ImageDraw.ImageDraw,
    place: tuple[float, float],
    text: str,
    using: Font,
    width: float,
    anchor: str = "la",
    fill: tuple[int, int, int] = DARK,
) -> None:
    """Draw a text in one line, cut to the width. Characters that the font lacks become question marks."""
    plain = text.replace("_", " ").encode("latin-1", "replace").decode("latin-1")
    draw.text(place, fitted(plain, using, width), font=using, fill=fill, anchor=anchor)
