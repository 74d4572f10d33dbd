"""Small sources for the tests of a build."""

import numpy as np
import PIL.Image
import pytest

from oodometer.cli import main
from oodometer.datasets import imagenet1k


@pytest.fixture
def textured():
    """Return a function that makes a picture with strong texture, a different one for each number."""

    def make(number, width=64, height=64):
        rng = np.random.default_rng(number)
        coarse = rng.integers(0, 256, (max(height // 8, 1), max(width // 8, 1), 3)).astype(np.uint8)
        return PIL.Image.fromarray(coarse).resize((width, height), PIL.Image.Resampling.BICUBIC)

    return make


@pytest.fixture
def photographs(tmp_path, textured):
    """Return a function that writes n pictures, two to a class, in folders named by wnid."""

    def write(n, width=64, height=64, folder="val"):
        for i in range(n):
            place = tmp_path / folder / imagenet1k().classes[i // 2 * 7 % 1000]
            place.mkdir(parents=True, exist_ok=True)
            textured(i, width, height).save(place / f"{i:04d}.png")
        return tmp_path / folder

    return write


@pytest.fixture
def call(capsys):
    """Return a function that runs ``oodometer corrupt`` and gives its exit status, output and errors."""

    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["corrupt", *map(str, arguments)])
        output = capsys.readouterr()
        return end.value.code or 0, output.out, output.err

    return run
