"""Runs side by side: on shared images, refused where they mean different things, every number with its interval."""

import json
import math

import numpy as np
import pytest
import scipy.stats
from click.testing import CliRunner

import oodometer
from oodometer import Run, compare, metrics
from oodometer.cli import cli
from oodometer.errors import ArgumentError, MetricError, StoreError
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.types import CLEAN, Condition
from synthetic_runs import CELLS, Preprocess, write_run

N = 80


def world(seed=0):
    """Draw how hard each of N images is, and return what a model of some skill gets right of a range of them."""
    rng = np.random.default_rng(seed)
    image = rng.standard_normal(N)

    def hits(skill, first=0, stop=N, seed=0):
        own = np.random.default_rng([seed, 7])
        noise = {c: own.standard_normal(N) for c in CELLS}
        return {c: (image + 0.5 * noise[c] < skill - 0.25 * c.severity)[first:stop] for c in CELLS}

    return hits


@pytest.fixture
def two(tmp_path):
    """Write two runs: A of the images 0 to 69, B of 10 to 79."""
    hits = world()
    a = write_run(tmp_path / "a", images=70, hits=hits(0.5, 0, 70, seed=1), model="weaker")
    b = write_run(tmp_path / "b", images=70, first=10, hits=hits(1.0, 10, 80, seed=2), model="stronger")
    return a, b


def misses(store, first, stop):
    """Count from the stored rows: by condition, the misses of some images in their order."""
    import pyarrow.parquet as pq

    (path,) = (store.path / "predictions" / "imagenet-c").glob("*.parquet")
    names = [f"n00000000/{k:04d}.jpg" for k in range(first, stop)]
    found = {}
    for row in pq.read_table(path).to_pylist():
        if row["label_space"] == "imagenet-1k":
            found[row["corruption"], row["severity"], row["image"]] = row["prediction"] != row["label"]
    return {c: np.array([found[c.corruption, c.severity, name] for name in names]) for c in CELLS}


def test_only_images_that_all_runs_have_are_compared(two):
    a, b = two
    found = compare([a.path, b.path])
    assert [(run.letter, run.model, run.images, run.dropped) for run in found.runs] == [
        ("A", "weaker", 60, 10),
        ("B", "stronger", 60, 10),
    ]
    one, other = misses(a, 10, 70), misses(b, 10, 70)
    (pair,) = found.pairs
    assert found.runs[0].clean_error.value == pytest.approx(one[CLEAN].mean())
    assert pair.clean_error.difference.value == pytest.approx(other[CLEAN].mean() - one[CLEAN].mean())
    only_one, only_other = np.sum(one[CLEAN] & ~other[CLEAN]), np.sum(other[CLEAN] & ~one[CLEAN])
    assert pair.clean_error.p == pytest.approx(scipy.stats.binomtest(only_one, only_one + only_other).pvalue)
    for row in pair.corruptions:
        cells = [Condition(row.name, s) for s in SEVERITIES]
        plain = np.mean([other[c] for c in cells]) - np.mean([one[c] for c in cells])
        assert row.difference.value == pytest.approx(plain)
        assert row.difference.n == 60
        assert row.p <= row.p_holm
    assert pair.mean_error.value == pytest.approx(np.mean([row.difference.value for row in pair.corruptions]))
    errors = [{c: [float(m[Condition(c, s)].mean()) for s in SEVERITIES] for c in IMAGENET_C} for m in (one, other)]
    assert pair.mce.value == pytest.approx(metrics.mce(errors[1]) - metrics.mce(errors[0]))
    assert found.runs[1].mce.value == pytest.approx(metrics.mce(errors[1]))
    assert pair.mce.high < 0
    text = " ".join(str(found).split())
    assert "60 images of the imagenet-c set that all runs have" in text
    assert "A 10, B 10" in text
    assert "B less A, in points" in text


def test_the_order_turns_the_signs(two):
    a, b = two
    (forth,), (back,) = compare([a.path, b.path]).pairs, compare([b.path, a.path]).pairs
    assert back.mce.value == pytest.approx(-forth.mce.value)
    assert (back.mce.low, back.mce.high) == pytest.approx((-forth.mce.high, -forth.mce.low))
    assert [row.p for row in back.corruptions] == pytest.approx([row.p for row in forth.corruptions])


def test_a_run_differs_from_itself_in_nothing(two):
    found = compare([two[0].path, Run(two[0].path)])
    (pair,) = found.pairs
    assert (pair.mce.value, pair.clean_error.p) == (0, 1)
    assert {row.p_holm for row in pair.corruptions} == {1}
    assert pair.mce.low < 0 < pair.mce.high
    assert found.runs[0].dropped == 0


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"encoding": "jpeg85"}, r"protocols differ\. encoding: there \"memory\", now \"jpeg85\""),
        ({"preprocess": Preprocess("none", "none", None, None)}, r"protocols differ\. preprocess\.name"),
        ({"space": "mine"}, "label spaces differ: imagenet-1k and mine"),
        ({"digest": "other"}, "images differ"),
        ({"first": 40}, "share no image"),
    ],
)
def test_runs_that_mean_different_things_are_refused(tmp_path, wishes, message):
    a = write_run(tmp_path / "a", images=10)
    b = write_run(tmp_path / "b", images=10, **wishes)
    with pytest.raises(MetricError, match=message):
        compare([a.path, b.path])


