"""From what happened to each image to every ImageNet-C number with its 95 % interval.

``misses`` holds, by corruption name, a bool array of shape (N, severities): was the prediction of image i wrong at
severity s? ``clean_misses`` is the same for the clean images, shape (N,). Row i is the same image everywhere. Where an
image did not go through all conditions the arrays are masked (``numpy.ma``), and ``incomplete.py`` estimates the same
numbers from what there is.

Every number here is a mean over images of one score per image that is linear in that image's misses (for an mCE: the
sum over cells of miss / (15 x the baseline's summed error of the corruption)). So the values equal those that
``corruption_error.py`` computes from the mean errors, and ``bounded_mean`` gives the interval with the image as the
sampling unit (``paired_mean`` that of a relative number, a mean of differences). The baseline's errors are taken as
exact, unless the outcomes are known that they were measured from: then ``measured.py`` counts their uncertainty too.

In simulations (``tests/metrics/test_coverage.py``) the intervals of mCE and mean error hold the truth in 95 to 96 % of
benchmarks from 20 images on, those of a single CE in 94 to 98 %. The relative ones need more images where a classifier
hardly gets worse, since then few images decide: 87 to 98 % of 20 images, 92 to 98 % of 50, 93 to 97 % of 200.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError
from oodometer.families import SEVERITIES
from oodometer.metrics.baselines import Baseline, BaselineSpec
from oodometer.metrics.corruption_error import only_imagenet_c, required_baseline
from oodometer.metrics.incomplete import spread
from oodometer.metrics.intervals import Estimate, bounded_mean, paired_mean, proportion
from oodometer.metrics.measured import ratio_estimate

__all__ = [
    "Misses",
    "cell_error_estimates",
    "clean_error_estimate",
    "corruption_error_estimates",
    "error_estimates",
    "mce_estimate",
    "mean_ce_estimate",
    "mean_corruption_error_estimate",
    "mean_error_estimate",
    "relative_corruption_error_estimates",
    "relative_mce_estimate",
]

Misses: typing.TypeAlias = Mapping[str, NDArray[np.bool_]]
"""By corruption name: bool, N images x severities, ``True`` where a prediction is wrong; masked where there is none."""


def clean_error_estimate(clean_misses: NDArray[np.bool_]) -> Estimate:
    """Top-1 error on the clean images, from bool of shape (N,), with Wilson's interval."""
    return proportion(clean_misses)


def cell_error_estimates(misses: Misses) -> dict[str, tuple[Estimate, ...]]:
    """Top-1 error of each corruption at each severity, with Wilson's interval."""
    return {name: tuple(proportion(column) for column in array.T) for name, array in _checked(misses).items()}


def error_estimates(misses: Misses) -> dict[str, Estimate]:
    """Mean top-1 error of each corruption over its severities."""
    return {name: _mean_over_corruptions({name: array}, {name: 1.0}) for name, array in _checked(misses).items()}


def mean_corruption_error_estimate(misses: Misses) -> Estimate:
    """Plain mean of the top-1 error over the 15 corruptions and 5 severities; NOT the mCE, see ``mce_estimate``.

    Other corruptions in ``misses`` are left out; a ``MetricError`` names those of the 15 that are missing.
    """
    return mean_error_estimate(only_imagenet_c(misses))


def mean_error_estimate(misses: Misses) -> Estimate:
    """Mean top-1 error over all corruptions in ``misses`` and their severities."""
    return _mean_over_corruptions(_all_severities(misses), dict.fromkeys(misses, 1.0))


def corruption_error_estimates(
    misses: Misses, baseline: BaselineSpec = "alexnet", images: Sequence[str] | None = None
) -> dict[str, Estimate]:
    """CE of each corruption; see ``corruption_errors``.

    Parameters
    ----------
    misses
        The outcomes.
    baseline
        What to divide by: exact numbers, unless it knows the outcomes that they were measured from (``Sample``).
    images
        The ids of the N images, which tell such a baseline which images are the same.

    Raises
    ------
    MetricError
        If an array is not bool of shape (N, 5), images differ in number, or the baseline lacks a corruption.
    """
    reference = required_baseline(baseline)
    arrays = _all_severities(misses)
    return {name: _relative_to(reference, {name: array}, None, images) for name, array in arrays.items()}


def mce_estimate(misses: Misses, baseline: BaselineSpec = "alexnet", images: Sequence[str] | None = None) -> Estimate:
    """MCE over exactly the 15 corruptions; see ``mce``, and for the parameters ``corruption_error_estimates``.

    Other corruptions in ``misses`` are left out; a ``MetricError`` names those of the 15 that are missing.
    """
    return _relative_to(required_baseline(baseline), _all_severities(only_imagenet_c(misses)), None, images)


def mean_ce_estimate(
    misses: Misses, baseline: BaselineSpec = "alexnet", images: Sequence[str] | None = None
) -> Estimate:
    """Mean of the CEs of all corruptions in ``misses``, which is an mCE only if these are the 15.

    Parameters and errors as for ``corruption_error_estimates``.
    """
    return _relative_to(required_baseline(baseline), _all_severities(misses), None, images)


