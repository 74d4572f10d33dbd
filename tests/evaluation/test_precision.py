"""Evaluation to a given precision: a part of the conditions of each image, the same number, the same after a kill."""

import numpy as np
import PIL.Image
import pytest
from probes import FAST, Probe

import oodometer
from oodometer import plan
from oodometer.errors import ArgumentError, DatasetError, MetricError, StoreError
from oodometer.families import IMAGENET_C
from oodometer.report.summary import is_partial
from oodometer.store import RunStore
from oodometer.types import LabelSpace, Sample

BASELINE = {"name": "ours", "clean_error": 0.2, "errors": {name: 0.4 + 0.02 * i for i, name in enumerate(IMAGENET_C)}}
IMAGES = 240
OPTIONS = FAST | {"baseline": BASELINE, "batch_size": 4}


class Blobs:
    """Pictures of two classes that brightness tells apart, more or less; nothing on the disk."""

    name = "blobs"
    label_space = LabelSpace("blobs", ("dark", "light"), ("dark", "light"))

    def __init__(self, images):
        self.samples = [Sample(f"{i:04d}", i % 2, 1) for i in range(images)]

    def read(self, sample):
        rng = np.random.default_rng(int(sample.id))
        level = 128 + (12 if sample.label else -12) + 14 * rng.standard_normal()
        return PIL.Image.fromarray(np.clip(level + 40 * rng.standard_normal((16, 16, 3)), 0, 255).astype(np.uint8))


def _bright(images):
    light = images.mean(axis=(1, 2, 3)) - 128
    return np.stack([-light, light], axis=1)


def _model(logits=_bright, name="bright"):
    return Probe(logits, name)


def _table(run):
    return run.store.table("imagenet-c", "blobs")


def _half(estimate):
    return 100 * (estimate.high - estimate.low) / 2


@pytest.fixture(scope="module")
def full():
    """All conditions of all images."""
    return oodometer.evaluate(_model(), Blobs(IMAGES), **OPTIONS)


@pytest.fixture(scope="module")
def run():
    return oodometer.evaluate(_model(), Blobs(IMAGES), precision=10, **OPTIONS)


def test_it_stops_when_the_interval_is_narrow_enough(run, full):
    """At a part of the cost; the number is the one of the full run, by the plain formula on the errors of the cells."""
    estimate = run.mce()
    assert _half(estimate) <= 10
    seen = _table(run).seen
    assert 304 <= seen.sum() < 0.15 * _table(full).seen.size
    assert estimate.value == pytest.approx(oodometer.metrics.mce(run.errors, BASELINE))
    assert estimate.n == len(_table(run).images) < IMAGES
    assert abs(estimate.value - full.mce().value) < 0.12  # three standard errors


def test_an_image_is_treated_as_in_the_full_run(run, full):
    """Same pixels, same predictions: only fewer."""
    part, whole = _table(run), _table(full)
    rows = [whole.images.index(image) for image in part.images]
    assert part.conditions == whole.conditions
    np.testing.assert_array_equal(part.top[part.seen], whole.top[rows][part.seen])
    np.testing.assert_array_equal(part.confidence[part.seen], whole.confidence[rows][part.seen])
    np.testing.assert_array_equal(part.labels, whole.labels[rows])


def test_the_images_are_the_first_of_the_order_and_every_condition_is_seen_alike(run):
    table = _table(run)
    order = [s.id for s in plan.seeded_order(Blobs(IMAGES).samples, 0)]
    assert set(table.images) == set(order[: len(table.images)])
    counts = table.seen.sum(axis=0)
    assert counts.min() >= 4
    assert counts.max() - counts.min() <= 4


@pytest.mark.parametrize(("batch", "workers"), [(1, 1), (16, 3)])
def test_blocks_and_threads_change_nothing(run, batch, workers, monkeypatch):
    """But for the steps themselves, which rest on measured costs: here none are measured."""
    monkeypatch.setattr("oodometer.meter.Meter.decoding", 0.1)
    one = oodometer.evaluate(_model(), Blobs(IMAGES), precision=10, **OPTIONS)
    other = oodometer.evaluate(
        _model(), Blobs(IMAGES), precision=10, **(OPTIONS | {"batch_size": batch, "workers": workers})
    )
    _same(one, other)


