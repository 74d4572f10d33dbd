"""How far a model's accuracy under shift lies from the line of models that were trained in the ordinary way.

R. Taori et al., "Measuring Robustness to Natural Distribution Shifts in Image Classification", NeurIPS 2020: over
models trained on ImageNet alone, the accuracy under a shift follows from the clean one, along a line once both are put
on a logit scale. What a model has beyond that line is its effective robustness: better clean accuracy did not buy it.
``effective`` fits such a line to the models given; here it is one of published models, so that a single run suffices.

The figures are those of that paper's public table of results: top-1 accuracy after resizing to 256 and cropping 224,
among the classes of the shifted set alone, on the shifted set and on the clean validation images of the same classes.
Only networks trained on ImageNet-1k with the ordinary crops and flips stand on a line: AlexNet, ResNet-50 and
ResNet-152. AugMix, DeepAugment and whatever was trained on more data do not, since it is they that a line is to be
compared with.

Three models on the line make no honest estimate of its own error, least of all between them, so it is taken as exact:
the intervals are of the model's accuracies alone. Read a distance of a point or two from it as none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from oodometer.errors import MetricError
from oodometer.metrics.accuracy import independent_difference
from oodometer.metrics.intervals import Estimate

__all__ = ["NO_REFERENCE_LINE", "REFERENCE_LINES", "ReferenceLine", "ReferenceModel", "beyond_line", "reference_line"]

_TABLE = "public table of results of Taori et al., NeurIPS 2020"


@dataclass(frozen=True, slots=True)
class ReferenceModel:
    """A published model: its accuracy on clean images of the shifted set's classes, and on the shifted set."""

    name: str
    clean: float
    shifted: float


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A line on the logit scale: logit(shifted accuracy) = ``intercept`` + ``slope`` * logit(clean accuracy)."""

    models: tuple[ReferenceModel, ...]
    source: str
    intercept: float
    slope: float

    def expected(self, clean: float) -> float:
        """Return the accuracy under shift that goes with a clean accuracy in [0, 1]."""
        if clean <= 0 or clean >= 1:
            return float(clean >= 1)
        return 1 / (1 + math.exp(-self.intercept - self.slope * _logit(clean)))


def reference_line(models: tuple[ReferenceModel, ...], source: str) -> ReferenceLine:
    """Fit a line to published models by least squares on the logit scale.

    Parameters
    ----------
    models
        At least two, whose accuracies lie strictly between 0 and 1.
    source
        Where their figures stand.

    Raises
    ------
    MetricError
        If there are fewer models, all are equally accurate on clean images, an accuracy is 0 or 1, or the line falls.
    """
    if len(models) < 2 or not all(0 < p < 1 for model in models for p in (model.clean, model.shifted)):
        raise MetricError("A reference line needs at least two models with accuracies between 0 and 1.")
    x, y = [_logit(model.clean) for model in models], [_logit(model.shifted) for model in models]
    mean_x, mean_y = math.fsum(x) / len(x), math.fsum(y) / len(y)
    spread = math.fsum((a - mean_x) ** 2 for a in x)
    slope = math.fsum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)) / spread if spread else 0.0
    if slope <= 0:
        raise MetricError("A reference line needs models of which those better on clean images are so under shift too.")
    return ReferenceLine(models, source, mean_y - slope * mean_x, slope)


def beyond_line(clean: Estimate, shifted: Estimate, line: ReferenceLine) -> Estimate:
    """Estimate how far a model's accuracy under shift lies above a reference line: its effective robustness.

    Parameters
    ----------
    clean, shifted
        The model's plain accuracies, on different images of the same classes.
    line
        Taken as exact.

    Returns
    -------
    Estimate
        A difference of accuracies, in [-1, 1]; ``n`` counts the images of both sets.

    Notes
    -----
    The line turns the interval of the clean accuracy into one of the accuracy that is to be expected, since it rises;
    the interval of the difference is Newcombe's hybrid of that and of the shifted accuracy's. So that few images that
    are all right do not make 100 % the expectation, half an image is added to either side of the clean accuracy.
    """
    centre = (clean.value * clean.n + 0.5) / (clean.n + 1)
    expected, low, high = (line.expected(p) for p in (centre, clean.low, clean.high))
    slope = line.slope * expected * (1 - expected) / (centre * (1 - centre))
    within = Estimate(expected, min(low, expected), max(high, expected), slope * clean.se, clean.n)
    return independent_difference(shifted, within)


def _logit(p: float) -> float:
    return math.log(p / (1 - p))


REFERENCE_LINES: dict[str, ReferenceLine] = {
    "imagenet-r": reference_line(
        (
            ReferenceModel("AlexNet", 0.7691, 0.2177),
            ReferenceModel("ResNet-50", 0.9212, 0.3617),
            ReferenceModel("ResNet-152", 0.9323, 0.4134),
        ),
        _TABLE,
    )
}
"""By the name of the shifted set."""

NO_REFERENCE_LINE: dict[str, str] = {
    "imagenet-a": (
        "The images of ImageNet-A were chosen for being what ResNet-50 gets wrong, so its accuracy is 0 by "
        "construction, and no other published model of ordinary training is at hand."
    ),
    "imagenet-v2": "Only one published model of ordinary training is at hand (ResNet-50, 63.21 %); a line needs two.",
    "imagenet-sketch": (
        "Only one published model of ordinary training is at hand (ResNet-50, 24.09 %); a line needs two."
    ),
}
"""Why there is no line for a set, by its name."""
