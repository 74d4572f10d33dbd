"""Draw the README's picture: one photograph clean and under all 15 + 4 corruptions.

    python tools/pictures.py PHOTOGRAPH docs/corruptions.jpg [--severity 3]

The README shows "Chelsea" (Stéfan van der Walt, CC0), which scikit-image ships as ``skimage/data/chelsea.png``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageDraw
import PIL.ImageFont

from oodometer import corrupt, list_corruptions, preprocess

SIDE, LABEL, GAP, COLUMNS = 224, 26, 8, 5


def sheet(photograph: Path, severity: float) -> PIL.Image.Image:
    """Return the clean crop and all corruptions of it, labelled, in rows of five."""
    with PIL.Image.open(photograph) as opened:
        clean = preprocess.apply(opened.convert("RGB"), preprocess.PREPROCESS["imagenet224"])
    tiles = {"clean": clean}
    tiles |= {name: corrupt(clean, name, severity) for name in list_corruptions("all")}
    rows = -(-len(tiles) // COLUMNS)
    page = PIL.Image.new("RGB", (COLUMNS * (SIDE + GAP) - GAP, rows * (SIDE + LABEL + GAP) - GAP), (255, 255, 255))
    draw, font = PIL.ImageDraw.Draw(page), PIL.ImageFont.load_default(16)
    for i, (name, tile) in enumerate(tiles.items()):
        left, top = i % COLUMNS * (SIDE + GAP), i // COLUMNS * (SIDE + LABEL + GAP)
        page.paste(PIL.Image.fromarray(np.asarray(tile)), (left, top + LABEL))
        draw.text((left + 2, top + 3), name, fill=(40, 40, 40), font=font)
    return page


def main() -> None:
    """Parse the arguments and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photograph", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--severity", type=float, default=3)
    arguments = parser.parse_args()
    sheet(arguments.photograph, arguments.severity).save(arguments.out, quality=85, optimize=True)


if __name__ == "__main__":
    main()
