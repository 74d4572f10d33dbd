"""The next step is the cheapest, the goal is what it says, and the intervals in the end hold the truth."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer import metrics
from oodometer.families import IMAGENET_C
from oodometer.metrics.incomplete import Spread, mce_spread
from oodometer.metrics.intervals import student
from oodometer.metrics.sequential import ENOUGH, next_step, reached

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def benchmark():
    """Load the script that resamples a run: its simulation is the one that is tested here."""
    sys.path.insert(0, str(BENCHMARKS))
    try:
        spec = importlib.util.spec_from_file_location("precision_benchmark", BENCHMARKS / "precision.py")
        module = sys.modules["precision_benchmark"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCHMARKS))
    return module


def _spread(alone, shared, images, each, conditions=76):
    passes, pairs = images * each, images * each * (each - 1)
    variance = alone / passes + shared * pairs / passes**2
    return Spread(0.6, variance, alone, shared, images, passes, pairs, conditions, 0.0, 1.3)


def _after(found, images, each):
    """Compute the variance after a further step, from the formula in the docstring of ``Spread``."""
    passes = found.passes + images * each
    return found.alone / passes + found.shared * (found.pairs + images * each * (each - 1)) / passes**2


@settings(max_examples=40, deadline=None)
@given(
    st.floats(0.1, 0.4),
    st.floats(0.0, 0.9),
    st.floats(0.0, 20.0),
    st.floats(0.02, 0.06),
    st.integers(400, 3000),
)
def test_the_forecast_is_that_of_the_cheapest_way(alone, correlation, decoding, half_width, left):
    """By plain search over all numbers of images and conditions that are allowed."""
    found = _spread(alone, correlation * alone, 76, 4)
    images = 10**6
    choice = next_step(found, half_width, images, left=left, most=76, decoding=decoding)
    allowed = (half_width / student(75)) ** 2 * (1 - 76**-0.5)
    costs = {}
    for each in range(1, 9):
        counts = np.arange(1, left + 1)
        good = counts[[_after(found, int(x), each) <= allowed for x in counts]]
        # The variance can rise at first; what counts is from where on it is low enough.
        if len(good) and (good[0] == counts[-len(good)] or np.all(np.diff(good) == 1)):
            costs[each] = good[0] * (decoding + each)
    assert choice.images <= max(math.ceil(304 / choice.each), 1)
    if costs:
        needed = (choice.forecast - found.passes) / choice.each
        assert needed * (decoding + choice.each) <= min(costs.values()) + (decoding + choice.each)
        assert _after(found, int(needed), choice.each) <= allowed * (1 + 1e-9)


def test_dear_images_go_through_more_conditions():
    """About sqrt(d (1 - r) / r) of them, where decoding costs d passes and the outcomes have the correlation r."""
    found = _spread(0.33, 0.11, 5000, 4)
    each = [next_step(found, 0.005, 10**7, left=10**7, most=76, decoding=d).each for d in (0.0, 0.2, 2.0, 8.0, 50.0)]
    assert each[:2] == [1, 1]
    assert each[2:] == pytest.approx([2, 4, 9], abs=2)
    assert sorted(each) == each


def test_few_images_go_through_more_conditions():
    """As many as it takes to reach the goal with the images that are left."""
    found = _spread(0.33, 0.107, 2000, 2)
    each = [next_step(found, 0.005, 10**6, left=n, most=76, decoding=0.0).each for n in (10**5, 40_000, 25_000)]
    assert each[0] == 1
    assert 1 < each[1] < each[2]


def test_the_goal_is_half_the_width_of_the_interval():
    found = _spread(0.33, 0.1, 3000, 1)
    half = (found.estimate.high - found.estimate.low) / 2
    assert reached(found, half + 1e-9, 10**6) == found.estimate
    assert reached(found, half - 1e-9, 10**6) is None


def test_where_images_do_not_suffice_the_goal_is_what_they_would_give():
    found = _spread(0.33, 0.11, 400, 8)
    own = found.between / 400
    assert reached(found, 0.02, 400) == found.of_all(400)
    assert found.of_all(400).se == pytest.approx(math.sqrt(found.variance - own))
    # The images' own part of the variance decides, at three quarters of what is allowed.
    just = student(399) * math.sqrt(own / ENOUGH)
    assert reached(found, just * 0.999, 400) == found.of_all(400)
    assert reached(found, just * 1.001, 400) == found.estimate


def test_outcomes_that_all_agree_ask_for_as_many_images_again():
    choice = next_step(_spread(0.0, 0.0, 76, 4), 0.005, 50_000, left=40_000, most=76, decoding=0.2)
    assert (choice.images, choice.each) == (76, 1)


def _population(seed, power, image, corruption, images=20_000):
    """Draw from a logistic mixed model: an effect of the image, one of the image under a corruption, and the cell's."""
    rng = np.random.default_rng(seed)
    errors = np.concatenate([np.array(metrics.BASELINES["alexnet"].errors[name]) ** power for name in IMAGENET_C])
    logits = np.log(errors / (1 - errors)) * math.sqrt(1 + (image + corruption) / 3)
    own = math.sqrt(image) * rng.standard_normal((images, 1))
    shared = np.repeat(math.sqrt(corruption) * rng.standard_normal((images, 15)), 5, axis=1)
    cells = rng.random((images, 75)) < 1 / (1 + np.exp(-(logits + own + shared)))
    clean = rng.random((images, 1)) < 1 / (1 + np.exp(2 - own))
    return np.concatenate([clean, cells], axis=1)


