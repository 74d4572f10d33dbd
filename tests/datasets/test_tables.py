"""Parquet and Arrow: what Hugging Face datasets writes, plain tables, columns, and files that are damaged."""

import json
import os
import pickle
import signal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_sets import FISH, SHARK, encoded, numbered, picture, write_arrow, write_parquet

from oodometer.datasets import cifar10, custom, imagenet1k, open_dataset
from oodometer.datasets import parquet as parquet_reader
from oodometer.datasets.label_spaces import known_space
from oodometer.errors import ArgumentError, DatasetError, ImageError
from oodometer.types import UNLABELLED

PICTURES = [encoded(picture(number)) for number in range(4)]


def labels_of(dataset):
    return [(sample.id, sample.label) for sample in dataset.samples]


def write(path, columns, features=None):
    table = pa.table(columns)
    if features:
        table = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(table, path)
    return path


# What Hugging Face datasets itself writes


@pytest.fixture(scope="module")
def hugging(tmp_path_factory):
    """Return a data set of Hugging Face with 5 pictures of two named classes, one without a label."""
    import datasets

    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=["dog", "cat"])})
    images = [picture(number) for number in range(5)]
    return datasets.Dataset.from_dict({"image": images, "label": [0, 1, -1, 1, 0]}, features=features)


@pytest.mark.parametrize("kind", ["parquet", "huggingface"])
def test_data_sets_of_hugging_face_are_read_as_it_reads_them(hugging, tmp_path, kind, capfd):
    path = tmp_path / ("set.parquet" if kind == "parquet" else "set")
    if kind == "parquet":
        hugging.to_parquet(path, batch_size=2)
    else:
        hugging.save_to_disk(path, num_shards=2)
    capfd.readouterr()  # its progress bars
    for spec in (path, f"{kind}:{path}"):
        dataset = open_dataset(spec, unlabelled=True)
        assert dataset.label_space.classes == ("dog", "cat")
        for sample, theirs in zip(dataset.samples, hugging, strict=True):
            assert sample.label == theirs["label"]
            assert np.array_equal(dataset.read(sample), theirs["image"])
    assert [sample.id for sample in dataset.samples] == [f"{row:08d}" for row in range(5)]
    with pytest.raises(DatasetError, match=r"1 of the 5 images in .* have no label: 00000002"):
        open_dataset(path)


def test_a_shuffled_selection_is_saved_as_it_is_seen(hugging, tmp_path, capfd):
    chosen = hugging.select([4, 1, 0])
    chosen.save_to_disk(tmp_path / "set")
    capfd.readouterr()
    dataset = open_dataset(tmp_path / "set")
    assert [dataset.read(sample).getpixel((0, 0))[0] for sample in dataset.samples] == [4, 1, 0]
    assert [sample.label for sample in dataset.samples] == [0, 1, 0]


def test_a_dict_of_splits(tmp_path):
    files = numbered(f"{FISH}/a.png", f"{SHARK}/b.png")
    for splits in (["test"], ["test", "train"]):
        write_arrow(tmp_path / "dict" / splits[-1], files)
        (tmp_path / "dict" / "dataset_dict.json").write_text(json.dumps({"splits": splits}))
        if len(splits) == 1:
            assert labels_of(open_dataset(tmp_path / "dict")) == [(f"{FISH}/a.png", 1), (f"{SHARK}/b.png", 2)]
    with pytest.raises(DatasetError, match=f"splits test, train; open one of them: huggingface:{tmp_path}/dict/test"):
        open_dataset(tmp_path / "dict")
    assert len(open_dataset(tmp_path / "dict" / "train").samples) == 2


