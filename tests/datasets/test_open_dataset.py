"""One call for anything: specifications, guesses, labels, and what all readers have in common."""

import os
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import PureWindowsPath

import numpy as np
import PIL.Image
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_sets import (
    ACORN,
    FISH,
    INDEX,
    SHARK,
    WRITERS,
    encoded,
    numbered,
    picture,
    write_folder,
    write_npy,
    write_tar,
)

import oodometer
from oodometer.datasets import class_and_file, custom, imagenet1k, imagenet_a, imagenet_r, open_dataset, style
from oodometer.datasets.patterns import expand
from oodometer.datasets.published import PUBLISHED
from oodometer.datasets.recognise import KINDS
from oodometer.datasets.scan import identifier
from oodometer.errors import ArgumentError, DatasetError, ImageError
from oodometer.types import UNLABELLED, CorruptedDataset

FILES = numbered(f"{ACORN}/z.png", f"{FISH}/b.png", f"{FISH}/a.png", f"{SHARK}/c.png", f"{SHARK}/d.png")


@pytest.fixture(params=WRITERS)
def kind(request):
    return request.param


def labels_of(dataset):
    return {sample.id: sample.label for sample in dataset.samples}


def members(space):
    return [space.classes[column] for column in space.columns]


def touch(root, *names):
    return write_folder(root, dict.fromkeys(names, b""))


# What all formats have in common


@pytest.mark.parametrize("bare", [False, True])
def test_every_format_gives_the_same_images_and_labels(tmp_path, kind, bare):
    path = WRITERS[kind](tmp_path, FILES)
    dataset = open_dataset(str(path) if bare else f"{kind}:{path}")
    assert dataset.label_space == imagenet1k()
    assert labels_of(dataset) == {name: INDEX[name.split("/")[0]] for name in FILES}
    assert dataset.notes == ((f"{path} was taken for {KINDS[kind]} ({kind}).",) if bare else ())
    for number, name in enumerate(FILES):
        sample = next(sample for sample in dataset.samples if sample.id == name)
        assert np.array_equal(dataset.read(sample), picture(number))
        assert kind == "parquet" or sample.size == len(FILES[name])


def test_a_path_object_is_a_path(tmp_path, kind):
    assert len(oodometer.open_dataset(WRITERS[kind](tmp_path, FILES)).samples) == 5


def test_names_and_default_names(tmp_path, kind):
    path = WRITERS[kind](tmp_path, FILES)
    assert open_dataset(path).name == path.name
    assert open_dataset(path, name="mine").name == "mine"


def test_a_reader_survives_pickling_after_it_was_used(tmp_path, kind):
    dataset = open_dataset(WRITERS[kind](tmp_path, FILES))
    before = dataset.read(dataset.samples[2])
    again = pickle.loads(pickle.dumps(dataset))
    assert (again.samples, again.notes) == (dataset.samples, dataset.notes)
    assert np.array_equal(again.read(again.samples[2]), before)


def test_threads_read_in_any_order(tmp_path, kind):
    names = [f"{FISH}/{number:03d}.png" for number in range(60)]
    dataset = open_dataset(WRITERS[kind](tmp_path, numbered(*names)))
    wanted = [(n * 37) % 60 for n in range(240)]
    with ThreadPoolExecutor(8) as pool:
        read = list(pool.map(lambda n: dataset.read(dataset.samples[n]).getpixel((0, 0)), wanted))
    assert read == [(names.index(dataset.samples[n].id), 0, 7) for n in wanted]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_reads_what_its_parent_had_opened(tmp_path, kind):
    dataset = open_dataset(WRITERS[kind](tmp_path, FILES))
    expected = [np.asarray(dataset.read(sample)) for sample in dataset.samples]
    child = os.fork()
    if child == 0:  # nothing but an exit status leaves this process
        same = all(np.array_equal(dataset.read(s), e) for s, e in zip(dataset.samples, expected, strict=True))
        os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_i3_hidden_and_stray_files_change_nothing(tmp_path):
    stray = dict.fromkeys(
        ["README.txt", ".DS_Store", "__MACOSX/x/a.JPEG", ".ipynb_checkpoints/a.png", f"{FISH}/._a.png"], b"junk"
    )
    for kind in ("folder", "webdataset"):
        before = open_dataset(WRITERS[kind](tmp_path / kind / "before", FILES))
        after = open_dataset(WRITERS[kind](tmp_path / kind / "after", stray | FILES))
        assert after.samples == before.samples
        assert after.label_space == before.label_space


