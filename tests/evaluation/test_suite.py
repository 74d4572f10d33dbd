"""A suite: several shifted sets in one run, each among its own classes, beside clean images or alone."""

import json
import shutil
import tarfile

import numpy as np
import PIL.Image
import pytest
from click.testing import CliRunner
from probes import FAST, Probe

import oodometer
from oodometer.cli.main import cli
from oodometer.datasets import imagenet1k, imagenet_a, imagenet_r
from oodometer.errors import ArgumentError, DatasetError, MetricError, ModelError, StoreError
from oodometer.report.headlines import headlines

WNIDS = imagenet1k().classes
R, A = imagenet_r().columns, imagenet_a().columns


@pytest.fixture
def coded(tmp_path):
    """Return a function that writes pictures whose first pixel names the class that the probe will see in them."""

    def write(folder, pictures):
        for number, (place, seen) in enumerate(pictures):
            picture = np.full((64, 64, 3), 128, np.uint8)
            picture[0, 0] = seen // 256, seen % 256, 0
            path = tmp_path / folder / place
            path.mkdir(parents=True, exist_ok=True)
            PIL.Image.fromarray(picture).save(path / f"art_{number}.png")
        return tmp_path / folder

    return write


def _reader(second=None, sure=8.0):
    """Name the coded class, and ``second`` after it."""

    def logits(images):
        seen = images[:, 0, 0, 0].astype(int) * 256 + images[:, 0, 0, 1]
        out = np.full((len(images), 1000), -20.0, dtype=np.float32)
        if second is not None:
            out[:, second] = sure - 1
        out[np.arange(len(images)), seen] = sure
        return out

    return Probe(logits)


def _numbers(run):
    return {line.title: line.estimate.value for line in headlines(run.summary()) if line.estimate is not None}


def _of(run, name):
    return next(one.part for one in run.summary().shifted if one.name == name)


def test_each_set_is_scored_among_its_own_classes_and_all(coded, tmp_path):
    foreign = next(c for c in range(1000) if c not in A)
    wrong = A[1] if A[1] != A[0] else A[2]
    root = coded("a", [(WNIDS[A[0]], foreign), (WNIDS[A[0]], A[0]), (WNIDS[A[2]], wrong), (WNIDS[A[3]], A[3])])
    run = oodometer.evaluate(_reader(second=A[0]), suite={"a": root}, **_just())
    part = _of(run, "imagenet-a")
    # Without the foreign class the second choice is right for the first picture.
    assert part.accuracy.value == 3 / 4
    assert part.accuracy_unmasked.value == 2 / 4
    assert _numbers(run)["ImageNet-A accuracy (200 classes)"] == 3 / 4


def test_the_gap_is_to_the_clean_images_of_the_same_classes_masked_alike(coded):
    r_only = next(c for c in R if c not in A)
    both = next(c for c in R if c in A)
    foreign = next(c for c in range(1000) if c not in A and c not in R)
    clean = coded("clean", [(WNIDS[r_only], r_only), (WNIDS[both], foreign), (WNIDS[foreign], foreign)])
    shifted = {"r": coded("r", [(WNIDS[r_only], both)]), "a": coded("a", [(WNIDS[both], both)])}
    run = oodometer.evaluate(_reader(second=both), clean=clean, suite=shifted, **_just())
    summary = run.summary()
    assert summary.corruptions.clean_error.value == pytest.approx(1 / 3)  # among all classes
    # In R's classes: r_only right, both right once the foreign class is masked. In A's: both alone.
    assert (summary.renditions.clean_accuracy.value, summary.renditions.clean_accuracy.n) == (1, 2)
    assert (summary.renditions.accuracy.value, summary.renditions.gap.value) == (0, 1)
    assert (_of(run, "imagenet-a").clean_accuracy.n, _of(run, "imagenet-a").gap.value) == (1, 0)


def test_a_set_of_ones_own_is_scored_among_the_classes_that_it_has(coded):
    root = coded("mine", [(WNIDS[3], 500), (WNIDS[7], 7)])
    run = oodometer.evaluate(_reader(second=3), suite={"mine": root}, **_just())
    part = _of(run, "mine")
    assert (part.accuracy.value, part.accuracy_unmasked.value) == (1.0, 0.5)
    assert "mine accuracy (its classes)" in _numbers(run)