def _same(one, other):
    a, b = _table(one), _table(other)
    assert (a.images, a.conditions) == (b.images, b.conditions)
    for field in ("labels", "top", "confidence", "nll", "brier"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))
    assert one.store.steps("imagenet-c") == other.store.steps("imagenet-c")


@pytest.mark.parametrize("calls", [1, 30, 76, 100, 140])
def test_a_run_that_is_stopped_goes_on_to_the_same_end(tmp_path, monkeypatch, calls):
    """Within the first step, between steps, within a later one."""
    monkeypatch.setattr("oodometer.meter.Meter.decoding", 0.1)
    whole = oodometer.evaluate(_model(), Blobs(IMAGES), precision=10, **OPTIONS)
    count = []

    def interrupted(images):
        count.append(1)
        if len(count) > calls:
            raise KeyboardInterrupt
        return _bright(images)

    with pytest.raises(KeyboardInterrupt):
        oodometer.evaluate(_model(interrupted), Blobs(IMAGES), tmp_path / "run", precision=10, **OPTIONS)
    assert len(_table(whole).images) < IMAGES
    assert not is_partial(whole.summary(), whole.manifest), "it knows what it was to find out"
    monkeypatch.setattr("oodometer.meter.Meter.decoding", 0.1)
    resumed = oodometer.evaluate(_model(), Blobs(IMAGES), tmp_path / "run", precision=10, **OPTIONS)
    _same(whole, resumed)


def test_a_later_step_is_kept_though_costs_have_changed(tmp_path, monkeypatch):
    """A step that was begun is finished as it was written down."""
    monkeypatch.setattr("oodometer.meter.Meter.decoding", 30.0)
    whole = oodometer.evaluate(_model(), Blobs(IMAGES), precision=10, **OPTIONS)
    first, second, *_ = whole.store.steps("imagenet-c")
    assert second.each > 2
    oodometer.evaluate(_model(), Blobs(IMAGES), tmp_path / "run", precision=10, **OPTIONS)
    files = sorted((tmp_path / "run" / "predictions" / "imagenet-c").glob("*.parquet"))
    for file in files[1:]:
        file.unlink()
    store = RunStore(tmp_path / "run")
    store.write_steps("imagenet-c", [first, second])
    monkeypatch.setattr("oodometer.meter.Meter.decoding", 0.0)
    oodometer.evaluate(_model(), Blobs(IMAGES), tmp_path / "run", precision=10, **OPTIONS)
    assert store.steps("imagenet-c")[:2] == (first, second)


def test_batches_are_full_and_of_one_condition(monkeypatch):
    """Many images through one condition each: a block holds as many as it takes."""
    monkeypatch.setattr("oodometer.precision.FIRST_EACH", 1)
    seen = []

    def logits(images):
        seen.append(len(images))
        return _bright(images)

    oodometer.evaluate(_model(logits), Blobs(IMAGES), precision=50, **(OPTIONS | {"batch_size": 1}))
    assert set(seen) == {1}
    seen.clear()
    monkeypatch.setattr("oodometer.precision.FIRST_EACH", 4)
    oodometer.evaluate(_model(logits), Blobs(IMAGES), precision=50, **OPTIONS)
    assert seen == [4] * 76


def test_where_images_are_few_it_stops_at_what_they_would_give(full):
    """These images do not tell the mCE to 4 points, but what they would give under all conditions is soon known."""
    assert _half(full.mce()) > 4
    run = oodometer.evaluate(_model(), Blobs(IMAGES), precision=4, **OPTIONS)
    seen = _table(run).seen
    assert len(seen) >= IMAGES - 5
    assert seen.sum() < 0.3 * seen.size
    assert _half(run.mce()) > _half(full.mce())
    design = run.summary().corruptions.design
    assert _half(design.of_all) <= 4
    assert design.of_all.low <= full.mce().value <= design.of_all.high


def test_a_pair_takes_the_images_and_conditions_of_the_other(run):
    other = oodometer.evaluate(_model(lambda images: -_bright(images), "dim"), Blobs(IMAGES), paired=run, **OPTIONS)
    a, b = _table(run), _table(other)
    assert a.images == b.images
    np.testing.assert_array_equal(a.seen, b.seen)
    assert (a.misses != b.misses).all()


def test_runs_that_share_hardly_a_condition_are_refused_with_what_to_do(run):
    few = oodometer.evaluate(_model(), Blobs(IMAGES), limit=8, **OPTIONS)
    with pytest.raises(
        MetricError, match=r"0 images through .* at severity \d in both. Evaluate one again with --paired"
    ):
        oodometer.compare([run, few])