def test_a_table_of_labels_stands_above_what_the_data_say(tmp_path, kind):
    path = WRITERS[kind](tmp_path, FILES)
    table = {FISH: 0, SHARK: 1, f"{ACORN}/z.png": 2}
    dataset = open_dataset(path, labels=table, classes=7)
    assert dataset.label_space.width == 7
    assert labels_of(dataset) == {n: 2 if n.startswith(ACORN) else table[n.split("/")[0]] for n in FILES}


@pytest.mark.parametrize("spec", ["", "folder:"])
def test_a_table_is_relative_to_the_path_that_was_given(tmp_path, spec):
    write_folder(tmp_path / "val", FILES)
    for table in ({f"val/{wnid}": wnid for wnid in INDEX}, {wnid: wnid for wnid in INDEX}):
        dataset = open_dataset(f"{spec}{tmp_path}", labels=table)
        assert labels_of(dataset) == {f"val/{name}": INDEX[name.split("/")[0]] for name in FILES}


def test_a_label_space_may_be_given_by_name_or_as_one(tmp_path, kind):
    path = WRITERS[kind](tmp_path, FILES)
    assert open_dataset(path, label_space="imagenet-1k").label_space == imagenet1k()
    own = custom([SHARK, "other", ACORN, FISH])
    assert labels_of(open_dataset(path, label_space=own))[f"{FISH}/a.png"] == 3
    with pytest.raises(DatasetError, match=f"not classes of custom-2: {ACORN}"):
        open_dataset(path, label_space=custom([FISH, SHARK]))


def test_unknown_classes_are_named(tmp_path):
    for kind in ("folder", "webdataset"):
        path = WRITERS[kind](tmp_path / kind, numbered("cat/a.png", "dog/b.png"))
        with pytest.raises(DatasetError, match="not classes of imagenet-1k: cat, dog"):
            open_dataset(path)


# Pictures alone


def test_unlabelled_takes_class_folders_of_any_name(tmp_path, kind):
    path = WRITERS[kind](tmp_path, numbered("dog/b.png", "cat/a.png", "cat/deep/c.png"))
    dataset = open_dataset(path, unlabelled=True)
    assert dataset.label_space.classes == ("cat", "dog")
    assert labels_of(dataset) == {"dog/b.png": 1, "cat/a.png": 0, "cat/deep/c.png": 0}


def test_unlabelled_keeps_the_labels_that_are_known(tmp_path, kind):
    path = WRITERS[kind](tmp_path, FILES)
    assert open_dataset(path, unlabelled=True).samples == open_dataset(path).samples


@pytest.mark.parametrize("names", [["a.png", "b.png"], ["images/a.png", "images/b.png"]])
def test_unlabelled_takes_loose_images(tmp_path, names):
    for kind in ("folder", "webdataset"):
        dataset = open_dataset(WRITERS[kind](tmp_path / kind, numbered(*names)), unlabelled=True)
        assert dataset.label_space.classes == ()
        assert labels_of(dataset) == dict.fromkeys(names, UNLABELLED)


def test_unlabelled_images_beside_class_folders_have_no_label(tmp_path):
    root = write_folder(tmp_path, numbered("cat/a.png", "b.png"))
    assert labels_of(open_dataset(root, unlabelled=True)) == {"b.png": UNLABELLED, "cat/a.png": 0}


def test_one_image(tmp_path):
    write_folder(tmp_path, numbered("a.png", "other.png"))
    dataset = open_dataset(tmp_path / "a.png", unlabelled=True)
    assert labels_of(dataset) == {"a.png": UNLABELLED}
    assert np.array_equal(dataset.read(dataset.samples[0]), picture(0))
    assert labels_of(open_dataset(f"image:{tmp_path / 'a.png'}", labels={"a.png": FISH})) == {"a.png": 1}
    with pytest.raises(DatasetError, match="have no labels"):
        open_dataset(tmp_path / "a.png")
    with pytest.raises(DatasetError, match="There is no file"):
        open_dataset(f"image:{tmp_path / 'b.png'}")


@pytest.mark.parametrize("other", [{"labels": {"a": 0}}, {"classes": 3}, {"label_space": "imagenet-1k"}])
def test_unlabelled_goes_without_labels(tmp_path, other):
    with pytest.raises(ArgumentError, match="unlabelled goes without"):
        open_dataset(write_folder(tmp_path, FILES), unlabelled=True, **other)


