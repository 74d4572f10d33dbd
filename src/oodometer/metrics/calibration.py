"""Whether a classifier's confidence says how often it is right.

Confidence is the greatest softmax probability, for ImageNet-R among its 200 classes. Everywhere images of equal
confidence keep the order in which they are given. The numbers with their intervals are in ``calibration_estimates.py``.

Sources: RMS calibration error and AURRA as in D. Hendrycks et al., "The Many Faces of Robustness", ICCV 2021, and its
public evaluation code; ECE and its equal-width bins in C. Guo et al., "On Calibration of Modern Neural Networks", ICML
2017; equal-mass bins in K. Nguyen & B. O'Connor, EMNLP 2015; risk and coverage in Y. Geifman & R. El-Yaniv, "Selective
Classification for Deep Neural Networks", NeurIPS 2017.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oodometer.arguments import choice, whole
from oodometer.errors import MetricError
from oodometer.metrics.intervals import Estimate, interval, wilson

__all__ = [
    "BINS",
    "BIN_SIZE",
    "Binning",
    "ReliabilityBin",
    "aurc",
    "aurra",
    "bin_numbers",
    "checked",
    "expected_calibration_error",
    "pooled_reliability",
    "reliability",
    "risk_at_coverage",
    "rms_bin_numbers",
    "rms_calibration_error",
    "rms_calibration_error_published",
    "selective_risk",
]

BINS = 15
"""How many bins an ECE has unless the caller says otherwise."""

BIN_SIZE = 100
"""Images in a bin of the RMS calibration error; the last bin takes the rest too."""

Binning = typing.Literal["width", "mass"]
"""Bins of equal width between 0 and 1, or of equally many images."""

_Floats: typing.TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The images whose confidence is from ``low`` to ``high``: how many, how sure on average, and how often right.

    ``confidence`` and ``accuracy`` are ``None`` in an empty bin.
    """

    low: float
    high: float
    n: int
    confidence: float | None
    accuracy: Estimate | None


def reliability(
    confidences: NDArray[np.floating], hits: NDArray[np.bool_], bins: int = BINS, binning: Binning = "width"
) -> tuple[ReliabilityBin, ...]:
    """Sort images into bins by confidence, and compare confidence and accuracy in each: a reliability diagram's data.

    Parameters
    ----------
    confidences
        float, shape (N,), probabilities in [0, 1], both ends included.
    hits
        bool, shape (N,): was the prediction right?
    bins
        How many bins.
    binning
        ``"width"``: bin k holds k / bins <= confidence < (k + 1) / bins, the last one 1 too. ``"mass"``: by rising
        confidence, as many images in each bin, or one more or less.

    Raises
    ------
    ArgumentError
        If ``bins`` is not a positive number, or the binning is unknown.
    MetricError
        If the arrays are empty or do not match, or a confidence is NaN or outside [0, 1].
    """
    confidence, hit = checked(confidences, hits)
    number = bin_numbers(confidence, bins, binning)
    return tuple(_reliability_bin(k, bins, binning, confidence[number == k], hit[number == k]) for k in range(bins))


def _reliability_bin(k: int, bins: int, binning: Binning, confidence: _Floats, hit: _Floats) -> ReliabilityBin:
    n = len(hit)
    low, high = (k / bins, (k + 1) / bins) if binning == "width" or not n else (confidence.min(), confidence.max())
    if not n:
        return ReliabilityBin(low, high, 0, None, None)
    return ReliabilityBin(float(low), float(high), n, float(confidence.mean()), wilson(int(hit.sum()), n))


def pooled_reliability(
    confidences: NDArray[np.floating], hits: NDArray[np.bool_], bins: int = BINS
) -> tuple[ReliabilityBin, ...]:
    """Do the same with the outcomes of several conditions together, in bins of equal width.

    Parameters
    ----------
    confidences
        float, shape (N, K): of N images under K conditions, probabilities in [0, 1].
    hits
        bool, shape (N, K): was the prediction right?
    bins
        How many bins.

    Returns
    -------
    tuple of ReliabilityBin
        ``n`` counts outcomes; that of the accuracy counts the images that have any in the bin.

    Raises
    ------
    ArgumentError, MetricError
        As ``reliability``.

    Notes
    -----
    The outcomes of one image are alike, so the interval takes the images as drawn. With m_i outcomes of image i in the
    bin, h_i of them right, r = sum h_i / sum m_i and n images that have any, the variance of r is estimated by that of
    a ratio of means, n / (n - 1) * sum (h_i - r m_i)^2 / (sum m_i)^2 (W. G. Cochran, "Sampling Techniques", 1977,
    section 6.4), and turned into Wilson's interval with an effective sample size as in ``bounded_mean``.
    """
    confidence, hit = checked(np.ravel(confidences), np.ravel(hits))
    number = bin_numbers(confidence, bins, "width")
    images = np.repeat(np.arange(len(hits)), hits.shape[1])
    return tuple(
        _pooled_bin(k, bins, confidence[number == k], hit[number == k], images[number == k]) for k in range(bins)
    )


