"""Baselines: the published numbers, every way to give one, and what is refused."""

import json

import pytest

from oodometer.errors import ArgumentError, MetricError
from oodometer.families import EXTRA, IMAGENET_C
from oodometer.metrics import BASELINES, Baseline, load_baseline

# The published means, written down apart from the per-severity table that the package holds.
ALEXNET_MEANS = {
    "gaussian_noise": 0.886428,
    "shot_noise": 0.894468,
    "impulse_noise": 0.922640,
    "defocus_blur": 0.819880,
    "glass_blur": 0.826268,
    "motion_blur": 0.785948,
    "zoom_blur": 0.798360,
    "snow": 0.866816,
    "frost": 0.826572,
    "fog": 0.819324,
    "brightness": 0.564592,
    "contrast": 0.853204,
    "elastic_transform": 0.646056,
    "pixelate": 0.717840,
    "jpeg_compression": 0.606500,
    "speckle_noise": 0.845388,
    "gaussian_blur": 0.787108,
    "spatter": 0.717512,
    "saturate": 0.658248,
}

MINE = {"name": "mine", "clean_error": 0.1, "errors": {"fog": [0.2, 0.2, 0.5, 0.8, 1.0], "snow": 0.4}}


def test_alexnet_holds_the_published_means_of_all_nineteen():
    alexnet = BASELINES["alexnet"]
    assert set(alexnet.errors) == set(IMAGENET_C) | set(EXTRA) == set(ALEXNET_MEANS)
    assert {c: round(alexnet.mean_error(c), 6) for c in alexnet.errors} == ALEXNET_MEANS
    assert alexnet.clean_error == 0.435


def test_every_way_to_give_a_baseline_gives_the_same_one(tmp_path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(MINE))
    from_mapping = load_baseline(MINE)
    assert from_mapping is not None
    for spec in (file, str(file)):
        baseline = load_baseline(spec)
        assert baseline is not None
        assert baseline.source == str(file)
        assert (baseline.name, baseline.errors, baseline.clean_error) == ("mine", from_mapping.errors, 0.1)
    assert from_mapping.mean_error("fog") == pytest.approx(0.54)
    assert from_mapping.mean_error("snow") == 0.4
    assert from_mapping.mean_rise("fog") == pytest.approx(0.44)
    assert load_baseline(from_mapping) is from_mapping
    assert load_baseline("alexnet") is BASELINES["alexnet"]
    assert load_baseline(None) is None


def test_later_changes_of_a_mapping_do_not_reach_the_baseline():
    mine = {"name": "mine", "errors": {"fog": [0.5] * 5}}
    baseline = load_baseline(mine)
    mine["errors"]["fog"][0] = 0.9
    mine["errors"]["snow"] = [0.1] * 5
    assert baseline is not None
    assert baseline.errors == {"fog": (0.5,) * 5}


def test_an_unknown_name_lists_near_ones():
    with pytest.raises(ArgumentError, match=r"Unknown baseline 'alexnett'\. Did you mean 'alexnet'"):
        load_baseline("alexnett")


@pytest.mark.parametrize("spec", [7, ["alexnet"], b"alexnet"])
def test_other_types_are_refused(spec):
    with pytest.raises(ArgumentError, match=type(spec).__name__):
        load_baseline(spec)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[0.5, 0.5]", "expected {"),
        ('{"name": "mine"}', "expected {"),
        ('{"errors": {"fog": 0.5}}', "expected {"),
        ('{"name": 3, "errors": {"fog": 0.5}}', "expected {"),
        ('{"name": "mine", "errors": [0.5, 0.5]}', "expected {"),
        ('{"name": "mine", "errors": {"fog": 0.5}, "clean": 0.1}', "'clean'"),
        ('{"name": "mine", "errors": {"fog": [0.5, 0.5]}}', "'fog': expected 5 errors.*found 2"),
        (
            '{"name": "mine", "errors": {"fog": [0.5, 0.5, 76.7, 0.5, 0.5]}}',
            r"'fog', severity 3.*\[0, 1\].*76.7.*by 100",
        ),
        ('{"name": "mine", "errors": {"fog": [0.5, 0.5, 0.5, -0.1, 0.5]}}', "'fog', severity 4.*-0.1"),
        ('{"name": "mine", "errors": {"fog": [NaN, 0.5, 0.5, 0.5, 0.5]}}', "'fog', severity 1.*nan"),
        ('{"name": "mine", "errors": {"fog": [null, 0.5, 0.5, 0.5, 0.5]}}', "'fog', severity 1.*None"),
        ('{"name": "mine", "errors": {"fog": 0}}', "'fog': all errors are 0"),
        ('{"name": "mine", "errors": {"fog": "0.5"}}', "'fog'.*'0.5'"),
        ('{"name": "mine", "errors": {"fog": 0.5}, "clean_error": 43.5}', r"clean error.*43.5.*by 100"),
    ],
)
def test_a_bad_file_is_refused_by_its_name(tmp_path, content, message):
    file = tmp_path / "bad.json"
    file.write_text(content)
    with pytest.raises((ArgumentError, MetricError), match=message) as caught:
        load_baseline(file)
    assert str(file) in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ArgumentError, match=r"nowhere\.json: No such file"):
        load_baseline(str(tmp_path / "nowhere.json"))


def test_a_baseline_of_another_label_space_is_refused():
    assert load_baseline("alexnet", label_space="imagenet-1k") is BASELINES["alexnet"]
    assert load_baseline(MINE, label_space="ten-classes") is not None  # nobody said where it comes from
    with pytest.raises(MetricError, match=r"'imagenet-1k'.*'ten-classes'"):
        load_baseline("alexnet", label_space="ten-classes")


def test_what_a_baseline_lacks_is_named():
    with pytest.raises(MetricError, match=r"'mine' \(here\) has no errors for 'frost'; it has fog"):
        Baseline("mine", "here", {"fog": 0.5}).mean_error("frost")
    with pytest.raises(MetricError, match="no clean error"):
        Baseline("mine", "here", {"fog": 0.5}).mean_rise("fog")
    with pytest.raises(MetricError, match="'fog' is not above the clean error"):
        Baseline("mine", "here", {"fog": 0.5}, clean_error=0.5).mean_rise("fog")
