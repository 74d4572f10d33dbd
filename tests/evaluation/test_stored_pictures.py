"""Pictures that were corrupted before go the same road, and give what corrupting them on the way gives."""

import json
import shutil
import subprocess
import sys
import time

import numpy as np
import PIL.Image
import pytest
from probes import FAST, Probe

import oodometer
from oodometer.cli import main
from oodometer.datasets import imagenet1k
from oodometer.errors import ArgumentError, DatasetError, MetricError, StoreError
from oodometer.families import IMAGENET_C

FEW = {"corruptions": "gaussian_noise,fog,contrast"}


def _table(run):
    return run.store.table("imagenet-c", run.manifest.benchmarks[0].label_spaces[0])


def _stem(image):
    return image.rpartition(".")[0]


def _same(one, other, key=_stem):
    """Compare two runs to the bit; their images are matched by ``key``."""
    a, b = _table(one), _table(other)
    rows = [[key(image) for image in b.images].index(key(image)) for image in a.images]
    columns = [b.conditions.index(condition) for condition in a.conditions]
    assert len(a.images) == len(b.images)
    assert a.conditions == b.conditions
    np.testing.assert_array_equal(a.labels, b.labels[rows])
    for field in ("top", "confidence", "nll", "brier"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field)[np.ix_(rows, columns)])
    return True


def _build(root, out, **options):
    oodometer.build(root, out, **(FAST | options))
    return out


def test_a_lossless_build_equals_the_pictures_made_on_the_way(photographs, tmp_path):
    """All of 15 x 5 and clean, to the bit: the fake model's logits depend on each single byte."""
    root = photographs(3, side=32)
    built = _build(root, tmp_path / "c", format="png", clean=True)
    on_the_way = oodometer.evaluate("fake", root, **FAST)
    stored = oodometer.evaluate("fake", f"imagenet-c:{built}", batch_size=2, workers=3, progress=False)
    assert _same(on_the_way, stored)
    assert stored.mce() == on_the_way.mce()
    assert stored.relative_mce() == on_the_way.relative_mce()
    protocol = stored.manifest.benchmarks[0].protocol
    assert (protocol.encoding, protocol.edition, protocol.method) == ("files", "tiny64", "fast")
    assert (protocol.stored.kind, protocol.stored.seed, protocol.stored.quality) == ("build", 0, None)
    assert protocol.stored.clean == "the set"


def test_the_published_format_equals_the_round_trip_through_jpeg(photographs, tmp_path):
    root = photographs(4)
    built = _build(root, tmp_path / "c", **FEW)
    stored = oodometer.evaluate("fake", built, clean=root, progress=False, **FEW)
    assert _same(oodometer.evaluate("fake", root, encoding="jpeg85", **FAST, **FEW), stored)
    assert stored.manifest.benchmarks[0].protocol.stored.quality == 85
    assert "JPEG 85" in str(stored.table())


@pytest.mark.parametrize("form", ["webp", "webdataset-png", "parquet-png", "npy"])
def test_all_containers_agree(photographs, tmp_path, form):
    root = photographs(4)
    built = _build(root, tmp_path / "c", format=form, clean=True, seed=3, **FEW)
    on_the_way = oodometer.evaluate("fake", root, seed=3, **FAST, **FEW)
    stored = oodometer.evaluate("fake", built, batch_size=3, progress=False, **FEW)
    order = [_stem(sample.id) for sample in oodometer.open_dataset(root).samples]
    assert _same(on_the_way, stored, lambda i: int(i) if i.isdecimal() else order.index(_stem(i)))