def _pooled_bin(k: int, bins: int, confidence: _Floats, hit: _Floats, images: NDArray[np.intp]) -> ReliabilityBin:
    low, high, total = k / bins, (k + 1) / bins, len(hit)
    if not total:
        return ReliabilityBin(low, high, 0, None, None)
    _, place = np.unique(images, return_inverse=True)
    outcomes, right = np.bincount(place), np.bincount(place, hit)
    n, accuracy = len(outcomes), float(hit.mean())
    variance = n / max(n - 1, 1) * float(np.sum((right - accuracy * outcomes) ** 2)) / total**2
    estimate = interval(accuracy, variance, n, 0, 1, most=total)
    return ReliabilityBin(low, high, total, float(confidence.mean()), estimate)


def expected_calibration_error(
    confidences: NDArray[np.floating], hits: NDArray[np.bool_], bins: int = BINS, binning: Binning = "width"
) -> float:
    """Mean, over images, of the difference between confidence and accuracy in their bin (ECE).

    With n_b images in bin b: sum over b of n_b / N * |mean confidence - share of hits|. Parameters and errors as for
    ``reliability``; the result is in [0, 1], and 0 is perfect.

    On few images it is too great, since chance makes every bin differ: a perfect classifier of 500 images has an ECE
    of some percent. Its interval (``expected_calibration_error_estimate``) takes that into account.
    """
    confidence, hit = checked(confidences, hits)
    number = bin_numbers(confidence, bins, binning)
    return float(np.abs(np.bincount(number, confidence - hit)).sum() / len(hit))