def test_splits_of_parquet_are_not_mixed(tmp_path):
    for name in ("train-00000-of-00002", "train-00001-of-00002", "test-00000-of-00001"):
        (tmp_path / "data").mkdir(exist_ok=True)
        write_parquet(tmp_path / "data" / f"{name}.parquet", numbered(f"{FISH}/{name}.png"))
    with pytest.raises(DatasetError, match=r"holds the splits test, train; open one of them: parquet:.*/data/test-"):
        open_dataset(tmp_path)
    dataset = open_dataset(f"parquet:{tmp_path}/data/train-*.parquet")
    assert [sample.id for sample in dataset.samples] == [f"{FISH}/train-0000{n}-of-00002.png" for n in range(2)]


# Columns


COLUMNS = {
    "a struct": pa.array([{"bytes": p, "path": None} for p in PICTURES]),
    "a struct without a path": pa.array([{"bytes": p} for p in PICTURES]),
    "bytes": pa.array(PICTURES, pa.binary()),
    "large bytes": pa.array(PICTURES, pa.large_binary()),
}


@pytest.mark.parametrize("form", COLUMNS)
@pytest.mark.parametrize("name", ["image", "img", "image.png", "picture"])
def test_where_images_may_be(tmp_path, form, name):
    path = write(tmp_path / "t.parquet", {"id": ["a"] * 4, name: COLUMNS[form], "label": [0, 1, 0, 1]})
    dataset = open_dataset(path)
    assert labels_of(dataset) == [(f"{row:08d}", row % 2) for row in range(4)]
    assert [dataset.read(sample).getpixel((0, 0))[0] for sample in dataset.samples] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("labels", "options", "expected"),
    [
        ([FISH, SHARK, FISH, FISH], {}, [1, 2, 1, 1]),
        ([3, 9, 3, 0], {"label_space": "cifar-10"}, [3, 9, 3, 0]),
        ([3, 9, 3, 0], {"classes": 10}, [3, 9, 3, 0]),
        (["cat", "dog", "cat", "cat"], {"label_space": "cifar-10"}, [3, 5, 3, 3]),
        (["goldfish", "tench", "tench", "tench"], {"label_space": "imagenet-1k"}, [1, 0, 0, 0]),
        (["b", "a", "b", "b"], {"unlabelled": True}, [1, 0, 1, 1]),
    ],
)
def test_labels_without_named_classes(tmp_path, labels, options, expected):
    path = write(tmp_path / "t.parquet", {"image": PICTURES, "label": labels})
    assert [sample.label for sample in open_dataset(path, **options).samples] == expected


@pytest.mark.parametrize(
    ("names", "space", "expected"),
    [
        ([SHARK, FISH], imagenet1k(), [1, 2]),
        (list(cifar10().classes), cifar10(), [1, 0]),
        (["cat", "dog"], custom(["cat", "dog"]), [1, 0]),
        (["1", "0"], custom(["1", "0"]), [1, 0]),
    ],
)
def test_i2_named_classes_decide_never_their_numbers(tmp_path, names, space, expected):
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": names}}
    path = write(tmp_path / "t.parquet", {"image": COLUMNS["a struct"][:2], "label": [1, 0]}, features)
    dataset = open_dataset(path)
    assert dataset.label_space == space
    assert [sample.label for sample in dataset.samples] == expected


def test_the_words_of_imagenet_are_its_classes(shared, tmp_path):
    rows = (shared / "data/labels/imagenet1k.csv").read_text().splitlines()[1:]
    lemmas = [row.split(",", 2)[2].strip('"') for row in rows]
    features = {"image": {"_type": "Image"}, "label": {"_type": "ClassLabel", "names": lemmas}}
    path = write(tmp_path / "t.parquet", {"image": PICTURES, "label": [517, 134, 999, 0]}, features)
    for space in (None, "imagenet-1k"):  # crane is the name of two classes, 134 and 517
        dataset = open_dataset(path, label_space=space)
        assert [sample.label for sample in dataset.samples] == [517, 134, 999, 0]
        assert dataset.label_space == imagenet1k()
    assert known_space(lemmas) == imagenet1k()
    assert known_space(imagenet1k().classes) == imagenet1k()
    assert known_space(lemmas[::-1]) is None
    assert known_space(["a"]) is None


