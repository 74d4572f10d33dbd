"""Which videos there are, and what of them is read."""

import sys

import numpy as np
import PIL.Image
import pytest
from made_sequences import frame, write_mp4, write_set, write_video

from oodometer.datasets import custom, open_dataset, open_sequences
from oodometer.datasets.sequences import split_difficulty
from oodometer.errors import DatasetError, ImageError, MissingDataError

SPACE = custom([str(k) for k in range(10)])
TWO = {"n0/a": [1, 2, 3], "n1/b": [4, 5, 6]}


def opened(root):
    return open_sequences(root, SPACE)


def levels(images):
    return [int(np.asarray(image)[0, 0, 0]) // 20 for image in images]


def test_a_root_of_perturbations(tmp_path):
    write_set(tmp_path, {"tilt": TWO, "gaussian_noise_2": TWO, "mine": TWO, "gaussian_noise": TWO})
    found = opened(tmp_path)
    # The published ones first and in their order.
    assert [one.perturbation for one in found] == ["gaussian_noise", "gaussian_noise_2", "tilt", "mine"]
    for one in found:
        assert [sample.id for sample in one.samples] == ["n0/a", "n1/b"]
        assert one.frames == 3
        assert levels(one.read(one.samples[1])) == [4, 5, 6]
        files = [*(tmp_path / one.perturbation / "n0" / "a").iterdir()]
        assert one.samples[0].size == sum(file.stat().st_size for file in files)


@pytest.mark.parametrize("name", ["tilt", "my own"])
def test_the_folder_of_one_perturbation(tmp_path, name):
    write_set(tmp_path, {name: TWO})
    (one,) = opened(tmp_path / name)
    assert (one.perturbation, [sample.id for sample in one.samples]) == (name, ["n0/a", "n1/b"])


@pytest.mark.parametrize("given", ["shot_noise/n0/..", "link", "shot_noise/n0/../../link", "shot_noise/."])
def test_a_perturbation_has_its_name_however_it_is_given(tmp_path, given):
    """By another name it would be no noise."""
    write_set(tmp_path, {"shot_noise": TWO})
    (tmp_path / "link").symlink_to("shot_noise", target_is_directory=True)
    (one,) = opened(tmp_path / given)
    assert (one.perturbation, [sample.id for sample in one.samples]) == ("shot_noise", ["n0/a", "n1/b"])


def test_the_name_of_a_link_to_another_name_counts(tmp_path):
    write_set(tmp_path, {"7": TWO})
    (tmp_path / "tilt").symlink_to("7", target_is_directory=True)
    assert [one.perturbation for one in opened(tmp_path / "tilt")] == ["tilt"]


def test_perturbations_within_families_as_in_the_archives(tmp_path):
    write_set(tmp_path, {"digital/tilt": TWO, "noise/shot_noise": TWO})
    assert [one.perturbation for one in opened(tmp_path)] == ["shot_noise", "tilt"]


def test_a_class_may_be_called_like_a_perturbation(tmp_path):
    write_set(tmp_path, {"tilt": {"snow/a": [1, 2], "scale/b": [1, 2]}})
    assert [(one.perturbation, len(one.samples)) for one in opened(tmp_path)] == [("tilt", 2)]
    assert [(one.perturbation, len(one.samples)) for one in opened(tmp_path / "tilt")] == [("tilt", 2)]


def test_videos_without_class_folders(tmp_path):
    write_set(tmp_path, {"tilt": {"a": [1, 2]}, "snow": {"a": [1, 2]}})
    assert [[sample.id for sample in one.samples] for one in opened(tmp_path)] == [["a"], ["a"]]


def test_stray_files_are_no_videos_and_no_frames(tmp_path):
    write_set(tmp_path, {"tilt": TWO})
    (tmp_path / "manifest.json").write_text("{}")
    PIL.Image.fromarray(frame(1)).save(tmp_path / "sheet.png")
    PIL.Image.fromarray(frame(1)).save(tmp_path / "tilt" / "n0" / "preview.png")
    for name in (".ipynb_checkpoints", "__MACOSX"):
        write_video(tmp_path / name / "n0" / "a", [1])
        write_video(tmp_path / "tilt" / "n0" / "a" / name, [1])
    (tmp_path / "tilt" / "n0" / "a" / "._0.png").write_bytes(b"x")
    (tmp_path / "tilt" / "n0" / "a" / "notes.txt").write_bytes(b"x")
    (one,) = opened(tmp_path)
    assert levels(one.read(one.samples[0])) == [1, 2, 3]
    assert [sample.id for sample in one.samples] == ["n0/a", "n1/b"]


def test_frames_stand_in_the_order_of_their_numbers(tmp_path):
    folder = tmp_path / "tilt" / "n0" / "a"
    write_video(folder, [k % 10 for k in range(12)])  # 0.png to 11.png, which letters would put as 0, 1, 10, 11, 2
    (one,) = opened(tmp_path)
    assert levels(one.read(one.samples[0])) == [*range(10), 0, 1]


def test_the_content_decides_the_format_of_a_frame(tmp_path):
    write_set(tmp_path, {"tilt": {"n0/a": [1, 2]}})
    PIL.Image.fromarray(frame(2)).save(tmp_path / "tilt" / "n0" / "a" / "1.png", "BMP")
    (one,) = opened(tmp_path)
    assert levels(one.read(one.samples[0])) == [1, 2]


def test_a_frame_in_two_formats_is_refused(tmp_path):
    write_set(tmp_path, {"tilt": TWO})
    PIL.Image.fromarray(frame(1)).save(tmp_path / "tilt" / "n0" / "a" / "1.jpg")
    with pytest.raises(DatasetError, match=r"frame 1 twice: 1\.jpg and 1\.png"):
        opened(tmp_path)


@pytest.mark.parametrize(
    ("videos", "message"),
    [
        ({"n0/a": [1, 2, 3], "n0/b": [1, 2, 3], "n1/c": [1, 2]}, "n1/c has 2, others have 3, and 1 of 3"),
        ({"n0/a": [1]}, r"have 1 frame\(s\); expected 2 to 127"),
        ({"n0/a": [1] * 128}, r"have 128 frame\(s\)"),
    ],
)
def test_numbers_of_frames_that_cannot_be(tmp_path, videos, message):
    write_set(tmp_path, {"tilt": videos})
    with pytest.raises(DatasetError, match=message):
        opened(tmp_path)


def test_a_perturbation_twice_is_refused(tmp_path):
    write_set(tmp_path, {"shot_noise": TWO, "noise/shot_noise_1": TWO})
    with pytest.raises(DatasetError, match="one perturbation twice"):
        opened(tmp_path)


def test_no_videos_are_refused(tmp_path):
    with pytest.raises(DatasetError, match="holds no videos"):
        opened(tmp_path)
    with pytest.raises(DatasetError, match="Cannot read the folder"):
        opened(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("videos", "below", "message"),
    [
        # A class of an own perturbation, or a perturbation in a folder of a family: nothing tells which.
        ({"mine/snow/a": [1, 2], "mine/dog/a": [1, 2]}, "", "mine/snow has the name of a perturbation, and"),
        ({"gaussian_noise/dog/a": [1, 2]}, "gaussian_noise/dog", "one class of the perturbation gaussian_noise"),
        # Images with as many in each class, which could pass for frames: of ImageNet, and of a corruption.
        ({"n01440764": [1, 2], "n01443537": [1, 2]}, "", "holds images in folders of classes, and no videos"),
        ({"snow/3/n01440764": [1, 2], "snow/3/n01443537": [1, 2]}, "", "snow holds images .* corrupt --sequence"),
    ],
)
def test_what_can_be_taken_for_something_else_is_refused(tmp_path, videos, below, message):
    write_set(tmp_path, {"": videos})
    with pytest.raises(DatasetError, match=message):
        opened(tmp_path / below)


def test_who_has_images_is_told_how_to_make_videos(tmp_path):
    write_set(tmp_path, {"": {"cat": [1, 2], "dog": [1, 2, 3]}})
    with pytest.raises(DatasetError, match=r"number of frames.* corrupt --sequence"):
        opened(tmp_path)


@pytest.mark.parametrize("names", [("a", "a.mp4"), ("a.mkv", "a.mp4")])
def test_two_videos_of_one_image_are_refused(tmp_path, names):
    """In the means, which go by image, only one of them would count."""
    write_set(tmp_path, {"tilt": {f"n0/{name}": [1, 2] for name in names}})
    with pytest.raises(DatasetError, match=f"two videos of one image: n0/{names[0]} and n0/{names[1]}"):
        opened(tmp_path)


@pytest.mark.parametrize("below", ["", "tilt"])
@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ('{"kind": "oodometer-sequences", "complete": false}', "a build that is not finished"),
        ('{"kind": "oodometer-build", "complete": true}', "images that oodometer corrupt built"),
        ('{"kind": "oodometer-sequences", "complete": true}', ""),
        ("[]", ""),
    ],
)
def test_only_finished_builds_of_videos_are_read(tmp_path, below, manifest, message):
    write_set(tmp_path, {"tilt": TWO})
    (tmp_path / "manifest.json").write_text(manifest)
    if not message:
        assert [one.perturbation for one in opened(tmp_path / below)] == ["tilt"]
        return
    with pytest.raises(DatasetError, match=message):
        opened(tmp_path / below)


