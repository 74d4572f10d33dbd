"""`oodometer.build_sequences`: whole videos or none, the same to the byte whatever happened on the way."""

import itertools
import shutil
import signal
import subprocess
import sys

import numpy as np
import PIL.Image
import pytest
from built import FAST, files, names, pixels

import oodometer
from oodometer.building import BuildFolder, SequenceOptions, settle_sequences
from oodometer.building.frames import FrameFolders
from oodometer.building.manifest import SequenceFolder
from oodometer.datasets import imagenet1k
from oodometer.datasets.sequences import open_sequences
from oodometer.errors import ArgumentError, DatasetError, MissingDataError, StoreError
from oodometer.perturbations import perturb
from oodometer.preprocess import PREPROCESS, apply

SMALL = {"preprocess": "none", "format": "png", "frames": 3, "progress": False}
QUICK = SMALL | {"perturbations": "rotate,shot_noise,shot_noise_3,spatter"}

# Kills itself when it is about to write, rename or remove something in the output folder for the n-th time.
KILLED = """
import os, signal, sys
import oodometer
from oodometer.building.frames import FrameFolders
FrameFolders.images = 3
source, out, options, left = sys.argv[1], sys.argv[2], eval(sys.argv[3]), int(sys.argv[4])
def count(event, arguments):
    global left
    writing = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    changing = event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir")
    if not (writing or changing) or not str(arguments[0]).startswith(out):
        return
    inner = str(arguments[0])[len(out):]
    if writing and inner and "/." not in inner:
        os.write(2, f"written under its final name: {inner}".encode())
        os._exit(7)
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
oodometer.build_sequences(source, out, **options)
"""


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a block have few images."""
    monkeypatch.setattr(FrameFolders, "images", 3)


def test_frames_are_those_of_perturb_on_the_resized_picture(photographs, tmp_path):
    root = photographs(2, 320, 270)
    built = oodometer.build_sequences(
        root, tmp_path / "out", perturbations="translate,gaussian_noise_2", format="png", seed=4, progress=False
    )
    assert (built.images, built.pictures, built.made, built.skipped) == (2, 4, 4, ())
    preprocess = PREPROCESS["imagenet224"]
    with PIL.Image.open(root / "n01440764" / "0001.png") as image:
        crop = apply(image, preprocess)
        resized = np.asarray(image.resize((303, 256), PIL.Image.Resampling.BILINEAR))
    for folder, name, difficulty, count in (
        ("translate", "translate", 1, 41),
        ("gaussian_noise_2", "gaussian_noise", 2, 31),
    ):
        video = tmp_path / "out" / folder / "n01440764" / "0001"
        assert sorted(names(video)) == [f"{i:02d}.png" for i in range(count)]
        expected = perturb(resized, name, seed=4, image_id="n01440764/0001.png", difficulty=difficulty)
        for i in range(count):
            np.testing.assert_array_equal(pixels(video / f"{i:02d}.png"), expected[i])
    np.testing.assert_array_equal(pixels(tmp_path / "out/translate/n01440764/0001/20.png"), crop)
    np.testing.assert_array_equal(pixels(tmp_path / "out/gaussian_noise_2/n01440764/0001/00.png"), crop)


def test_any_number_of_threads_gives_the_same_files(photographs, tmp_path):
    root = photographs(5)
    for workers in (1, 3):
        oodometer.build_sequences(root, tmp_path / str(workers), workers=workers, **QUICK)
    assert files(tmp_path / "1") == files(tmp_path / "3")
    made = oodometer.build_sequences(root, tmp_path / "1", **QUICK)
    assert (made.pictures, made.made) == (20, 0)


@pytest.mark.parametrize(("form", "extension"), [("jpeg", ".JPEG"), ("webp", ".webp")])
def test_frames_have_the_format_that_is_asked_for(photographs, tmp_path, form, extension):
    root = photographs(1)
    options = SMALL | {"perturbations": "rotate", "format": form}
    oodometer.build_sequences(root, tmp_path / "out", **options)
    frames = [tmp_path / "out/rotate/n01440764/0000" / f"{i:02d}{extension}" for i in range(3)]
    expected = perturb(pixels(root / "n01440764" / "0000.png"), "rotate", frames=3, side=None)
    for frame, made in zip(frames, expected, strict=True):
        if form == "webp":
            np.testing.assert_array_equal(pixels(frame), made)
        else:
            with PIL.Image.open(frame) as image:
                assert image.format == "JPEG"
            assert np.abs(pixels(frame).astype(int) - made).mean() < 8


def test_video_files_hold_the_frames(photographs, tmp_path):
    av = pytest.importorskip("av")
    root = photographs(2, 65, 63)
    options = SMALL | {"perturbations": "rotate,brightness", "format": "mp4"}
    for workers in (1, 2):
        oodometer.build_sequences(root, tmp_path / str(workers), workers=workers, **options)
    assert files(tmp_path / "1") == files(tmp_path / "2")
    expected = perturb(pixels(root / "n01440764" / "0000.png"), "rotate", frames=3, side=None)
    with av.open(str(tmp_path / "1/rotate/n01440764/0000.mp4")) as video:
        frames = np.stack([frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)])
    assert frames.shape == expected.shape
    assert np.abs(frames.astype(int) - expected).mean() < 4
    (rotated, _) = open_sequences(tmp_path / "1", imagenet1k())[::-1]
    np.testing.assert_array_equal(np.stack(rotated.read(rotated.samples[0])), frames)
    (tmp_path / "1/rotate/n01440764/0001.mp4").write_bytes(b"")
    assert oodometer.build_sequences(root, tmp_path / "1", **options).made == 1
    assert files(tmp_path / "1") == files(tmp_path / "2")


def test_video_files_without_pyav_say_what_to_install(photographs, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(MissingDataError, match=r"oodometer\[video\]"):
        oodometer.build_sequences(photographs(1), tmp_path / "out", **(QUICK | {"format": "mp4"}))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("point", [9, 33, 58, 79])
def test_a_killed_build_continues_to_the_same_files(photographs, tmp_path, small_blocks, point):
    root, out = photographs(5), tmp_path / "out"
    oodometer.build_sequences(root, tmp_path / "whole", **QUICK)
    expected = files(tmp_path / "whole")
    arguments = [str(root), str(out), repr(QUICK | {"workers": 2}), str(point)]
    done = subprocess.run([sys.executable, "-c", KILLED, *arguments], check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL
    for path, content in files(out).items():
        if not path.startswith((".unfinished", "manifest")):
            assert content == expected[path], path
    # A video is there with all its frames, or not at all.
    for video in [path for path in out.glob("[!.m]*/*/*") if path.is_dir()]:
        assert names(video) == {"00.png", "01.png", "02.png"}
    finished = len([*out.glob("[!.m]*/*/*")])
    again = oodometer.build_sequences(root, out, **QUICK)
    assert files(out) == expected
    # Of each thread, the video that was in its place but not yet in the journal may be made twice.
    assert again.pictures - again.made >= finished - 2


def test_what_was_damaged_is_made_again_and_nothing_else(photographs, tmp_path):
    root, out = photographs(3), tmp_path / "out"
    oodometer.build_sequences(root, out, **QUICK)
    expected = files(out)
    (out / "rotate/n01440764/0000/01.png").unlink()
    (out / "spatter/n01440764/0001/02.png").write_bytes(b"changed")
    (out / "shot_noise/n01440764/0000/notes.txt").write_text("a file of someone's")
    shutil.rmtree(out / "shot_noise_3/n01440764/0001")
    _, file, link = sorted((out / "rotate").glob("*/*"))
    for video in (file, link):
        shutil.rmtree(video)
    file.write_bytes(b"in the place of a video")
    link.symlink_to(tmp_path / "nowhere")
    assert oodometer.build_sequences(root, out, **QUICK).made == 6
    assert files(out) == expected


def test_a_damaged_source_is_named_and_has_no_video(photographs, tmp_path):
    root, out = photographs(3), tmp_path / "out"
    (root / "n01440764" / "bad.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    for made in (12, 0):
        built = oodometer.build_sequences(root, out, **QUICK)
        assert (built.images, built.made, [skipped.image for skipped in built.skipped]) == (
            3,
            made,
            ["n01440764/bad.png"],
        )
    assert not [*out.rglob("bad*")]


def test_what_is_built_is_read_as_sequences(photographs, tmp_path):
    oodometer.build_sequences(photographs(4), tmp_path / "out", **QUICK)
    sets = open_sequences(tmp_path / "out", imagenet1k())
    assert [(s.perturbation, s.frames, len(s.samples)) for s in sets] == [
        (name, 3, 4) for name in ("shot_noise", "shot_noise_3", "rotate", "spatter")
    ]
    video = sets[2].read(sets[2].samples[0])
    np.testing.assert_array_equal(np.asarray(video[2]), pixels(tmp_path / "out/rotate/n01440764/0000/02.png"))


def test_the_manifest_says_what_was_made(photographs, tmp_path):
    oodometer.build_sequences(photographs(3), tmp_path / "out", seed=7, limit=2, **QUICK)
    folder = SequenceFolder(tmp_path / "out")
    manifest = folder.read_manifest()
    assert manifest.protocol.seed == 7
    assert manifest.protocol.corruptions == ("shot_noise", "shot_noise_3", "rotate", "spatter")
    assert (manifest.frames, manifest.layout, manifest.complete, manifest.images) == (3, "png", True, 2)
    assert {"oodometer", "numpy", "pillow", "opencv-python-headless"} <= manifest.environment.keys()
    rows = list(itertools.chain.from_iterable(folder.read_block(number) for number in folder.blocks()))
    assert len({row.path for row in rows}) == len({row.sha256 for row in rows}) == manifest.pictures == 8
    assert all((tmp_path / "out" / row.path).is_dir() for row in rows)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed": 1}, "protocol.seed: there 0, now 1."),
        ({"format": "jpeg"}, "layout"),
        ({"frames": 4}, "frames: there 3, now 4."),
        ({"frames": None}, "frames: there 3, now null."),
        ({"perturbations": "rotate"}, "protocol.corruptions"),
        ({"limit": 1}, "source.images"),
    ],
)
def test_another_plan_in_the_same_folder_is_refused(photographs, tmp_path, change, words):
    root = photographs(2)
    oodometer.build_sequences(root, tmp_path / "out", **QUICK)
    before = files(tmp_path / "out")
    with pytest.raises(StoreError, match="holds another build") as told:
        oodometer.build_sequences(root, tmp_path / "out", **(QUICK | change))
    assert words in str(told.value)
    assert files(tmp_path / "out") == before


def test_videos_and_pictures_do_not_share_a_folder(photographs, tmp_path):
    root, pictures = photographs(2), FAST | {"corruptions": "contrast", "severities": "1"}
    oodometer.build_sequences(root, tmp_path / "videos", **QUICK)
    oodometer.build(root, tmp_path / "pictures", **pictures)
    with pytest.raises(StoreError, match="holds videos of perturbations, not a data set of corrupted images"):
        oodometer.build(root, tmp_path / "videos", **pictures)
    with pytest.raises(StoreError, match="holds a data set of corrupted images, not videos of perturbations"):
        oodometer.build_sequences(root, tmp_path / "pictures", **QUICK)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(StoreError, match="not empty"):
        oodometer.build_sequences(root, tmp_path / "other", **QUICK)


def test_videos_are_no_images_to_anything_else(photographs, tmp_path):
    oodometer.build_sequences(photographs(2), tmp_path / "out", **QUICK)
    frames = next(path for path in (tmp_path / "out").iterdir() if (path / "n01440764").is_dir())
    for use in (
        lambda: oodometer.open_dataset(tmp_path / "out"),
        lambda: oodometer.open_dataset(f"folder:{tmp_path / 'out'}"),
        lambda: oodometer.build(tmp_path / "out", tmp_path / "again", **FAST),
        lambda: oodometer.check(tmp_path / "out", progress=False),
        lambda: oodometer.open_dataset(frames),
        lambda: oodometer.open_dataset(f"folder:{frames}"),
        lambda: oodometer.evaluate("fake", frames, tmp_path / "run", **FAST),
    ):
        with pytest.raises(DatasetError, match="holds videos that oodometer corrupt --sequence made"):
            use()


def test_images_without_labels_have_videos_too(tmp_path, textured):
    (tmp_path / "flat").mkdir()
    textured(1).save(tmp_path / "flat" / "photo.png")
    oodometer.build_sequences(tmp_path / "flat", tmp_path / "out", **(QUICK | {"perturbations": "rotate"}))
    assert {f"rotate/photo/{i:02d}.png" for i in range(3)} < names(tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"perturbations": "rotat"}, "Did you mean 'rotate'"),
        ({"perturbations": "fog"}, "Unknown perturbation 'fog'"),
        ({"perturbations": ()}, "perturbations must be names"),
        ({"perturbations": 3}, "perturbations must be names"),
        ({"format": "webdataset"}, "Known: jpeg, png, webp, mp4"),
        ({"preprocess": "tiny64"}, "Known: imagenet224, none"),
        ({"frames": 1}, "frames must be a whole number from 2 to 31"),
        ({"frames": 32}, "frames must be a whole number from 2 to 31"),
        ({"perturbations": "translate", "frames": 42}, "from 2 to 41"),
        ({"seed": "x"}, "seed must be a whole number"),
        ({"limit": 0}, "limit must be a whole number"),
        ({"workers": 0}, "workers must be a whole number"),
    ],
)
def test_wrong_choices_are_refused_before_anything_is_written(photographs, tmp_path, change, words):
    with pytest.raises(ArgumentError) as told:
        oodometer.build_sequences(photographs(2), tmp_path / "out", **(QUICK | change))
    assert words in str(told.value)
    assert not (tmp_path / "out").exists()


def test_groups_of_perturbations(photographs, tmp_path):
    root = photographs(1)

    def chosen(perturbations):
        return settle_sequences(
            root, tmp_path / "out", SequenceOptions(perturbations=perturbations)
        ).protocol.corruptions

    assert len(chosen("imagenet-p")) == 10
    assert chosen("validation") == ("speckle_noise", "gaussian_blur", "spatter", "shear")
    assert len(chosen(["all"])) == 14
    assert chosen(" shear, gaussian_noise_3,shear ") == ("gaussian_noise_3", "shear")
    assert isinstance(BuildFolder(tmp_path / "out").exists(), bool)
