"""What a path is taken for, by its look."""

import json

import numpy as np
import pytest
from small_sets import ACORN, FISH, SHARK, WRITERS, encoded, numbered, picture, write_arrow, write_cells, write_folder

from oodometer.datasets import imagenet1k, imagenet_a, imagenet_r, recognise
from oodometer.datasets.recognise import KINDS, STYLES
from oodometer.errors import DatasetError


def touch(root, *names):
    return write_folder(root, dict.fromkeys(names, b""))


def members(space):
    return [space.classes[column] for column in space.columns]


LOOKS = {
    "class folders": ("folder", [f"{FISH}/a.JPEG", f"{SHARK}/b.JPEG", "README.txt"]),
    "own classes": ("folder", ["cat/a.png", "dog/b.png"]),
    "own classes named by numbers": ("folder", ["1/a.png", "2/b.png", "3/c.png"]),
    "class folders with deeper ones": ("folder", [f"{FISH}/x/y/a.png"]),
    "splits": ("folder", [f"{split}/{wnid}/a.png" for split in ("train", "val") for wnid in (FISH, SHARK)]),
    "loose images": ("flat", ["a.png", "b.JPEG", "list.txt"]),
    "one folder called images": ("flat", ["images/a.png", "labels.csv"]),
    "one cell": ("folder", [f"{FISH}/ILSVRC2012_val_00000001.JPEG"]),
    "ImageNet-C": ("imagenet-c", [f"{c}/{s}/{FISH}/a.JPEG" for c in ("fog", "snow") for s in (1, 5)]),
    "one corruption of it": ("imagenet-c", [f"fog/{s}/{FISH}/a.JPEG" for s in range(1, 6)]),
    "families above": ("imagenet-c", [f"weather/fog/1/{FISH}/a.JPEG", f"extra/spatter/2/{FISH}/a.JPEG"]),
    "C-bar": ("imagenet-c", [f"cocentric_sine_waves/{s}/{FISH}/a.JPEG" for s in range(1, 6)]),
    "a tree beside other folders": ("imagenet-c", [f"fog/1/{FISH}/a.JPEG", f"clean/{FISH}/a.JPEG", "manifest.json"]),
    "a tree without classes": ("imagenet-c", ["fog/1/a.JPEG", "fog/2/a.JPEG"]),
    "ratings": ("folder", ["good/1/a.png", "bad/2/b.png"]),
    "renditions": ("imagenet-r", [f"{FISH}/art_0.jpg", f"{SHARK}/sketch_12.png", "README.txt"]),
    "renditions' classes, other names": ("folder", [f"{FISH}/ILSVRC2012_val_00000001.JPEG"]),
    "Sketch": ("imagenet-sketch", [f"{FISH}/sketch_0.JPEG", "n01440764/sketch_9.JPEG"]),
    "V2 by its name": ("imagenet-v2", ["imagenetv2-top-images-format-val/17/0.jpeg"]),
    "Parquet": ("parquet", ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"]),
    "Parquet in data": ("parquet", ["README.md", "data/test-00000-of-00001.parquet"]),
    "shards": ("webdataset", ["000.tar", "001.tar", "meta.json"]),
    "arrays": ("npy", ["images.npy", "labels.npy"]),
}


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("parent", ["", "archive/", "a/b/"])
def test_layouts(tmp_path, look, parent):
    kind, names = LOOKS[look]
    if kind == "flat" and parent:  # then the parent folder may be a class
        kind = "folder"
    root = touch(tmp_path / "data", *(parent + name for name in names))
    touch(root, "__MACOSX/archive/._a.JPEG", ".DS_Store", ".ipynb_checkpoints/a.png")
    found = recognise(root)
    assert found.kind == kind
    assert found.said == f"{found.root} was taken for {KINDS[kind]} ({kind})."
    # An own class, or splits, may be meant as they are: only what is known for certain is looked for below a parent.
    meant = root / parent if kind != "folder" or FISH in str(names[0]).split("/")[0] else root
    assert found.root == (meant / "imagenetv2-top-images-format-val" if "V2" in look else meant)


def test_the_200_classes_of_a(tmp_path):
    names = [f"{wnid}/0.000116_digital clock _ digital clock_0.865662.jpg" for wnid in members(imagenet_a())]
    assert recognise(touch(tmp_path / "a", *names)).kind == "imagenet-a"
    assert recognise(touch(tmp_path / "imagenet-a", *names[:3])).kind == "imagenet-a"
    assert recognise(touch(tmp_path / "b", *names[:3])).kind == "folder"
    clean = [f"{wnid}/ILSVRC2012_val_00000001.JPEG" for wnid in members(imagenet_a())]
    assert recognise(touch(tmp_path / "clean", *clean)).kind == "folder"


def test_the_1000_integer_folders_of_v2(tmp_path):
    root = touch(tmp_path / "v2", *(f"{index}/0.jpeg" for index in range(1000)))
    assert recognise(root).kind == "imagenet-v2"
    (root / "999/0.jpeg").unlink()
    (root / "999").rmdir()
    assert recognise(root).kind == "folder"


@pytest.mark.parametrize("side", [64, 224])
def test_tiny_imagenet_c_has_200_classes_and_64_pixels(tmp_path, side):
    names = [f"{corruption}/1/{wnid}/x.JPEG" for corruption in ("fog",) for wnid in imagenet1k().classes[::5]]
    broken = [f"frost/1/{wnid}/x.JPEG" for wnid in imagenet1k().classes[:201]]
    content = encoded(picture(0, (side, side)), "JPEG")
    root = write_folder(tmp_path / "c", dict.fromkeys(names, content) | dict.fromkeys(broken, b""))
    assert recognise(root).kind == ("tiny-imagenet-c" if side == 64 else "imagenet-c")


@pytest.mark.parametrize(("labels", "kind"), [([0, 9] * 5, "cifar10-c"), ([0, 10] * 5, "cifar100-c")])
def test_cifar_is_told_by_its_labels(tmp_path, labels, kind):
    np.save(tmp_path / "labels.npy", np.array(labels))
    np.save(tmp_path / "fog.npy", np.zeros((10, 32, 32, 3), np.uint8))
    assert recognise(tmp_path).kind == kind


def test_a_saved_data_set(tmp_path):
    files = numbered(f"{FISH}/a.png", f"{SHARK}/b.png")
    assert recognise(write_arrow(tmp_path / "one", files)).kind == "huggingface"
    write_arrow(tmp_path / "dict" / "train", files)
    (tmp_path / "dict" / "dataset_dict.json").write_text(json.dumps({"splits": ["train"]}))
    assert recognise(tmp_path / "dict").root == tmp_path / "dict"
    assert recognise(tmp_path / "dict").kind == "huggingface"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("x.JPEG", "image"),
        ("x.tar", "webdataset"),
        ("x.tar.gz", "webdataset"),
        ("x.TGZ", "webdataset"),
        ("x.parquet", "parquet"),
        ("x.npy", "npy"),
    ],
)
def test_files(tmp_path, name, kind):
    touch(tmp_path, name)
    found = recognise(tmp_path / name)
    assert (found.kind, found.root) == (kind, tmp_path / name)