def test_among_all_classes_too_the_gap_is_to_clean_images_of_the_same_classes(coded):
    """A set of one class, and a part of V2: the clean images of other classes, all wrong here, do not count."""
    clean = coded("clean", [(WNIDS[3], 3), (WNIDS[3], 4), (WNIDS[10], 900), (WNIDS[11], 900)])
    suite = {"mine": coded("mine", [(WNIDS[3], 3)]), "v2": coded("v2", [("3", 5), ("7", 7)])}
    run = oodometer.evaluate(_reader(), clean=clean, suite=suite, **_just())
    mine, v2 = _of(run, "mine"), _of(run, "imagenet-v2")
    assert (mine.accuracy.value, mine.clean_accuracy.value, mine.clean_accuracy.n, mine.gap.value) == (1, 0.5, 2, -0.5)
    assert (v2.clean_accuracy.value, v2.clean_accuracy.n, v2.same_classes) == (0.5, 2, False)
    other = oodometer.evaluate(_reader(), clean=coded("far", [(WNIDS[10], 10)]), suite={"v2": suite["v2"]}, **_just())
    assert _of(other, "imagenet-v2").gap is None


def test_own_classes_too(ten_classes, tmp_path, textured):
    root, labels = ten_classes
    shifted = tmp_path / "shifted"
    for name in ("class2", "class5"):
        (shifted / name).mkdir(parents=True)
        PIL.Image.fromarray(textured(50)).save(shifted / name / "a.png")
    model = Probe(lambda images: np.eye(10, dtype=np.float32)[np.full(len(images), 2)])
    run = oodometer.evaluate(model, clean=root, labels=labels, suite={"mine": shifted}, **_just())
    assert _of(run, "mine").accuracy.value == 0.5
    assert _of(run, "mine").clean_accuracy.value == 0.5  # of class 2 and class 5
    assert run.summary().corruptions.clean_error.value == 0.9


def test_v2_folders_are_numbers_and_all_classes_take_part(coded):
    root = coded("imagenetv2-matched-frequency-format-val", [("0", 0), ("10", 10), ("2", 3)])
    run = oodometer.evaluate(_reader(), suite={"v2": root}, **_just())
    part = _of(run, "imagenet-v2")
    assert part.accuracy.value == pytest.approx(2 / 3)
    assert part.accuracy_unmasked is None
    assert "ImageNet-V2 accuracy" in _numbers(run)


def test_outliers_are_told_by_the_confidence(coded):
    """A model that is sure of class 1 and not of others: the clean one of class 2 is as unsure as the outliers."""

    def logits(images):
        seen = images[:, 0, 0, 1]
        out = np.zeros((len(images), 1000), dtype=np.float32)
        out[:, 1] = np.where(seen == 1, 9, 0)
        out[:, 2] = np.where(seen == 3, 4, 0)
        return out

    clean = coded("clean", [(WNIDS[1], 1), (WNIDS[1], 1), (WNIDS[2], 2), (WNIDS[900], 1)])
    outliers = coded("o", [(WNIDS[1], 2), (WNIDS[2], 3)])
    run = oodometer.evaluate(Probe(logits), clean=clean, suite={"o": outliers}, **_just())
    part = run.summary().outliers
    # Known: sure, sure, unsure (the class 900 takes no part). Outliers: unsure, medium. Of the six pairs 4 are told
    # apart by both sure ones; the unsure outlier ties with the unsure known one (1/2); the medium one is surer (0).
    assert part.clean_images == 3
    assert part.auroc.value == pytest.approx(4.5 / 6)
    # By rising confidence: (1 outlier, 1 known) together, then the other outlier: 1/2 * 1/2 + 1/2 * 2/3.
    assert part.aupr.value == pytest.approx(0.5 * 0.5 + 0.5 * 2 / 3)
    assert part.auroc.low <= part.auroc.value <= part.auroc.high


def test_outliers_without_clean_images_have_no_number(coded):
    run = oodometer.evaluate(_reader(), suite={"o": coded("o", [(WNIDS[1], 2)])}, **_just())
    assert run.summary().outliers.auroc is None
    assert "n/a" in str(run.table()).lower() or "ImageNet-O" in str(run.table())


