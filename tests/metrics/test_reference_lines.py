"""The reference line of published models, and the distance of a model from it."""

import math

import numpy as np
import pytest

from oodometer import metrics
from oodometer.errors import MetricError
from oodometer.metrics.reference_lines import NO_REFERENCE_LINE, REFERENCE_LINES, ReferenceModel, reference_line
from oodometer.shifts import SHIFTED_SETS

LINE = REFERENCE_LINES["imagenet-r"]


def logit(p):
    return math.log(p / (1 - p))


def test_the_line_is_the_least_squares_one():
    models = LINE.models
    slope, intercept = np.polyfit([logit(m.clean) for m in models], [logit(m.shifted) for m in models], 1)
    assert LINE.slope == pytest.approx(slope)
    assert LINE.intercept == pytest.approx(intercept)
    assert [m.name for m in models] == ["AlexNet", "ResNet-50", "ResNet-152"]


def test_two_models_lie_on_their_line():
    models = (ReferenceModel("a", 0.6, 0.2), ReferenceModel("b", 0.8, 0.5))
    line = reference_line(models, "made up")
    for model in models:
        assert line.expected(model.clean) == pytest.approx(model.shifted)
    assert line.expected(0) == 0
    assert line.expected(1) == 1


@pytest.mark.parametrize(
    ("clean", "shifted", "least", "most"),
    [
        (0.9212, 0.3617, -0.03, 0.0),  # ResNet-50 lies a little below the line, ResNet-152 a little above
        (0.9323, 0.4134, 0.0, 0.03),
        (0.9196, 0.4677, 0.05, 0.12),  # DeepAugment and AugMix together
        (0.8810, 0.6926, 0.3, 0.45),  # CLIP ViT-B/32, zero-shot
    ],
)
def test_published_models(clean, shifted, least, most):
    n, m = 10_000, 30_000
    found = metrics.beyond_line(metrics.wilson(round(clean * n), n), metrics.wilson(round(shifted * m), m), LINE)
    assert least < found.value < most
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.03


def test_the_interval_joins_those_of_both_accuracies():
    clean, shifted = metrics.wilson(900, 1000), metrics.wilson(300, 1000)
    found = metrics.beyond_line(clean, shifted, LINE)
    expected = LINE.expected((900 + 0.5) / 1001)
    down = math.hypot(shifted.value - shifted.low, LINE.expected(clean.high) - expected)
    up = math.hypot(shifted.high - shifted.value, expected - LINE.expected(clean.low))
    assert found.value == pytest.approx(0.3 - expected)
    assert (found.low, found.high) == pytest.approx((found.value - down, found.value + up))
    step = 1e-6
    slope = (LINE.expected(900.5 / 1001 + step) - LINE.expected(900.5 / 1001 - step)) / (2 * step)
    assert found.se == pytest.approx(math.hypot(shifted.se, slope * clean.se), rel=1e-4)
    assert found.n == 2000


def test_the_interval_holds_the_truth():
    rng, held, p, q = np.random.default_rng(0), 0, 0.85, 0.4
    truth = q - LINE.expected(p)
    for _ in range(1000):
        clean, shifted = metrics.wilson(rng.binomial(60, p), 60), metrics.wilson(rng.binomial(80, q), 80)
        found = metrics.beyond_line(clean, shifted, LINE)
        held += found.low <= truth <= found.high
    assert 0.93 <= held / 1000 <= 0.99


@pytest.mark.parametrize("right", [0, 3])
def test_a_few_images_all_alike_have_a_number(right):
    found = metrics.beyond_line(metrics.wilson(right, 3), metrics.wilson(1, 2), LINE)
    assert -1 <= found.low <= found.value <= found.high <= 1


def test_what_gives_no_line_is_refused():
    one = ReferenceModel("a", 0.6, 0.2)
    for models in ((one,), (one, ReferenceModel("b", 0.7, 0.0))):
        with pytest.raises(MetricError, match="at least two models"):
            reference_line(models, "")
    for other in (ReferenceModel("b", 0.6, 0.3), ReferenceModel("b", 0.7, 0.1)):
        with pytest.raises(MetricError, match="better on clean images"):
            reference_line((one, other), "")


def test_every_published_set_of_known_classes_has_a_line_or_a_reason():
    sets = {known.benchmark for known in SHIFTED_SETS.values()} - {"imagenet-o"}
    assert sets == {*REFERENCE_LINES, *NO_REFERENCE_LINE}
