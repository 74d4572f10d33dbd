"""An evaluation from a folder to numbers, with models whose every answer is known."""

import json

import numpy as np
import pytest
from probes import FAST, Probe

import oodometer
from oodometer.datasets import imagenet1k, imagenet_r
from oodometer.errors import ArgumentError, DatasetError, ModelError, StoreError
from oodometer.families import EXTRA, IMAGENET_C


def _one_hot(classes, width=1000):
    return np.eye(width, dtype=np.float32)[classes]


def _tables(run):
    return [
        run.store.table(benchmark.name, space)
        for benchmark in run.manifest.benchmarks
        for space in benchmark.label_spaces
    ]


def _equal(one, other):
    for a, b in zip(_tables(one), _tables(other), strict=True):
        assert (a.images, a.conditions) == (b.images, b.conditions)
        for field in ("labels", "top", "confidence", "nll"):
            np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    return True


def test_all_conditions_of_all_images_are_predicted(photographs):
    run = oodometer.evaluate("fake", photographs(5), **FAST)
    (table,) = _tables(run)
    assert len(table.images) == 5
    assert [str(c) for c in table.conditions] == ["clean", *(f"{c}/{s}" for c in IMAGENET_C for s in range(1, 6))]


@pytest.mark.parametrize("hits", [[1] * 8 + [0] * 2, [0] * 10, [1] * 10, [1, 0] * 5])
@pytest.mark.parametrize("batch", [1, 3, 4, 7, 10])
def test_accuracy_is_the_mean_over_images_not_over_batches(ten_classes, textured, hits, batch):
    """Case L1: 4, 4 and 0 hits in batches of 4, 4 and 2 are 80 %."""
    root, labels = ten_classes
    known = {textured(i).tobytes(): i for i in range(10)}

    def logits(images):
        numbers = [known[image.tobytes()] for image in images]
        return _one_hot([n if hits[n] else (n + 1) % 10 for n in numbers], 10)

    run = oodometer.evaluate(Probe(logits), root, labels=labels, corruptions=(), batch_size=batch, **FAST)
    assert run.clean_error.value == pytest.approx(1 - np.mean(hits))
    assert run.clean_error.n == 10


@pytest.mark.parametrize(("batch", "workers"), [(1, 1), (3, 4), (7, 2), (10, 1), (16, 3)])
def test_blocks_and_threads_change_nothing(photographs, batch, workers):
    """Case E1: the fake model's logits depend on each single byte that it is given."""
    root = photographs(10)
    reference = oodometer.evaluate("fake", root, batch_size=4, workers=2, **FAST)
    assert _equal(reference, oodometer.evaluate("fake", root, batch_size=batch, workers=workers, **FAST))


def test_another_seed_gives_other_pixels_and_the_same_clean_ones(photographs):
    root = photographs(4)
    one, other = (oodometer.evaluate("fake", root, seed=seed, **FAST) for seed in (0, 1))
    (a,), (b,) = _tables(one), _tables(other)
    same = (a.confidence == b.confidence).all(axis=0)
    random = {"noise", "glass_blur", "motion_blur", "snow", "frost", "fog", "elastic_transform"}
    for condition, equal in zip(a.conditions, same, strict=True):
        assert equal == (not any(word in condition.corruption for word in random)), condition


def test_images_of_one_colour_get_unlike_noise(tmp_path):
    """Case E2: 8 constant images with different names, 4 threads."""
    import PIL.Image

    root = tmp_path / "val" / imagenet1k().classes[0]
    root.mkdir(parents=True)
    for i in range(8):
        PIL.Image.new("RGB", (64, 64), (128, 128, 128)).save(root / f"{i}.png")
    probe = Probe(lambda images: _one_hot([0] * len(images)))
    oodometer.evaluate(
        probe, tmp_path / "val", corruptions="gaussian_noise,speckle_noise", batch_size=8, workers=4, **FAST
    )
    fields = np.concatenate([batch.reshape(8, -1) for batch in probe.seen[1:]]).astype(float)
    correlations = np.corrcoef(fields)
    np.fill_diagonal(correlations, 0)
    assert np.abs(correlations).max() < 0.05