def test_a_suite_beside_corruptions_is_one_run_and_one_report(coded, photographs, tmp_path):
    clean = photographs(4)
    suite = {"r": coded("r", [(WNIDS[R[0]], R[0])]), "mine": coded("mine", [(WNIDS[0], 0)])}
    model = Probe(lambda images: np.eye(1000, dtype=np.float32)[images[:, 0, 0, 1].astype(int)])
    run = oodometer.evaluate(model, clean, tmp_path / "run", suite=suite, corruptions="contrast", **FAST)
    assert [record.name for record in run.manifest.benchmarks] == ["imagenet-c", "imagenet-r", "mine"]
    page = run.report().read_text(encoding="utf-8")
    assert "How does it do on <bdi>mine</bdi>?" in page
    written = json.loads((tmp_path / "run" / "results.json").read_text())
    assert written["shifted"][0]["part"]["accuracy"]["value"] == 1.0
    again = oodometer.evaluate(model, clean, tmp_path / "run", suite=suite, corruptions="contrast", **FAST)
    assert str(again.table()) == str(run.table())


def test_hostile_names_of_own_sets_are_refused(coded):
    root = coded("mine", [(WNIDS[0], 0)])
    for name in ("../x", "", "imagenet-c", "imagenet-1k", "clean", "A B", "x" * 60, "<b>"):
        with pytest.raises(ArgumentError, match="cannot be the name"):
            oodometer.evaluate(_reader(), suite={name: root}, **_just())


def test_a_set_is_never_called_like_the_classes_of_the_model(coded):
    """A label space of that name would be kept beside the other, of the same images."""
    root = coded("mine", [("cat", 0), ("dog", 1), ("bird", 2)])
    less = coded("less", [("cat", 0), ("dog", 1)])
    own = {"labels": {"cat": 0, "dog": 1, "bird": 2}}
    narrow = Probe(lambda images: np.eye(3, dtype=np.float32)[images[:, 0, 0, 1]])
    with pytest.raises(ArgumentError, match="give the set another name"):
        oodometer.evaluate(narrow, clean=root, suite={"custom-3": less}, **_just(), **own)
    run = oodometer.evaluate(narrow, clean=root, suite={"custom-2": less}, **_just(), **own)
    assert _of(run, "custom-2").accuracy.value == 1


@pytest.mark.parametrize("beside", [True, False])
def test_labels_tell_the_classes_of_an_own_set(coded, beside):
    """The labels are of whichever folders are no wnids, with clean images or without."""
    root = coded("mine", [("cat", 7), ("dog", 8), ("dog", 9)])
    clean = {"clean": coded("val", [("cat", 7)])} if beside else {}
    labels = {"cat": WNIDS[7], "dog": WNIDS[8]}
    part = _of(oodometer.evaluate(_reader(), suite={"mine": root}, labels=labels, **clean, **_just()), "mine")
    assert (part.accuracy_unmasked.value, part.counts.classes) == (pytest.approx(2 / 3), 2)
    with pytest.raises(DatasetError, match="dog"):
        oodometer.evaluate(_reader(), suite={"mine": root}, labels={"cat": WNIDS[7]}, **clean, **_just())
    with pytest.raises(ArgumentError, match="labels"):
        oodometer.evaluate(_reader(), suite={"r": root}, labels=labels, **_just())
    with pytest.raises(DatasetError, match="one model's classes"):
        oodometer.evaluate(_reader(), suite={"mine": root}, labels={"cat": 0, "dog": 1}, **_just())


def test_a_set_of_one_class_is_scored_among_all(coded):
    """Among that one class every answer would be right."""
    root = coded("mine", [(WNIDS[3], 3), (WNIDS[3], 4)])
    for suite in ({"mine": root}, {"mine": root, "o": coded("o", [(WNIDS[0], 0), (WNIDS[1], 0)])}):
        part = _of(oodometer.evaluate(_reader(), suite=suite, **_just()), "mine")
        assert (part.accuracy.value, part.accuracy_unmasked) == (0.5, None)


