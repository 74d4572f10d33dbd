"""Folders and tables of labels: what is found, which class it has, and what is refused."""

import errno
import json
import os

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oodometer.datasets import custom, digest, imagenet1k, imagenet_r, open_folder
from oodometer.errors import ArgumentError, DatasetError, ImageError

FISH, SHARK, ACORN = "n01443537", "n01484850", "n12267677"


def labels_of(dataset):
    return {sample.id: sample.label for sample in dataset.samples}


def csv_file(tmp_path, *rows):
    file = tmp_path / "labels.csv"
    file.write_text("\n".join(["name,label", *rows, ""]))
    return file


# Class folders


def test_class_folders(tree):
    root = tree(f"{SHARK}/b.JPEG", f"{FISH}/z.png", f"{FISH}/deep/er/a.WebP", f"{ACORN}/x.ppm")
    dataset = open_folder(root)
    assert (dataset.name, dataset.label_space, dataset.notes) == ("val", imagenet1k(), ())
    assert list(labels_of(dataset).items()) == [
        (f"{FISH}/deep/er/a.WebP", 1),
        (f"{FISH}/z.png", 1),
        (f"{SHARK}/b.JPEG", 2),
        (f"{ACORN}/x.ppm", 988),
    ]
    assert dataset.samples[0].size == (root / FISH / "deep/er/a.WebP").stat().st_size
    assert dataset.read(dataset.samples[0]).getpixel((0, 0)) == (2, 0, 0)
    assert open_folder(str(root), name="mine").name == "mine"


def test_i2_labels_come_from_names_never_from_order(tree):
    space = imagenet_r()
    members = [space.classes[column] for column in space.columns]
    dataset = open_folder(tree(*(f"{wnid}/x.png" for wnid in members)), label_space=space)
    assert tuple(sample.label for sample in dataset.samples) == space.columns
    assert open_folder(dataset.root).label_space == imagenet1k()
    assert labels_of(open_folder(dataset.root)) == labels_of(dataset)


def test_i3_hidden_and_stray_files_change_nothing(tree):
    root = tree(f"{FISH}/a.JPEG", f"{SHARK}/b.JPEG")
    before = open_folder(root)
    tree(
        ".ipynb_checkpoints/a.png",
        f"{FISH}/.ipynb_checkpoints/a-checkpoint.png",
        f"__MACOSX/{FISH}/a.JPEG",
        f"{FISH}/__MACOSX/a.JPEG",
        "README.txt",
        "LICENSE",
        ".DS_Store",
        f"{FISH}/._a.JPEG",
        f"{FISH}/.DS_Store",
        f"{FISH}/Thumbs.db",
        f"{FISH}/a.xml",
        "._b.JPEG",
    )
    after = open_folder(root)
    assert after == before
    assert digest(after) == digest(before)


def test_ids_and_digest_do_not_depend_on_the_place(tree, tmp_path):
    first = open_folder(tree(f"{FISH}/a.png", f"{SHARK}/b.png"))
    (tmp_path / "val").rename(tmp_path / "moved")
    second = open_folder(tmp_path / "moved")
    assert (first.samples, digest(first)) == (second.samples, digest(second))
    (tmp_path / "moved" / FISH / "a.png").rename(tmp_path / "moved" / SHARK / "a.png")
    assert digest(open_folder(tmp_path / "moved")) != digest(first)


def test_own_classes_by_their_names(tree):
    dataset = open_folder(tree("dog/a.png", "cat/a.png"), label_space=custom(["dog", "cat"]))
    assert labels_of(dataset) == {"cat/a.png": 1, "dog/a.png": 0}


def test_a_class_folder_without_images_is_noted(tree):
    root = tree(f"{FISH}/a.png")
    (root / SHARK).mkdir()
    dataset = open_folder(root)
    assert len(dataset.samples) == 1
    assert dataset.notes == (f"1 folder(s) hold no images: {SHARK}.",)


def test_links_are_followed_but_not_in_circles(tree, tmp_path):
    root = tree(f"{FISH}/a.png")
    outside = tmp_path / "elsewhere"
    (root / FISH).rename(outside)
    (root / FISH).symlink_to(outside)
    (root / SHARK).mkdir()
    (root / SHARK / "linked.png").symlink_to(outside / "a.png")
    (root / SHARK / "gone.png").symlink_to(outside / "gone.png")
    dataset = open_folder(root)
    assert list(labels_of(dataset)) == [f"{FISH}/a.png", f"{SHARK}/gone.png", f"{SHARK}/linked.png"]
    with pytest.raises(ImageError, match=r"gone\.png"):
        dataset.read(dataset.samples[1])
    (root / SHARK / "loop").symlink_to(root)
    with pytest.raises(DatasetError, match="links back"):
        open_folder(root)


# Class folders that are none


