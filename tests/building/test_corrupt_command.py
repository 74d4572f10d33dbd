"""`oodometer corrupt SRC OUT`: what it prints, its exit status, and options from a file."""

import io
import signal
import subprocess
import sys
import time

import numpy as np
import PIL.Image
import pytest
from built import QUICK, files, pixels

import oodometer

OPTIONS = ["--preprocess", "none", "--edition", "tiny64", "-c", "contrast,fog", "-s", "1,3"]


def test_it_builds_and_says_what(call, photographs, tmp_path):
    root, out = photographs(3), tmp_path / "out"
    status, printed, told = call(root, out, *OPTIONS)
    assert (status, printed) == (0, f"{out}: 12 pictures of 3 images; 12 made now.\n")
    assert "images in class folders" in told  # what the source was taken for
    assert "12/12" in told
    assert call(root, out, *OPTIONS)[:2] == (0, f"{out}: 12 pictures of 3 images; 0 made now.\n")
    oodometer.build(root, tmp_path / "same", **QUICK)
    assert files(out) == files(tmp_path / "same")


def test_damaged_sources_show_in_the_exit_status(call, photographs, tmp_path):
    """Case C4."""
    root = photographs(3)
    (root / "n01440764" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    for _ in range(2):
        status, printed, told = call(root, tmp_path / "out", *OPTIONS)
        assert (status, "12 pictures of 3 images" in printed) == (1, True)
        assert "left out of every condition: 1\n  Cannot read the image n01440764/bad.png" in told


def test_a_dry_run_writes_nothing(call, photographs, tmp_path):
    root = photographs(3)
    status, printed, _ = call(root, tmp_path / "out", *OPTIONS, "--clean", "--dry-run")
    assert status == 0
    assert printed.startswith("3 images under 5 conditions: 15 files of about ")
    assert "minutes" in printed
    assert not (tmp_path / "out").exists()


def test_one_image_becomes_one_file(call, photographs, tmp_path, textured):
    source = tmp_path / "photo.jpg"
    textured(3, 100, 70).save(source)
    clean = pixels(source)
    arguments = ["--corruptions", "fog", "--severities", "3"]
    for name in ("foggy.png", "foggy.webp", "foggy.tiff"):
        assert call(source, tmp_path / name, *arguments)[0] == 0
    foggy = oodometer.corrupt(clean, "fog", 3)
    np.testing.assert_array_equal(pixels(tmp_path / "foggy.png"), foggy)
    np.testing.assert_array_equal(pixels(tmp_path / "foggy.tiff"), foggy)
    assert call(source, tmp_path / "foggy.jpg", *arguments)[0] == 0
    buffer = io.BytesIO()
    PIL.Image.fromarray(foggy).save(buffer, "JPEG", quality=85, optimize=True)
    assert (tmp_path / "foggy.jpg").read_bytes() == buffer.getvalue()
    assert call(source, tmp_path / "cropped.png", *arguments, "--preprocess", "imagenet224")[0] == 0
    assert pixels(tmp_path / "cropped.png").shape == (224, 224, 3)


def test_one_image_in_a_folder_is_a_data_set(call, tmp_path, textured):
    textured(3).save(tmp_path / "photo.jpg")
    assert call(tmp_path / "photo.jpg", tmp_path / "out", *OPTIONS, "--clean")[0] == 0
    assert {path for path in files(tmp_path / "out") if "manifest" not in path} == {
        f"{cell}/photo.JPEG" for cell in ("clean", "contrast/1", "contrast/3", "fog/1", "fog/3")
    }


def test_options_come_from_a_file_and_from_the_command_line(call, photographs, tmp_path):
    root, config = photographs(3), tmp_path / "build.toml"
    config.write_text(
        'preprocess = "none"\nedition = "tiny64"\ncorruptions = ["contrast", "fog"]\nseverities = [1, 2.5]\n'
        'clean = true\nlimit = 2\nseed = 7\nworkers = 1\nformat = "png"\n'
    )
    assert call(root, tmp_path / "out", "--config", config, "--severities", "3", "--format", "jpeg")[0] == 0
    options = QUICK | {"severities": [3], "clean": True, "limit": 2, "seed": 7}
    oodometer.build(root, tmp_path / "same", **options)
    assert files(tmp_path / "out") == files(tmp_path / "same")
    config.write_text('label-space = "imagenet-1k"\nseverities = 2\n' + 'corruptions = "fog"\nedition = "tiny64"\n')
    assert call(root, tmp_path / "labelled", "--config", config, "--preprocess", "none", "--dry-run")[0] == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('coruptions = "fog"', "Did you mean 'corruptions'"),
        ("seed = true", "seed must be a whole number"),
        ("seed = 1.5", "seed must be a whole number"),
        ('limit = "5"', "limit must be a whole number"),
        ("clean = 1", "clean must be true or false"),
        ("format = true", "format must be a text"),
        ("severities = [[1]]", "severities must be a text"),
        ("[corruptions]\na = 1", "corruptions must be a text"),
        ('source = "val"', "Unknown option"),
        ('config = "other.toml"', "Unknown option"),
        ("seed = ", "is not TOML"),
        ('format = "jpg"', "'jpeg'"),
    ],
)
def test_wrong_lines_of_a_file_are_refused(call, photographs, tmp_path, line, words):
    config = tmp_path / "build.toml"
    config.write_text(line)
    status, _, told = call(photographs(1), tmp_path / "out", "--config", config)
    assert status == 2
    assert words in told
    assert not (tmp_path / "out").exists()


def test_ctrl_c_stops_and_the_same_command_continues(call, photographs, tmp_path):
    root, out = photographs(12, 320, 240), tmp_path / "out"
    options = ["-c", "zoom_blur,fog", "--method", "reference"]
    # A shell may have had Ctrl-C ignored for the tests and their children.
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from oodometer.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, "corrupt", str(root), str(out), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 120
    while not list(out.glob("fog/5/*/*.JPEG")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command continues" in told
    assert "Traceback" not in told
    done = len(list(out.rglob("*.JPEG")))
    status, printed, _ = call(root, out, *options)
    assert (status, printed) == (0, f"{out}: 120 pictures of 12 images; {120 - done} made now.\n")


def test_an_image_is_not_written_over_itself(call, tmp_path):
    PIL.Image.new("RGB", (64, 64), (9, 99, 199)).save(tmp_path / "a.png")
    before = (tmp_path / "a.png").read_bytes()
    status, _, told = call(tmp_path / "a.png", tmp_path / "." / "a.png", "-c", "fog", "-s", "3")
    assert (status, "is the source itself" in told) == (2, True)
    assert (tmp_path / "a.png").read_bytes() == before