def test_difficulties_are_those_of_noises():
    assert split_difficulty("gaussian_noise_3") == ("gaussian_noise", 3)
    assert split_difficulty("gaussian_noise") == ("gaussian_noise", None)
    assert split_difficulty("take_2") == ("take_2", None)


def test_a_frame_that_is_damaged_names_its_video(tmp_path):
    write_set(tmp_path, {"tilt": TWO})
    file = tmp_path / "tilt" / "n1" / "b" / "1.png"
    file.write_bytes(file.read_bytes()[:-20])
    (one,) = opened(tmp_path)
    with pytest.raises(ImageError, match=r"tilt/n1/b/1\.png"):
        one.read(one.samples[1])


@pytest.mark.parametrize(
    ("ending", "codec"), [("mp4", "libx264"), ("avi", "mpeg4"), ("mkv", "libx264"), ("webm", "libvpx")]
)
def test_video_files(tmp_path, ending, codec):
    for name, first in (("a", 1), ("b", 4)):
        write_mp4(tmp_path / "tilt" / "n0" / f"{name}.{ending}", [frame(first + k, 32) for k in range(3)], codec)
    (one,) = opened(tmp_path)
    assert [sample.id for sample in one.samples] == [f"n0/a.{ending}", f"n0/b.{ending}"]
    assert one.frames == 3
    assert levels(one.read(one.samples[1])) == [4, 5, 6]
    assert one.read(one.samples[1])[0].mode == "RGB"
    assert one.read(one.samples[1])[0].size == (32, 32)


