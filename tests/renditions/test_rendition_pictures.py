"""One file, looked at: damage of any kind is an error that names it, and pictures are as people see them."""

import io

import numpy as np
import PIL.Image
import pytest
from drawings import drawing, save
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oodometer.errors import DatasetError, ImageError
from oodometer.renditions.pictures import is_blank, look


def written(format_, image, **options):
    file = io.BytesIO()
    image.save(file, format_, **options)
    return file.getvalue()


def tagged(value):
    exif = PIL.Image.Exif()
    exif[0x0112] = value
    return exif


WHOLE = {
    "png": written("PNG", drawing(1, size=(24, 20), mode="RGBA"), exif=tagged(6)),
    "gif": written("GIF", drawing(1, size=(24, 20)), save_all=True, append_images=[drawing(2, size=(24, 20))]),
    "tif": written("TIFF", drawing(1, size=(24, 20), mode="RGBA"), save_all=True, append_images=[drawing(2)]),
    "webp": written("WEBP", drawing(1, size=(24, 20), mode="RGBA"), exif=tagged(3)),
    "jpg": written("JPEG", drawing(1, size=(24, 20)), exif=tagged(8)),
}


@given(st.data())
@settings(max_examples=120, suppress_health_check=[HealthCheck.function_scoped_fixture])
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::PIL.Image.DecompressionBombWarning")
def test_damage_is_an_error_that_names_the_file(tmp_path, data):
    extension = data.draw(st.sampled_from(sorted(WHOLE)))
    content = bytearray(WHOLE[extension])
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path / f"x.{extension}"
    file.write_bytes(bytes(content[: data.draw(st.integers(1, len(content)))]))
    try:
        outcome = look(file, "x the file").image.mode
    except ImageError as error:  # and no other
        outcome = str(error)
    assert outcome == "RGB" or "x the file" in outcome


@pytest.mark.parametrize("value", range(1, 9))
def test_transparent_pictures_are_turned_as_their_tag_asks_for(tmp_path, value):
    image = drawing(1)
    alpha = image.convert("RGBA")
    alpha.putalpha(image.convert("L").point(lambda level: 255 if level < 250 else 0))
    shown = look(save(tmp_path, "x.png", alpha, exif=tagged(value)), "x")
    plain = look(save(tmp_path, "y.png", image, exif=tagged(value)), "y")
    assert shown.conversion == plain.conversion == ("exif_orientation" if value > 1 else "")
    assert np.abs(np.asarray(shown.image).astype(int) - np.asarray(plain.image)).max() <= 16  # alpha rounds
    assert (shown.extension, plain.extension) == ("", "" if value > 1 else ".png")


def test_digests_are_of_the_file_and_of_what_it_shows(tmp_path):
    one, other = (look(save(tmp_path, name, drawing(1)), name) for name in ("a.png", "b.bmp"))
    assert one.pixels == other.pixels
    assert one.sha256 != other.sha256
    wide = PIL.Image.new("RGB", (40, 10), "red")
    high = wide.transpose(PIL.Image.Transpose.ROTATE_90)  # the same bytes of pixels
    assert look(save(tmp_path, "w.png", wide), "").pixels != look(save(tmp_path, "h.png", high), "").pixels


def test_blank_is_one_colour_up_to_what_jpeg_adds():
    assert is_blank(PIL.Image.new("RGB", (9, 9), (3, 200, 7)))
    assert is_blank(PIL.Image.fromarray(np.random.default_rng(0).integers(200, 205, (9, 9, 3), dtype=np.uint8)))
    assert not is_blank(PIL.Image.fromarray(np.array([[[0, 0, 0], [0, 0, 5]]], np.uint8)))


def test_a_file_that_is_gone_is_no_damaged_image(tmp_path):
    with pytest.raises(DatasetError, match=r"Cannot read the file .*: No such file") as caught:
        look(tmp_path / "gone.png", "gone")
    assert not isinstance(caught.value, ImageError)
