"""Another run as the baseline: its errors by name, its own uncertainty, and what does not fit refused."""

import shutil

import numpy as np
import pytest

from oodometer import Run, metrics
from oodometer.errors import ArgumentError, MetricError
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.metrics import BASELINES, load_baseline
from oodometer.run_baseline import find_baseline, recorded
from oodometer.store import BenchmarkRecord
from oodometer.types import CLEAN, Condition
from synthetic_runs import CELLS, IMAGENET224, Preprocess, write_run

OTHER_CROP = Preprocess("none", "none", None, None)


def record_of(store) -> BenchmarkRecord:
    return store.read_manifest().benchmark("imagenet-c")


def hits(seed, n, error=0.4):
    rng = np.random.default_rng(seed)
    image = rng.random(n)
    return {c: image + 0.5 * rng.standard_normal(n) > error + 0.15 * c.severity for c in CELLS}


def test_the_errors_are_the_runs_own(tmp_path):
    store = write_run(tmp_path / "other", images=30, hits=hits(0, 30), model="weaker")
    baseline = find_baseline(str(store.path), record_of(store))
    assert baseline.name == "weaker"
    assert "run other: 30 images" in baseline.source
    run = Run(store.path)
    for name, errors in run.errors.items():
        assert baseline.errors[name] == pytest.approx(errors)
    assert baseline.clean_error == pytest.approx(run.clean_error.value)
    assert run.mce(store.path).value == pytest.approx(1)
    assert run.relative_mce(store.path).value == pytest.approx(1)


def test_its_own_error_widens_the_interval_less_on_the_same_images(tmp_path):
    n = 60
    rng = np.random.default_rng(5)
    image = rng.random(n)  # how hard an image is, for both models
    both = [
        {c: image + 0.3 * rng.standard_normal(n) > error + 0.05 * c.severity for c in CELLS} for error in (0.3, 0.5)
    ]
    mine = Run(write_run(tmp_path / "mine", images=n, hits=both[0], baseline=None).path)
    weaker = write_run(tmp_path / "weaker", images=n, hits=both[1])
    elsewhere = write_run(tmp_path / "elsewhere", images=n, hits=both[1], digest="1")
    exact = mine.mce({"name": "exact", "errors": {k: list(v) for k, v in Run(weaker.path).errors.items()}})
    same, other = mine.mce(weaker.path), mine.mce(elsewhere.path)
    assert same.value == pytest.approx(exact.value)
    assert other.value == pytest.approx(exact.value)
    assert exact.high - exact.low < other.high - other.low
    assert same.high - same.low < other.high - other.low


def test_the_interval_is_the_delta_methods(tmp_path):
    """On the same images, by hand: the variance of one linear score per image."""
    n = 50
    mine = write_run(tmp_path / "mine", images=n, hits=hits(1, n, 0.3), baseline=None)
    other = write_run(tmp_path / "other", images=n, hits=hits(2, n, 0.5))
    found = Run(mine.path).mce(other.path)

    def outcomes(store):
        table = store.table("imagenet-c", "imagenet-1k")
        order = {c: k for k, c in enumerate(table.conditions)}
        wrong = table.top[:, :, 0] != table.labels[:, None]
        return {c: np.mean([wrong[:, order[Condition(c, s)]] for s in SEVERITIES], axis=0) for c in IMAGENET_C}

    own, theirs = outcomes(mine), outcomes(other)
    scores = np.zeros(n)
    for c in IMAGENET_C:
        ratio = own[c].mean() / theirs[c].mean()
        scores += (own[c] - ratio * theirs[c]) / (15 * theirs[c].mean())
    assert found.se == pytest.approx(scores.std(ddof=1) / np.sqrt(n))


def test_a_run_records_its_baseline_and_gives_the_same_numbers_again(tmp_path):
    other = write_run(tmp_path / "other", images=40, hits=hits(3, 40))
    baseline = find_baseline(other.path, record_of(other))
    content = recorded(baseline)
    assert content["run"] == str(other.path)
    mine = write_run(tmp_path / "mine", images=40, hits=hits(4, 40), baseline=content)
    before = Run(mine.path).mce()
    assert before == Run(mine.path).mce(other.path)
    assert not Run(mine.path).summary().corruptions.baseline.exact
    assert "its own error is in the intervals" in " ".join(str(Run(mine.path).table()).split())
    shutil.rmtree(other.path)
    after = Run(mine.path).mce()
    assert after.value == pytest.approx(before.value)  # the numbers stay, and are taken as exact now
    assert Run(mine.path).summary().corruptions.baseline.exact
    assert "taken as exact" in " ".join(str(Run(mine.path).table()).split())


