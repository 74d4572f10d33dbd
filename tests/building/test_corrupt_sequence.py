"""`oodometer corrupt SRC OUT --sequence`: what it prints, its exit status, and which options it has no use for."""

import pytest
from built import files, names

import oodometer

OPTIONS = ["--sequence", "--preprocess", "none", "--format", "png", "-c", "rotate,shot_noise_2", "--frames", "3"]


def test_it_builds_and_says_what(call, photographs, tmp_path):
    root, out = photographs(3), tmp_path / "out"
    status, printed, told = call(root, out, *OPTIONS)
    assert (status, printed) == (0, f"{out}: 6 videos of 3 images; 6 made now.\n")
    assert "images in class folders" in told  # what the source was taken for
    assert "6/6" in told
    assert call(root, out, *OPTIONS)[:2] == (0, f"{out}: 6 videos of 3 images; 0 made now.\n")
    options = {"preprocess": "none", "format": "png", "perturbations": "rotate,shot_noise_2", "frames": 3}
    oodometer.build_sequences(root, tmp_path / "same", progress=False, **options)
    assert files(out) == files(tmp_path / "same")


def test_the_ten_are_the_default(call, photographs, tmp_path):
    status, printed, _ = call(photographs(1), tmp_path / "out", "--sequence", "--preprocess", "none", "--frames", "2")
    assert (status, "10 videos of 1 image;" in printed) == (0, True)
    assert "zoom_blur/n01440764/0000/01.JPEG" in names(tmp_path / "out")


def test_damaged_sources_show_in_the_exit_status(call, photographs, tmp_path):
    root = photographs(3)
    (root / "n01440764" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    status, printed, told = call(root, tmp_path / "out", *OPTIONS)
    assert (status, "6 videos of 3 images" in printed) == (1, True)
    assert "left out of every condition: 1\n  Cannot read the image n01440764/bad.png" in told


def test_a_dry_run_writes_nothing(call, photographs, tmp_path):
    status, printed, _ = call(photographs(3), tmp_path / "out", "--sequence", "-c", "rotate,translate", "--dry-run")
    assert status == 0
    assert printed.startswith("3 images under 2 conditions: 216 files of about ")
    assert not (tmp_path / "out").exists()


def test_a_folder_that_is_called_like_a_file_is_refused(call, photographs, tmp_path):
    image = photographs(1) / "n01440764" / "0000.png"
    status, _, told = call(image, tmp_path / "out.mp4", "--sequence")
    assert (status, "Name it without .mp4" in told) == (2, True)
    assert not (tmp_path / "out.mp4").exists()


def test_options_come_from_a_file(call, photographs, tmp_path):
    config = tmp_path / "videos.toml"
    config.write_text('sequence = true\nframes = 2\ncorruptions = ["shear"]\npreprocess = "none"\n')
    status, printed, _ = call(photographs(1), tmp_path / "out", "--config", config)
    assert (status, "1 video of 1 image; 1 made now" in printed) == (0, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sequence", "-s", "3"], "severities: goes with pictures"),
        (["--sequence", "--edition", "tiny64", "--clean"], "edition, clean: goes with pictures"),
        (["--sequence", "--method", "reference"], "method: goes with pictures"),
        (["--sequence", "--format", "parquet"], "Known: jpeg, png, webp"),
        (["--sequence", "--preprocess", "inception299"], "Known: imagenet224, none"),
        (["--sequence", "-c", "imagenet-c"], "Unknown perturbation 'imagenet-c'. Did you mean 'imagenet-p'"),
        (["--frames", "3"], "frames: goes with --sequence"),
    ],
)
def test_options_that_make_no_sense_are_refused(call, photographs, tmp_path, options, words):
    status, _, told = call(photographs(1), tmp_path / "out", *options)
    assert status == 2
    assert words in told
    assert not (tmp_path / "out").exists()