def test_a_set_that_cannot_be_read_is_said_not_to_be_readable(coded, tmp_path):
    clean = coded("clean", [(WNIDS[3], 3), (WNIDS[4], 3)])
    (tmp_path / "bad" / WNIDS[3]).mkdir(parents=True)
    (tmp_path / "bad" / WNIDS[3] / "x.png").write_bytes(b"nothing")
    (said,) = (
        note
        for note in oodometer.evaluate(_reader(), clean=clean, suite={"bad": tmp_path / "bad"}, **_just())
        .summary()
        .notes
        if "bad" in note
    )
    assert "1 image of bad could not be read" in said
    assert "x.png" in said


def test_a_run_is_continued_in_any_order_of_the_sets_and_of_no_others(coded, tmp_path):
    clean = coded("clean", [(WNIDS[R[k]], R[k]) for k in range(4)])
    sets = {"mine": coded("mine", [(WNIDS[R[k]], R[k]) for k in range(3)]), "b": coded("b", [(WNIDS[0], 0)] * 2)}
    r = coded("r", [(WNIDS[R[0]], R[0]), (WNIDS[R[1]], 0)])
    here = {"clean": clean, "out": tmp_path / "run", **_just()}
    whole = oodometer.evaluate(_reader(), suite={"mine": sets["mine"], "r": r, "b": sets["b"]}, **here)
    (tmp_path / "run" / "predictions" / "mine" / "00000000.parquet").unlink()
    again = oodometer.evaluate(_reader(), suite={"b": sets["b"], "mine": sets["mine"], "r": r}, **here)
    assert again.summary() == whole.summary()
    for suite in ({"mine": sets["mine"]}, {**sets, "r": r, "c3": r}, {"x": sets["mine"], "b": sets["b"], "r": r}):
        with pytest.raises(StoreError, match="sets differ: there imagenet-c, mine, imagenet-r, b, now") as found:
            oodometer.evaluate(_reader(), suite=suite, **here)
        assert "renamed" not in str(found.value)


def test_published_sets_may_be_named_by_their_kind_and_lie_in_shards(coded, tmp_path):
    r = coded("r", [(WNIDS[R[k]], R[0]) for k in range(4)])
    with tarfile.open(tmp_path / "r.tar", "w") as tar:
        for folder in sorted(r.iterdir()):
            tar.add(folder, folder.name)
    shards = tmp_path / "shards"
    shards.mkdir()
    shutil.copy(tmp_path / "r.tar", shards / "0.tar")
    for key in ("r", "sketch"):
        kinds = [f"imagenet-{key}:{r}", r, tmp_path / "r.tar", shards, f"webdataset:{tmp_path / 'r.tar'}"]
        runs = [oodometer.evaluate(_reader(), suite={key: data}, **_just()) for data in kinds]
        parts = [run.summary().renditions or _of(run, f"imagenet-{key}") for run in runs]
        assert {(part.accuracy.value, part.counts.measured) for part in parts} == {(0.25, 4)}


def test_r_of_a_suite_is_the_same_as_imagenet_r(coded, tmp_path):
    root = coded("r", [(WNIDS[R[0]], R[0]), (WNIDS[R[1]], 0)])
    one = oodometer.evaluate(_reader(), imagenet_r=root, **_just())
    other = oodometer.evaluate(_reader(), suite={"r": root}, **_just())
    assert one.summary().renditions == other.summary().renditions
    with pytest.raises(ArgumentError, match="twice"):
        oodometer.evaluate(_reader(), imagenet_r=root, suite={"r": root}, **_just())


def test_c_of_a_suite_is_the_data(coded, tmp_path):
    for severity in range(1, 6):
        coded(f"c/fog/{severity}", [(WNIDS[0], 0), (WNIDS[1], 0)])
    run = oodometer.evaluate(_reader(), suite={"c": tmp_path / "c"}, progress=False)
    assert run.errors == {"fog": (0.5,) * 5}
    with pytest.raises(ArgumentError, match="twice"):
        oodometer.evaluate(_reader(), tmp_path / "c", suite={"c": tmp_path / "c"}, progress=False)