def test_labels_come_from_the_folders_name(tmp_path):
    """Case I2: a model that answers with the class of the folder is always right, masked and unmasked."""
    import PIL.Image

    classes = imagenet1k().classes
    r = imagenet_r()
    for wnid in ("n01443537", "n02007558", "n12267677"):
        place = tmp_path / "r" / wnid
        place.mkdir(parents=True)
        index = classes.index(wnid)
        PIL.Image.new("RGB", (32, 32), (index // 256, index % 256, 0)).save(place / "art_0.png")
    probe = Probe(lambda images: _one_hot(images[:, 0, 0, 0].astype(int) * 256 + images[:, 0, 0, 1]))
    run = oodometer.evaluate(probe, tmp_path / "r", imagenet_r=tmp_path / "r", corruptions=(), **FAST)
    assert run.store.table("imagenet-r", "imagenet-r").labels.tolist() == [1, classes.index("n02007558"), 988]
    assert len(r.columns) == 200
    renditions = run.summary().renditions
    assert (renditions.accuracy.value, renditions.accuracy_unmasked.value) == (1.0, 1.0)
    assert renditions.gap.value == 0


def test_masked_and_unmasked_scores_stand_apart(tmp_path):
    """Case I1 through the whole road."""
    import PIL.Image

    (tmp_path / "r" / "n01443537").mkdir(parents=True)
    PIL.Image.new("RGB", (32, 32)).save(tmp_path / "r" / "n01443537" / "art_0.png")
    row = np.full(1000, -20.0, dtype=np.float32)
    row[:3] = 5, 4, 3
    probe = Probe(lambda images: np.tile(row, (len(images), 1)))
    run = oodometer.evaluate(probe, tmp_path / "r", imagenet_r=tmp_path / "r", corruptions=(), **FAST)
    renditions = run.summary().renditions
    assert renditions.accuracy.value == 1
    assert renditions.accuracy_unmasked.value == 0


def test_the_headline_counts_the_fifteen(photographs):
    """Case H3: with all 19 the mCE is that of the 15, to the last digit."""
    root = photographs(3)
    with_extra = oodometer.evaluate("fake", root, corruptions="all", **FAST)
    without = oodometer.evaluate("fake", root, **FAST)
    assert set(with_extra.errors) == {*IMAGENET_C, *EXTRA}
    assert with_extra.mce() == without.mce()
    assert with_extra.mce().value == pytest.approx(oodometer.metrics.mce(with_extra.errors))


def test_a_set_without_a_baseline_has_a_mean_error(ten_classes, tmp_path):
    """Case H4."""
    root, labels = ten_classes
    fake = oodometer.FakeModel(10)
    run = oodometer.evaluate(fake, root, labels=labels, **FAST)
    assert run.summary().corruptions.mean_error is not None
    with pytest.raises(oodometer.errors.MetricError, match="no mCE"):
        run.mce()
    own = tmp_path / "baseline.json"
    own.write_text(
        json.dumps(
            {"name": "ours", "clean_error": 0.1, "errors": {name: [0.5, 0.6, 0.7, 0.8, 0.9] for name in IMAGENET_C}}
        )
    )
    again = oodometer.evaluate(fake, root, labels=labels, baseline=str(own), **FAST)
    assert again.mce().value == pytest.approx(oodometer.metrics.mce(again.errors, own))
    assert "ours" in str(again.table())


def test_a_baseline_of_other_classes_fails_before_the_first_prediction(ten_classes):
    """Case H4: asking for an AlexNet mCE of one's own ten classes."""
    root, labels = ten_classes
    probe = Probe(lambda images: _one_hot([0] * len(images), 10))
    with pytest.raises((ArgumentError, oodometer.errors.MetricError), match="alexnet"):
        oodometer.evaluate(probe, root, labels=labels, baseline="alexnet", **FAST)
    assert probe.seen == []


def test_a_broken_image_is_left_out_of_every_condition(photographs):
    """Case C4: ten files, one cut in half."""
    import PIL.ImageFile

    root = photographs(10)
    victim = sorted(root.rglob("*.png"))[3]
    victim.write_bytes(victim.read_bytes()[: victim.stat().st_size // 2])
    before = PIL.ImageFile.LOAD_TRUNCATED_IMAGES
    run = oodometer.evaluate("fake", root, **FAST)
    (table,) = _tables(run)
    assert table.hits.shape == (9, 76)
    assert [s.image for s in run.skipped] == [victim.relative_to(root).as_posix()]
    assert victim.name in run.skipped[0].reason
    assert run.clean_error.n == 9
    assert victim.name in str(run.table())
    assert before == PIL.ImageFile.LOAD_TRUNCATED_IMAGES


def test_when_no_image_can_be_read_nothing_is_left(photographs, tmp_path):
    root = photographs(3)
    for path in root.rglob("*.png"):
        path.write_bytes(b"no image")
    with pytest.raises(DatasetError, match="None of the 3 images"):
        oodometer.evaluate("fake", root, tmp_path / "run", **FAST)
    assert not (tmp_path / "run").exists()


def test_strays_change_nothing(photographs, textured):
    """Case I3."""
    import PIL.Image

    root = photographs(4)
    clean = oodometer.evaluate("fake", root, corruptions="fog", **FAST)
    for stray in (".ipynb_checkpoints/a.png", "__MACOSX/n01440764/a.png", "n01440764/._0000.png"):
        (root / stray).parent.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(textured(99)).save(root / stray)
    for stray in ("README.txt", ".DS_Store"):
        (root / stray).write_text("stray")
    assert _equal(clean, oodometer.evaluate("fake", root, corruptions="fog", **FAST))


def test_without_an_output_folder_the_result_is_complete(photographs):
    """Case K4."""
    run = oodometer.evaluate("fake", photographs(2), **FAST)
    assert all(name in str(run.table()) for name in ("gaussian", "jpeg"))
    assert run.path.exists()


BAD_OUTPUTS = {
    "too narrow": (lambda n: np.zeros((n, 999)), "999 outputs"),
    "too wide": (lambda n: np.zeros((n, 1001)), "1001 outputs"),
    "one row": (lambda n: np.zeros((1, 1000)), "shape"),
    "one dimension": (lambda n: np.zeros(1000), "shape"),
    "NaN": (lambda n: np.full((n, 1000), np.nan), "NaN"),
    "infinite": (lambda n: np.full((n, 1000), np.inf), "NaN"),
    "an exception": (lambda n: 1 / 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("case", BAD_OUTPUTS)
def test_a_bad_output_is_refused_and_nothing_is_left(photographs, tmp_path, case):
    bad, named = BAD_OUTPUTS[case]
    with pytest.raises(ModelError, match=named):
        oodometer.evaluate(Probe(lambda images: bad(len(images))), photographs(4), tmp_path / "run", **FAST)
    assert not (tmp_path / "run").exists()


def test_a_late_nan_names_the_image_and_keeps_what_was_done(photographs, tmp_path):
    root = photographs(6)
    calls = []

    def logits(images):
        calls.append(len(images))
        out = np.zeros((len(images), 1000), dtype=np.float32)
        if len(calls) > 80:
            out[-1, 5] = np.nan
        return out

    with pytest.raises(ModelError, match=r"NaN .* for 'n\d+/\d+\.png' under"):
        oodometer.evaluate(Probe(logits), root, tmp_path / "run", batch_size=2, **FAST)
    assert len(oodometer.Run(tmp_path / "run").store.done("imagenet-c")) == 2


@pytest.mark.parametrize("limit", [1, 3, 8])
def test_a_limit_takes_the_first_of_the_same_order(photographs, limit):
    """Case J2: the same images, clean and corrupted, and exactly as many as asked for."""
    root = photographs(8)
    run = oodometer.evaluate("fake", root, corruptions="fog", limit=limit, **FAST)
    (table,) = _tables(run)
    assert len(table.images) == limit
    more = oodometer.evaluate("fake", root, corruptions="fog", limit=min(limit + 1, 8), **FAST)
    assert set(table.images) <= set(_tables(more)[0].images)


def test_more_images_than_there_are_is_an_error(photographs):
    with pytest.raises(DatasetError, match=r"9 images were asked for.* has 8"):
        oodometer.evaluate("fake", photographs(8), limit=9, **FAST)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"corruptions": "fogg"}, "'fog'"),
        ({"corruptions": ["fog", "snw"]}, "'snow'"),
        ({"preprocess": "imagenet"}, "imagenet224"),
        ({"encoding": "png"}, "memory, jpeg85"),
        ({"edition": "imagenet"}, "imagenet224"),
        ({"method": "slow"}, "fast, reference"),
        ({"baseline": "alexnett"}, "alexnet"),
        ({"limit": 0}, "at least 1"),
        ({"batch_size": 0}, "at least 1"),
        ({"workers": 0}, "at least 1"),
        ({"normalization": "caffe"}, "imagenet, none"),
    ],
)
def test_a_bad_option_is_named_before_any_work(photographs, tmp_path, options, message):
    probe = Probe(lambda images: np.zeros((len(images), 1000)))
    with pytest.raises(oodometer.OodometerError, match=message):
        oodometer.evaluate(probe, photographs(2), tmp_path / "run", **(FAST | options))
    assert probe.seen == []
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"model": "other"}, "model"),
        ({"data": "other"}, "digest"),
        ({"seed": 1}, "seed"),
        ({"encoding": "jpeg85"}, "encoding"),
        ({"limit": 2}, "images"),
        ({"corruptions": "fog,snow"}, "corruptions"),
        ({"method": "reference"}, "method"),
    ],
)
def test_a_folder_with_another_run_is_refused(photographs, tmp_path, change, named):
    zeros = Probe(lambda images: np.zeros((len(images), 1000)))
    options = FAST | {"corruptions": "fog"}
    oodometer.evaluate(zeros, photographs(4), tmp_path / "run", **options)
    before = {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}
    model = Probe(zeros.logits, "other") if change.pop("model", None) else zeros
    data = photographs(6, folder="more") if change.pop("data", None) else tmp_path / "val"
    with pytest.raises(StoreError, match="holds another run") as refusal:
        oodometer.evaluate(model, data, tmp_path / "run", **(options | change))
    assert named in str(refusal.value)
    assert before == {p: p.read_bytes() for p in (tmp_path / "run").rglob("*") if p.is_file()}


