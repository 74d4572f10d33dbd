"""One file to one RGB picture: every kind of pixel, every kind of damage."""

import errno
import io
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import PIL.Image
import PIL.ImageFile
import pytest

from oodometer.datasets.decode import decode
from oodometer.errors import ArgumentError, DatasetError, ImageError

FORMATS = {"JPEG": "jpg", "PNG": "png", "BMP": "bmp", "GIF": "gif", "WEBP": "webp", "TIFF": "tif", "PPM": "ppm"}


def noise(side=64, mode="RGB"):
    pixels = np.random.default_rng(1).integers(0, 256, (side, side, 3), dtype=np.uint8)
    return PIL.Image.fromarray(pixels).convert(mode)


def encoded(image, format_="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


@pytest.fixture
def read(tmp_path):
    """Return a function that writes bytes to a file and decodes that."""

    def write_and_read(content, name="x.JPEG"):
        file = tmp_path / name
        file.write_bytes(content)
        return decode(file)

    return write_and_read


def without_adobe_marker(jpeg):
    start = jpeg.index(b"\xff\xee")
    return jpeg[:start] + jpeg[start + 2 + int.from_bytes(jpeg[start + 2 : start + 4]) :]


def as_ycck(jpeg):
    at = jpeg.index(b"Adobe") + 11  # the last byte of the marker: 0 is CMYK, 2 is YCCK
    return jpeg[:at] + b"\x02" + jpeg[at + 1 :]


CMYK_RED = {
    # Pillow writes what Photoshop does: inverted ink, and the Adobe marker that says so.
    "inverted, as Adobe": encoded(PIL.Image.new("CMYK", (32, 32), (0, 255, 255, 0)), "JPEG"),
    "inverted, no marker": without_adobe_marker(encoded(PIL.Image.new("CMYK", (32, 32), (0, 255, 255, 0)), "JPEG")),
    # The three inks of red (0, 255, 255) as if they were RGB, in YCbCr: 179, 171, 1; black is inverted ink.
    "YCCK": as_ycck(encoded(PIL.Image.new("CMYK", (32, 32), (76, 84, 254, 0)), "JPEG")),
    "TIFF": encoded(PIL.Image.new("CMYK", (32, 32), (0, 255, 255, 0)), "TIFF"),
}


@pytest.mark.parametrize("kind", CMYK_RED)
def test_c1_cmyk_red_is_red(read, kind):
    image = read(CMYK_RED[kind])
    assert image.mode == "RGB"
    assert np.abs(np.asarray(image, dtype=int) - (255, 0, 0)).max() <= 10


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", ["x.JPEG", "x.png"])
def test_c2_the_content_decides(read, format_, name):
    image = noise(mode="P") if format_ == "GIF" else noise()
    content = encoded(image, format_)
    expected = PIL.Image.open(io.BytesIO(content)).convert("RGB")
    assert np.array_equal(np.asarray(read(content, name)), np.asarray(expected))


ORIENTED = ("JPEG", "PNG", "WEBP", "TIFF", "compressed TIFF")


def oriented(orientation, format_="JPEG", content=None):
    """Return a file of 40 x 20 pixels, all corners unlike, with a tag."""
    exif = PIL.Image.Exif()
    exif[0x0112] = orientation
    corners = np.array([[[0, 0, 0], [250, 0, 0]], [[0, 250, 0], [0, 0, 250]]], np.uint8)
    options = {"lossless": True} if format_ == "WEBP" else {}
    options |= {"compression": "tiff_deflate"} if "compressed" in format_ else {}
    picture = PIL.Image.fromarray(corners.repeat(10, axis=0).repeat(20, axis=1))
    return encoded(picture, format_.split()[-1], exif=content or exif, **options)


def corners_of(image):
    places = [(0, 0), (image.width - 1, 0), (0, image.height - 1), (image.width - 1, image.height - 1)]
    return [" RGB"[int(np.argmax([100, *image.getpixel(place)]))] for place in places]


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format_", ORIENTED)
def test_c3_orientation_is_ignored(read, orientation, format_):
    image = read(oriented(orientation, format_))
    assert image.size == (40, 20)
    assert corners_of(image) == [" ", "R", "G", "B"]
    assert image.info == {}
    assert not image.getexif()


# Row 0 and column 0 of what is stored are, by value of the tag: top-left, top-right, bottom-right, bottom-left, and
# with rows and columns exchanged left-top, right-top, right-bottom, left-bottom (Exif 2.3, section 4.6.4).
UPRIGHT = {1: " RGB", 2: "R BG", 3: "BGR ", 4: "GB R", 5: " GRB", 6: "G BR", 7: "BRG ", 8: "RB G"}


@pytest.mark.parametrize("orientation", UPRIGHT)
@pytest.mark.parametrize("format_", ORIENTED)
def test_c3_orientation_is_applied_if_wanted(orientation, format_):
    image = decode(oriented(orientation, format_), orientation="apply")
    assert image.size == ((20, 40) if 5 <= orientation <= 8 else (40, 20))
    assert "".join(corners_of(image)) == UPRIGHT[orientation]
    assert image.info == {}
    assert not image.getexif()


@pytest.mark.parametrize("orientation", [0, 9, 65535])
def test_c3_unknown_orientations_ask_for_nothing(orientation):
    assert corners_of(decode(oriented(orientation), orientation="apply")) == [" ", "R", "G", "B"]


DAMAGED_TAGS = (b"Exif\0\0", b"Exif\0\0XX*\0\10\0\0\0", b"Exif\0\0MM\0*\0\0\xff\xff", b"\xff" * 99)


@pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
@pytest.mark.parametrize("tags", DAMAGED_TAGS)
def test_c3_damaged_tags_ask_for_nothing(tags):
    content = oriented(6, content=tags)
    assert decode(content, orientation="apply").tobytes() == decode(content).tobytes()


def test_c3_no_other_orientation_is_taken():
    with pytest.raises(ArgumentError, match=r"orientation 'aply'.*'apply'"):
        decode(oriented(6), orientation="aply")


@pytest.mark.parametrize("format_", FORMATS)
def test_bytes_are_read_like_files(read, format_):
    content = encoded(noise(mode="P") if format_ == "GIF" else noise(), format_)
    assert decode(content).tobytes() == read(content).tobytes()


@pytest.mark.parametrize(("content", "reason"), [(b"", "empty"), (b"<html>404</html>", "not an image")])
def test_bytes_that_are_no_image_are_named(content, reason):
    with pytest.raises(ImageError, match=f"row 7.*{reason}"):
        decode(content, name="row 7")
    with pytest.raises(ImageError, match=f"{len(content)} bytes.*{reason}"):
        decode(content)


def test_c5_alpha_is_dropped(read):
    for format_ in ("PNG", "WEBP", "TIFF"):
        options = {"lossless": True, "exact": True} if format_ == "WEBP" else {}
        image = read(encoded(PIL.Image.new("RGBA", (32, 32), (255, 0, 0, 0)), format_, **options))
        assert (np.asarray(image) == (255, 0, 0)).all(), format_


@pytest.mark.parametrize("transparency", [0, bytes([0, 128])])
def test_c5_palettes_with_transparency_keep_their_colours(read, transparency):
    image = PIL.Image.new("P", (8, 8), 0)
    image.putpalette([10, 20, 30, 40, 50, 60])
    assert read(encoded(image, transparency=transparency)).getpixel((0, 0)) == (10, 20, 30)


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        ("L", 77, 77),
        ("1", 1, 255),
        ("LA", (77, 0), 77),
        ("I;16", 0xABCD, 0xAB),
        ("I;16", 0xFFFF, 255),
        ("I;16", 255, 0),
    ],
)
def test_gray_becomes_rgb(read, mode, value, expected):
    assert read(encoded(PIL.Image.new(mode, (4, 4), value))).getpixel((1, 1)) == (expected,) * 3


