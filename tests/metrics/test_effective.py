"""Effective robustness: on a line nobody is robust beyond it, and its intervals hold the truth."""

import numpy as np
import pytest

from oodometer import metrics
from oodometer.errors import MetricError


def expit(x):
    return 1 / (1 + np.exp(-x))


def draw(rng, n, clean, shifted):
    """Draw outcomes of models whose true accuracies are known, strongly correlated between models."""
    image = rng.standard_normal((n, 1))

    def hits(accuracies):
        from scipy.special import ndtri

        return np.sqrt(0.7) * image + np.sqrt(0.3) * rng.standard_normal((n, len(accuracies))) < ndtri(accuracies)

    return hits(clean).astype(float), hits(shifted).astype(float)


def truth(clean, shifted):
    x, y = np.log(clean / (1 - clean)), np.log(shifted / (1 - shifted))
    slope, intercept = np.polyfit(x, y, 1)
    return shifted - expit(intercept + slope * x)


CLEAN = np.array([0.6, 0.7, 0.75, 0.8])


def test_models_on_a_line_have_none():
    n = 10_000
    logits = np.log(CLEAN / (1 - CLEAN))
    clean = np.array([np.arange(n) < round(n * p) for p in CLEAN]).T.astype(float)
    shifted = np.array([np.arange(n) < round(n * p) for p in expit(0.8 * logits - 1)]).T.astype(float)
    for found in metrics.effective_robustness(clean, shifted, same_images=True):
        assert found.value == pytest.approx(0, abs=2e-4)
        assert found.low <= 0 <= found.high


def test_the_one_that_stands_out_is_found():
    rng = np.random.default_rng(0)
    shifted = np.array([0.35, 0.45, 0.7, 0.55])
    found = metrics.effective_robustness(*draw(rng, 3000, CLEAN, shifted), same_images=True)
    expected = truth(CLEAN, shifted)
    assert np.argmax([e.value for e in found]) == 2
    assert found[2].low > 0
    assert [e.value for e in found] == pytest.approx(expected, abs=0.03)
    assert sum(e.value for e in found) == pytest.approx(sum(expected), abs=0.03)


@pytest.mark.parametrize("same", [True, False])
def test_its_intervals_cover(same):
    """In 50 draws of 4 models the share held has a standard deviation of about 2 points."""
    rng, shifted = np.random.default_rng(1), np.array([0.4, 0.45, 0.55, 0.5])
    expected, held = truth(CLEAN, shifted), 0
    for _ in range(50):
        clean_hits, shifted_hits = draw(rng, 200, CLEAN, shifted)
        if not same:
            _, shifted_hits = draw(rng, 150, CLEAN, shifted)
        found = metrics.effective_robustness(clean_hits, shifted_hits, same_images=same)
        held += sum(e.low <= t <= e.high for e, t in zip(found, expected, strict=True))
    assert held / 200 >= 0.89


def test_images_are_drawn_with_both_their_outcomes():
    """Where the shifted outcomes are the clean ones, every draw lies on the line; as other images they would not."""
    clean, _ = draw(np.random.default_rng(2), 200, CLEAN, CLEAN)
    for found in metrics.effective_robustness(clean, clean, same_images=True):
        assert found.high - found.low < 1e-9
    for found in metrics.effective_robustness(clean, clean, same_images=False):
        assert found.high - found.low > 0.01


def test_what_gives_no_line_is_refused():
    right = np.ones((5, 3))
    with pytest.raises(MetricError, match="at least 3 classifiers, found 2"):
        metrics.effective_robustness(right[:, :2], right[:, :2], same_images=True)
    with pytest.raises(MetricError, match="equally accurate"):
        metrics.effective_robustness(right, right, same_images=True)
    with pytest.raises(MetricError, match="same images, found 5 and 4"):
        metrics.effective_robustness(right, right[:4], same_images=True)
    for bad in (right[:, :2], right[0], right[:0]):
        with pytest.raises(MetricError, match="images x classifiers"):
            metrics.effective_robustness(right, bad, same_images=False)