def test_a_finished_run_is_not_done_again(photographs, tmp_path):
    root = photographs(4)
    first = oodometer.evaluate("fake", root, tmp_path / "run", corruptions="fog", **FAST)
    probe = oodometer.FakeModel()
    probe.predict = lambda images: pytest.fail("predicted again")
    again = oodometer.evaluate(probe, root, tmp_path / "run", corruptions="fog", **FAST)
    assert _equal(first, again)


def test_a_run_is_not_continued_with_other_versions(photographs, tmp_path, monkeypatch):
    """Pixels may differ between releases of Pillow, say; a finished run does not mind."""
    import importlib.metadata

    root, out = photographs(4), tmp_path / "run"
    options = FAST | {"corruptions": "fog"}
    oodometer.evaluate("fake", root, out, **options)
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.0" if name == "pillow" else version(name))
    oodometer.evaluate("fake", root, out, **options)
    next((out / "predictions" / "imagenet-c").glob("*.parquet")).unlink()
    with pytest.raises(StoreError, match=r'other versions.*pillow: there ".*", now "0\.0"'):
        oodometer.evaluate("fake", root, out, **options)


def test_imagenet_r_is_for_the_thousand_classes(ten_classes, photographs):
    root, labels = ten_classes
    with pytest.raises(ArgumentError, match="custom-10"):
        oodometer.evaluate(oodometer.FakeModel(10), root, labels=labels, imagenet_r=photographs(2), **FAST)


