"""The data of the demo."""

import importlib.util
import subprocess
import sys

import numpy as np
import PIL.ImageFont
import pytest

from oodometer.datasets import demo_photographs, demo_renditions, imagenet1k, imagenet_r
from oodometer.datasets.demo import EMOJI
from oodometer.errors import MissingDataError


def test_the_photographs():
    dataset = demo_photographs()
    assert len(dataset.samples) == 20
    assert dataset.label_space == imagenet1k()
    assert dataset.samples[0].id == "imagenet_00_243.jpg"
    assert imagenet1k().names[dataset.samples[0].label] == "bull mastiff"
    for sample in dataset.samples:
        assert min(dataset.read(sample).size) >= 224


def test_the_renditions():
    dataset = demo_renditions()
    assert dataset.label_space == imagenet_r()
    assert len(dataset.samples) == len(EMOJI) == 74
    assert {sample.label for sample in dataset.samples} <= set(imagenet_r().columns)
    assert [sample.id for sample in dataset.samples] == sorted(sample.id for sample in dataset.samples)
    assert (dataset.samples[0].id, dataset.samples[0].label) == ("n01770393/emoji_u1f982.png", 71)


def test_every_drawing_is_there_and_whole():
    dataset = demo_renditions()
    font = PIL.ImageFont.truetype(dataset.font, 160, layout_engine=PIL.ImageFont.Layout.BASIC)
    absent = bytes(font.getmask("\U000ffffe"))
    assert all(bytes(font.getmask(glyph)) != absent for glyph in EMOJI.values())
    seen = set()
    for sample in dataset.samples:
        pixels = np.asarray(dataset.read(sample))
        assert pixels.shape == (256, 256, 3)
        dark = pixels[..., 0] < 128
        inner = dark[24:-24, 24:-24]  # within what a crop of 224 keeps, with a margin
        assert inner.sum() == dark.sum() > 1500, sample.id
        rows, columns = np.nonzero(dark)
        assert abs(rows.min() + rows.max() - 255) <= 2
        assert abs(columns.min() + columns.max() - 255) <= 2
        assert np.array_equal(pixels, np.asarray(dataset.read(sample)))
        seen.add(pixels.tobytes())
    assert len(seen) == len(EMOJI)


@pytest.mark.parametrize("make", [demo_photographs, demo_renditions])
def test_absent_packages_say_how_to_get_them(monkeypatch, make):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDataError, match=r"pip install 'oodometer\[demo\]'"):
        make()


def test_finding_the_data_imports_no_package():
    code = (
        "import sys; from oodometer.datasets import demo_photographs, demo_renditions;"
        "demo_photographs(); demo_renditions();"
        "assert not {'foolbox', 'manimgx_fonts', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