@pytest.mark.parametrize("runs", [[], ["a"], "ab"])
def test_fewer_than_two_runs_are_refused(runs):
    with pytest.raises(ArgumentError, match="at least two"):
        compare(runs)


def test_a_folder_that_is_no_run_is_named(two, tmp_path):
    with pytest.raises(StoreError, match="nowhere is not a run"):
        compare([two[0].path, tmp_path / "nowhere"])


def test_what_does_not_forbid_a_comparison_is_said(tmp_path):
    fewer = (CLEAN, *(Condition(name, s) for name in ("fog", "snow") for s in SEVERITIES))
    a = write_run(tmp_path / "a", images=10, seed=1)
    b = write_run(tmp_path / "b", images=10, seed=2, conditions=fewer, baseline=None)
    found = compare([a.path, b.path])
    notes = " ".join(found.notes)
    assert "different seeds" in notes
    assert "left out: gaussian_noise, shot_noise" in notes
    assert "different baselines; here all are relative to that of A: alexnet" in notes
    assert found.corruptions == ("snow", "fog")
    (pair,) = found.pairs
    assert pair.mce is None
    assert found.runs[0].mce is None
    assert {row.name for row in pair.corruptions} == {"fog", "snow"}
    assert "mean error (2 of 15)" in str(found)
    assert "different baselines" not in " ".join(compare([a.path, b.path], baseline="none").notes)


def test_holm_is_over_the_corruptions_of_a_pair(two):
    (pair,) = compare([s.path for s in two]).pairs
    expected = metrics.holm({row.name: row.p for row in pair.corruptions})
    assert {row.name: row.p_holm for row in pair.corruptions} == expected


def test_renditions_and_gap(tmp_path):
    hits = world(3)
    a = write_run(tmp_path / "a", images=N, hits=hits(0.5, seed=1), masked=30, renditions=40)
    b = write_run(tmp_path / "b", images=N, hits=hits(1.0, seed=2), masked=30, renditions=40)
    found = compare([a.path, b.path])
    (pair,) = found.pairs
    assert found.runs[0].renditions == 40
    assert (pair.accuracy_r.difference.value, pair.accuracy_r.p) == (0, 1)
    gaps = [Run(s.path).summary().renditions.gap.value for s in (a, b)]
    assert [run.gap.value for run in found.runs] == pytest.approx(gaps)
    assert pair.gap.value == pytest.approx(gaps[1] - gaps[0])
    assert pair.gap.low < pair.gap.value < pair.gap.high
    assert "ImageNet-R accuracy" in str(found)
    without = write_run(tmp_path / "c", images=N, hits=hits(1.0, seed=2))
    found = compare([a.path, without.path])
    assert found.pairs[0].gap is None
    assert "Renditions are left out" in " ".join(found.notes)


def test_effective_robustness_needs_three_and_says_over_what(tmp_path, two):
    assert compare([s.path for s in two]).effective == ()
    hits = world()
    stores = [
        write_run(tmp_path / f"m{k}", images=N, hits=hits(skill, seed=k), model=f"m{k}")
        for k, skill in enumerate((0.2, 0.6, 1.0, 1.4))
    ]
    found = compare([s.path for s in stores])
    (table,) = found.effective
    assert table.shift == "corruptions"

    def logit(p, n):
        return math.log((p * n + 0.5) / ((1 - p) * n + 0.5))

    x = [logit(1 - run.clean_error.value, N) for run in found.runs]
    y = [logit(1 - run.mean_error.value, N) for run in found.runs]
    line = scipy.stats.linregress(x, y)
    for row, a, b in zip(table.rows, x, y, strict=True):
        expected = 1 / (1 + math.exp(-b)) - 1 / (1 + math.exp(-(line.intercept + line.slope * a)))
        assert row.effective_robustness.value == pytest.approx(expected)
        assert row.effective_robustness.low < expected < row.effective_robustness.high
    assert "through these 4 models" in str(found)
    assert len(found.pairs) == 3


def test_a_run_as_the_baseline_is_taken_as_exact_in_differences(two, tmp_path):
    a, b = two
    found = compare([a.path, b.path], baseline=a.path)
    assert found.baseline == "weaker"
    assert any("taken as exact" in note for note in found.notes)
    assert found.pairs[0].mce.value < 0


def test_json_holds_every_number_with_its_interval(two, tmp_path):
    target = tmp_path / "comparison.json"
    result = CliRunner().invoke(cli, ["compare", *(str(s.path) for s in two), "--json", str(target)])
    assert result.exit_code == 0, result.output
    found = compare([s.path for s in two])
    assert result.output.strip() == str(found).strip()
    written = json.loads(target.read_text())
    assert written == json.loads(json.dumps(found.results(), allow_nan=False))
    mce = found.pairs[0].mce
    assert written["pairs"][0]["mce"] == {"value": mce.value, "low": mce.low, "high": mce.high, "se": mce.se, "n": 60}
    assert written["protocol"]["label"] == "256->224, memory"
    assert written["runs"][0]["dropped"] == 10


def test_text_of_any_names_stays_within_its_width(tmp_path):
    a = write_run(tmp_path / "a", images=10, model="\x1b[31m" + "long " * 60)
    b = write_run(tmp_path / "b", images=10, model="[bold]b[/bold]")
    text = str(compare([a.path, b.path]))
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    assert "[bold]b[/bold]" in text


def test_the_facade_has_both():
    assert oodometer.compare is compare
    assert oodometer.Comparison.__name__ == "Comparison"
