"""Builds from and into what fsspec reaches, here the memory of this process, are those of folders file by file."""

import hashlib
from pathlib import Path

import fsspec
import pytest

import oodometer
from oodometer.building.shards import Shards
from oodometer.building.tree import Tree
from oodometer.cli import main
from oodometer.errors import ArgumentError, DatasetError, MissingDataError, StoreError
from oodometer.storage import Storage

OPTIONS = {"corruptions": "contrast,fog", "severities": (1, 3), "preprocess": "none", "progress": False}


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    """Empty the memory, and have blocks of three images."""
    monkeypatch.setattr(Tree, "images", 3)
    monkeypatch.setattr(Shards, "images", 3)
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pseudo_dirs[:] = [""]
    return system


@pytest.fixture
def images(photographs):
    return photographs(8)


def held(memory, url):
    root = url.removeprefix("memory:/")
    return {
        path.removeprefix(f"{root}/"): hashlib.sha256(memory.cat_file(path)).hexdigest() for path in memory.find(root)
    }


def folder(root):
    return {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


@pytest.mark.parametrize("form", ["jpeg", "png", "webdataset", "parquet"])
def test_the_files_are_those_of_a_folder(images, memory, tmp_path, form):
    here = oodometer.build(images, tmp_path / "here", format=form, **OPTIONS)
    there = oodometer.build(images, "memory://bucket/there/", format=form, **OPTIONS)
    assert held(memory, "memory://bucket/there") == folder(tmp_path / "here")
    assert (there.path, there.pictures, there.made) == ("memory://bucket/there", here.pictures, here.made)


def test_a_build_goes_on_where_files_are_missing(images, memory, tmp_path):
    url = "memory://there"
    oodometer.build(images, tmp_path / "here", **OPTIONS)
    oodometer.build(images, url, **OPTIONS)
    assert oodometer.build(images, url, **OPTIONS).made == 0
    picture = next(path for path in memory.find("/there/fog"))
    memory.rm_file(picture)
    assert oodometer.build(images, url, **OPTIONS).made == 3 * 4
    memory.pipe_file(picture, b"shorter")
    memory.rm_file("/there/manifest/00002.parquet")
    assert oodometer.build(images, url, **OPTIONS).made == (3 + 2) * 4
    memory.pipe_file("/there/manifest/00002.parquet", b"damaged")
    assert oodometer.build(images, url, **OPTIONS).made == 2 * 4
    assert held(memory, url) == folder(tmp_path / "here")


def test_images_are_read_from_a_store_as_from_a_folder(images, memory, tmp_path):
    memory.put(f"{images}/", "/val/", recursive=True)
    memory.pipe_file("/val/__MACOSX/a.png", b"")
    memory.pipe_file("/val/n01440764/.hidden.png", b"")
    copied, original = oodometer.open_dataset("memory://val"), oodometer.open_dataset(images)
    assert copied.samples == original.samples
    assert copied.label_space == original.label_space
    assert oodometer.open_dataset("folder:memory://val/").samples == original.samples
    for name, source in {"here": images, "there": "memory://val"}.items():
        oodometer.build(source, tmp_path / name, **OPTIONS)
        options = {"corruptions": "fog", "preprocess": "none", "progress": False}
        oodometer.evaluate("fake", source, tmp_path / f"run-{name}", **options)
    assert folder(tmp_path / "there") == folder(tmp_path / "here")
    predictions = [folder(tmp_path / f"run-{name}" / "predictions") for name in ("here", "there")]
    assert predictions[0] == predictions[1] != {}


def test_a_damaged_image_is_left_out_and_a_lost_one_is_an_error(images, memory):
    memory.put(f"{images}/", "/val/", recursive=True)
    first, second, *_ = oodometer.open_dataset("memory://val").samples
    memory.pipe_file(f"/val/{first.id}", b"no image")
    built = oodometer.build("memory://val", "memory://out", **OPTIONS)
    assert [skipped.image for skipped in built.skipped] == [first.id]
    found = oodometer.open_dataset("memory://val")
    memory.rm_file(f"/val/{second.id}")
    with pytest.raises(DatasetError, match=f"Cannot read the file memory://val/{second.id}"):
        found.read(second)


def test_an_image_that_is_gone_is_never_dropped_from_a_part(images, memory):
    memory.put(f"{images}/", "/val/", recursive=True)
    oodometer.build("memory://val", "memory://out", **OPTIONS)
    first = oodometer.open_dataset("memory://val").samples[0]
    size = memory.info(f"/val/{first.id}")["size"]
    memory.pipe_file(f"/val/{first.id}", bytes(size))
    memory.rm_file(memory.find("/out/fog")[0])
    with pytest.raises(StoreError, match=r"cannot now\. Delete memory://out/manifest/00000\.parquet"):
        oodometer.build("memory://val", "memory://out", **OPTIONS)


def test_another_build_is_not_overwritten(images, memory):
    oodometer.build(images, "memory://out", **OPTIONS)
    before = held(memory, "memory://out")
    with pytest.raises(StoreError, match="memory://out holds another build"):
        oodometer.build(images, "memory://out", **OPTIONS | {"seed": 1})
    memory.pipe_file("/other/file", b"x")
    with pytest.raises(StoreError, match="memory://other is not empty and holds no built data set"):
        oodometer.build(images, "memory://other", **OPTIONS)
    assert held(memory, "memory://out") == before


@pytest.mark.parametrize(
    ("out", "options", "error", "message"),
    [
        ("memory://out", {"format": "npy"}, ArgumentError, "are put together on a disk"),
        ("memory://out", {"shard": (0, 2)}, ArgumentError, "goes with no cluster and no URL"),
        ("nowhere://out", {}, ArgumentError, "nowhere://out is no URL of a known kind"),
    ],
)
def test_what_a_store_is_not_for(images, out, options, error, message):
    with pytest.raises(error, match=message):
        oodometer.build(images, out, **OPTIONS | options)


def test_source_and_output_lie_apart(images, memory):
    memory.put(f"{images}/", "/val/", recursive=True)
    for out in ("memory://val", "memory://val/out"):
        with pytest.raises(ArgumentError, match="lie within one another"):
            oodometer.build("memory://val", out, **OPTIONS)


@pytest.mark.parametrize("spec", ["webdataset:memory://val", "imagenet-c:memory://val"])
def test_other_kinds_are_read_from_a_disk(spec):
    with pytest.raises(ArgumentError, match="only folders of images are read"):
        oodometer.open_dataset(spec)


def test_elsewhere_a_url_is_refused_by_name(images, tmp_path):
    built = tmp_path / "built"
    oodometer.build(images, built, **OPTIONS)
    with pytest.raises(ArgumentError, match="memory://run is a URL"):
        oodometer.evaluate("fake", images, "memory://run", progress=False)
    with pytest.raises(ArgumentError, match="memory://out is a URL"):
        oodometer.building.verify("memory://out")
    with pytest.raises(ArgumentError, match="memory://val is a URL"):
        oodometer.evaluate("fake", f"imagenet-c:{built}", tmp_path / "run", clean="memory://val", progress=False)


@pytest.mark.parametrize(
    "out", ["http://x/y", "file:///x", "local:///x", "S3://x", "s3://", "memory:///", "simplecache::memory://x"]
)
def test_a_url_of_no_use_makes_no_folder_of_its_name(images, out, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ArgumentError, match="looks like a URL"):
        oodometer.build(images, out, **OPTIONS)
    with pytest.raises(ArgumentError, match="looks like a URL"):
        oodometer.open_dataset(out)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("error", [ConnectionError("no host"), FileNotFoundError("/y"), RuntimeError("no library")])
def test_a_store_that_cannot_be_reached_is_said_to_be(monkeypatch, error):
    def failing(url):
        raise error

    monkeypatch.setattr("fsspec.core.url_to_fs", failing)
    with pytest.raises(StoreError, match=f"sftp://host/x cannot be reached: {type(error).__name__}: {error}"):
        Storage("sftp://host/x").sizes()


def test_a_missing_package_is_named(monkeypatch):
    def missing(url):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", missing)
    with pytest.raises(MissingDataError, match=r"pip install 'oodometer\[cloud\]'.*Install s3fs"):
        Storage("s3://bucket").sizes()


def test_the_command_line_takes_urls(images, memory, capsys):
    command = ["corrupt", str(images), "memory://out", "-c", "contrast", "-s", "1", "--preprocess", "none"]
    with pytest.raises(SystemExit) as done:
        main(command)
    assert done.value.code == 0
    assert "memory://out: 8 pictures of 8 images; 8 made now." in capsys.readouterr().out
    with pytest.raises(SystemExit) as refused:
        main([*command, "--dry-run"])
    assert refused.value.code == 2
    assert Path("memory:").exists() is False
