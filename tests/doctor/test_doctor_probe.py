"""One file: the doctor's verdict is that of the reader, and says what is there instead."""

import io
import os

import numpy as np
import PIL.Image
import pytest
import sane
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer.datasets.decode import decode
from oodometer.doctor.probe import Trait, Trouble, probe, probe_file
from oodometer.errors import DatasetError, ImageError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of Pillow, on damaged tags


def file_of(kind, mode, progressive=False):
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    buffer = io.BytesIO()
    image = PIL.Image.fromarray(sane.picture("probe", kind, mode, side=40)).convert(mode)
    image.save(buffer, kind, exif=exif, **({"progressive": progressive} if kind == "JPEG" else {}))
    return buffer.getvalue()


FILES = [
    file_of("JPEG", "RGB"),
    file_of("JPEG", "RGB", progressive=True),
    file_of("JPEG", "L"),
    file_of("JPEG", "CMYK"),
    file_of("PNG", "RGBA"),
    file_of("PNG", "P"),
    file_of("WEBP", "RGB"),
    file_of("TIFF", "RGB"),
]


def reads(content):
    try:
        return decode(content).size
    except ImageError:
        return None


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(FILES), st.data())
def test_what_is_readable_is_what_the_reader_reads(content, data):
    place = st.integers(0, len(content))
    damaged = bytearray(content)
    for at, value in data.draw(st.lists(st.tuples(place, st.integers(0, 255)), max_size=3)):
        damaged[at : at + 1] = bytes([value])
    damaged = bytes(damaged[: data.draw(st.one_of(st.just(len(content)), place))])
    made = probe(damaged)
    size = reads(damaged)
    assert (made.trouble is None) == (size is not None)
    assert (made.width, made.height) == (size or (0, 0))
    assert made.bytes == len(damaged)


@pytest.mark.parametrize("content", FILES)
def test_whole_files(content):
    made = probe(content)
    assert (made.trouble, made.width, made.height) == (None, 40, 40)
    assert made.digest == probe(content).digest != probe(content + b"x").digest


def test_traits():
    assert probe(FILES[0]).traits == Trait.TURNED
    assert probe(FILES[2]).traits == Trait.TURNED | Trait.GRAY
    assert probe(FILES[3]).traits == Trait.TURNED | Trait.CMYK
    assert probe(FILES[4], ".png").traits == Trait.TURNED | Trait.ALPHA
    assert probe(FILES[4], ".jpg").traits == Trait.TURNED | Trait.ALPHA | Trait.MISNAMED
    exif = PIL.Image.Exif()
    exif[0x010F] = "a camera"
    upright = io.BytesIO()
    PIL.Image.fromarray(sane.picture("x")).save(upright, "JPEG", exif=exif)
    assert probe(upright.getvalue()).traits == Trait.NONE
    deep = io.BytesIO()
    PIL.Image.fromarray(np.full((4, 4), 9, np.uint16)).save(deep, "PNG")
    assert probe(deep.getvalue(), ".png").traits == Trait.GRAY | Trait.DEEP


@pytest.mark.parametrize(
    ("content", "trouble", "words"),
    [
        (b"", Trouble.EMPTY, "empty"),
        (bytes(100), Trouble.NO_IMAGE, "zeros"),
        (b"  <!DOCTYPE html>", Trouble.NO_IMAGE, "web page"),
        (b"version https://git-lfs.github.com/spec/v1\n", Trouble.NO_IMAGE, "Git LFS"),
        (b"../.git/annex/objects/xx", Trouble.NO_IMAGE, "git-annex"),
        (b"PK\x03\x04xxxx", Trouble.NO_IMAGE, "zip"),
        (b"something <else>", Trouble.NO_IMAGE, "no known format"),
        (FILES[0][:2], Trouble.DAMAGED, "header"),
        (FILES[0][:-40], Trouble.DAMAGED, "truncated"),
    ],
)
def test_what_is_there_instead(content, trouble, words):
    made = probe(content)
    assert (made.trouble, made.width) == (trouble, 0)
    assert words in made.reason


def test_files_that_the_system_does_not_give(tmp_path):
    (tmp_path / "link.png").symlink_to(tmp_path / "gone.png")
    assert probe_file(str(tmp_path / "link.png")).trouble is Trouble.DEAD_LINK
    assert probe_file(str(tmp_path / "gone.png")).trouble is Trouble.FORBIDDEN
    if os.geteuid():  # root may read everything
        (tmp_path / "shut.png").write_bytes(FILES[4])
        (tmp_path / "shut.png").chmod(0)
        made = probe_file(str(tmp_path / "shut.png"))
        assert (made.trouble, made.reason) == (Trouble.FORBIDDEN, "Permission denied")


@pytest.mark.parametrize("content", FILES)
def test_accepting_truncated_images_is_refused(content, monkeypatch):
    monkeypatch.setattr("PIL.ImageFile.LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(DatasetError, match="LOAD_TRUNCATED_IMAGES"):
        probe(content)
