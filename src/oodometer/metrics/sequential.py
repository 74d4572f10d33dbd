"""The cheapest way to an interval of given width: through how many conditions the next images go, and when to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from oodometer.metrics.incomplete import Spread
from oodometer.metrics.intervals import Estimate, student

__all__ = ["FIRST_EACH", "Choice", "next_step", "reached"]

FIRST_EACH = 4
"""Conditions of an image in the first step, which tells how strongly the outcomes of one image are correlated."""

ENOUGH = 0.75
"""What part of the variance that is allowed may be the images' own, which all conditions of all images would leave. As
that part nears the whole, the goal takes the whole cost; beyond, it cannot be reached."""

SMALLEST = 0.02
"""The least step as a part of the passes so far: below, more looks would save nothing."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How many images to take next, through how many conditions each, and the forecast of all passes in the end."""

    images: int
    each: int
    forecast: int


def reached(found: Spread, half_width: float, images: int) -> Estimate | None:
    """Return the interval that is narrow enough, if there is one.

    Parameters
    ----------
    found
        What is known so far.
    half_width
        Half the width that the interval may have.
    images
        How many images there are in all.

    Returns
    -------
    Estimate or None
        The estimate itself; or, where the images do not suffice for that (``ENOUGH``), the estimate of what all their
        conditions would give (``Spread.of_all``).
    """
    _, rest = _allowed(found, half_width, images)
    estimate = found.of_all(images) if rest else found.estimate
    return estimate if (estimate.high - estimate.low) / 2 <= half_width else None


def next_step(found: Spread, half_width: float, images: int, *, left: int, most: int, decoding: float) -> Choice:
    """Choose how many images to take next, and through how many conditions each.

    Parameters
    ----------
    found, half_width, images
        As for ``reached``, which is not yet.
    left
        How many images may still be taken, at least 1.
    most
        How many conditions an image can go through.
    decoding
        What it costs to fetch, decode and resize an image, in passes: images are dear where it is great.

    Returns
    -------
    Choice
        Among the ways that reach the goal with the images left, the cheapest; but no more passes than so far, and no
        more than twice as many conditions as a condition has images, since what the choice rests on is an estimate. If
        no way reaches it, the one that comes nearest.
    """
    if found.alone == 0:  # all outcomes agree, which says nothing of the variance: see more images
        return Choice(min(found.images, left), 1, found.passes + found.images)
    allowed, rest = _allowed(found, half_width, images)
    cautious = min(most, math.ceil(2 * found.passes / found.conditions))
    # The variance is an estimate too, known to about this part; aiming lower, the goal is not missed by a hair.
    aim = allowed * (1 - found.images**-0.5) + rest
    ways = [(_needed(found, aim, each), each) for each in range(1, cautious + 1)]
    needed, each = min(
        ((needed, each) for needed, each in ways if needed <= left),
        key=lambda way: way[0] * (decoding + way[1]),
        default=(left, min(range(1, cautious + 1), key=lambda each: _variance(found, left, each))),
    )
    least, greatest = math.ceil(SMALLEST * found.passes / each), math.ceil(found.passes / each)
    return Choice(min(max(needed, least), greatest, left), each, found.passes + needed * each)


def _allowed(found: Spread, half_width: float, images: int) -> tuple[float, float]:
    """Return the variance that is allowed, and, where it is that of ``Spread.of_all``, what the images add to it."""
    allowed = (half_width / student(found.images - 1)) ** 2
    rest = found.between / images
    return allowed, rest if rest > ENOUGH * allowed else 0.0


def _variance(found: Spread, images: int, each: int) -> float:
    """Compute what variance the estimate will have with so many images more, through ``each`` conditions."""
    passes, pairs = found.passes + images * each, found.pairs + images * each * (each - 1)
    return found.alone / passes + max(found.shared, 0) * pairs / passes**2


def _needed(found: Spread, allowed: float, each: int) -> int:
    """Compute how many images more bring the variance down to what is allowed: ``_variance``, solved for the images."""
    shared = max(found.shared, 0)
    linear = found.alone + shared * (each - 1)
    constant = shared * (found.pairs - found.passes * (each - 1))
    passes = (linear + math.sqrt(max(linear**2 + 4 * allowed * constant, 0))) / (2 * allowed)
    return max(math.ceil((passes - found.passes) / each), 1)