def test_frames_of_a_file_equal_those_of_opencv(tmp_path):
    cv2 = pytest.importorskip("cv2")
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (8, 8, 3)).astype(np.uint8)
    still = np.asarray(PIL.Image.fromarray(coarse).resize((64, 64)))
    path = tmp_path / "tilt" / "n0" / "a.mp4"
    write_mp4(path, [np.roll(still, 2 * k, axis=1) for k in range(5)])
    (one,) = opened(tmp_path)
    capture = cv2.VideoCapture(str(path))
    expected = [capture.read()[1][..., ::-1] for _ in range(5)]
    np.testing.assert_array_equal(np.stack([np.asarray(image) for image in one.read(one.samples[0])]), expected)


def damaged(path, how):
    content = bytearray(path.read_bytes())
    if how == "cut":
        content = content[: len(content) // 2]
    elif how == "overwritten":
        third = len(content) // 3
        content[third : 2 * third] = bytes(third)  # a few bytes may go unseen: there are no checksums
    else:
        content = bytearray(b"no video")
    path.write_bytes(content)


@pytest.mark.parametrize("how", ["cut", "overwritten", "replaced"])
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, how):
    rng = np.random.default_rng(0)
    frames = [rng.integers(0, 256, (64, 64, 3)).astype(np.uint8) for _ in range(6)]
    for name in "abcd":
        write_mp4(tmp_path / "tilt" / "n0" / f"{name}.mp4", frames)
    damaged(tmp_path / "tilt" / "n0" / "d.mp4", how)
    (one,) = opened(tmp_path)
    with pytest.raises(ImageError, match=r"the video tilt/n0/d\.mp4"):
        one.read(one.samples[3])
    assert len(one.read(one.samples[0])) == 6


