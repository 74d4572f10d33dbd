"""An evaluation from a folder to numbers, with models whose every answer is known."""

import json
import sys
import tarfile

import numpy as np
import PIL.Image
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
        for field in ("labels", "top", "confidence", "nll", "brier"):
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
    "an exit": (lambda n: sys.exit(0), "SystemExit"),
    "words": (lambda n: np.full((n, 1000), "a"), "floats"),
    "complex": (lambda n: np.zeros((n, 1000), complex), "floats"),
    "masked": (lambda n: np.ma.zeros((n, 1000)), "floats"),
    "ragged": (lambda n: [[0.0]] * (n - 1) + [[0.0, 1.0]], "ValueError"),
    "nothing": (lambda n: None, "floats"),
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
        ({"limit": 0}, "limit must be a whole number from 1"),
        ({"batch_size": 0}, "batch_size must be a whole number from 1"),
        ({"workers": 0}, "workers must be a whole number from 1"),
        ({"model_options": "fp16"}, "are ModelOptions"),
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
    """But for one batch of clean images, which tells that the model is the same."""
    root = photographs(4)
    first = oodometer.evaluate("fake", root, tmp_path / "run", corruptions="fog", **FAST)
    fake = oodometer.FakeModel()
    probe = Probe(fake.predict, fake.name)
    again = oodometer.evaluate(probe, root, tmp_path / "run", corruptions="fog", **FAST)
    assert _equal(first, again)
    assert len(probe.seen) == 1
    np.testing.assert_array_equal(np.sort(probe.seen[0].ravel()), np.sort(np.stack(_pictures(root)).ravel()))


def _pictures(root):
    import PIL.Image

    pictures = []
    for path in sorted(root.rglob("*.png")):
        with PIL.Image.open(path) as image:
            pictures.append(np.array(image))
    return pictures


@pytest.mark.parametrize("other", [lambda n: _one_hot([7] * n), lambda n: _one_hot([3] * n) * 20])
def test_another_model_of_the_same_name_is_refused(photographs, tmp_path, other):
    """An object without a fingerprint is known by what it answers."""
    root, options = photographs(4), FAST | {"corruptions": "fog"}
    oodometer.evaluate(Probe(lambda images: _one_hot([3] * len(images)) * 5), root, tmp_path / "run", **options)
    with pytest.raises(StoreError, match="another model"):
        oodometer.evaluate(Probe(lambda images: other(len(images))), root, tmp_path / "run", **options)


def test_an_image_that_was_replaced_is_noticed(photographs, tmp_path):
    """Where the model sees it: the digest of a data set has names, labels and sizes only."""
    root, options = photographs(2), FAST | {"corruptions": "fog"}
    oodometer.evaluate("fake", root, tmp_path / "run", **options)
    one, other = sorted(root.rglob("*.png"))
    for path in (one, other):
        path.write_bytes(path.read_bytes().ljust(40_000, b"\0"))
    with pytest.raises(StoreError, match="images were added, removed, renamed, relabelled or replaced"):
        oodometer.evaluate("fake", root, tmp_path / "run", **options)
    oodometer.evaluate("fake", root, tmp_path / "padded", **options)
    first = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(first)
    with pytest.raises(StoreError, match="with other images"):
        oodometer.evaluate("fake", root, tmp_path / "padded", **options)


def test_a_torch_model_is_continued(photographs, tmp_path):
    """Its normalization goes through JSON and back."""
    import torch

    root = photographs(6)
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 1000, 64), torch.nn.Flatten())
    options = FAST | {"corruptions": "contrast", "batch_size": 2}
    whole = oodometer.evaluate(network, root, **options)
    oodometer.evaluate(network, root, tmp_path / "run", **options)
    max((tmp_path / "run" / "predictions" / "imagenet-c").glob("*.parquet")).unlink()
    resumed = oodometer.evaluate(network, root, tmp_path / "run", **options)
    assert _equal(whole, resumed)
    with torch.no_grad():
        network[0].bias += 1e-3
    with pytest.raises(StoreError, match=r"model\.fingerprint"):
        oodometer.evaluate(network, root, tmp_path / "run", **options)


