"""What was built is one data set again, in whatever layout, with the labels and pixels that it was built with."""

import numpy as np
import pytest

import oodometer
from oodometer import preprocess
from oodometer.errors import DatasetError
from oodometer.types import CorruptedDataset

BUILD = {"corruptions": "fog,contrast", "severities": (1, 3), "progress": False}


@pytest.fixture(scope="module")
def source(tmp_path_factory, request):
    import PIL.Image

    root = tmp_path_factory.mktemp("source")
    rng = np.random.default_rng(0)
    for wnid in ("n01440764", "n12267677", "n01443537"):
        (root / wnid).mkdir()
        PIL.Image.fromarray(rng.integers(0, 256, (240, 250, 3)).astype(np.uint8)).save(root / wnid / "a.png")
    return root


@pytest.mark.parametrize("form", ["png", "webdataset-png", "webdataset", "parquet-webp", "npy"])
def test_a_build_opens_as_a_corrupted_data_set(source, tmp_path, form):
    oodometer.build(source, tmp_path / form, format=form, **BUILD)
    built = oodometer.open_dataset(tmp_path / form)
    assert isinstance(built, CorruptedDataset)
    assert {str(c) for c in built.conditions} == {"fog/1", "fog/3", "contrast/1", "contrast/3"}
    assert sorted(sample.label for sample in built.samples) == [0, 1, 988]
    assert built.label_space.name == "imagenet-1k"
    cell = built.cell("contrast", 3)
    assert [s.label for s in cell.samples] == [s.label for s in built.samples]
    condition = next(c for c in built.conditions if str(c) == "contrast/3")
    clean = oodometer.open_dataset(source)
    for sample, other in zip(built.samples, cell.samples, strict=True):
        twin = next(s for s in clean.samples if s.label == sample.label)
        crop = preprocess.apply(clean.read(twin), preprocess.PREPROCESS["imagenet224"])
        made = oodometer.corrupt(crop, "contrast", 3, seed=0, image_id=twin.id)
        for read in (built.read(sample, condition), cell.read(other)):
            off = np.abs(np.asarray(read).astype(int) - made).max()
            assert off == 0 if form != "webdataset" else off < 60


def test_a_build_that_is_not_finished_is_refused(source, tmp_path):
    oodometer.build(source, tmp_path / "b", format="parquet", **BUILD)
    manifest = tmp_path / "b" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete": true', '"complete": false'))
    with pytest.raises(DatasetError, match="not finished"):
        oodometer.open_dataset(tmp_path / "b")
    manifest.write_text('{"kind": "oodometer-build", "layout": "npy"}')
    with pytest.raises(DatasetError, match=r"manifest\.json is damaged"):
        oodometer.open_dataset(tmp_path / "b")


def test_a_cell_of_other_images_is_refused(source, tmp_path):
    oodometer.build(source, tmp_path / "b", format="webdataset", **BUILD)
    other = tmp_path / "other"
    oodometer.build(source, other, format="webdataset", limit=2, **BUILD)
    for shard in (tmp_path / "b" / "fog" / "3").glob("*.tar"):
        shard.write_bytes(next((other / "fog" / "3").glob("*.tar")).read_bytes())
    with pytest.raises(DatasetError, match="fog/3 holds other images"):
        oodometer.open_dataset(tmp_path / "b").cell("fog", 3)
