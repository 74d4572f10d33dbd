"""Numbers of parts: each equals the plain mean over its part; changes need no label."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.families import EXTRA, FAMILIES, IMAGENET_C, SEVERITIES

NAMES = (*IMAGENET_C, *EXTRA)


def benchmark(seed, n):
    rng = np.random.default_rng(seed)
    return {name: rng.random((n, 5)) < rng.random(5) for name in NAMES}, rng.integers(0, 4, n)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_parts_are_means_over_their_part(seed, n):
    misses, labels = benchmark(seed, n)
    families = metrics.family_error_estimates(misses)
    assert list(families) == list(FAMILIES)
    for family, names in FAMILIES.items():
        assert families[family].value == pytest.approx(np.mean([misses[name] for name in names]))
        assert families[family].n == n
    severities = metrics.severity_error_estimates(misses)
    for k, _ in enumerate(SEVERITIES):
        assert severities[k].value == pytest.approx(np.mean([misses[name][:, k] for name in IMAGENET_C]))
    counted = {name: misses[name] for name in IMAGENET_C}
    mean = metrics.mean_corruption_error_estimate(misses).value
    assert np.mean([e.value for e in severities]) == pytest.approx(mean)
    classes = metrics.class_error_estimates(counted, labels)
    assert list(classes) == sorted(set(labels.tolist()))
    for k, estimate in classes.items():
        assert estimate.n == np.count_nonzero(labels == k)
        assert estimate.value == pytest.approx(np.mean([misses[name][labels == k] for name in IMAGENET_C]))
    assert sum(e.value * e.n for e in classes.values()) / n == pytest.approx(mean)


def test_a_family_of_which_a_part_is_missing_is_left_out():
    misses, _ = benchmark(0, 5)
    del misses["frost"]
    assert list(metrics.family_error_estimates(misses)) == ["noise", "blur", "digital"]
    counted = [name for name in IMAGENET_C if name != "frost"]
    assert metrics.severity_error_estimates(misses)[2].value == pytest.approx(
        np.mean([misses[name][:, 2] for name in counted])
    )


def test_what_was_not_predicted_does_not_count():
    misses, labels = benchmark(1, 80)
    mask = np.random.default_rng(0).random((80, 5)) < 0.3
    masked = {name: np.ma.array(array, mask=mask) for name, array in misses.items()}
    found = metrics.severity_error_estimates(masked)[0]
    assert found.value == pytest.approx(np.mean([misses[name][~mask[:, 0], 0] for name in IMAGENET_C]))
    assert set(metrics.class_error_estimates(masked, labels)) == {0, 1, 2, 3}


def test_parts_of_nothing_are_refused():
    misses, labels = benchmark(0, 5)
    with pytest.raises(MetricError, match="all 5 severities"):
        metrics.severity_error_estimates({name: misses[name] for name in EXTRA})
    with pytest.raises(MetricError, match="all 5 severities"):
        metrics.severity_error_estimates({"fog": misses["fog"][:, :3]})
    with pytest.raises(MetricError, match="one label per image"):
        metrics.class_error_estimates(misses, labels[:4])
    with pytest.raises(MetricError, match="no outcomes"):
        metrics.class_error_estimates({}, labels)


def test_changes_are_counted_by_hand():
    clean = np.array([3, 1, 7])
    under = {"fog": np.array([[3, 3, 1], [1, 1, 1], [2, 7, 2]])}
    found = metrics.changes(under, clean)
    assert found["fog"].tolist() == [[False, False, True], [False] * 3, [True, False, True]]
    rates = metrics.cell_error_estimates(found)["fog"]
    assert [rate.value for rate in rates] == pytest.approx([1 / 3, 0, 2 / 3])
    assert metrics.error_estimates(found)["fog"].value == pytest.approx(1 / 3)


def test_changes_of_what_was_not_predicted_are_masked():
    clean = np.ma.array([3, 1], mask=[False, True])
    under = {"fog": np.ma.array([[3, 4], [1, 1]], mask=[[True, False], [False, False]])}
    assert metrics.changes(under, clean)["fog"].tolist() == [[None, True], [None, None]]


@pytest.mark.parametrize("bad", [np.zeros((2, 5), int), np.zeros((3, 5)), np.zeros(3, int), np.zeros((3, 5), bool)])
def test_predictions_that_do_not_match_are_refused(bad):
    with pytest.raises(MetricError, match="'fog': expected integers, 3 images x severities"):
        metrics.changes({"fog": bad}, np.array([1, 2, 3]))