def refuse(match, *args, error=DatasetError, **options):
    with pytest.raises(error, match=match) as caught:
        open_folder(*args, **options)
    assert str(args[0]) in str(caught.value) or error is ArgumentError or "abels" in str(caught.value)
    return str(caught.value)


def test_bad_roots(tmp_path):
    refuse("No such file", tmp_path / "gone")
    (tmp_path / "file").write_text("")
    refuse("Not a directory", tmp_path / "file")
    (tmp_path / "empty" / FISH).mkdir(parents=True)
    refuse("no images", tmp_path / "empty")


def test_forbidden_folders(tree, monkeypatch):
    root = tree(f"{FISH}/a.png")
    scandir = os.scandir

    def forbid(path):  # the tests may run as root, whom no file mode stops
        if str(path).endswith(FISH):
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", forbid)
    assert FISH in refuse("Permission denied", root)


@pytest.mark.parametrize(
    "paths", [("a.png", "b.JPEG"), ("images/a.png",), ("Images/sub/a.png",), ("images/a.png", "b.png")]
)
def test_i4_flat_folders_are_explained(tree, paths):
    message = refuse("not in class folders", tree(*paths))
    assert "name,label" in message
    assert "wnid" in message


def test_i2_an_unknown_folder_is_named_with_near_ones(tree):
    message = refuse("n01443538", tree(f"{FISH}/a.png", "n01443538/a.png"))
    assert f"did you mean {FISH} (goldfish)" in message
    assert "1 folder(s)" in message


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["goldfish/a.png"], f"{FISH} \\(goldfish\\)"),
        (["0/a.jpeg", "1/a.jpeg", "10/a.jpeg"], "ImageNetV2"),
        ([f"{s}/{FISH}/a.JPEG" for s in range(1, 6)], "one corruption of ImageNet-C"),
        ([f"{name}/1/{FISH}/a.JPEG" for name in ("fog", "snow")], "looks like ImageNet-C: .*fog/3"),
        ([f"{name}/fog/1/{FISH}/a.JPEG" for name in ("noise", "extra")], "looks like ImageNet-C"),
        ([f"train/{FISH}/a.JPEG", f"val/{FISH}/a.JPEG"], "train holds class folders: open that one"),
    ],
)
def test_known_layouts_are_recognized(tree, paths, words):
    refuse(words, tree(*paths))


def test_a_class_that_the_mask_leaves_out_is_refused(tree):
    refuse("not one of the 200 that imagenet-r counts", tree("n01440764/a.png"), label_space=imagenet_r())


def test_images_beside_class_folders_are_refused(tree):
    refuse(r"1 image\(s\) lie beside .*stray\.png", tree(f"{FISH}/a.png", "stray.png"))


# Labels


def test_labels_for_folders_as_csv_json_and_mapping(tree, tmp_path):
    root = tree("fish/a.png", "shark/b.png")
    names = tmp_path / "labels.json"
    names.write_text(json.dumps({"fish": FISH, "shark/": SHARK, "unused": ACORN}))
    table = csv_file(tmp_path, f"fish,{FISH}", f".\\shark,{SHARK}", f"unused,{ACORN}")
    expected = {"fish/a.png": 1, "shark/b.png": 2}
    for labels in (names, table, str(table), {"fish": FISH, "shark": SHARK}):
        dataset = open_folder(root, labels=labels)
        assert (labels_of(dataset), dataset.label_space) == (expected, imagenet1k())
    assert open_folder(root, labels=table, label_space=imagenet_r()).label_space == imagenet_r()


def test_indices_make_a_label_space(tree, tmp_path):
    root = tree("cats/a.png", "dogs/b.png", "lynx/c.png")
    dataset = open_folder(root, labels=csv_file(tmp_path, "dogs,0", "cats,1", "lynx, 1"))
    assert labels_of(dataset) == {"cats/a.png": 1, "dogs/b.png": 0, "lynx/c.png": 1}
    assert (dataset.label_space.name, dataset.label_space.width) == ("custom-2", 2)


def test_indices_of_a_model_with_more_classes(tree):
    root = tree("cats/a.png", "dogs/b.png")
    labels = {"cats": 281, "dogs": 207}
    refuse("281.*classes=K", root, labels=labels)
    assert open_folder(root, labels=labels, classes=1000).label_space.name == "custom-1000"
    assert open_folder(root, labels=labels, label_space=imagenet1k()).label_space.name == "imagenet-1k"
    refuse("not classes of custom-281: 281", root, labels=labels, classes=281)
    refuse("not classes of imagenet-r: 0", root, labels={"cats": 0, "dogs": 1}, label_space=imagenet_r())
    refuse("-1", root, labels={"cats": -1, "dogs": 0})


@pytest.mark.parametrize("prefix", ["", "images/"])
def test_i4_labels_make_flat_folders_usable(tree, prefix):
    root = tree(f"{prefix}a.png", f"{prefix}b.png")
    for keys in (("a.png", "b.png"), (f"{prefix}a.png", f"{prefix}b.png")):
        dataset = open_folder(root, labels=dict(zip(keys, (SHARK, FISH), strict=True)))
        assert labels_of(dataset) == {f"{prefix}a.png": 2, f"{prefix}b.png": 1}