def test_a_pattern_is_of_shards(tmp_path):
    assert recognise(tmp_path / "{000..012}.tar").kind == "webdataset"
    assert recognise(str(tmp_path / "*.tar")).kind == "webdataset"


@pytest.mark.parametrize("names", [[], ["notes.txt"], ["a/b/c.txt"], ["archive.zip"]])
def test_nothing_that_is_known(tmp_path, names):
    root = touch(tmp_path / "x", *names) if names else tmp_path
    with pytest.raises(DatasetError, match="holds nothing that counts as a data set"):
        recognise(root)


def test_what_is_not_there(tmp_path):
    with pytest.raises(DatasetError, match="No such file"):
        recognise(tmp_path / "nowhere")
    touch(tmp_path, "x.zip")
    with pytest.raises(DatasetError, match=r"x.zip is no image, tar, Parquet or npy file"):
        recognise(tmp_path / "x.zip")


def test_the_styles_are_those_that_were_counted():
    assert len(set(STYLES)) == 15
    assert list(STYLES) == sorted(STYLES)


def test_real_sets(shared):
    assert recognise(shared / "data/photos").kind == "folder"
    assert recognise(shared / "data/renditions").kind == "imagenet-r"


def test_every_writer_of_the_tests_is_recognised(tmp_path):
    files = numbered(f"{FISH}/a.png", f"{SHARK}/b.png", f"{ACORN}/c.png")
    for kind, write in WRITERS.items():
        assert recognise(write(tmp_path / kind, files)).kind == kind
    assert recognise(write_cells(tmp_path / "c", ["fog/1", "fog/2"], list(files))).kind == "imagenet-c"
    assert members(imagenet_r())[0] == FISH


def test_a_name_that_no_file_can_have_is_refused():
    with pytest.raises(DatasetError, match="too long"):
        recognise("x" * 5000)