@pytest.mark.parametrize("names", [["a.png", "b.png"], ["images/a.png", "images/b.png"]])
def test_i4_a_flat_folder_needs_labels(tmp_path, names):
    for kind in ("folder", "webdataset"):
        path = WRITERS[kind](tmp_path / kind, numbered(*names))
        with pytest.raises(DatasetError, match=r"no labels.*one folder per class|no labels.*Expected"):
            open_dataset(path)
        given = open_dataset(path, labels={names[0]: SHARK, names[1]: FISH})
        assert [sample.label for sample in given.samples] == [2, 1]


# Specifications


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        *((spec, "Unknown kind of data set") for spec in ("foo:bar", "Folder:x", "imagenet_r:x")),
        ("http://example.org/x", "looks like a URL, of no kind that folders are read from"),
    ],
)
def test_an_unknown_kind(spec, message):
    with pytest.raises(ArgumentError, match=message):
        open_dataset(spec)


@pytest.mark.parametrize("spec", ["C:\\data\\val", "d:/data/val", "nowhere/val"])
def test_a_drive_is_no_kind(spec):
    with pytest.raises(DatasetError, match="No such file"):
        open_dataset(spec)


@pytest.mark.skipif(os.name == "nt", reason="a colon cannot be in a name there")
def test_a_path_with_a_colon(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_folder(tmp_path / "a1:b", FILES)
    assert len(open_dataset("a1:b").samples) == 5


@pytest.mark.parametrize("spec", ["", 3, None, b"x", "a\0b"])
def test_no_path(spec):
    with pytest.raises(ArgumentError, match="must be a path"):
        open_dataset(spec)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_says_what_it_misses(tmp_path, kind):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises((DatasetError, ArgumentError)) as caught:
            open_dataset(f"{kind}:{path}")
        assert str(path) in str(caught.value)


def test_wrong_arguments(tmp_path):
    root = write_folder(tmp_path, FILES)
    for wrong in (
        {"orientation": "up"},
        {"classes": 0},
        {"classes": 3},
        {"label_space": "imagenet-2k"},
        {"label_space": 3},
    ):
        with pytest.raises(ArgumentError):
            open_dataset(root, **wrong)


# Published sets


def test_i2_the_200_classes_of_r_below_a_parent_folder(tmp_path):
    names = [f"imagenet-r/{wnid}/sketch_0.jpg" for wnid in members(imagenet_r())]
    for spec in (touch(tmp_path, *names), f"imagenet-r:{tmp_path}", f"imagenet-r:{tmp_path / 'imagenet-r'}"):
        dataset = open_dataset(spec)
        assert dataset.label_space == imagenet_r()
        assert tuple(sample.label for sample in dataset.samples) == imagenet_r().columns
        assert dataset.samples[0].id == "n01443537/sketch_0.jpg"
        assert "imagenet-r as published has 30,000 images; these are 200." in dataset.notes


def test_a_has_other_classes_than_r(tmp_path):
    root = touch(tmp_path, *(f"{wnid}/x.jpg" for wnid in members(imagenet_a())))
    dataset = open_dataset(f"imagenet-a:{root}")
    assert dataset.label_space.name == "imagenet-a"
    assert tuple(sample.label for sample in dataset.samples) == imagenet_a().columns
    with pytest.raises(DatasetError, match="not classes of imagenet-r"):
        open_dataset(f"imagenet-r:{root}")


def test_the_folders_of_v2_are_numbers_never_places(tmp_path):
    root = touch(tmp_path / "imagenetv2-top-images-format-val", "10/0.jpeg", "9/0.jpeg", "999/1.jpeg", "100/2.jpeg")
    for spec in (tmp_path, f"imagenet-v2:{root}"):
        assert labels_of(open_dataset(spec)) == {"10/0.jpeg": 10, "9/0.jpeg": 9, "999/1.jpeg": 999, "100/2.jpeg": 100}
    touch(root, "1000/0.jpeg")
    with pytest.raises(DatasetError, match=r"named 0 to 999.*1000"):
        open_dataset(f"imagenet-v2:{root}")


def test_sketch_is_of_all_1000_classes(tmp_path):
    root = touch(
        tmp_path / "sketch", *(f"{wnid}/sketch_{n}.JPEG" for n, wnid in enumerate(imagenet1k().classes[::100]))
    )
    dataset = open_dataset(tmp_path)
    assert [sample.label for sample in dataset.samples] == list(range(0, 1000, 100))
    assert dataset.notes == (
        f"{root} was taken for ImageNet-Sketch (imagenet-sketch).",
        "imagenet-sketch as published has 50,889 images; these are 10.",
    )


def test_no_note_on_a_whole_set(tmp_path, monkeypatch):
    assert {kind: count for kind, (_, count) in PUBLISHED.items()} == {
        "imagenet-r": 30000,
        "imagenet-a": 7500,
        "imagenet-v2": 10000,
        "imagenet-sketch": 50889,
    }
    monkeypatch.setitem(PUBLISHED, "imagenet-a", (imagenet_a, 2))
    first, second, third = members(imagenet_a())[:3]
    root = touch(tmp_path, f"{first}/a.jpg", f"{second}/a.jpg")
    assert open_dataset(f"imagenet-a:{root}").notes == ()
    touch(root, f"{third}/a.jpg")
    assert open_dataset(f"imagenet-a:{root}").notes == ("imagenet-a as published has 2 images; these are 3.",)


def test_published_sets_have_their_own_labels(tmp_path):
    root = touch(tmp_path, f"{FISH}/art_0.jpg")
    with pytest.raises(ArgumentError, match="do not go with imagenet-r"):
        open_dataset(f"imagenet-r:{root}", labels={FISH: 0})


def test_styles():
    assert style(f"{FISH}/videogame_12.jpg") == "videogame"
    assert style(f"{FISH}/fridge_magnet_3.png") == "fridge_magnet"
    assert style(f"C:\\r\\{FISH}\\tattoo_0.jpg") == "tattoo"
    assert style(f"{FISH}/photo.jpg") == ""


def test_real_renditions(shared):
    dataset = open_dataset(shared / "data/renditions")
    counted = sum(1 for file in (shared / "data/renditions").glob("n*/*") if file.suffix in {".jpg", ".png"})
    assert len(dataset.samples) == counted > 300
    assert all(dataset.label_space.classes[sample.label] == sample.id.split("/")[0] for sample in dataset.samples)
    assert {style(sample.id) for sample in dataset.samples} >= {"art", "sketch"}


# Names


@pytest.mark.parametrize(
    "path", [f"C:\\val\\{FISH}\\x.JPEG", f"val/{FISH}/x.JPEG", f"\\\\server\\share\\{FISH}\\x.JPEG"]
)
def test_k5_class_and_file_of_any_path(path):
    assert class_and_file(path) == (FISH, "x.JPEG")
    assert class_and_file(PureWindowsPath(path)) == (FISH, "x.JPEG")


def test_k5_a_file_alone_has_no_class():
    assert class_and_file("x.JPEG") == ("", "x.JPEG")


@settings(max_examples=50)
@given(st.lists(st.text("ab n0_.-é", min_size=1).filter(lambda part: part.strip(".")), min_size=1, max_size=4))
def test_an_identifier_is_the_same_from_any_system(parts):
    expected = "/".join(parts)
    for written in ("/".join(parts), "\\".join(parts), "./" + "//".join(parts), "C:\\" + "\\".join(parts)):
        assert identifier(written) == expected


@pytest.mark.parametrize("name", ["../x.png", "a/../../x.png", "a\\..\\x.png", "", ".", "/", "C:\\"])
def test_a_name_that_leads_out_is_refused(name):
    with pytest.raises(DatasetError, match="leads out of the data set"):
        identifier(name)


@settings(max_examples=40)
@given(st.from_regex(r"(a|-)?(\{\d{1,2}\.\.\d{1,2}\}|\{x,y(,z)?\})?b?(\{0\d\.\.1\d\})?\.tar", fullmatch=True))
def test_braces_are_those_of_webdataset(pattern):
    from braceexpand import braceexpand

    names = list(braceexpand(pattern))
    with pytest.raises(DatasetError) as caught:
        expand(f"/nowhere/{pattern}", ".tar")
    downwards = any(int(low) > int(high) for low, high in re.findall(r"(\d+)\.\.(\d+)", pattern))
    assert ("upwards" if downwards else f"{len(names)} of the {len(names)} files") in str(caught.value)
    assert downwards or f"missing: /nowhere/{names[0]}" in str(caught.value)


def test_patterns(tmp_path):
    for number in (2, 0, 1, 10):
        write_tar(tmp_path / f"s-{number:03d}.tar", {f"{FISH}/{number}.png": encoded(picture(number))})
    (tmp_path / "notes.txt").touch()
    (tmp_path / ".s-009.tar").touch()

    def ids(spec):
        return [sample.id for sample in open_dataset(spec).samples]

    whole = [f"{FISH}/{number}.png" for number in (0, 1, 2, 10)]
    assert ids(f"webdataset:{tmp_path}") == ids(f"webdataset:{tmp_path}/s-*.tar") == ids(f"{tmp_path}/*") == whole
    assert ids(f"webdataset:{tmp_path}/s-{{000..002}}.tar") == whole[:3]
    assert ids(f"webdataset:{tmp_path}/s-{{010,001}}.tar") == [whole[3], whole[1]]
    with pytest.raises(DatasetError, match=r"2 of the 5 files of .* are missing: .*s-003.tar, .*s-004.tar"):
        ids(f"webdataset:{tmp_path}/s-{{000..004}}.tar")
    with pytest.raises(DatasetError, match="stand for more than 1000000 files"):
        ids(f"webdataset:{tmp_path}/{'{0..999}' * 6}.tar")
    with pytest.raises(DatasetError, match=r"no \.tar files"):
        ids(f"webdataset:{tmp_path}/x-*.tar")


# Decoding is the same through every reader


@pytest.fixture
def hard_files(tmp_path):
    """Return bytes that decoders trip over, by name."""
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    return {
        f"{FISH}/c1_cmyk.JPEG": encoded(PIL.Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG"),
        f"{FISH}/c2_png.JPEG": encoded(picture(5)),
        f"{FISH}/c3_turned.JPEG": encoded(picture(6, (40, 20)), "JPEG", exif=exif),
        f"{FISH}/c5_alpha.png": encoded(PIL.Image.new("RGBA", (32, 32), (255, 0, 0, 0))),
        f"{SHARK}/b3_gray.png": encoded(PIL.Image.new("L", (9, 4), 77)),
    }


def test_the_rules_of_decoding(tmp_path, kind, hard_files):
    dataset = open_dataset(WRITERS[kind](tmp_path, hard_files))
    read = {sample.id.split("/")[1]: dataset.read(sample) for sample in dataset.samples}
    assert {image.mode for image in read.values()} == {"RGB"}
    assert np.abs(np.subtract(read["c1_cmyk.JPEG"].getpixel((8, 8)), (255, 0, 0))).max() <= 10
    assert np.array_equal(read["c2_png.JPEG"], picture(5))
    assert read["c3_turned.JPEG"].size == (40, 20)
    assert read["c5_alpha.png"].getpixel((0, 0)) == (255, 0, 0)
    assert np.array_equal(read["b3_gray.png"], np.full((4, 9, 3), 77))
    turned = open_dataset(WRITERS[kind](tmp_path / "again", hard_files), orientation="apply")
    sizes = {sample.id.split("/")[1]: turned.read(sample).size for sample in turned.samples}
    assert sizes == {name: image.size for name, image in read.items()} | {"c3_turned.JPEG": (20, 40)}


def test_c4_a_damaged_image_is_named_and_the_others_are_read(tmp_path, kind):
    whole = encoded(PIL.Image.effect_noise((64, 64), 50), "JPEG")
    files = dict.fromkeys([f"{FISH}/{number}.JPEG" for number in range(10)], whole)
    files |= {f"{FISH}/4.JPEG": whole[: len(whole) // 2], f"{FISH}/7.JPEG": b""}
    dataset = open_dataset(WRITERS[kind](tmp_path, files))
    for sample in dataset.samples:
        if sample.id in {f"{FISH}/4.JPEG", f"{FISH}/7.JPEG"}:
            with pytest.raises(ImageError, match=sample.id):
                dataset.read(sample)
        else:
            assert dataset.read(sample).size == (64, 64)


# Kinds


def test_only_corruption_sets_have_conditions(tmp_path):
    assert not isinstance(open_dataset(write_folder(tmp_path / "x", FILES)), CorruptedDataset)
    npy = write_npy(tmp_path / "npy", np.zeros((2, 4, 4, 3), np.uint8), [0, 1])
    assert not isinstance(open_dataset(npy), CorruptedDataset)
    tree = write_folder(tmp_path / "c", {f"fog/1/{name}": content for name, content in FILES.items()})
    assert isinstance(open_dataset(tree), CorruptedDataset)