NAMES = ("clean", *(name for name in IMAGENET_C for _ in range(5)))
WORLDS = {"usual": (1.6, 4.0, 1.5), "much of the image": (1.6, 12.0, 3.0), "strong classifier": (5.0, 4.0, 1.5)}


@pytest.mark.parametrize("world", ["usual"])
def test_intervals_at_the_stop_cover(benchmark, world):
    """In 200 simulations the share has a standard deviation of 1.5 points: allow three."""
    population = benchmark.Population(_population(0, *WORLDS[world]), NAMES)
    outcomes = [benchmark.simulate(population, 5000, 0.06, 0.2, seed) for seed in range(200)]
    result = benchmark.summarize(population, 5000, outcomes)
    assert result["coverage"] == pytest.approx(0.95, abs=0.046)
    assert result["half_width"] <= 6
    assert result["reached"] == 1
    assert abs(result["bias"]) < 4 * result["bias_se"]
    assert result["share"] < 0.002


@pytest.mark.long
@pytest.mark.parametrize(
    ("world", "images", "half_width", "simulations"),
    [
        ("usual", 50_000, 0.05, 2000),
        ("usual", 50_000, 0.02, 2000),
        ("much of the image", 50_000, 0.03, 2000),
        ("strong classifier", 50_000, 0.03, 2000),
    ],
)
def test_intervals_at_the_stop_cover_in_2000_simulations(benchmark, world, images, half_width, simulations):
    population = benchmark.Population(_population(1, *WORLDS[world]), NAMES)
    outcomes = [benchmark.simulate(population, images, half_width, 0.2, seed) for seed in range(simulations)]
    result = benchmark.summarize(population, images, outcomes)
    assert 0.93 <= result["coverage"] <= 0.97, result
    assert result["reached"] == 1
    assert abs(result["bias"]) < 0.05 * 100 * half_width


@pytest.mark.long
def test_intervals_of_what_few_images_would_give_cover(benchmark):
    """The images are no sample then: the truth is what all conditions of these very images give."""
    population = benchmark.Population(_population(2, *WORLDS["usual"]), NAMES)
    outcomes = [benchmark.simulate(population, 400, 0.02, 0.2, seed) for seed in range(2000)]
    result = benchmark.summarize(population, 400, outcomes)
    assert 0.93 <= result["coverage_of_all"] <= 0.97, result
    assert 0.93 <= result["coverage"] <= 0.97
    assert result["half_width_of_all"] <= 2
    assert result["share"] < 0.15


def test_the_population_of_the_simulation_is_what_it_says(benchmark):
    population = benchmark.Population(_population(0, *WORLDS["usual"], images=2000), NAMES)
    whole = mce_spread(population.misses, NAMES)
    assert whole.value == pytest.approx(population.mce(np.arange(2000)))
    outcomes = population.misses[:, 1:].astype(float)
    correlations = np.corrcoef(outcomes.T)
    assert 0.2 < correlations[~np.eye(75, dtype=bool)].mean() < 0.6
