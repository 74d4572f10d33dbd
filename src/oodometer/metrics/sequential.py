"""The cheapest way to an interval of given width: through how many conditions the next images go, and when to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass

from oodometer.metrics.incomplete import Spread
from oodometer.metrics.intervals import Estimate, student

__all__ = ["FIRST_EACH", "Choice", "next_step", "reached"]

FIRST_EACH = 4
"""Conditions of an image in the first step, which tells how strongly the outcomes of one image are correlated."""

AIM = 0.98
SMALLEST = 0.02
"""What part of the variance that is allowed is aimed at, and the least step as a part of the passes so far: so that the
goal is not missed by a hair again and again."""


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
        The estimate itself; or, where even all conditions of all images would leave a wider interval, the estimate of
        what these would give (``Spread.of_all``).
    """
    suffice = found.between / images < (half_width / student(found.images - 1)) ** 2
    estimate = found.estimate if suffice else found.of_all(images)
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
        more than twice as many conditions as a condition has images, since what the choice rests on is an estimate.
    """
    allowed = (half_width / student(found.images - 1)) ** 2
    if found.between / images >= allowed:
        allowed += found.between / images
    cautious = min(most, math.ceil(2 * found.passes / found.conditions))
    ways = [(_needed(found, AIM * allowed, each), each) for each in range(1, cautious + 1)]
    needed, each = min(
        ((needed, each) for needed, each in ways if needed <= left),
        key=lambda way: way[0] * (decoding + way[1]),
        default=(left, cautious),
    )
    least, greatest = math.ceil(SMALLEST * found.passes / each), math.ceil(found.passes / each)
    return Choice(min(max(needed, least), greatest, left), each, found.passes + needed * each)


def _needed(found: Spread, allowed: float, each: int) -> int:
    """Compute how many more images, through ``each`` conditions, bring the variance down to what is allowed.

    With x images more there are s = passes + each x passes and pairs + (each - 1) (s - passes) pairs; ``Spread`` says
    what variance that gives, and x is where it equals the one that is allowed.
    """
    shared = max(found.shared, 0)
    linear = found.alone + shared * (each - 1)
    constant = shared * (found.pairs - found.passes * (each - 1))
    passes = (linear + math.sqrt(max(linear**2 + 4 * allowed * constant, 0))) / (2 * allowed)
    return max(math.ceil((passes - found.passes) / each), 1)