def test_a_folder_with_something_else_is_not_taken(photographs, tmp_path):
    root, out = photographs(2), tmp_path / "mine"
    out.mkdir()
    oodometer.evaluate("fake", root, out, corruptions="fog", **FAST)  # an empty one is
    (out / "manifest.json").unlink()
    with pytest.raises(StoreError, match="is not empty and holds no run"):
        oodometer.evaluate("fake", root, out, corruptions="fog", seed=1, **FAST)


def test_a_run_does_not_lie_within_its_data(photographs):
    root = photographs(2)
    before = sorted(root.rglob("*"))
    for out in (root, root / "run", root / "n01440764" / "run"):
        with pytest.raises(ArgumentError, match="within the data"):
            oodometer.evaluate("fake", root, out, **FAST)
    assert sorted(root.rglob("*")) == before


@pytest.mark.parametrize(("batch", "corruptions"), [(1, "fog"), (16, "fog"), (1, ())])
def test_images_of_different_sizes_are_refused_for_any_batch(photographs, textured, batch, corruptions):
    import PIL.Image

    root = photographs(4)
    PIL.Image.fromarray(textured(50, 72)).save(root / "n01440764" / "large.png")
    with pytest.raises(DatasetError, match=r"72x72|64x64"):
        oodometer.evaluate("fake", root, corruptions=corruptions, batch_size=batch, **FAST)


def test_pictures_too_small_to_corrupt_are_named(photographs):
    with pytest.raises(DatasetError, match=r"\.png is 8x8 pixels, and corruptions need 16"):
        oodometer.evaluate("fake", photographs(2, side=8), **FAST)


def test_a_narrow_strip_is_skipped_and_not_blown_up(photographs):
    import PIL.Image

    root = photographs(3)
    PIL.Image.new("RGB", (1, 60_000)).save(root / "n01440764" / "strip.png")
    run = oodometer.evaluate("fake", root, corruptions="contrast", progress=False)
    assert [s.image for s in run.skipped] == ["n01440764/strip.png"]


def test_a_fault_of_the_disk_leaves_no_image_out(photographs, tmp_path):
    """The folder goes away in the middle and comes back: nothing may count as unreadable for ever."""
    root, out = photographs(8), tmp_path / "run"
    fake, calls = oodometer.FakeModel(), []

    def logits(images):
        calls.append(1)
        if len(calls) == 3 and root.exists():
            root.rename(tmp_path / "gone")
        return fake.predict(images)

    options = FAST | {"corruptions": "contrast", "batch_size": 2}
    with pytest.raises(DatasetError, match="Cannot read the file"):
        oodometer.evaluate(Probe(logits, fake.name), root, out, **options)
    (tmp_path / "gone").rename(root)
    run = oodometer.evaluate("fake", root, out, **options)
    assert run.skipped == ()
    assert _equal(run, oodometer.evaluate("fake", root, **options))


def test_the_baseline_of_a_run_can_be_changed(photographs, tmp_path):
    root, own = photographs(2), tmp_path / "b.json"
    own.write_text(json.dumps({"name": "ours", "errors": dict.fromkeys(IMAGENET_C, 0.5)}))
    oodometer.evaluate("fake", root, tmp_path / "run", **FAST)
    run = oodometer.evaluate("fake", root, tmp_path / "run", baseline=own, **FAST)
    assert "ours" in str(run.table())
    assert run.mce().value == pytest.approx(oodometer.metrics.mce(run.errors, own))
    assert "ours" in str(oodometer.evaluate("fake", root, tmp_path / "run", **FAST).table())
    assert run.summary(baseline="none").corruptions.mce is None


def test_a_baseline_without_all_fifteen_gives_no_mce_and_no_crash(photographs, tmp_path):
    own = tmp_path / "b.json"
    own.write_text(json.dumps({"name": "ours", "errors": {"fog": 0.5, "contrast": 0.4}}))
    run = oodometer.evaluate("fake", photographs(2), baseline=own, **FAST)
    assert run.summary().corruptions.mce is None
    assert {row.name for row in run.summary().corruptions.rows if row.ce} == {"fog", "contrast"}


