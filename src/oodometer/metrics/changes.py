"""How often a corruption changes the prediction: what can be measured without labels.

A change need not be an error, nor the other way round; but a classifier whose answers do not hold still when a picture
is corrupted is not robust, whatever the truth is. Rates are estimated like errors: give the changes to
``cell_error_estimates``, ``error_estimates`` or ``mean_corruption_error_estimate``.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oodometer.errors import MetricError

__all__ = ["Predictions", "changes"]

Predictions: typing.TypeAlias = Mapping[str, NDArray[np.integer[typing.Any]]]
"""By corruption name: integers, N images x severities, the best class; masked where there is no prediction."""


def changes(
    predictions: Predictions, clean_predictions: NDArray[np.integer[typing.Any]]
) -> dict[str, NDArray[np.bool_]]:
    """Tell where the prediction under a corruption is another one than that of the same image when clean.

    Parameters
    ----------
    predictions
        By corruption name, integers of shape (N, severities).
    clean_predictions
        Integers of shape (N,).

    Returns
    -------
    dict
        By corruption name, bool of shape (N, severities); masked where one of the two predictions is.

    Raises
    ------
    MetricError
        If the shapes do not match, or something else than integers is given.
    """
    for name, array in {"clean": clean_predictions[:, None], **predictions}.items():
        if array.dtype.kind not in "iu" or array.ndim != 2 or len(array) != len(clean_predictions):
            raise MetricError(
                f"predictions of {name!r}: expected integers, {len(clean_predictions)} images x severities; found "
                f"{array.dtype} of shape {array.shape}."
            )
    return {name: array != clean_predictions[:, None] for name, array in predictions.items()}