def test_gray_of_16_bits_in_a_ppm(read):
    assert read(b"P5 1 1 65535\n\xab\xcd").getpixel((0, 0)) == (0xAB,) * 3


@pytest.mark.parametrize("mode", ["I", "F"])
def test_32_bits_have_no_white(read, mode):
    with pytest.raises(ImageError, match=r"x\.JPEG.*8 or 16 bits"):
        read(encoded(PIL.Image.new(mode, (4, 4)), "TIFF"))


def test_a_photograph_of_several_pictures_is_a_jpeg(read):
    frames = [PIL.Image.new("RGB", (16, 16), color) for color in ("red", "blue")]
    image = read(encoded(frames[0], "MPO", save_all=True, append_images=frames[1:]))
    assert np.abs(np.asarray(image, dtype=int) - (255, 0, 0)).max() <= 2


def test_the_first_frame_counts(read):
    frames = [PIL.Image.new("RGB", (4, 4), color) for color in ("red", "blue")]
    image = read(encoded(frames[0], "TIFF", save_all=True, append_images=frames[1:]))
    assert image.getpixel((0, 0)) == (255, 0, 0)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("format_", FORMATS)
def test_c4_truncated_files_are_named(read, format_, share):
    content = encoded(noise(mode="P") if format_ == "GIF" else noise(), format_)
    assert PIL.ImageFile.LOAD_TRUNCATED_IMAGES is False
    with pytest.raises(ImageError, match=r"Cannot read the image .*x\.JPEG"):
        read(content[: int(len(content) * share)])
    assert PIL.ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_c4_the_global_switch_is_refused_and_left_alone(read, monkeypatch):
    monkeypatch.setattr(PIL.ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(DatasetError, match="LOAD_TRUNCATED_IMAGES") as caught:
        read(encoded(noise(), "JPEG"))
    assert not isinstance(caught.value, ImageError)  # it is no fault of one image, so it must not skip them all
    assert PIL.ImageFile.LOAD_TRUNCATED_IMAGES is True


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"<html>404</html>", "not an image"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n", "not an image"),
        (encoded(noise())[:-60] + bytes(60), "x.JPEG"),
    ],
)
def test_what_is_no_image_is_named(read, content, reason):
    with pytest.raises(ImageError, match=reason):
        read(content)


