"""Do the intervals of calibration hold the truth? Classifiers whose true calibration is known, drawn again and again.

A classifier draws its confidence from a beta distribution, and is right with a probability that is a known function of
it. The truth is what the number comes to on infinitely many images: for bins of equal width an integral over each bin.
Under several conditions the confidences and the hits of one image are correlated.
"""

import itertools

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from oodometer import metrics

RIGHT = {
    "perfect": lambda c: c,
    "slightly overconfident": lambda c: c - 0.03 * c,
    "overconfident": lambda c: c - 0.15 * c,
    "over and under": lambda c: c + 0.15 * np.sin(2 * np.pi * c),
}
LAW = scipy.stats.beta(4, 1.5)


def draw(rng, n, right):
    confidences = LAW.ppf(rng.random(n))
    return confidences, rng.random(n) < RIGHT[right](confidences)


def true_ece(right, edges):
    def gap(c):
        return (c - RIGHT[right](c)) * LAW.pdf(c)

    return sum(abs(scipy.integrate.quad(gap, low, high)[0]) for low, high in itertools.pairwise(edges))


EQUAL = np.linspace(0, 1, 16)
TRUTH = {
    "width": lambda right: true_ece(right, EQUAL),
    "mass": lambda right: true_ece(right, LAW.ppf(EQUAL)),
}


def held(right, binning, n, draws, seed):
    rng, truth = np.random.default_rng(seed), TRUTH[binning](right)
    count = 0
    for _ in range(draws):
        found = metrics.expected_calibration_error_estimate(*draw(rng, n, right), binning=binning)
        count += found.low - 1e-9 <= truth <= found.high
    return count / draws


@pytest.mark.parametrize("right", ["perfect", "overconfident"])
def test_the_interval_of_an_ece_covers(right):
    """In 120 draws the share held has a standard deviation of 2 points."""
    assert held(right, "width", 300, 120, seed=0) >= 0.89


def test_the_quantiles_of_the_bootstrap_would_not_cover():
    """Show that the simulation can tell: the usual percentile interval of a perfect classifier never holds 0."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        confidences, hits = draw(rng, 300, "perfect")
        rows = rng.integers(300, size=(200, 300))
        again = [metrics.expected_calibration_error(confidences[r], hits[r]) for r in rows]
        assert np.quantile(again, 0.025) > 0.01


@pytest.mark.long
@pytest.mark.parametrize("n", [100, 500])
@pytest.mark.parametrize("binning", ["width", "mass"])
@pytest.mark.parametrize("right", RIGHT)
def test_the_interval_of_an_ece_covers_in_500_draws(right, binning, n):
    """The share held has a standard deviation of 1 point. It may exceed 97 % where the number itself is an end."""
    assert 0.92 <= held(right, binning, n, 500, seed=n) <= 0.99


@pytest.mark.long
@pytest.mark.parametrize("right", RIGHT)
def test_the_interval_of_the_rms_error_covers_in_500_draws(right):
    """On 1000 images in bins of 100, whose true edges are the tenths of the confidence's distribution."""
    edges = LAW.ppf(np.linspace(0, 1, 11))

    def squared(low, high):
        gap = scipy.integrate.quad(lambda c: (c - RIGHT[right](c)) * LAW.pdf(c), low, high)[0]
        return gap**2 / 0.1

    truth = np.sqrt(sum(squared(low, high) for low, high in itertools.pairwise(edges)))
    rng, count = np.random.default_rng(0), 0
    for _ in range(500):
        found = metrics.rms_calibration_error_estimate(*draw(rng, 1000, right))
        count += found.low - 1e-9 <= truth <= found.high
    assert 0.92 <= count / 500 <= 0.995


@pytest.mark.long
@pytest.mark.parametrize("n", [100, 500])
@pytest.mark.parametrize("right", RIGHT)
def test_the_interval_of_aurra_covers_in_500_draws(right, n):
    """The truth: the mean over coverages of the accuracy above the confidence that gives the coverage."""
    grid = (np.arange(200_000) + 0.5) / 200_000
    accuracy = np.cumsum(RIGHT[right](LAW.isf(grid))) / np.arange(1, len(grid) + 1)
    truth = accuracy.mean()
    rng, count = np.random.default_rng(n), 0
    for _ in range(500):
        found = metrics.aurra_estimate(*draw(rng, n, right))
        count += found.low <= truth <= found.high
    assert 0.92 <= count / 500 <= 0.98


@pytest.mark.long
@pytest.mark.parametrize("right", RIGHT)
def test_the_mean_ece_over_correlated_conditions_covers(right):
    """Five conditions of 400 images; confidences and outcomes of one image are correlated by .6 on the normal scale."""
    truth = TRUTH["width"](right)
    rng, count = np.random.default_rng(0), 0

    def correlated():
        normal = np.sqrt(0.6) * rng.standard_normal((400, 1)) + np.sqrt(0.4) * rng.standard_normal((400, 5))
        return scipy.stats.norm.cdf(normal)

    for _ in range(300):
        confidences = LAW.ppf(correlated())
        found = metrics.expected_calibration_error_estimate(confidences, correlated() < RIGHT[right](confidences))
        count += found.low - 1e-9 <= truth <= found.high
    assert 0.92 <= count / 300 <= 1