def test_indices_can_be_those_of_imagenet(ten_classes, tmp_path):
    """Then the published baseline fits; else they are classes of one's own."""
    root, labels = ten_classes
    run = oodometer.evaluate("fake", root, labels=labels, label_space="imagenet-1k", **FAST)
    assert run.mce("alexnet").value > 1
    with pytest.raises(ArgumentError, match="imagenet-1k"):
        oodometer.evaluate("fake", root, labels=labels, label_space="imagenet", **FAST)


def test_own_classes_are_called_like_their_folders(ten_classes):
    root, labels = ten_classes
    run = oodometer.evaluate(oodometer.FakeModel(10), root, labels=labels, corruptions=(), **FAST)
    assert run.manifest.benchmarks[0].class_names == tuple(f"class{i}" for i in range(10))


@pytest.mark.parametrize("method", ["fast", "reference"])
def test_the_model_sees_what_the_protocol_says(photographs, method):
    """Pixel by pixel what ``corrupt`` gives for the same seed, image, method and edition."""
    root = photographs(3)
    probe = Probe(lambda images: np.zeros((len(images), 1000)))
    run = oodometer.evaluate(probe, root, corruptions="noise,glass_blur", method=method, seed=5, **FAST)
    paths = sorted(root.rglob("*.png"))
    names = {i.tobytes(): p.relative_to(root).as_posix() for i, p in zip(_pictures(root), paths, strict=True)}
    ids = [names[image.tobytes()] for image in probe.seen[0]]
    conditions = run.store.table("imagenet-c", "imagenet-1k").conditions
    for condition, batch in zip(conditions[1:], probe.seen[1:], strict=True):
        for id_, clean, image in zip(ids, probe.seen[0], batch, strict=True):
            expected = oodometer.corrupt(
                clean, condition.corruption, condition.severity, seed=5, method=method, edition="tiny64", image_id=id_
            )
            np.testing.assert_array_equal(image, expected)


def test_renditions_are_not_corrupted_and_the_gap_is_over_their_classes(photographs, tmp_path):
    """Clean images of other classes than the 200 take no part in it."""
    import shutil

    root = photographs(8)
    shutil.copytree(root / "n01440764", tmp_path / "r" / "n01443537")  # goldfish is among the 200, tench is not
    shutil.copytree(root / "n01440764", root / "n01443537")
    probe = Probe(lambda images: np.zeros((len(images), 1000)))
    run = oodometer.evaluate(probe, root, imagenet_r=tmp_path / "r", corruptions="contrast", **FAST)
    assert [str(c) for c in run.store.table("imagenet-r", "imagenet-r").conditions] == ["clean"]
    clean = run.store.table("imagenet-c", "imagenet-r")
    inside = {imagenet1k().classes[c] for c in imagenet_r().columns}
    expected = sorted(p.relative_to(root).as_posix() for p in root.rglob("*.png") if p.parent.name in inside)
    assert list(clean.images) == expected
    assert 0 < len(expected) < 10
    renditions = run.summary().renditions
    assert renditions.clean_accuracy.n == len(expected)


BAD_ARGUMENTS = [
    {"seed": True},
    {"seed": 1.5},
    {"seed": None},
    {"limit": 2.5},
    {"limit": True},
    {"batch_size": "2"},
    {"batch_size": 10**25},
    {"workers": 1.5},
    {"corruptions": None},
    {"corruptions": [1]},
    {"preprocess": ["none"]},
    {"model_options": 0.5},
    {"classes": 2},
    {"labels": [1]},
    {"out": 5},
    {"out": ""},
    {"out": "a\0b"},
    {"data": 5},
    {"data": ""},
    {"imagenet_r": 5},
    {"suite": 5},
    {"suite": {"a": 5}},
    {"suite": {5: "a"}},
    {"baseline": 5},
]


@pytest.mark.parametrize("options", BAD_ARGUMENTS, ids=str)
def test_an_argument_of_a_wrong_kind_is_an_argument_error(photographs, tmp_path, monkeypatch, options):
    data = photographs(2)
    monkeypatch.chdir(tmp_path)
    arguments = {"data": data, "out": tmp_path / "run"} | FAST | options
    with pytest.raises(oodometer.OodometerError):
        oodometer.evaluate("fake", **arguments)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["val"]


