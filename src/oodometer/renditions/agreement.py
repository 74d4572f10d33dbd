"""How far two people agree beyond what chance would give: Cohen's kappa.

J. Cohen, "A Coefficient of Agreement for Nominal Scales", Educational and Psychological Measurement 20 (1960).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from oodometer.errors import MetricError

__all__ = ["Agreement", "agreement"]

_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two people on the ``pictures`` that both judged.

    ``observed`` is the share on which they agree; ``kappa`` is 1 for full agreement and 0 for what chance gives, and
    NaN where both gave all pictures the same verdict, since chance would do as well. ``low`` and ``high`` are its 95 %
    interval by Cohen's standard error, which is for many pictures. ``differing`` are the paths on which they differ.
    """

    pictures: int
    observed: float
    kappa: float
    low: float
    high: float
    differing: tuple[str, ...]


def agreement(first: Mapping[str, str], second: Mapping[str, str]) -> Agreement:
    """Compare the verdicts of two people.

    Parameters
    ----------
    first, second
        The verdict of each by picture; pictures that only one judged are left out.

    Raises
    ------
    MetricError
        If there is no picture that both judged.
    """
    both = sorted(first.keys() & second.keys())
    if not both:
        raise MetricError("There is no picture that both reviewers judged, so there is no agreement to measure.")
    count = len(both)
    differing = tuple(path for path in both if first[path] != second[path])
    observed = 1 - len(differing) / count
    ones, others = Counter(first[path] for path in both), Counter(second[path] for path in both)
    same_by_chance = sum(ones[verdict] * others[verdict] for verdict in ones)  # of count ** 2, exact
    if same_by_chance == count**2:
        return Agreement(count, observed, math.nan, math.nan, math.nan, differing)
    chance = same_by_chance / count**2
    kappa = (observed - chance) / (1 - chance)
    half = _Z95 * math.sqrt(observed * (1 - observed) / count) / (1 - chance)
    return Agreement(count, observed, kappa, max(kappa - half, -1.0), min(kappa + half, 1.0), differing)