def test_two_columns_of_classes(tmp_path):
    features = {name: {"_type": "ClassLabel", "names": ["x", "y"]} for name in ("coarse_label", "fine_label")}
    columns = {"img": PICTURES, "coarse_label": [1, 1, 1, 1], "fine_label": [0, 1, 0, 1]}
    dataset = open_dataset(write(tmp_path / "t.parquet", columns, features))
    assert [sample.label for sample in dataset.samples] == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"text": ["a"]}, r"no column of images: bytes .*Its columns are text \(string\)"),
        ({"a": PICTURES[:1], "b": PICTURES[:1]}, "no column of images that stands out"),
        ({"image": PICTURES[:1], "label": [0.5]}, "label of .* holds no class indices or names: 0.5"),
        ({"image": PICTURES[:1], "label": [True]}, "holds no class indices or names: True"),
        ({"image": PICTURES[:1], "label": [None]}, "no labels"),
        ({"image": PICTURES[:1]}, "no labels"),
        ({"image": PICTURES[:1], "label": ["zebrafish"]}, "not classes of imagenet-1k: zebrafish"),
        ({"image": pa.array([], pa.binary())}, "no rows"),
    ],
)
def test_tables_that_are_no_data_set(tmp_path, columns, message):
    with pytest.raises(DatasetError, match=message):
        open_dataset(write(tmp_path / "t.parquet", columns))


def test_a_label_out_of_the_named_classes(tmp_path):
    features = {"label": {"_type": "ClassLabel", "names": ["x", "y"]}}
    path = write(tmp_path / "t.parquet", {"image": PICTURES, "label": [0, 1, 2, 0]}, features)
    with pytest.raises(DatasetError, match="has the label 2, and names 2 classes"):
        open_dataset(path)


def test_class_folders_in_the_paths(tmp_path):
    images = [
        {"bytes": p, "path": f"{wnid}\\{n}.png"}
        for n, (p, wnid) in enumerate(zip(PICTURES, [FISH, SHARK] * 2, strict=True))
    ]
    dataset = open_dataset(write(tmp_path / "t.parquet", {"image": images}))
    assert labels_of(dataset) == [(f"{wnid}/{n}.png", 1 + n % 2) for n, wnid in enumerate([FISH, SHARK] * 2)]


def test_paths_that_are_not_unique_are_no_ids(tmp_path):
    images = [{"bytes": p, "path": "x.png"} for p in PICTURES]
    assert open_dataset(write(tmp_path / "t.parquet", {"image": images, "label": [0] * 4})).samples[3].id == "00000003"


def test_a_row_without_an_image(tmp_path):
    columns = {"image": pa.array([PICTURES[0], None], pa.binary()), "label": [0, 0]}
    dataset = open_dataset(write(tmp_path / "t.parquet", columns))
    assert dataset.read(dataset.samples[0]).size == (8, 6)
    with pytest.raises(ImageError, match=r"00000001: its row in .* holds no bytes"):
        dataset.read(dataset.samples[1])


def test_indices_with_names_need_no_count(tmp_path):
    with pytest.raises(ArgumentError, match="classes=5 goes with class indices"):
        open_dataset(write_parquet(tmp_path / "t.parquet", numbered(f"{FISH}/a.png")), classes=5)


# Many files and groups


def test_rows_over_files_and_groups(tmp_path):
    names = [f"{FISH}/{number:02d}.png" for number in range(23)]
    files = list(numbered(*names).items())
    for number, (start, stop) in enumerate([(0, 7), (7, 8), (8, 23)]):
        write_parquet(tmp_path / f"{number}.parquet", dict(files[start:stop]), rows=4)
    dataset = open_dataset(tmp_path)
    assert [sample.id for sample in dataset.samples] == names
    for number in np.random.default_rng(0).permutation(23):
        assert np.array_equal(dataset.read(dataset.samples[number]), picture(int(number)))


