"""CE, mCE and their relative kin against worked figures, plain loops and the cases H1 to H4."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import MetricError
from oodometer.families import EXTRA, IMAGENET_C
from oodometer.metrics import (
    BASELINES,
    Baseline,
    corruption_errors,
    mce,
    mean_corruption_error,
    relative_corruption_errors,
    relative_mce,
)

ALEXNET = BASELINES["alexnet"]
ALEXNET_15 = {name: list(ALEXNET.errors[name]) for name in IMAGENET_C}
HALF = {name: [0.5] * 5 for name in IMAGENET_C}
# Case H2: a model and a baseline under one corruption.
H2 = {"fog": [0.1, 0.2, 0.3, 0.4, 0.5]}
H2_BASELINE = {"name": "H2", "clean_error": 0.1, "errors": {"fog": [0.2, 0.2, 0.5, 0.8, 1.0]}}

error_tables = st.fixed_dictionaries(
    {name: st.lists(st.floats(0, 1), min_size=5, max_size=5) for name in (*IMAGENET_C, *EXTRA)}
)


def test_alexnet_measured_by_itself_is_one_throughout():
    assert corruption_errors(ALEXNET_15) == dict.fromkeys(IMAGENET_C, 1.0)
    assert mce(ALEXNET_15) == 1.0
    assert set(relative_corruption_errors(ALEXNET_15, 0.435).values()) == {1.0}
    assert relative_mce(ALEXNET_15, 0.435) == 1.0


def test_mce_is_not_the_mean_error_nor_divided_by_the_mean_baseline():
    assert mean_corruption_error(HALF) == pytest.approx(0.5)
    assert mce(HALF) == pytest.approx(0.6467, abs=5e-5)
    assert abs(mce(HALF) - 0.6337) > 0.01


def test_clean_error_is_subtracted_at_each_severity():
    assert corruption_errors(H2, H2_BASELINE)["fog"] == pytest.approx(0.5556, abs=5e-5)
    assert relative_corruption_errors(H2, 0.05, H2_BASELINE)["fog"] == pytest.approx(0.5682, abs=5e-5)


@pytest.mark.parametrize(
    ("percent", "published", "rounding"),
    [
        ((80, 82, 83, 75, 89, 78, 80, 78, 75, 66, 57, 71, 85, 77, 77), 76.7, 0.5),
        ((77.3, 79.3, 80.2, 74.5, 88.6, 78.7, 79.8, 78.3, 75.8, 66.5, 57.0, 71.4, 85.2, 76.8, 76.1), 76.37, 0.05),
    ],
)
def test_published_resnet50_corruption_errors_average_to_its_mce(percent, published, rounding):
    ces = dict(zip(IMAGENET_C, percent, strict=True))
    errors = {name: [ces[name] / 100 * ALEXNET.mean_error(name)] * 5 for name in IMAGENET_C}
    assert corruption_errors(errors) == pytest.approx({name: ce / 100 for name, ce in ces.items()})
    assert 100 * mce(errors) == pytest.approx(published, abs=rounding)


def test_the_four_extra_corruptions_have_a_ce_and_no_part_in_the_mce():
    all_19 = HALF | {name: [1.0] * 5 for name in EXTRA}
    assert mce(all_19) == mce(HALF)
    assert relative_mce(all_19, 0.2) == relative_mce(HALF, 0.2)
    assert mean_corruption_error(all_19) == 0.5
    assert corruption_errors(all_19)["speckle_noise"] == pytest.approx(1 / 0.845388)
    assert relative_corruption_errors(all_19, 0.2)["saturate"] == pytest.approx(0.8 / (0.658248 - 0.435))


def test_a_custom_baseline_serves_and_its_lack_of_extras_does_not_matter_to_an_mce():
    mine = Baseline("mine", "here", dict.fromkeys(IMAGENET_C, 0.25))
    assert mce(HALF | {"spatter": [0.5] * 5}, mine) == 2.0
    with pytest.raises(MetricError, match="no errors for 'spatter'"):
        corruption_errors({"spatter": [0.5] * 5}, mine)


def test_without_a_baseline_only_the_mean_error_exists():
    for metric in (mce, corruption_errors):
        with pytest.raises(MetricError, match="no baseline"):
            metric(HALF, None)
    for metric in (relative_mce, relative_corruption_errors):
        with pytest.raises(MetricError, match="no baseline"):
            metric(HALF, 0.2, None)


@pytest.mark.parametrize("metric", [mean_corruption_error, mce, lambda errors: relative_mce(errors, 0.2)])
def test_fourteen_corruptions_make_no_mean_over_fifteen(metric):
    fewer = {name: errors for name, errors in HALF.items() if name not in ("frost", "fog")}
    with pytest.raises(MetricError, match="missing: frost, fog"):
        metric(fewer)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([0.5] * 4, "'fog': expected 5 errors.*found 4"),
        ([0.5] * 6, "found 6"),
        (0.5, "'fog': expected 5 errors.*found 0.5"),
        ([0.5, math.nan, 0.5, 0.5, 0.5], "'fog', severity 2.*nan"),
        ([0.5, 0.5, 0.5, 0.5, 50], "'fog', severity 5.*found 50.*divide percentages by 100"),
        ([0.5, 0.5, 0.5, 0.5, 5000], r"found 5000\.$"),
        ([0.5, 0.5, 0.5, -0.5, 0.5], "'fog', severity 4.*-0.5"),
        ([True] * 5, "'fog', severity 1.*True"),
        (["0.5"] * 5, "'fog', severity 1.*'0.5'"),
        (np.full((5, 2), 0.5), "'fog', severity 1"),
    ],
)
def test_what_is_no_list_of_five_errors_is_refused_with_its_place(bad, message):
    for metric in (mce, mean_corruption_error, corruption_errors, lambda e: relative_mce(e, 0.2)):
        with pytest.raises(MetricError, match=message):
            metric(HALF | {"fog": bad})


def test_errors_without_names_are_refused():
    for metric in (mce, mean_corruption_error, corruption_errors):
        with pytest.raises(MetricError, match="found list"):
            metric([[0.5] * 5] * 15)


def test_a_clean_error_in_percent_is_refused():
    with pytest.raises(MetricError, match=r"clean_error.*23\.9.*by 100"):
        relative_mce(HALF, 23.9)


def test_numpy_rows_are_as_good_as_lists():
    assert mce({name: np.array(row) for name, row in ALEXNET_15.items()}) == mce(ALEXNET_15)


@given(error_tables, st.floats(0, 1))
def test_all_numbers_equal_plain_loops(errors, clean):
    ce_sum = relative_sum = error_sum = 0.0
    for name in IMAGENET_C:
        table = ALEXNET.errors[name]
        ce_sum += sum(errors[name]) / sum(table)
        relative_sum += sum(e - clean for e in errors[name]) / sum(b - 0.435 for b in table)
        error_sum += sum(errors[name])
    assert mce(errors) == pytest.approx(ce_sum / 15, abs=1e-12)
    assert relative_mce(errors, clean) == pytest.approx(relative_sum / 15, abs=1e-12)
    assert mean_corruption_error(errors) == pytest.approx(error_sum / 75, abs=1e-12)


@given(error_tables, st.permutations([*IMAGENET_C, *EXTRA]))
def test_the_order_of_the_mapping_does_not_matter(errors, order):
    shuffled = {name: errors[name] for name in order}
    assert mce(shuffled) == mce(errors)
    assert relative_mce(shuffled, 0.3) == relative_mce(errors, 0.3)
    assert corruption_errors(shuffled) == corruption_errors(errors)
    assert list(corruption_errors(shuffled)) == order


@given(error_tables, st.floats(0, 1))
def test_ce_scales_with_the_errors(errors, factor):
    scaled = {name: [factor * e for e in row] for name, row in errors.items()}
    assert mce(scaled) == pytest.approx(factor * mce(errors), abs=1e-12)
    assert relative_mce(scaled, factor * 0.3) == pytest.approx(factor * relative_mce(errors, 0.3), abs=1e-12)
