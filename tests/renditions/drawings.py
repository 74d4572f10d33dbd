"""Small drawings that tests make themselves: each number is another picture, and tables of them."""

import csv

import numpy as np
import PIL.Image
import PIL.ImageDraw

HEADER = ("path", "label", "style", "source", "licence")
GOLDFISH, SHARK, TIGER = "n01443537", "n01484850", "n02129604"


def drawing(number, size=(120, 96), ground="white", mode="RGB"):
    """Draw a few coloured shapes on a plain ground; no two numbers give pictures that look alike."""
    rng = np.random.default_rng(number)
    image = PIL.Image.new("RGB", (240, 192), ground)
    draw = PIL.ImageDraw.Draw(image)
    for _ in range(9):
        x, y = rng.integers(20, [200, 150])
        box = (int(x), int(y), int(x + rng.integers(12, 38)), int(y + rng.integers(12, 38)))
        (draw.ellipse if rng.random() < 0.5 else draw.rectangle)(box, fill=tuple(map(int, rng.integers(0, 200, 3))))
    return image.resize(size, PIL.Image.Resampling.LANCZOS).convert(mode)


def photograph(number, size=(160, 120)):
    """Make smooth noise of many colours that fills its frame, as photographs have it."""
    rng = np.random.default_rng(number)
    coarse = PIL.Image.fromarray(rng.integers(0, 256, (8, 10, 3), dtype=np.uint8)).resize(
        size, PIL.Image.Resampling.BICUBIC
    )
    return PIL.Image.fromarray(
        np.clip(np.asarray(coarse) + rng.normal(0, 8, (size[1], size[0], 3)), 0, 255).astype(np.uint8)
    )


def save(folder, path, image, **options):
    """Save a picture, making its folder."""
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    image.save(place, **options)
    return place


def row(path, label=GOLDFISH, style="sketch", source="made here", licence="CC0-1.0"):
    """Return a row of the table."""
    return (path, label, style, source, licence)


def table(folder, *rows, header=HEADER, name="labels.csv"):
    """Write the table of candidates."""
    place = folder / name
    with place.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return place