def test_whole_numbers_of_numpy_are_whole_numbers(photographs):
    run = oodometer.evaluate(
        "fake", photographs(4), corruptions="fog", seed=np.int64(1), limit=np.int32(2), batch_size=np.uint8(2), **FAST
    )
    assert (run.manifest.benchmarks[0].protocol.seed, run.manifest.benchmarks[0].images) == (1, 2)


class Given:
    """A data set of the user's own making."""

    name = "given"
    label_space = imagenet1k()

    def __init__(self, samples):
        self.samples = samples

    def read(self, sample):
        import PIL.Image

        return PIL.Image.new("RGB", (64, 64))


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([], "no images"),
        ([("a", 0), ("a", 1)], "'a' more than once"),
        ([("a", 1000)], "label of 'a' is 1000"),
        ([("a", -1)], "label of 'a' is -1"),
    ],
)
def test_a_data_set_of_the_users_own_is_checked(samples, message):
    from oodometer.types import Sample

    dataset = Given([Sample(id_, label, 1) for id_, label in samples])
    with pytest.raises(DatasetError, match=message):
        oodometer.evaluate("fake", dataset, **FAST)
    fine = Given([Sample("a", 0, 1)])
    assert oodometer.evaluate("fake", fine, corruptions=(), **FAST).clean_error.n == 1
    with pytest.raises(ArgumentError, match="belong to a folder"):
        oodometer.evaluate("fake", fine, labels={"a": 0}, **FAST)


def test_a_run_is_not_continued_with_other_versions(photographs, tmp_path, monkeypatch):
    """Pixels may differ between releases of Pillow, say; a finished run does not mind."""
    import importlib.metadata

    root, out = photographs(4), tmp_path / "run"
    options = FAST | {"corruptions": "fog", "batch_size": 2}
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


def test_the_pictures_of_the_report_are_those_of_the_first_image_that_can_be_read(photographs, tmp_path):
    """Kept once; a block without a readable image brings none, and a later one no second set."""
    from oodometer.datasets import open_folder
    from oodometer.plan import seeded_order

    root = photographs(6)
    first, second, *_ = seeded_order(open_folder(root).samples, 0)
    (root / first.id).write_bytes(b"no image".ljust(first.size, b"\0"))
    run = oodometer.evaluate("fake", root, tmp_path / "run", imagenet_r=None, corruptions="fog", batch_size=1, **FAST)
    kept = run.store.examples("imagenet-c")
    assert {example.image for example in kept} == {second.id}
    assert [str(example.condition) for example in kept] == ["clean", *(f"fog/{s}" for s in range(1, 6))]


@pytest.mark.parametrize("name", ["manifest.json", "", "page"])
def test_a_report_overwrites_no_file_of_another_kind(photographs, tmp_path, name):
    run = oodometer.evaluate("fake", photographs(2), tmp_path / "run", corruptions="fog", **FAST)
    before = (tmp_path / "run" / "manifest.json").read_bytes()
    with pytest.raises(ArgumentError, match="page"):
        run.report(tmp_path / "run" / name if name else "")
    assert (tmp_path / "run" / "manifest.json").read_bytes() == before
    assert run.report(tmp_path / "mine.html") == tmp_path / "mine.html"


def test_shards_are_clean_images_too_and_the_guess_is_said(tmp_path, capsys):
    folder = tmp_path / "val" / "n01440764"
    folder.mkdir(parents=True)
    PIL.Image.fromarray(np.full((300, 300, 3), 90, np.uint8)).save(folder / "a.png")
    with tarfile.open(tmp_path / "val.tar", "w") as tar:
        tar.add(tmp_path / "val", ".")
    by_folder = oodometer.evaluate("fake", tmp_path / "val", corruptions="fog", progress=False)
    by_shard = oodometer.evaluate("fake", tmp_path / "val.tar", corruptions="fog")
    assert by_shard.errors == by_folder.errors
    assert "val.tar was taken for" in capsys.readouterr().err