def test_two_processes_do_not_share_a_folder(photographs, tmp_path):
    import filelock

    (tmp_path / "run").mkdir()
    with filelock.FileLock(tmp_path / "run" / ".lock"), pytest.raises(StoreError, match="Another process"):
        oodometer.evaluate("fake", photographs(2), tmp_path / "run", **FAST)


def test_a_moved_data_set_is_the_same_data_set(photographs, tmp_path):
    root = photographs(4)
    one = oodometer.evaluate("fake", root, corruptions="fog", **FAST)
    root.rename(tmp_path / "elsewhere")
    assert _equal(one, oodometer.evaluate("fake", tmp_path / "elsewhere", corruptions="fog", **FAST))


def test_images_of_different_sizes_are_refused_without_a_crop(photographs, textured):
    import PIL.Image

    root = photographs(4)
    PIL.Image.fromarray(textured(50, 72)).save(root / "n01440764" / "large.png")
    with pytest.raises(DatasetError, match=r"72x72|64x64"):
        oodometer.evaluate("fake", root, **FAST)


def test_an_object_without_predict_is_no_model(photographs):
    with pytest.raises(ModelError, match="predict"):
        oodometer.evaluate(object(), photographs(2), **FAST)


def test_corrupted_images_pass_through_jpeg_where_that_is_the_protocol(photographs):
    """The clean ones do not: the published clean images are not compressed a second time."""
    import io

    import PIL.Image

    root = photographs(2)
    seen = {}
    for encoding in ("memory", "jpeg85"):
        probe = Probe(lambda images: np.zeros((len(images), 1000)))
        oodometer.evaluate(probe, root, corruptions="contrast", encoding=encoding, **FAST)
        seen[encoding] = probe.seen
    np.testing.assert_array_equal(seen["memory"][0], seen["jpeg85"][0])
    for before, after in zip(seen["memory"][1:], seen["jpeg85"][1:], strict=True):
        for image, decoded in zip(before, after, strict=True):
            buffer = io.BytesIO()
            PIL.Image.fromarray(image).save(buffer, "JPEG", quality=85, optimize=True)
            np.testing.assert_array_equal(np.asarray(PIL.Image.open(buffer)), decoded)


def test_missing_textures_mean_no_frost_and_no_mce(photographs, monkeypatch):
    from oodometer import textures

    monkeypatch.setattr(textures, "find_frost", lambda: None)
    run = oodometer.evaluate("fake", photographs(2), **FAST)
    assert set(run.errors) == set(IMAGENET_C) - {"frost"}
    with pytest.raises(oodometer.errors.MetricError, match="frost"):
        run.mce()
    text = str(run.table())
    assert "frost" in text
    assert "oodometer fetch frost" in " ".join(text.split())