def test_a_paired_difference_needs_less(run, tmp_path):
    """A model that differs in few answers: the difference is known before the number is."""

    def nearly(images):
        logits = _bright(images)
        flipped = images[:, 0, 0, 0] < 12
        return np.where(flipped[:, None], -logits, logits)

    other = oodometer.evaluate(
        _model(nearly, "nearly"), Blobs(IMAGES), tmp_path, paired=run.path, precision=10, **OPTIONS
    )
    a, b = _table(run), _table(other)
    rows = [a.images.index(image) for image in b.images]
    assert (a.seen[rows] >= b.seen).all()
    assert b.seen.sum() < 0.8 * a.seen.sum()
    from oodometer.pairing import difference

    estimate = difference(b, a, oodometer.metrics.load_baseline(BASELINE)).estimate
    assert _half(estimate) <= 10
    full = oodometer.evaluate(_model(), Blobs(IMAGES), limit=200, **OPTIONS)
    again = oodometer.evaluate(_model(nearly, "nearly"), Blobs(IMAGES), paired=full, precision=2, **OPTIONS)
    assert set(_table(again).images) <= set(_table(full).images)
    assert _table(again).seen.sum() < _table(full).seen.size / 4


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"precision": 0}, ArgumentError, "precision must be a number above 0"),
        ({"precision": "1"}, ArgumentError, "precision must be a number above 0"),
        ({"precision": float("nan")}, ArgumentError, "precision must be a number above 0"),
        ({"precision": 1, "corruptions": "fog"}, ArgumentError, "there is no gaussian_noise: it was not asked for"),
        ({"precision": 1, "limit": 75}, ArgumentError, "at least 76 images.* there are 75"),
        ({"paired": "nowhere"}, StoreError, "nowhere is not a run"),
        ({"paired": 5}, ArgumentError, "must be a path"),
    ],
)
def test_what_cannot_be_is_refused_before_any_work(options, error, message, tmp_path):
    probe = _model()
    with pytest.raises(error, match=message):
        oodometer.evaluate(probe, Blobs(IMAGES), tmp_path / "run", **(OPTIONS | options))
    assert probe.seen == []
    assert not (tmp_path / "run").exists()


def test_a_pair_of_other_images_or_protocols_is_refused(run):
    with pytest.raises(StoreError, match="other images"):
        oodometer.evaluate(_model(), Blobs(IMAGES - 1), paired=run, **OPTIONS)
    with pytest.raises(StoreError, match=r"seed: there 0, now 1.* give the options"):
        oodometer.evaluate(_model(), Blobs(IMAGES), paired=run, seed=1, **OPTIONS)


def test_another_precision_is_another_plan(run, tmp_path):
    oodometer.evaluate(_model(), Blobs(IMAGES), tmp_path, precision=50, **OPTIONS)
    with pytest.raises(StoreError, match=r"half_width: there 0\.5, now 0\.4"):
        oodometer.evaluate(_model(), Blobs(IMAGES), tmp_path, precision=40, **OPTIONS)
    with pytest.raises(StoreError, match="design"):
        oodometer.evaluate(_model(), Blobs(IMAGES), tmp_path, **OPTIONS)


def test_images_that_cannot_be_read_are_left_out():
    class Broken(Blobs):
        def read(self, sample):
            if int(sample.id) % 3 == 0:
                raise oodometer.errors.ImageError(f"{sample.id} is broken")
            return super().read(sample)

    run = oodometer.evaluate(_model(), Broken(IMAGES), precision=14, **OPTIONS)
    assert _half(run.mce()) <= 14
    assert len(run.skipped) == pytest.approx(len(_table(run).images) / 2, rel=0.4)

    class Nothing(Blobs):
        def read(self, sample):
            raise oodometer.errors.ImageError(f"{sample.id} is broken")

    with pytest.raises(DatasetError, match="None of the 240 images"):
        oodometer.evaluate(_model(), Nothing(IMAGES), precision=10, **OPTIONS)


def test_without_a_baseline_the_precision_is_that_of_the_mean_error():
    run = oodometer.evaluate(_model(), Blobs(IMAGES), precision=6, **(OPTIONS | {"baseline": None}))
    assert _half(run.summary().corruptions.mean_error) <= 6
