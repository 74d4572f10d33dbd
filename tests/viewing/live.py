"""What the tests of the live page share: pictures, a model that remembers, and how a page is read."""

import io
import re

import numpy as np
import PIL.Image


class Recorder:
    """A model that keeps what it was shown, and is right about every other image."""

    def __init__(self):
        self.seen = []

    def predict(self, images):
        self.seen += [image.copy() for image in images]
        logits = np.zeros((len(images), 1000), np.float32)
        logits[np.arange(len(images)), [int(image.mean()) % 1000 for image in images]] = 3
        return logits


def photograph(number, size=(70, 64)):
    """Return a picture with texture and colour, a different one for each number."""
    rng = np.random.default_rng(number)
    coarse = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
    return PIL.Image.fromarray(coarse).resize(size, PIL.Image.Resampling.BICUBIC)


def runs_on(answer):
    """Find the runs on a page: their names by their addresses."""
    return dict(re.findall(r'<a class="name" href="(/runs/\w+)">([^<]*)</a>', answer.text))


def run_at(client, name=None):
    """Return the address of a run by its name; of the only one without."""
    (found,) = (address for address, there in runs_on(client.get("/")).items() if name in (None, there))
    return found


def pixels(answer):
    """Decode the picture of an answer."""
    assert answer.headers["content-type"] == "image/png", answer.text
    with PIL.Image.open(io.BytesIO(answer.content)) as image:
        return np.asarray(image)
