"""Corruption errors from the mean error of each cell: CE, mCE, their relative kin, and the plain mean error.

All errors are top-1 errors in [0, 1], and so are results: an mCE of 76.7 % is 0.767 here. Written E[c, s] for the
classifier and B[c, s] for the baseline, under corruption c at severity s, with E0 and B0 on clean images:

=================================  ==================================================
CE(c)                              sum over s of E[c, s] / sum over s of B[c, s]
relative CE(c)                     sum over s of (E[c, s] - E0) / sum over s of (B[c, s] - B0)
mCE, relative mCE                  mean of these over the 15 corruptions of ImageNet-C
mean corruption error              mean of E[c, s] over s and the 15; no baseline, and NOT the mCE
=================================  ==================================================

Source: Hendrycks & Dietterich, "Benchmarking Neural Network Robustness to Common Corruptions and Perturbations",
ICLR 2019, section 4. The numbers with their intervals are in ``outcomes.py``.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping

from oodometer.errors import MetricError
from oodometer.families import IMAGENET_C
from oodometer.metrics.baselines import (
    Baseline,
    BaselineSpec,
    checked_error,
    load_baseline,
    mean_over_severities,
)
from oodometer.types import Errors

__all__ = [
    "corruption_errors",
    "mce",
    "mean_corruption_error",
    "only_imagenet_c",
    "relative_corruption_errors",
    "relative_mce",
    "required_baseline",
]

Value = typing.TypeVar("Value")


def corruption_errors(errors: Errors, baseline: BaselineSpec = "alexnet") -> dict[str, float]:
    """Corruption error (CE) of each corruption: its mean error as a multiple of the baseline's.

    Parameters
    ----------
    errors
        By corruption name, the 5 top-1 errors in [0, 1] of severities 1 to 5.
    baseline
        A name, a JSON file, a mapping or a ``Baseline``; see ``load_baseline``. Matched by corruption name.

    Returns
    -------
    dict
        CE by corruption, in the order given; 1.0 is as bad as the baseline.

    Raises
    ------
    MetricError
        If a corruption has not 5 errors in [0, 1], or the baseline lacks it, or there is no baseline.
    """
    reference = required_baseline(baseline)
    return {name: mean / reference.mean_error(name) for name, mean in _means(errors).items()}


def relative_corruption_errors(
    errors: Errors, clean_error: float, baseline: BaselineSpec = "alexnet"
) -> dict[str, float]:
    """Relative CE of each corruption: the rise of the error over the clean one, as a multiple of the baseline's.

    The clean error is subtracted at each severity. Parameters, result and errors as for ``corruption_errors``, with
    ``clean_error`` in [0, 1]; the baseline must have its own clean error, and be worse under the corruption.
    """
    clean = checked_error("clean_error", clean_error)
    reference = required_baseline(baseline)
    return {name: (mean - clean) / reference.mean_rise(name) for name, mean in _means(errors).items()}


def mean_corruption_error(errors: Errors) -> float:
    """Plain mean of the top-1 error over the 15 corruptions and 5 severities, in [0, 1].

    This is NOT the mCE, which divides by a baseline first: errors of 0.5 everywhere give 0.500 here, and an mCE of
    0.647. Other corruptions in ``errors`` are left out.

    Raises
    ------
    MetricError
        If one of the 15 is missing, or has not 5 errors in [0, 1].
    """
    return _mean(_means(only_imagenet_c(errors)))


def mce(errors: Errors, baseline: BaselineSpec = "alexnet") -> float:
    """Mean corruption error of the ImageNet-C paper: the mean of CE over exactly its 15 corruptions, as a fraction.

    Other corruptions in ``errors``, such as the 4 extra ones, are left out. Parameters as for ``corruption_errors``.

    Raises
    ------
    MetricError
        If one of the 15 is missing (a mean over fewer is no mCE), and for all that ``corruption_errors`` refuses.
    """
    return _mean(corruption_errors(only_imagenet_c(errors), baseline))


def relative_mce(errors: Errors, clean_error: float, baseline: BaselineSpec = "alexnet") -> float:
    """Relative mCE: the mean of the relative CE over exactly the 15 corruptions, as a fraction.

    Parameters and errors as for ``mce``, with the classifier's clean top-1 error in [0, 1].
    """
    return _mean(relative_corruption_errors(only_imagenet_c(errors), clean_error, baseline))


def only_imagenet_c(by_corruption: Mapping[str, Value]) -> dict[str, Value]:
    """Pick the entries of the 15 corruptions, in the published order; a ``MetricError`` names those missing."""
    if not isinstance(by_corruption, Mapping):
        raise MetricError(f"Expected a mapping with corruption names as keys, found {type(by_corruption).__name__}.")
    missing = [name for name in IMAGENET_C if name not in by_corruption]
    if missing:
        raise MetricError(
            f"A mean over the {len(IMAGENET_C)} corruptions of ImageNet-C needs all of them; missing: "
            f"{', '.join(missing)}."
        )
    return {name: by_corruption[name] for name in IMAGENET_C}


def required_baseline(spec: BaselineSpec) -> Baseline:
    """Load a baseline where the number asked for does not exist without one."""
    baseline = load_baseline(spec)
    if baseline is None:
        raise MetricError(
            "Corruption errors and mCE are multiples of a baseline's errors, and there is no baseline. "
            "Name or give one, or ask for mean_corruption_error, which needs none."
        )
    return baseline


def _means(errors: Errors) -> dict[str, float]:
    """Mean over the severities of each corruption, all numbers checked."""
    if not isinstance(errors, Mapping):
        raise MetricError(f"Expected errors as {{corruption: [e1, ..., e5]}}, found {type(errors).__name__}.")
    return {name: mean_over_severities(f"errors of {name!r}", values) for name, values in errors.items()}


def _mean(by_corruption: Mapping[str, float]) -> float:
    return sum(by_corruption.values()) / len(by_corruption)
