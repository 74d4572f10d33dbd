"""NumPy in, numbers with their uncertainty out; every metric of the benchmarks, each with the source of its definition.

``corruption_error`` defines CE and mCE on mean errors, ``outcomes`` gives the same numbers with intervals from what
happened to each image, ``accuracy`` and ``calibration`` serve ImageNet-R, ``sequences`` serves ImageNet-P.
"""

from oodometer.metrics.accuracy import accuracy, accuracy_gap
from oodometer.metrics.baselines import BASELINES, Baseline, BaselineSpec, load_baseline
from oodometer.metrics.calibration import aurra, rms_calibration_error, rms_calibration_error_published
from oodometer.metrics.corruption_error import (
    corruption_errors,
    mce,
    mean_corruption_error,
    relative_corruption_errors,
    relative_mce,
)
from oodometer.metrics.intervals import Estimate, bounded_mean, proportion, wilson
from oodometer.metrics.outcomes import (
    Misses,
    cell_error_estimates,
    clean_error_estimate,
    corruption_error_estimates,
    error_estimates,
    mce_estimate,
    mean_corruption_error_estimate,
    relative_corruption_error_estimates,
    relative_mce_estimate,
)
from oodometer.metrics.sequences import flip_rate, mean_flip_rate, top5_distance

__all__ = [
    "BASELINES",
    "Baseline",
    "BaselineSpec",
    "Estimate",
    "Misses",
    "accuracy",
    "accuracy_gap",
    "aurra",
    "bounded_mean",
    "cell_error_estimates",
    "clean_error_estimate",
    "corruption_error_estimates",
    "corruption_errors",
    "error_estimates",
    "flip_rate",
    "load_baseline",
    "mce",
    "mce_estimate",
    "mean_corruption_error",
    "mean_corruption_error_estimate",
    "mean_flip_rate",
    "proportion",
    "relative_corruption_error_estimates",
    "relative_corruption_errors",
    "relative_mce",
    "relative_mce_estimate",
    "rms_calibration_error",
    "rms_calibration_error_published",
    "top5_distance",
    "wilson",
]
