"""What the tests of a build share: quick options, and the files of a tree."""

import numpy as np
import PIL.Image

from oodometer.outfolder import LOCK

FAST = {"preprocess": "none", "edition": "tiny64", "progress": False}
"""Options under which a small picture goes through a condition in milliseconds."""

QUICK = FAST | {"corruptions": "contrast,fog", "severities": "1,3"}


def names(root):
    """Return the paths of all files below a folder but the lock; another process may be writing there."""
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file() and path.name != LOCK}


def files(root):
    """Return the content of every file below a folder but the lock, by its path."""
    return {name: (root / name).read_bytes() for name in names(root)}


def pixels(path):
    with PIL.Image.open(path) as image:
        return np.asarray(image)
