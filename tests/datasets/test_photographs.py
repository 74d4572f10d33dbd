"""Real photographs, which are never part of the checkout."""

import hashlib
import json

import numpy as np
import PIL.Image
import pytest

from oodometer import preprocess
from oodometer.datasets import imagenet1k, open_folder
from oodometer.preprocess import PREPROCESS, apply


def test_every_photograph_opens_and_has_the_class_of_its_folder(shared):
    photos = open_folder(shared / "data/photos")
    assert len(photos.samples) == 400
    assert photos.notes == ()
    for sample in photos.samples:
        image = photos.read(sample)
        assert image.mode == "RGB"
        assert imagenet1k().classes[sample.label] == sample.id.split("/")[0]
        assert sample.size == (photos.root / sample.id).stat().st_size


def test_the_golden_inputs_come_out_to_the_pixel(shared):
    golden = json.loads((shared / "golden/manifest.json").read_text())["photos"]
    number_of = {photo["source_sha256"]: number for number, photo in golden.items()}
    photos = open_folder(shared / "data/photos")
    compared = 0
    for sample in photos.samples:
        number = number_of.get(hashlib.sha256((photos.root / sample.id).read_bytes()).hexdigest())
        if number is not None:
            expected = np.asarray(PIL.Image.open(shared / f"golden/imagenet224/photo{number}/input.png"))
            assert np.array_equal(apply(photos.read(sample), PREPROCESS["imagenet224"]), expected)
            compared += 1
    assert compared


@pytest.mark.parametrize("preset", ["imagenet224", "inception299", "tiny64"])
def test_the_fast_preprocessing_equals_pillow(shared, preset):
    photos = open_folder(shared / "data/photos")
    for sample in photos.samples[::8]:
        image = photos.read(sample)
        expected = preprocess.plain(image, *preprocess._geometry(image.size, PREPROCESS[preset]))
        assert np.array_equal(apply(image, PREPROCESS[preset]), expected), sample.id
