"""Each format read back by code that is not ours."""

import gc
import io
import json
import tarfile

import numpy as np
import PIL.Image
import pyarrow.parquet as pq
import pytest
from built import FAST, files, pixels

import oodometer
from oodometer.building import BuildFolder, tree
from oodometer.building.shards import Shards
from oodometer.datasets import imagenet1k

OPTIONS = FAST | {"corruptions": "gaussian_noise,contrast", "severities": "1,2,3,4,5", "clean": True}
CELLS = ("clean", *(f"{c}/{s}" for c in ("gaussian_noise", "contrast") for s in range(1, 6)))


@pytest.fixture
def small_blocks(monkeypatch):
    """Let a block have three images."""
    monkeypatch.setattr(Shards, "images", 3)
    monkeypatch.setattr(tree.Tree, "images", 3)


@pytest.fixture
def expected(photographs, small_blocks):
    """Write seven photographs; return their folder, and their pictures by cell, in order of the data set."""
    root = photographs(7)
    made = {cell: [] for cell in CELLS}
    for sample in oodometer.open_folder(root).samples:
        image = pixels(root / sample.id)
        for cell in CELLS:
            name, _, severity = cell.partition("/")
            options = {"severity": int(severity or 0), "edition": "tiny64", "image_id": sample.id}
            made[cell].append(oodometer.corrupt(image, "fog" if name == "clean" else name, **options))
    return root, made


def names_and_labels(root):
    samples = oodometer.open_folder(root).samples
    return [sample.id.removesuffix(".png") for sample in samples], [sample.label for sample in samples]


@pytest.mark.parametrize(("kind", "ending"), [("png", ".png"), ("webp", ".webp")])
def test_lossless_trees(expected, tmp_path, kind, ending):
    root, made = expected
    oodometer.build(root, tmp_path / "out", format=kind, **OPTIONS)
    for cell, images in made.items():
        for name, image in zip(names_and_labels(root)[0], images, strict=True):
            np.testing.assert_array_equal(pixels(tmp_path / "out" / cell / f"{name}{ending}"), image)


def test_arrays_are_laid_out_as_in_cifar_10_c(expected, tmp_path):
    """Case J3."""
    root, made = expected
    oodometer.build(root, tmp_path / "out", format="npy", **OPTIONS)
    assert {path.name for path in (tmp_path / "out").glob("*.npy")} == {
        *("clean.npy", "contrast.npy", "gaussian_noise.npy", "labels.npy")
    }
    for name in ("gaussian_noise", "contrast"):
        array = np.load(tmp_path / "out" / f"{name}.npy", allow_pickle=False)
        assert (array.shape, array.dtype) == ((35, 64, 64, 3), np.uint8)
        for severity in range(1, 6):
            np.testing.assert_array_equal(array[(severity - 1) * 7 : severity * 7], made[f"{name}/{severity}"])
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "clean.npy"), made["clean"])
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "labels.npy"), names_and_labels(root)[1] * 5)
    assert not (tmp_path / "out" / ".unfinished").exists()


def test_arrays_of_arrays_keep_the_order_of_the_rows(tmp_path, textured):
    """Twelve rows: as text, 10 would come before 2."""
    images = np.stack([np.asarray(textured(i, 32, 32)) for i in range(12)])
    labels = np.array([7, 3, 1, 0, 4, 2, 6, 5, 9, 8, 3, 1])
    np.save(tmp_path / "images.npy", images)
    np.save(tmp_path / "labels.npy", labels)
    source = f"npy:{tmp_path / 'images.npy'},{tmp_path / 'labels.npy'}"
    options = FAST | {"edition": "cifar32", "corruptions": "contrast", "severities": [5], "clean": True}
    oodometer.build(source, tmp_path / "out", format="npy", **options)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "clean.npy"), images)
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "labels.npy"), labels)
    oodometer.build(source, tmp_path / "tree", format="png", **options)
    np.testing.assert_array_equal(pixels(tmp_path / "tree" / "clean" / "9" / "8.png"), images[8])


def test_labels_of_ten_classes_are_bytes(tmp_path, textured):
    """As in the file of CIFAR-10-C."""
    (tmp_path / "flat").mkdir()
    for i in range(3):
        textured(i).save(tmp_path / "flat" / f"{i}.png")
    labels = {f"{i}.png": i for i in range(3)}
    oodometer.build(tmp_path / "flat", tmp_path / "out", labels=labels, format="npy", **OPTIONS)
    found = np.load(tmp_path / "out" / "labels.npy")
    assert (found.dtype, found.tolist()) == (np.uint8, [0, 1, 2] * 5)
    oodometer.build(tmp_path / "flat", tmp_path / "unlabelled", format="npy", **OPTIONS)
    assert not (tmp_path / "unlabelled" / "labels.npy").exists()


