"""NumPy in, numbers with their uncertainty out; every metric of the benchmarks, each with the source of its definition.

``corruption_error`` defines CE and mCE on mean errors, ``outcomes`` gives the same numbers with intervals from what
happened to each image (``groups`` by family, severity and class, ``incomplete`` where images did not go through
everything, ``measured`` relative to a baseline that has its own error). ``accuracy`` serves ImageNet-R, ``calibration``
and ``losses`` the probabilities, ``changes`` images without labels, ``sequences`` ImageNet-P, ``outliers`` ImageNet-O.
``balanced``, ``styles``, ``two_way``, ``confusions`` and ``reference_lines`` say what is behind the accuracy on shifted
images. ``paired`` and ``effective`` compare classifiers.
"""

from oodometer.metrics.accuracy import accuracy, accuracy_gap, independent_difference
from oodometer.metrics.balanced import class_balanced_accuracy, class_balanced_gap, weighted_accuracy
from oodometer.metrics.baselines import BASELINES, Baseline, BaselineSpec, Sample, load_baseline
from oodometer.metrics.calibration import (
    Binning,
    ReliabilityBin,
    aurc,
    aurra,
    expected_calibration_error,
    pooled_reliability,
    reliability,
    risk_at_coverage,
    rms_calibration_error,
    rms_calibration_error_published,
    selective_risk,
)
from oodometer.metrics.calibration_estimates import (
    aurc_estimate,
    aurra_estimate,
    expected_calibration_error_estimate,
    rms_calibration_error_estimate,
    rms_calibration_error_published_estimate,
)
from oodometer.metrics.changes import changes
from oodometer.metrics.confusions import (
    Confusion,
    CreatedConfusion,
    WrongClass,
    confusions,
    created_confusions,
    wrong_classes,
)
from oodometer.metrics.corruption_error import (
    corruption_errors,
    mce,
    mean_corruption_error,
    relative_corruption_errors,
    relative_mce,
)
from oodometer.metrics.effective import effective_robustness
from oodometer.metrics.groups import class_error_estimates, family_error_estimates, severity_error_estimates
from oodometer.metrics.intervals import Estimate, bounded_mean, paired_mean, proportion, wilson
from oodometer.metrics.losses import brier_estimate, nll_estimate
from oodometer.metrics.outcomes import (
    Misses,
    cell_error_estimates,
    clean_error_estimate,
    corruption_error_estimates,
    error_estimates,
    mce_estimate,
    mean_ce_estimate,
    mean_corruption_error_estimate,
    mean_error_estimate,
    relative_corruption_error_estimates,
    relative_mce_estimate,
)
from oodometer.metrics.outliers import aupr_estimate, auroc_estimate
from oodometer.metrics.paired import (
    clean_error_difference,
    error_differences,
    gap_difference,
    holm,
    mce_difference,
    mcnemar_test,
    mean_corruption_error_difference,
    mean_error_difference,
    sign_flip_test,
)
from oodometer.metrics.reference_lines import REFERENCE_LINES, ReferenceLine, ReferenceModel, beyond_line
from oodometer.metrics.sequences import flip_rate, mean_flip_rate, top5_distance
from oodometer.metrics.styles import Comparison, compare_with_clean, group_accuracies
from oodometer.metrics.two_way import TwoWayFit, two_way

__all__ = [
    "BASELINES",
    "REFERENCE_LINES",
    "Baseline",
    "BaselineSpec",
    "Binning",
    "Comparison",
    "Confusion",
    "CreatedConfusion",
    "Estimate",
    "Misses",
    "ReferenceLine",
    "ReferenceModel",
    "ReliabilityBin",
    "Sample",
    "TwoWayFit",
    "WrongClass",
    "accuracy",
    "accuracy_gap",
    "aupr_estimate",
    "aurc",
    "aurc_estimate",
    "auroc_estimate",
    "aurra",
    "aurra_estimate",
    "beyond_line",
    "bounded_mean",
    "brier_estimate",
    "cell_error_estimates",
    "changes",
    "class_balanced_accuracy",
    "class_balanced_gap",
    "class_error_estimates",
    "clean_error_difference",
    "clean_error_estimate",
    "compare_with_clean",
    "confusions",
    "corruption_error_estimates",
    "corruption_errors",
    "created_confusions",
    "effective_robustness",
    "error_differences",
    "error_estimates",
    "expected_calibration_error",
    "expected_calibration_error_estimate",
    "family_error_estimates",
    "flip_rate",
    "gap_difference",
    "group_accuracies",
    "holm",
    "independent_difference",
    "load_baseline",
    "mce",
    "mce_difference",
    "mce_estimate",
    "mcnemar_test",
    "mean_ce_estimate",
    "mean_corruption_error",
    "mean_corruption_error_difference",
    "mean_corruption_error_estimate",
    "mean_error_difference",
    "mean_error_estimate",
    "mean_flip_rate",
    "nll_estimate",
    "paired_mean",
    "pooled_reliability",
    "proportion",
    "relative_corruption_error_estimates",
    "relative_corruption_errors",
    "relative_mce",
    "relative_mce_estimate",
    "reliability",
    "risk_at_coverage",
    "rms_calibration_error",
    "rms_calibration_error_estimate",
    "rms_calibration_error_published",
    "rms_calibration_error_published_estimate",
    "selective_risk",
    "severity_error_estimates",
    "sign_flip_test",
    "top5_distance",
    "two_way",
    "weighted_accuracy",
    "wilson",
    "wrong_classes",
]