def test_a_file_with_another_number_of_frames_is_an_error_that_names_it(tmp_path):
    for name, frames in (("a", 3), ("b", 3), ("c", 3), ("d", 2)):
        write_mp4(tmp_path / "tilt" / "n0" / f"{name}.mp4", [frame(k, 32) for k in range(frames)])
    (one,) = opened(tmp_path)
    with pytest.raises(ImageError, match=r"tilt/n0/d\.mp4 has 2 frames where others have 3"):
        one.read(one.samples[3])


def test_an_empty_file_and_a_link_to_nowhere_are_errors_that_name_them(tmp_path):
    for name in "bc":
        write_mp4(tmp_path / "tilt" / "n0" / f"{name}.mp4", [frame(k, 32) for k in range(3)])
    (tmp_path / "tilt" / "n0" / "a.mp4").touch()
    (tmp_path / "tilt" / "n0" / "d.mp4").symlink_to("nowhere")
    (one,) = opened(tmp_path)
    assert one.frames == 3
    for sample in (one.samples[0], one.samples[3]):
        with pytest.raises(ImageError, match=f"tilt/{sample.id}: it is empty, or a link to nowhere"):
            one.read(sample)


def test_files_that_do_not_agree_are_refused(tmp_path):
    for name, frames in (("a", 3), ("b", 2)):
        write_mp4(tmp_path / "tilt" / "n0" / f"{name}.mp4", [frame(k, 32) for k in range(frames)])
    with pytest.raises(DatasetError, match=r"n0/a\.mp4 3, n0/b\.mp4 2"):
        opened(tmp_path)


def test_without_pyav_files_cannot_be_read_and_frames_can(tmp_path, monkeypatch):
    write_set(tmp_path / "frames", {"tilt": TWO})
    write_mp4(tmp_path / "files" / "tilt" / "n0" / "a.mp4", [frame(1, 32), frame(2, 32)])
    monkeypatch.setitem(sys.modules, "av", None)
    (one,) = opened(tmp_path / "frames")
    assert levels(one.read(one.samples[0])) == [1, 2, 3]
    with pytest.raises(MissingDataError, match=r"pip install 'oodometer\[video\]'"):
        opened(tmp_path / "files")


def test_who_takes_sequences_for_images_is_told(tmp_path):
    write_set(tmp_path / "frames", {"tilt": TWO, "shot_noise_2": TWO})
    write_mp4(tmp_path / "files" / "tilt" / "n0" / "a.mp4", [frame(1, 32), frame(2, 32)])
    (tmp_path / "files" / "snow").mkdir()
    for part in ("frames", "files"):
        with pytest.raises(DatasetError, match="`oodometer sequences` evaluates it"):
            open_dataset(tmp_path / part)
    with pytest.raises(DatasetError) as error:
        open_dataset(tmp_path)
    assert "sequences`" not in str(error.value)