def test_tar_shards_by_tarfile(expected, tmp_path):
    root, made = expected
    oodometer.build(root, tmp_path / "out", format="webdataset-png", **OPTIONS)
    names, labels = names_and_labels(root)
    for cell in CELLS:
        members = []
        shards = sorted((tmp_path / "out" / cell).iterdir())
        assert [shard.name for shard in shards] == ["00000.tar", "00001.tar", "00002.tar"]
        for shard in shards:
            with tarfile.open(shard) as opened:
                members += [(m.name, m.mtime, opened.extractfile(m).read()) for m in opened]
        assert [name for name, _, _ in members] == [f"{n}.{e}" for n in names for e in ("png", "cls")]
        assert {time for _, time, _ in members} == {0}
        assert [int(content) for _, _, content in members[1::2]] == labels
        for (_, _, content), image in zip(members[::2], made[cell], strict=True):
            np.testing.assert_array_equal(np.asarray(PIL.Image.open(io.BytesIO(content))), image)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it leaves the files to the collector
def test_tar_shards_by_webdataset(expected, tmp_path):
    webdataset = pytest.importorskip("webdataset")
    root, made = expected
    oodometer.build(root, tmp_path / "out", format="webdataset-webp", **OPTIONS)
    shards = sorted(map(str, (tmp_path / "out" / "contrast" / "3").iterdir()))
    found = list(webdataset.WebDataset(shards, shardshuffle=False).decode("rgb8").to_tuple("__key__", "webp", "cls"))
    names, labels = names_and_labels(root)
    assert [key for key, _, _ in found] == names
    assert [label for _, _, label in found] == labels
    np.testing.assert_array_equal([image for _, image, _ in found], made["contrast/3"])
    gc.collect()


def test_parquet_by_arrow(expected, tmp_path):
    root, made = expected
    oodometer.build(root, tmp_path / "out", format="parquet-png", **OPTIONS)
    names, labels = names_and_labels(root)
    for cell in CELLS:
        table = pq.read_table(tmp_path / "out" / cell)
        assert table["label"].to_pylist() == labels
        pictures = table["image"].to_pylist()
        assert [picture["path"] for picture in pictures] == [f"{name}.png" for name in names]
        for picture, image in zip(pictures, made[cell], strict=True):
            np.testing.assert_array_equal(np.asarray(PIL.Image.open(io.BytesIO(picture["bytes"]))), image)
    features = json.loads(pq.read_schema(tmp_path / "out" / "clean" / "00000.parquet").metadata[b"huggingface"])
    assert features["info"]["features"]["label"]["names"] == list(imagenet1k().classes)


def test_parquet_by_hugging_face(expected, tmp_path):
    datasets = pytest.importorskip("datasets")
    root, made = expected
    oodometer.build(root, tmp_path / "out", format="parquet-png", **OPTIONS)
    shards = sorted(map(str, (tmp_path / "out" / "contrast" / "3").iterdir()))
    found = datasets.load_dataset("parquet", data_files=shards, split="train", cache_dir=str(tmp_path / "cache"))
    assert found.features["label"].int2str(389) == imagenet1k().classes[389]
    assert found["label"] == names_and_labels(root)[1]
    for image, expected_image in zip(found["image"], made["contrast/3"], strict=True):
        np.testing.assert_array_equal(np.asarray(image), expected_image)


@pytest.mark.parametrize("kind", ["jpeg", "webdataset", "parquet", "npy"])
def test_the_manifest_lists_every_picture_and_every_file(expected, tmp_path, kind):
    root, _ = expected
    out = tmp_path / "out"
    oodometer.build(root, out, format=kind, seed=5, **OPTIONS)
    folder = BuildFolder(out)
    manifest = folder.read_manifest()
    rows = [row for number in folder.blocks() for row in folder.read_block(number)]
    samples = oodometer.open_folder(root).samples
    expected_rows = [
        (s.id, s.label, c, v) for s in samples for c, v in [("clean", 0)] + [(c, float(v)) for c, _, v in _cells()]
    ]
    assert sorted(row[:4] for row in rows) == sorted(expected_rows)
    assert (manifest.complete, manifest.images, manifest.pictures) == (True, 7, len(rows))
    assert (manifest.protocol.seed, manifest.layout) == (5, kind)
    assert manifest.quality == (None if kind == "npy" else 85)
    listed = {row.path for row in rows} | {file.path for file in manifest.files}
    assert listed == {path for path in files(out) if "manifest" not in path}


def _cells():
    return [cell.partition("/") for cell in CELLS[1:]]