def relative_corruption_error_estimates(
    misses: Misses,
    clean_misses: NDArray[np.bool_],
    baseline: BaselineSpec = "alexnet",
    images: Sequence[str] | None = None,
) -> dict[str, Estimate]:
    """Relative CE of each corruption; see ``relative_corruption_errors``.

    The clean miss of an image goes into its score, so the interval knows that both errors are of the same images.

    Raises
    ------
    MetricError
        As for ``corruption_error_estimates``, or if ``clean_misses`` is not bool of shape (N,) for the same N, or the
        baseline has no clean error below its error under the corruption.
    """
    if clean_misses is None:
        raise MetricError("A relative CE needs the misses on the clean images.")
    reference = required_baseline(baseline)
    arrays = _all_severities(misses)
    return {name: _relative_to(reference, {name: array}, clean_misses, images) for name, array in arrays.items()}


def relative_mce_estimate(
    misses: Misses,
    clean_misses: NDArray[np.bool_],
    baseline: BaselineSpec = "alexnet",
    images: Sequence[str] | None = None,
) -> Estimate:
    """Relative mCE over exactly the 15 corruptions; see ``relative_mce``, and ``corruption_error_estimates``."""
    if clean_misses is None:
        raise MetricError("A relative mCE needs the misses on the clean images.")
    counted = _all_severities(only_imagenet_c(misses))
    return _relative_to(required_baseline(baseline), counted, clean_misses, images)


def _relative_to(
    reference: Baseline, misses: Misses, clean_misses: NDArray[np.bool_] | None, images: Sequence[str] | None
) -> Estimate:
    """Estimate the mean over corruptions of CE or, given the clean misses, of relative CE."""
    divisor = reference.mean_error if clean_misses is None else reference.mean_rise
    divisors = {name: divisor(name) for name in misses}
    if reference.sample is None:
        return _mean_over_corruptions(misses, divisors, clean_misses)
    clean = None if clean_misses is None else _checked_clean(clean_misses, len(next(iter(misses.values()))))
    return ratio_estimate(misses, divisors, clean, images, reference.sample)


def _mean_over_corruptions(
    misses: Misses, divisors: Mapping[str, float], clean_misses: NDArray[np.bool_] | None = None
) -> Estimate:
    """Estimate the mean over corruptions of (mean error, less the clean error if given) / divisor."""
    arrays = _checked(misses)
    greatest = sum(1 / divisors[name] for name in arrays) / len(arrays)
    clean = None if clean_misses is None else _checked_clean(clean_misses, len(next(iter(arrays.values()))))
    columns = [*arrays.values()] if clean is None else [*arrays.values(), clean[:, None]]
    if any(np.ma.is_masked(column) for column in columns):
        weights = [np.full(a.shape[1], 1 / (divisors[name] * a.shape[1] * len(arrays))) for name, a in arrays.items()]
        weights += [] if clean is None else [np.array([-greatest])]
        observed = np.ma.concatenate(columns, axis=1)  # type: ignore[no-untyped-call]
        return spread(observed, np.concatenate(weights), 0.0 if clean is None else -greatest, greatest).estimate
    scores = np.mean([array.mean(axis=1) / divisors[name] for name, array in arrays.items()], axis=0)
    if clean is not None:
        return paired_mean(scores - greatest * clean, greatest)
    return bounded_mean(scores, 0, greatest, sum(array.shape[1] for array in arrays.values()))


def _checked_clean(clean_misses: NDArray[np.bool_], images: int) -> NDArray[np.bool_]:
    clean = _array(clean_misses)
    if clean.dtype != np.bool_ or clean.shape != (images,):
        raise MetricError(
            f"clean_misses: expected bool of shape {(images,)}, like the images under corruptions; "
            f"found {clean.dtype} of shape {clean.shape}."
        )
    return clean


def _array(outcomes: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return an array, masked only if something of it is."""
    return outcomes if np.ma.is_masked(outcomes) else np.asarray(outcomes)


def _all_severities(misses: Misses) -> dict[str, NDArray[np.bool_]]:
    """Check the arrays, and that all 5 severities are there: a mean over fewer is not comparable to a baseline's."""
    arrays = _checked(misses)
    for name, array in arrays.items():
        if array.shape[1] != len(SEVERITIES):
            raise MetricError(
                f"misses of {name!r}: expected {len(SEVERITIES)} severities, found {array.shape[1]} "
                f"(shape {array.shape})."
            )
    return arrays


def _checked(misses: Misses) -> dict[str, NDArray[np.bool_]]:
    """Check that all arrays are bool, images x severities, of the same images."""
    arrays = {name: _array(array) for name, array in misses.items()}
    for name, array in arrays.items():
        if array.dtype != np.bool_ or array.ndim != 2 or not array.size:
            raise MetricError(
                f"misses of {name!r}: expected bool, images x severities; found {array.dtype} of shape {array.shape}."
            )
    if len({len(array) for array in arrays.values()}) > 1:
        counts = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise MetricError(f"misses: expected the same images under every corruption, found in number: {counts}.")
    return arrays