def test_the_most_specific_name_counts(tree):
    root = tree("x/a.png", "x/y/a.png", "x/y/b.png", "z/a.png")
    labels = {"x": 0, "x/y": 1, "x\\y\\b.png": 2, "z": 3}
    assert list(labels_of(open_folder(root, labels=labels)).values()) == [0, 1, 2, 3]


def test_the_order_of_rows_does_not_matter(tree, tmp_path):
    root = tree("cats/a.png", "dogs/b.png")
    assert open_folder(root, labels=csv_file(tmp_path, "cats,0", "dogs,1")) == open_folder(
        root, labels=csv_file(tmp_path, "dogs,1", "cats,0")
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,label\ncats,0\n", "no label for 1 of the 2 images .*: dogs"),
        ("name,label\ncats,0\ndogs,n01443537\n", "mixes"),
        ("name,label\ncats,n01443537\ndogs,n01443538\n", r"n01443538\. .*goldfish"),
        ("name,label\ncats,0\ndogs,1\ncats,1\n", "'cats' more than once"),
        ("name,label\ncats,0\ndogs,1\ncats/,0\n", "'cats/' more than once"),
        ("name,label\ncats,0\ndogs,2\n", "without a gap"),
        ("name,label\ncats,0\ndogs\n", "line 3"),
        ("name,label\n", "no entries"),
        ("", "header name,label"),
        ("cats,0\ndogs,1\n", "header name,label"),
        ("name;label\ncats;0\n", "header name,label"),
        ("name,label\ncats,\xff\n", "UTF-8"),
        ("name,label\ncats,0.5\ndogs,1.5\n", r"0\.5"),
    ],
)
def test_bad_csv(tree, tmp_path, text, message):
    file = tmp_path / "labels.csv"
    file.write_bytes(text.encode("latin-1"))
    assert "labels.csv" in refuse(message, tree("cats/a.png", "dogs/b.png"), labels=file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"cats": 0, "cats": 1, "dogs": 0}', "'cats' more than once"),
        ('{"cats": true, "dogs": 0}', "not True"),
        ('{"cats": 0, "dogs": null}', "'dogs'.*not None"),
        ('{"cats": 0.0, "dogs": 1}', "not 0.0"),
        ('["cats"]', "one JSON object"),
        ("{", "not JSON"),
        ("{}", "no entries"),
    ],
)
def test_bad_json(tree, tmp_path, text, message):
    file = tmp_path / "labels.JSON"
    file.write_text(text)
    refuse(message, tree("cats/a.png", "dogs/b.png"), labels=file)


def test_a_csv_from_a_spreadsheet(tree, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_bytes(b'\xef\xbb\xbfname,label,comment\r\n"a, b",0,x\r\ndogs,1,\r\n')
    assert len(open_folder(tree("a, b/a.png", "dogs/b.png"), labels=file).samples) == 2


def test_missing_labels_file(tree, tmp_path):
    refuse(r"gone\.csv cannot be read: No such file", tree("cats/a.png"), labels=tmp_path / "gone.csv")


@pytest.mark.parametrize(
    "options",
    [
        {"classes": 10},
        {"classes": 0, "labels": {"cats": 0}},
        {"classes": 10, "labels": {"cats": FISH}},
        {"classes": 10, "labels": {"cats": 0}, "label_space": custom(["cat"])},
    ],
)
def test_classes_without_a_use(tree, options):
    refuse(r"classes", tree("cats/a.png"), error=ArgumentError, **options)


# Properties

parts = st.text(
    st.characters(codec="utf-8", exclude_characters='/\\\0:*?"<>|', exclude_categories=["C"]), min_size=1, max_size=8
)
safe = parts.map(str.strip).filter(lambda part: part and not part.startswith(".") and part != "__MACOSX")


@settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(safe, st.lists(safe, min_size=1, max_size=3, unique_by=str.casefold), min_size=1, max_size=4))
def test_any_names_give_sorted_ids_and_their_labels(tmp_path_factory, layout):
    folders = {name.casefold(): name for name in layout}.values()
    root = tmp_path_factory.mktemp("any")
    for name in folders:
        (root / name).mkdir()
        for file in layout[name]:
            (root / name / f"{file}.png").write_bytes(b"")
    labels = {name: index for index, name in enumerate(folders)}
    dataset = open_folder(root, labels=labels)
    ids = [sample.id for sample in dataset.samples]
    assert ids == sorted(f"{name}/{file}.png" for name in folders for file in layout[name])
    assert all(sample.label == labels[sample.id.split("/")[0]] for sample in dataset.samples)
    assert open_folder(root, labels=dict(reversed(labels.items()))).samples == dataset.samples