def bin_numbers(confidence: _Floats, bins: int, binning: Binning) -> NDArray[np.intp]:
    """Return the bin of each image, 0 to ``bins`` - 1; see ``reliability``."""
    bins = whole("bins", bins, lowest=1)
    if choice("binning", binning, typing.get_args(Binning)) == "width":
        return np.searchsorted(np.arange(1, bins) / bins, confidence, side="right")
    return _by_rank(confidence, np.arange(len(confidence)) * bins // len(confidence))


def rms_bin_numbers(confidence: _Floats) -> NDArray[np.intp]:
    """Return the bin of each image: 100 by rising confidence, and the rest in the last one."""
    last = max(len(confidence) // BIN_SIZE - 1, 0)
    return _by_rank(confidence, np.minimum(np.arange(len(confidence)) // BIN_SIZE, last))


def _by_rank(confidence: _Floats, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
    """Give each image the number that belongs to its place by rising confidence."""
    found = np.empty(len(confidence), dtype=np.intp)
    found[np.argsort(confidence, kind="stable")] = numbers
    return found


def rms_calibration_error(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> float:
    """Root mean square, over images, of the difference between confidence and accuracy in their bin.

    Images are sorted by confidence into bins of 100; the rest joins the last bin, and fewer than 200 are one bin. With
    n_b images in bin b: sqrt(sum over b of n_b / N * (mean confidence - share of hits)^2).

    Parameters
    ----------
    confidences
        float, shape (N,), probabilities in [0, 1], both ends included.
    hits
        bool, shape (N,): was the prediction right?

    Returns
    -------
    float
        In [0, 1]; 0 is perfect.

    Raises
    ------
    MetricError
        If the arrays are empty or do not match, or a confidence is NaN or outside [0, 1].
    """
    sizes, gaps = _bins(*checked(confidences, hits))
    return _root_mean_square(sizes, gaps, int(sizes.sum()))


def rms_calibration_error_published(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> float:
    """RMS calibration error as the published ImageNet-R code computes it, to compare with figures made by that code.

    That code leaves the last bin out of the sum: the most confident 100 to 199 images never count, while N still counts
    them. Use ``rms_calibration_error`` for anything else. Parameters and errors as there; below 200 images, where all
    images would be in the bin left out, the number is refused rather than called 0.
    """
    sizes, gaps = _bins(*checked(confidences, hits))
    if len(sizes) < 2:
        raise MetricError(
            f"The published RMS calibration error leaves out the last bin of {BIN_SIZE} or more images, so it needs at "
            f"least {2 * BIN_SIZE}; found {sizes.sum()}. Use rms_calibration_error."
        )
    return _root_mean_square(sizes[:-1], gaps[:-1], int(sizes.sum()))


def aurra(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> float:
    """Area under the response rate accuracy curve: how right the classifier is when it only answers if confident.

    The mean over k = 1..N of the accuracy among the k most confident images. Parameters and errors as for
    ``rms_calibration_error``; the result is in [0, 1], and 1 is perfect.
    """
    return 1 - aurc(confidences, hits)


def selective_risk(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> tuple[_Floats, _Floats]:
    """Share of images answered and error among them, if only the most confident are answered: a risk-coverage curve.

    Parameters and errors as for ``rms_calibration_error``.

    Returns
    -------
    tuple of numpy.ndarray
        The coverages 1/N, 2/N, ... 1, and the error among so many of the most confident images; float64, shape (N,).
    """
    confidence, hit = checked(confidences, hits)
    answered = np.arange(1, len(hit) + 1)
    wrong = np.cumsum(1 - hit[np.argsort(-confidence, kind="stable")])
    return answered / len(hit), wrong / answered


def aurc(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> float:
    """Area under the risk-coverage curve, the mean of ``selective_risk`` over all coverages: 1 less the AURRA.

    Parameters and errors as for ``rms_calibration_error``; 0 is perfect.
    """
    _, risks = selective_risk(confidences, hits)
    return float(risks.mean())


def risk_at_coverage(
    confidences: NDArray[np.floating], hits: NDArray[np.bool_], coverages: Sequence[float]
) -> tuple[Estimate, ...]:
    """Error among the most confident images, for each share of images that is answered, with Wilson's interval.

    Parameters
    ----------
    confidences, hits
        As for ``rms_calibration_error``.
    coverages
        Shares in (0, 1]; of N images the nearest whole number is answered, and at least one.

    Raises
    ------
    MetricError
        As for ``rms_calibration_error``, or if a coverage is outside (0, 1].
    """
    _, risks = selective_risk(confidences, hits)
    if not all(0 < coverage <= 1 for coverage in coverages):
        raise MetricError(f"Coverages must be above 0 and at most 1, found {list(coverages)}.")
    answered = [max(round(coverage * len(risks)), 1) for coverage in coverages]
    return tuple(wilson(round(risks[k - 1] * k), k) for k in answered)


def _bins(confidence: _Floats, hit: _Floats) -> tuple[_Floats, _Floats]:
    """Size of each bin of the RMS calibration error, and its mean confidence less its share of hits."""
    number = rms_bin_numbers(confidence)
    sizes = np.bincount(number).astype(np.float64)
    return sizes, np.bincount(number, confidence - hit) / sizes


def _root_mean_square(sizes: _Floats, gaps: _Floats, total: int) -> float:
    return float(np.sqrt(np.sum(sizes / total * gaps**2)))


def checked(confidences: NDArray[np.floating], hits: NDArray[np.bool_]) -> tuple[_Floats, _Floats]:
    """Check confidences and hits against each other, and return both as float64."""
    if np.ma.is_masked(confidences) or np.ma.is_masked(hits):
        raise MetricError("Give calibration the images that went through the condition, and no others.")
    confidence, hit = np.asarray(confidences), np.asarray(hits)
    if hit.dtype != np.bool_ or hit.ndim != 1 or confidence.shape != hit.shape or not hit.size:
        raise MetricError(
            "Expected one confidence and one bool hit per image, found "
            f"{confidence.dtype} of shape {confidence.shape} and {hit.dtype} of shape {hit.shape}."
        )
    bad = np.flatnonzero(~((confidence >= 0) & (confidence <= 1)))
    if bad.size:
        raise MetricError(
            f"Confidences must be probabilities in [0, 1], not logits; found {confidence[bad[0]]} at position {bad[0]} "
            f"({bad.size} of {len(hit)} are out of range)."
        )
    return confidence.astype(np.float64), hit.astype(np.float64)