def test_decompression_bombs_are_refused(read, monkeypatch):
    monkeypatch.setattr(PIL.Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(ImageError, match=r"x\.JPEG.*4096 pixels"):
        read(encoded(noise()))


def test_more_pixels_than_wanted_are_refused_before_they_are_decoded(monkeypatch):
    content = encoded(noise(64))
    assert decode(content, most=64 * 64).size == (64, 64)
    monkeypatch.setattr(PIL.Image.Image, "load", lambda image: pytest.fail("was decoded"))
    with pytest.raises(ImageError, match="64x64 pixels are more than the 4,095"):
        decode(content, most=4095)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(DatasetError, match=r"gone\.png: No such file"):
        decode(tmp_path / "gone.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(DatasetError, match=r"folder\.png"):
        decode(tmp_path / "folder.png")


def test_forbidden_files_are_named(tmp_path, monkeypatch):
    file = tmp_path / "x.png"
    file.write_bytes(encoded(noise()))

    def forbid(*_args, **_options):  # the tests may run as root, whom no file mode stops
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", forbid)
    with pytest.raises(DatasetError, match=r"x\.png: Permission denied") as refusal:
        decode(file)
    assert not isinstance(refusal.value, ImageError)  # which would leave the image out for a fault of the system's


def test_a_png_with_a_wrong_checksum_is_refused(tmp_path):
    """Pillow alone would decode it, with other pixels."""
    whole = encoded(noise(), "PNG")
    file = tmp_path / "x.png"
    start = whole.index(b"IDAT") + 4
    refused = 0
    for place in range(start + 20, len(whole) - 20, 97):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        with pytest.raises(ImageError, match=r"x\.png"):
            decode(file)
        refused += 1
    assert refused > 10


def test_the_picture_outlives_the_file_and_warns_of_nothing(read, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        image = read(encoded(noise(), "BMP"))
    (tmp_path / "x.JPEG").unlink()
    assert np.array_equal(np.asarray(image), np.asarray(noise()))


def test_threads_read_the_same(tmp_path):
    file = tmp_path / "x.jpg"
    file.write_bytes(encoded(noise(), "JPEG"))
    with ThreadPoolExecutor(4) as pool:
        pixels = [np.asarray(image) for image in pool.map(decode, [file] * 40)]
    assert all(np.array_equal(pixels[0], other) for other in pixels)