def test_a_run_that_changed_since_lends_nothing(tmp_path):
    other = write_run(tmp_path / "other", images=40, hits=hits(3, 40))
    content = recorded(find_baseline(other.path, record_of(other)))
    shutil.rmtree(other.path)
    write_run(tmp_path / "other", images=40, hits=hits(9, 40))
    found = find_baseline(content, record_of(other))
    assert found.sample is None
    assert found.errors == {name: tuple(values) for name, values in content["errors"].items()}


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"encoding": "jpeg85"}, r"protocol.*encoding: there \"jpeg85\", now \"memory\""),
        ({"preprocess": OTHER_CROP}, r"protocol.*preprocess\.name: there \"none\", now \"imagenet224\""),
        ({"space": "mine-1000"}, "label space 'mine-1000'"),
        ({"names": ("x",) * 1000, "classes": tuple(map(str, range(1000)))}, "other classes"),
        ({"conditions": ()}, "no errors under corruptions"),
        ({"conditions": (CLEAN,)}, "no errors under corruptions"),
        ({"images": 0, "planned": 3}, "measured no image"),
    ],
)
def test_a_run_that_does_not_fit_is_refused(tmp_path, wishes, message):
    mine = write_run(tmp_path / "mine", images=5)
    other = write_run(tmp_path / "other", **({"images": 5, "renditions": 3} | wishes))
    with pytest.raises(MetricError, match=message):
        find_baseline(str(other.path), record_of(mine))


def test_a_baseline_that_lacks_corruptions_gives_the_ces_that_it_can(tmp_path):
    conditions = (CLEAN, *(Condition("fog", s) for s in SEVERITIES))
    mine = write_run(tmp_path / "mine", images=20, hits=hits(0, 20))
    partial = write_run(tmp_path / "partial", images=20, hits=hits(1, 20), conditions=conditions)
    part = Run(mine.path).summary(partial.path).corruptions
    assert [row.name for row in part.rows if row.ce is not None] == ["fog"]
    assert part.mce is None
    assert "no errors for 'gaussian_noise'" in part.mce_unavailable
    assert part.mean_ce.value == pytest.approx(next(row.ce.value for row in part.rows if row.name == "fog"))


def test_a_ratio_needs_two_images_of_each(tmp_path):
    one, other = (write_run(tmp_path / str(n), images=n, hits=hits(0, n, 0.9)) for n in (1, 5))
    for mine, baseline, counts in ((one, other, "1 and 5"), (other, one, "5 and 1")):
        part = Run(mine.path).summary(baseline.path).corruptions
        assert part.mce is None
        assert f"at least two images of the classifier and of the baseline; found {counts}" in part.mce_unavailable


def test_other_ways_to_name_a_baseline_still_work(tmp_path):
    mine = record_of(write_run(tmp_path / "mine", images=5))
    assert find_baseline("alexnet", mine) is BASELINES["alexnet"]
    assert find_baseline(None, mine) is None
    assert find_baseline("none", mine) is None
    with pytest.raises(ArgumentError, match="Unknown baseline 'alexnett'"):
        find_baseline("alexnett", mine)
    own = {"name": "mine", "errors": {"fog": [0.5] * 5}}
    assert find_baseline(recorded(load_baseline(own)), mine) == load_baseline(recorded(load_baseline(own)))
    assert recorded(BASELINES["resnet50"]) == "resnet50"
    assert recorded(None) is None
    assert IMAGENET224.crop == 224


def test_the_published_resnet50_is_what_its_ces_say():
    """The rounded CEs have the mean 76.87 (published is 76.7, of unrounded ones); relative to itself it is 1."""
    resnet50 = BASELINES["resnet50"]
    errors = {name: [resnet50.mean_error(name)] * 5 for name in IMAGENET_C}
    assert 100 * metrics.mce(errors, "alexnet") == pytest.approx(76.87, abs=0.005)
    assert metrics.mce(errors, "resnet50") == pytest.approx(1)
    assert {c: round(100 * ce) for c, ce in metrics.corruption_errors(errors).items()}["glass_blur"] == 89
    assert resnet50.clean_error == 0.2385