def test_few_groups_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet_reader, "_KEPT", 1000)
    dataset = open_dataset(write_parquet(tmp_path / "t.parquet", numbered(*(f"{FISH}/{n}.png" for n in range(60)))))
    for sample in [*dataset.samples, *dataset.samples[::-1]]:
        assert dataset.read(sample).size == (8, 6)
        kept = dataset.groups.get()._kept
        assert sum(column.nbytes for column in kept.values()) <= 1000
    assert len(kept) > 1
    assert len(open_dataset(tmp_path).notes) == 1
    monkeypatch.setattr(parquet_reader, "_KEPT", 10)
    assert "largest group of rows" in open_dataset(tmp_path).notes[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_another_thread_reads(tmp_path):
    dataset = open_dataset(write_parquet(tmp_path / "t.parquet", numbered(f"{FISH}/a.png")))
    with dataset.groups.get()._lock:  # as that thread holds it
        child = os.fork()
        if child == 0:
            signal.alarm(60)  # ends a process that waits for a lock that nobody will give back
            os._exit(0 if dataset.read(dataset.samples[0]).size == (8, 6) else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_a_pickle_holds_no_pictures(tmp_path):
    files = {f"{FISH}/a.png": encoded(picture(0, (300, 300)), "BMP")}
    for path in (write_parquet(tmp_path / "t.parquet", files), write_arrow(tmp_path / "t", files)):
        dataset = open_dataset(path)
        assert dataset.read(dataset.samples[0]).size == (300, 300)
        assert len(pickle.dumps(dataset)) < 100_000 < len(files[f"{FISH}/a.png"])


def test_files_of_different_columns(tmp_path):
    write(tmp_path / "a.parquet", {"image": PICTURES, "label": [0] * 4})
    write(tmp_path / "b.parquet", {"img": PICTURES, "label": [0] * 4})
    with pytest.raises(DatasetError, match=r"b.parquet has other columns"):
        open_dataset(tmp_path)


# Damage


@pytest.mark.parametrize("content", [b"", b"junk", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_no_parquet_file(tmp_path, content):
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(DatasetError, match=r"Cannot read the Parquet file .*t.parquet"):
        open_dataset(tmp_path / "t.parquet")


def test_parquet_files_that_are_damaged_or_gone_later(tmp_path):
    path = write_parquet(tmp_path / "t.parquet", numbered(f"{FISH}/a.png"))
    dataset = open_dataset(path)
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(DatasetError, match="Cannot read the Parquet file"):
        dataset.read(dataset.samples[0])


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("junk", "Cannot read .*state.json"),
        ("[]", "must hold a JSON object"),
        ("{}", "names no files"),
        ('{"_data_files": [{"filename": "gone.arrow"}]}', "Cannot read the Arrow files"),
        ('{"_data_files": [{}]}', "Cannot read the Arrow files"),
        ('{"_indices_data_files": [1]}', "table of indices beside its rows"),
    ],
)
def test_saved_data_sets_that_are_damaged(tmp_path, state, message):
    root = write_arrow(tmp_path / "set", numbered(f"{FISH}/a.png"))
    (root / "state.json").write_text(state)
    with pytest.raises(DatasetError, match=message):
        open_dataset(root)


def test_a_cut_arrow_file(tmp_path):
    root = write_arrow(tmp_path / "set", numbered(f"{FISH}/a.png", f"{FISH}/b.png", f"{FISH}/c.png"))
    file = root / "data-00000-of-00001.arrow"
    file.write_bytes(file.read_bytes()[:1200])
    with pytest.raises(DatasetError, match="Cannot read the Arrow files"):
        open_dataset(root)


def test_unlabelled_rows(tmp_path):
    path = write(tmp_path / "t.parquet", {"image": PICTURES})
    dataset = open_dataset(path, unlabelled=True)
    assert labels_of(dataset) == [(f"{row:08d}", UNLABELLED) for row in range(4)]