def test_limit_is_of_the_clean_images_or_without_any_of_each_set(coded):
    root = coded("mine", [(WNIDS[k], k) for k in range(6)])
    run = oodometer.evaluate(_reader(), suite={"mine": root}, limit=4, **_just())
    assert _of(run, "mine").counts.measured == 4
    clean = coded("clean", [(WNIDS[k], k) for k in range(3)])
    run = oodometer.evaluate(_reader(), clean=clean, suite={"mine": root}, limit=2, **_just())
    assert (run.summary().corruptions.counts.measured, _of(run, "mine").counts.measured) == (2, 6)
    with pytest.raises(DatasetError, match="7 images were asked for"):
        oodometer.evaluate(_reader(), suite={"mine": root}, limit=7, **_just())


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 1.0},
        {"corruptions": "fog"},
        {"encoding": "jpeg85"},
        {"unlabelled": True},
        {"classes": 7},
        {"baseline": "alexnet"},
    ],
)
def test_options_of_data_need_data(coded, options):
    root = coded("mine", [(WNIDS[0], 0)])
    with pytest.raises(ArgumentError, match=next(iter(options))):
        oodometer.evaluate(_reader(), suite={"mine": root}, preprocess="none", progress=False, **options)


def test_nothing_to_measure():
    with pytest.raises(ArgumentError, match="nothing to measure"):
        oodometer.evaluate(_reader())


def test_a_class_that_is_none_of_the_sets_is_named(coded):
    strange = next(c for c in range(1000) if c not in A)
    with pytest.raises(DatasetError, match=WNIDS[strange]):
        oodometer.evaluate(_reader(), suite={"a": coded("a", [(WNIDS[strange], 0)])}, **_just())


def test_published_sets_need_the_classes_of_imagenet(ten_classes, coded):
    root, labels = ten_classes
    with pytest.raises(ArgumentError, match="ImageNet-A is for models of the 1000"):
        oodometer.evaluate(
            oodometer.FakeModel(10), root, labels=labels, suite={"a": coded("a", [(WNIDS[A[0]], 0)])}, **FAST
        )


def test_the_command_takes_a_suite(coded, tmp_path):
    r, mine = coded("r", [(WNIDS[R[0]], R[0])]), coded("mine", [(WNIDS[0], 0), (WNIDS[1], 0)])
    command = ["evaluate", "fake", "--suite", f"r={r}", "--suite", f"mine={mine}", "--preprocess", "none"]
    done = CliRunner().invoke(cli, [*command, "-o", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert "mine accuracy (its classes)" in done.output
    for wrong in ("nonsense", "alexnet"):
        with pytest.raises(MetricError, match="no images under corruptions"):
            oodometer.Run(tmp_path / "run").report(baseline=wrong)
    for wrong, said in (("mine", "NAME=DATA"), (f"r={r}", "twice")):
        refused = CliRunner().invoke(cli, [*command, "--suite", wrong])
        assert refused.exit_code == 2
        assert said in refused.output


def test_a_model_of_the_200_classes_states_their_order(coded, tmp_path):
    """Two hundred outputs in the reverse order; the clean images are of these classes, too."""
    order = [WNIDS[column] for column in R][::-1]
    (tmp_path / "classes.txt").write_text("\n".join(order))
    place = {R[k]: len(R) - 1 - k for k in range(len(R))}

    def logits(images):
        seen = images[:, 0, 0, 0].astype(int) * 256 + images[:, 0, 0, 1]
        return np.eye(200, dtype=np.float32)[[place[one] for one in seen]] * 9

    root, clean = coded("r", [(WNIDS[R[5]], R[5]), (WNIDS[R[6]], R[5])]), coded("val", [(WNIDS[R[7]], R[7])])
    options = oodometer.ModelOptions(classes=tmp_path / "classes.txt")
    run = oodometer.evaluate(Probe(logits), clean=clean, imagenet_r=root, model_options=options, **_just())
    assert (run.summary().renditions.accuracy.value, run.clean_error.value) == (0.5, 0)
    with pytest.raises(ModelError, match="200 outputs"):
        oodometer.evaluate(Probe(logits), imagenet_r=root, **_just())
    other = coded("all", [(WNIDS[column], R[0]) for column in range(60)])
    with pytest.raises(ModelError, match=r"does not name \d+ of the \d+ classes"):
        oodometer.evaluate(Probe(logits), clean=other, imagenet_r=root, model_options=options, **_just())


def _just():
    """Return the options for small pictures that are not corrupted."""
    return {"preprocess": "none", "progress": False}
