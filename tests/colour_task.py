"""A small classification task, of three shades, that a network of a few weights can begin to learn."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import PIL.Image


@dataclass(frozen=True)
class Task:
    """Class folders, their labels, and the same pictures as arrays: uint8, N x 32 x 32 x 3."""

    folder: Path
    labels: Path
    pictures: np.ndarray
    classes: np.ndarray


def write_task(place):
    """Write 24 pictures of three classes."""
    rng = np.random.default_rng(0)
    shades = np.array([(200, 60, 60), (60, 200, 60), (60, 60, 200)])
    classes = np.arange(24) % 3
    noise = rng.integers(-50, 51, (24, 32, 32, 3))
    pictures = (shades[classes][:, None, None] + noise).clip(0, 255).astype(np.uint8)
    for number, (picture, label) in enumerate(zip(pictures, classes, strict=True)):
        (place / "val" / f"class{label}").mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(picture).save(place / "val" / f"class{label}" / f"{number:02d}.png")
    labels = place / "labels.json"
    labels.write_text(json.dumps({f"class{k}": k for k in range(3)}))
    return Task(place / "val", labels, pictures, classes)