@pytest.fixture
def published(tmp_path, textured):
    """Return a function that makes a tree like that of the archives, with families above, and its clean images."""

    def make(images=4, corruptions=("fog", "contrast"), side=64, clean_side=64):
        for i in range(images):
            wnid = imagenet1k().classes[i // 2 * 7]
            name = f"ILSVRC2012_val_{i:08d}.JPEG"
            place = tmp_path / "val" / wnid
            place.mkdir(parents=True, exist_ok=True)
            PIL.Image.fromarray(textured(i, clean_side)).save(place / name, quality=95)
            for corruption in corruptions:
                for severity in range(1, 6):
                    cell = tmp_path / "c" / "weather" / corruption / str(severity) / wnid
                    cell.mkdir(parents=True, exist_ok=True)
                    PIL.Image.fromarray(textured(100 * severity + i, side)).save(cell / name, quality=85)
        return tmp_path / "c", tmp_path / "val"

    return make


def test_a_published_tree_goes_to_the_model_as_it_is_stored(published):
    root, _ = published()
    fake = oodometer.FakeModel()
    run = oodometer.evaluate(fake, f"imagenet-c:{root}", progress=False)
    table = _table(run)
    assert [str(c) for c in table.conditions] == [f"{c}/{s}" for c in ("fog", "contrast") for s in range(1, 6)]
    for row, image in enumerate(table.images):
        assert table.labels[row] == imagenet1k().classes.index(image.split("/")[0])
        for column, condition in enumerate(table.conditions):
            with PIL.Image.open(root / "weather" / str(condition) / image) as picture:
                (logits,) = fake.predict(np.asarray(picture)[None])
            assert table.top[row, column, 0] == logits.argmax()
    protocol = run.manifest.benchmarks[0].protocol
    assert (protocol.stored.kind, protocol.edition, protocol.method) == ("imagenet-c", "unknown", "unknown")
    assert protocol.preprocess.name == "none"


def test_without_clean_images_nothing_is_relative_to_them(published, tmp_path):
    root, _ = published(corruptions=IMAGENET_C)
    run = oodometer.evaluate("fake", root, tmp_path / "run", progress=False)
    assert run.mce().value == pytest.approx(oodometer.metrics.mce(run.errors))
    for number in (run.relative_mce, lambda: run.clean_error, run.under):
        with pytest.raises(MetricError):
            number()
    part = run.summary().corruptions
    assert (part.relative_mce, part.clean_error, part.changed, part.confidence) == (None, None, None, None)
    assert {(row.relative_ce, row.changes) for row in part.rows} == {(None, None)}
    text = " ".join(str(run.table()).split())
    assert "There is no relative mCE. It needs the clean images" in text
    assert "a part of a published set, which has 50,000 images" in text
    page = run.report().read_text()
    assert "There are no clean images" in page
    assert json.loads((tmp_path / "run" / "results.json").read_bytes())["corruptions"]["clean_error"] is None


def test_clean_images_are_matched_by_class_and_name(published, tmp_path):
    root, clean = published()
    surplus = clean / imagenet1k().classes[0]
    PIL.Image.new("RGB", (64, 64)).save(surplus / "surplus.png")
    run = oodometer.evaluate("fake", root, clean=clean, progress=False)
    table = _table(run)
    assert len(table.images) == 4
    assert str(table.conditions[0]) == "clean"
    fake = oodometer.FakeModel()
    with PIL.Image.open(clean / table.images[2]) as picture:
        assert table.top[2, 0, 0] == fake.predict(np.asarray(picture)[None])[0].argmax()
    assert run.clean_error.n == 4
    missing = sorted(clean.rglob("*.JPEG"))[1]
    missing.unlink()
    with pytest.raises(DatasetError, match=rf"lacks the clean image of 1 of the 4 .*{missing.name}"):
        oodometer.evaluate("fake", root, clean=clean, progress=False)


def test_clean_images_of_another_class_are_refused(published):
    root, clean = published()
    first, second = sorted(clean.iterdir())
    for path in sorted(first.iterdir())[:1]:
        path.rename(second / path.name)
    with pytest.raises(DatasetError, match="lacks the clean image of 1"):
        oodometer.evaluate("fake", root, clean=clean, progress=False)


def test_clean_images_of_another_size_go_through_the_geometry_of_the_set(published, tmp_path):
    """256 on the shorter side, the central 224: as the pictures of the published set were made."""
    root, clean = published(images=2, corruptions=("fog",), side=224, clean_side=300)
    run = oodometer.evaluate("fake", root, clean=clean, progress=False)
    alone = oodometer.evaluate("fake", clean, corruptions=(), progress=False)
    one, other = _table(run).under(_table(run).conditions[0]), _table(alone)
    np.testing.assert_array_equal(one.top, other.top)
    np.testing.assert_array_equal(one.confidence, other.confidence)
    assert run.manifest.benchmarks[0].protocol.stored.clean == "256->224"
    root, clean = published(images=2, corruptions=("fog",), side=80, clean_side=300)
    with pytest.raises(DatasetError, match=r"300x300 pixels .* have 80x80"):
        oodometer.evaluate("fake", root, clean=clean, progress=False)


def test_a_preprocessing_that_is_asked_for_is_applied_to_the_stored_pictures(published):
    root, clean = published(images=2, corruptions=("fog",), side=80, clean_side=80)
    probe = Probe(lambda images: np.zeros((len(images), 1000)))
    run = oodometer.evaluate(probe, root, clean=clean, preprocess="tiny64", progress=False)
    assert {batch.shape[1:] for batch in probe.seen} == {(64, 64, 3)}
    assert run.manifest.benchmarks[0].protocol.preprocess.name == "tiny64"


@pytest.mark.parametrize("option", [{"encoding": "jpeg85"}, {"edition": "tiny64"}, {"method": "fast"}])
def test_what_is_on_disk_cannot_be_asked_for_otherwise(published, tmp_path, option):
    root, _ = published()
    (name,) = option
    with pytest.raises(ArgumentError, match=f"^{name}=.* were made before"):
        oodometer.evaluate("fake", root, tmp_path / "run", progress=False, **option)
    assert not (tmp_path / "run").exists()


def test_the_seed_is_of_the_order_alone(published, tmp_path):
    root, _ = published(images=8)
    one, other = (oodometer.evaluate("fake", root, tmp_path / str(s), seed=s, progress=False) for s in (0, 1))
    assert _same(one, other)
    few = {_table(oodometer.evaluate("fake", root, seed=s, limit=3, progress=False)).images for s in range(4)}
    assert len(few) > 1
    assert "different draws" not in " ".join(str(oodometer.compare([one, other])).split())


def test_corruptions_are_chosen_by_name_and_missing_ones_are_said(published):
    root, _ = published()
    run = oodometer.evaluate("fake", root, corruptions="contrast,snow", progress=False)
    assert set(run.errors) == {"contrast"}
    assert run.manifest.benchmarks[0].unavailable == {"snow": "not in c"}
    with pytest.raises(MetricError, match="snow: not in c"):
        run.mce()
    with pytest.raises(DatasetError, match=r"none of the corruptions asked for\. It has fog, contrast"):
        oodometer.evaluate("fake", root, corruptions="snow", progress=False)
    with pytest.raises(ArgumentError, match="Did you mean 'fog'"):
        oodometer.evaluate("fake", root, corruptions="fogg", progress=False)
    with pytest.raises(ArgumentError, match="No corruptions were asked for"):
        oodometer.evaluate("fake", root, corruptions=(), progress=False)


def test_corruptions_of_a_sets_own_are_in_no_mean(published):
    root, _ = published(corruptions=("fog", "plasma"))
    run = oodometer.evaluate("fake", root, corruptions="fog,plasma", progress=False)
    assert [row.name for row in run.summary().corruptions.extra] == ["plasma"]


def test_cells_of_different_images_are_refused(published):
    root, _ = published()
    next((root / "weather" / "contrast" / "4").rglob("*.JPEG")).unlink()
    with pytest.raises(DatasetError, match=r"lacks 1 of the 4 images(.|\n)*oodometer check"):
        oodometer.evaluate("fake", root, progress=False)


def test_an_image_that_is_damaged_under_one_condition_is_left_out_of_all(published):
    root, clean = published(images=6)
    whole = _table(oodometer.evaluate("fake", root, clean=clean, progress=False))
    victim = sorted((root / "weather" / "contrast" / "4").rglob("*.JPEG"))[3]
    victim.write_bytes(victim.read_bytes()[:300])
    id_ = f"{victim.parent.name}/{victim.name}"
    for batch_size in (1, 2, 6):
        run = oodometer.evaluate("fake", root, clean=clean, batch_size=batch_size, progress=False)
        table = _table(run)
        assert [skipped.image for skipped in run.skipped] == [id_]
        assert "contrast/4" in run.skipped[0].reason
        rows = [whole.images.index(image) for image in table.images]
        assert set(whole.images) - set(table.images) == {id_}
        np.testing.assert_array_equal(table.confidence, whole.confidence[rows])
        np.testing.assert_array_equal(table.labels, whole.labels[rows])


def test_when_no_picture_can_be_read_nothing_is_left(published, tmp_path):
    root, _ = published()
    for path in (root / "weather" / "contrast" / "2").rglob("*.JPEG"):
        path.write_bytes(b"no image")
    with pytest.raises(DatasetError, match="None of the 4 images"):
        oodometer.evaluate("fake", root, tmp_path / "run", progress=False)
    assert not (tmp_path / "run").exists()


def test_pictures_of_different_sizes_are_refused(published):
    root, _ = published()
    odd = sorted((root / "weather" / "contrast" / "4").rglob("*.JPEG"))[3]
    PIL.Image.new("RGB", (72, 72)).save(odd)
    for batch_size in (1, 4):
        with pytest.raises(DatasetError, match=r"64x64|72x72"):
            oodometer.evaluate("fake", root, batch_size=batch_size, progress=False)


def _cifar(root, images, corruptions, side=16):
    """Write arrays as CIFAR-10-C has them, and the clean ones beside them; return both and the labels."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, images)
    clean = rng.integers(0, 256, (images, side, side, 3)).astype(np.uint8)
    arrays = {name: rng.integers(0, 256, (5 * images, side, side, 3)).astype(np.uint8) for name in corruptions}
    (root / "c").mkdir()
    for name, array in arrays.items():
        np.save(root / "c" / f"{name}.npy", array)
    np.save(root / "c" / "labels.npy", np.tile(labels, 5))
    np.save(root / "images.npy", clean)
    np.save(root / "labels.npy", labels)
    return arrays, clean, labels


def test_arrays_of_cifar_c(tmp_path):
    arrays, clean, labels = _cifar(tmp_path, 6, ("fog", "contrast"))
    fake = oodometer.FakeModel(10)
    images = f"npy:{tmp_path / 'images.npy'},{tmp_path / 'labels.npy'}"
    run = oodometer.evaluate(fake, f"cifar10-c:{tmp_path / 'c'}", clean=images, progress=False)
    table = _table(run)
    assert run.manifest.benchmarks[0].protocol.stored.kind == "cifar10-c"
    by_row = sorted(zip(map(int, table.images), table.labels.tolist(), strict=True))
    assert [label for _, label in by_row] == labels.tolist()
    for row, image in enumerate(table.images):
        for column, condition in enumerate(table.conditions):
            severity = condition.severity
            picture = arrays[condition.corruption][6 * (severity - 1) + int(image)] if severity else clean[int(image)]
            assert table.top[row, column, 0] == fake.predict(picture[None])[0].argmax()


def test_other_severities_have_errors_and_no_ce(photographs, tmp_path):
    root = photographs(4)
    built = _build(root, tmp_path / "c", format="png", severities="1,2,3,4,5,7", corruptions="fog")
    partly = _build(root, tmp_path / "d", format="npy", severities="2,6", corruptions="fog,contrast")
    run = oodometer.evaluate("fake", built, progress=False)
    assert [(cell.corruption, cell.severity) for cell in run.summary().corruptions.other_cells] == [("fog", 7)]
    assert len(run.errors["fog"]) == 5
    five = oodometer.evaluate("fake", root, corruptions="fog", **FAST)
    assert run.errors == five.errors
    run = oodometer.evaluate("fake", partly, tmp_path / "run", progress=False)
    part = run.summary().corruptions
    assert (run.errors, part.mean_error, part.rows) == ({}, None, ())
    assert len(part.other_cells) == 4
    assert part.missing["fog"] == "not all of the five published severities are there"
    assert run.under("fog", 6).seen.all()
    assert "Top-1 error at other severities" in str(run.table())
    assert "What about other severities?" in run.report().read_text()


def test_severities_between_whole_numbers_are_said_to_be_left_out(photographs, tmp_path, capsys):
    built = _build(photographs(2), tmp_path / "c", format="npy", severities="1,2.5", corruptions="fog")
    run = oodometer.evaluate("fake", built)
    assert [str(c) for c in _table(run).conditions] == ["fog/1"]
    assert "no whole numbers are left out: 2.5" in " ".join(capsys.readouterr().err.split())


def test_a_precision_is_reached_from_files(tmp_path):
    """Each image is read under the conditions that it goes through, and gives there what it gives in a full run."""
    _cifar(tmp_path, 90, IMAGENET_C)
    fake, data = oodometer.FakeModel(10), f"cifar10-c:{tmp_path / 'c'}"
    run = oodometer.evaluate(fake, data, precision=30, progress=False)
    seen = _table(run).seen
    assert 0 < seen.sum(axis=1).max() < 75
    assert run.summary().corruptions.mean_error.n == len(seen)
    full = _table(oodometer.evaluate(fake, data, progress=False, batch_size=30))
    rows = [full.images.index(image) for image in _table(run).images]
    np.testing.assert_array_equal(_table(run).confidence[seen], full.confidence[rows][seen])
    paired = oodometer.evaluate(oodometer.FakeModel(10), data, paired=run, progress=False)
    np.testing.assert_array_equal(_table(paired).seen, seen)


def test_a_precision_needs_all_cells(published):
    root, _ = published()
    with pytest.raises(ArgumentError, match="there is no gaussian_noise: not in c"):
        oodometer.evaluate("fake", root, precision=1, progress=False)


SCRIPT = """
import sys, time
import oodometer
from oodometer.cli import main
fake = oodometer.FakeModel()
predict = fake.predict
def slow(images):
    time.sleep(0.01)
    return predict(images)
fake.predict = slow
oodometer.evaluate(fake, sys.argv[1], sys.argv[2], batch_size=2, progress=False)
"""


def test_a_killed_run_continues_to_the_same_result(published, tmp_path):
    root, _ = published(images=12)
    out = tmp_path / "run"
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, str(root), str(out)])
    deadline = time.monotonic() + 120
    while len(list(out.glob("predictions/imagenet-c/*.parquet"))) < 2:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline, "the run makes no progress"
        time.sleep(0.002)
    process.kill()
    process.wait(60)
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("predictions/imagenet-c/*.parquet")}
    assert 2 <= len(done) < 6
    resumed = oodometer.evaluate("fake", root, out, progress=False)
    after = {path.name: path.stat().st_mtime_ns for path in out.glob("predictions/imagenet-c/*.parquet")}
    assert done.items() <= after.items()
    assert _same(resumed, oodometer.evaluate("fake", root, progress=False))


def test_a_run_is_continued_and_another_set_is_refused(published, tmp_path):
    root, clean = published(images=8)
    whole = oodometer.evaluate("fake", root, batch_size=2, progress=False)
    oodometer.evaluate("fake", root, tmp_path / "run", batch_size=2, progress=False)
    blocks = sorted((tmp_path / "run" / "predictions" / "imagenet-c").glob("*.parquet"))
    for block in blocks[1:]:
        block.unlink()
    assert _same(whole, oodometer.evaluate("fake", root, tmp_path / "run", batch_size=3, progress=False))
    with pytest.raises(StoreError, match=r"protocol\.stored\.clean"):
        oodometer.evaluate("fake", root, tmp_path / "run", clean=clean, progress=False)
    blocks[0].unlink()
    other = Probe(lambda images: np.eye(1000, dtype=np.float32)[[7] * len(images)])
    other.fingerprint, other.name = (oodometer.FakeModel().fingerprint, oodometer.FakeModel().name)
    with pytest.raises(StoreError, match="another model"):
        oodometer.evaluate(other, root, tmp_path / "run", progress=False)


def test_builds_of_other_draws_are_no_one_set(photographs, tmp_path):
    """Arrays have no names and all pictures one size, so that only the manifest tells them apart."""
    root = photographs(4)
    one, other = (
        oodometer.evaluate(
            "fake",
            _build(root, tmp_path / f"c{seed}", format="npy", seed=seed, **FEW),
            tmp_path / f"r{seed}",
            progress=False,
            **FEW,
        )
        for seed in (0, 1)
    )
    with pytest.raises(StoreError, match=r"protocol\.stored\.seed"):
        oodometer.evaluate("fake", tmp_path / "c1", one.path, progress=False, **FEW)
    assert "different draws" in " ".join(str(oodometer.compare([one, other])).split())


def test_stored_pictures_are_not_compared_with_such_as_are_made_on_the_way(photographs, tmp_path):
    root = photographs(4)
    stored = oodometer.evaluate("fake", _build(root, tmp_path / "c", **FEW), progress=False, **FEW)
    on_the_way = oodometer.evaluate("fake", root, encoding="jpeg85", **FAST, **FEW)
    with pytest.raises(MetricError, match=r'protocols differ.*encoding: there "jpeg85", now "files"'):
        oodometer.compare([on_the_way, stored])
    with pytest.raises(MetricError, match="another protocol"):
        oodometer.evaluate("fake", tmp_path / "c", baseline=str(on_the_way.path), progress=False, **FEW)
    paired = oodometer.evaluate("fake", tmp_path / "c", baseline=str(stored.path), progress=False, **FEW)
    assert {round(row.ce.value, 12) for row in paired.summary().corruptions.rows} == {1.0}


def test_renditions_beside_stored_pictures(published, tmp_path):
    """They go through the geometry of the set; the gap needs the clean images."""
    root, clean = published(images=2, corruptions=("fog",), side=224, clean_side=300)
    shutil.copytree(clean / "n01440764", tmp_path / "r" / "n01443537")
    options = {"imagenet_r": tmp_path / "r", "progress": False}
    run = oodometer.evaluate("fake", root, **options)
    assert run.summary().renditions.gap is None
    alone = oodometer.evaluate("fake", clean, corruptions=(), **options)
    a, b = (r.store.table("imagenet-r", "imagenet-r") for r in (run, alone))
    np.testing.assert_array_equal(a.confidence, b.confidence)
    assert "no gap to clean accuracy" in " ".join(str(run.table()).split())


def test_own_classes_of_a_build_are_those_of_its_manifest(ten_classes, tmp_path):
    root, labels = ten_classes
    built = _build(root, tmp_path / "c", format="png", labels=labels, clean=True, **FEW)
    fake = oodometer.FakeModel(10)
    on_the_way = oodometer.evaluate(fake, root, labels=labels, **FAST, **FEW)
    stored = oodometer.evaluate(fake, built, progress=False, **FEW)
    assert _same(on_the_way, stored, lambda image: _stem(image).split("/")[-2:])
    assert stored.manifest.benchmarks[0].class_names == on_the_way.manifest.benchmarks[0].class_names


def test_wrong_inputs_are_refused_in_words(published, photographs, tmp_path):
    root, clean = published()
    cases = [
        ((clean,), {"clean": clean}, "holds clean images"),
        ((root,), {"clean": root}, "uncorrupted images"),
        ((root,), {"clean": 5}, "folder or a Dataset"),
        ((root,), {"clean": tmp_path / "none"}, "none"),
        ((root,), {"unlabelled": True}, "unlabelled=True. goes with clean images only"),
        ((root,), {"preprocess": "224"}, "imagenet224"),
        ((root,), {"out": root / "run"}, "within the data"),
        ((f"imagenet-c:{root}",), {"out": root / "run"}, "within the data"),
        ((root,), {"clean": clean, "out": clean / "run"}, "within the data"),
    ]
    for data, options, message in cases:
        with pytest.raises(oodometer.OodometerError, match=message):
            oodometer.evaluate("fake", *data, **({"progress": False} | options))
    with pytest.raises(ArgumentError, match="holds corrupted images"):
        oodometer.strength_curve("fake", root, "fog")
    built = _build(photographs(2, folder="other"), tmp_path / "b", format="png", clean=True, **FEW)
    with pytest.raises(ArgumentError, match="clean pictures of its own"):
        oodometer.evaluate("fake", built, clean=clean, progress=False)
    manifest = built / "manifest.json"
    whole = manifest.read_text()
    for damaged, message in (
        (whole.replace('"complete": true', '"complete": false'), "not finished"),
        (whole.replace('"quality"', '"qualiti"'), "damaged"),
        (whole[:300], "damaged"),
    ):
        manifest.write_text(damaged)
        with pytest.raises(DatasetError, match=message):
            oodometer.evaluate("fake", built, progress=False)


def test_parts_of_a_run_become_one(published, tmp_path):
    root, _ = published(images=8)
    whole = oodometer.evaluate("fake", root, progress=False)
    parts = [tmp_path / "a", tmp_path / "b"]
    for part in parts:
        oodometer.evaluate("fake", root, part, batch_size=2, progress=False)
        blocks = sorted((part / "predictions" / "imagenet-c").glob("*.parquet"))
        for block in blocks[parts.index(part) :: 2]:
            block.unlink()
    assert _same(whole, oodometer.merge(parts, tmp_path / "both"))


def test_tiny_imagenet_c_has_classes_of_its_own(tmp_path, textured):
    """Of its frost as first published nothing is evaluated, and the clean images are labelled in its 200 classes."""
    picture = PIL.Image.fromarray(textured(0))
    for wnid in imagenet1k().classes[100:300]:
        for cell in ("val", "c/fog/1", "c/frost/1"):
            (tmp_path / cell / wnid).mkdir(parents=True)
            picture.save(tmp_path / cell / wnid / "test_1.JPEG")
    (tmp_path / "c" / "frost" / "1" / "n01440764").mkdir()
    picture.save(tmp_path / "c" / "frost" / "1" / "n01440764" / "test_1.JPEG")
    fake, data = oodometer.FakeModel(200), f"tiny-imagenet-c:{tmp_path / 'c'}"
    run = oodometer.evaluate(fake, data, clean=tmp_path / "val", progress=False)
    assert [str(condition) for condition in _table(run).conditions] == ["clean", "fog/1"]
    assert sorted(_table(run).labels) == list(range(200))
    assert run.manifest.benchmarks[0].protocol.stored.kind == "tiny-imagenet-c"
    assert run.manifest.benchmarks[0].unavailable["frost"] == "not in c"


def test_the_command_takes_stored_pictures_and_their_clean_ones(published, tmp_path, capsys):
    root, clean = published()
    command = ["evaluate", "fake", "--data", f"imagenet-c:{root}", "--clean", str(clean), "-o", str(tmp_path / "run")]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "no resize, files; taken for the published ImageNet-C; clean images given (no resize)" in said
    with pytest.raises(SystemExit) as ended:
        main([*command, "--edition", "imagenet224"])
    assert ended.value.code == 2
    assert "Leave it out" in capsys.readouterr().err
