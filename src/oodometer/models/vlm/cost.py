"""What questions will cost, counted before the first is put."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oodometer.models.vlm.question import TEMPLATE
from oodometer.types import LabelSpace

__all__ = ["Estimate", "estimate", "left"]

LETTERS = 4
"""Characters in a token of English text, about."""

TILE, PER_TILE, PER_IMAGE = 512, 170, 85
"""How OpenAI's documentation counts the tokens of a picture in detail: some for each tile of so many pixels a side,
and some more. Others differ, by a factor of four to either side for small pictures."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What will be sent at most: how many requests, tokens in and out, bytes of pictures; and the minutes it takes.

    ``tokens_of_text`` and ``tokens_of_pictures`` are parts of what goes in; they are about right, not limits.
    ``minutes`` is ``None`` without a limit on the pace. ``kept`` counts the answers that are there already.
    """

    requests: int
    kept: int
    tokens_of_text: int
    tokens_of_pictures: int
    tokens_out: int
    sent: int
    minutes: float | None

    def __str__(self) -> str:
        already = f" ({self.kept:,} more answers are kept from before)" if self.kept else ""
        pace = "" if self.minutes is None else f" They take {_minutes(self.minutes)} at least."
        return (
            f"at most {self.requests:,} requests{already}: about {self.tokens_of_text:,} tokens of text and "
            f"{self.tokens_of_pictures:,} of pictures in, at most {self.tokens_out:,} tokens out, and "
            f"{self.sent / 1e6:,.1f} MB of pictures to send at most.{pace}"
        )


def left(
    questions: Sequence[tuple[LabelSpace, Mapping[str, int]]], kept: Counter[tuple[str, str]]
) -> tuple[list[tuple[LabelSpace, int]], int]:
    """Count the questions that are still to be put, in each label space, and the answers that are there already.

    Parameters
    ----------
    questions
        In each label space, how many questions there are about each image.
    kept
        How many answers there are, by label space and image.
    """
    there = [
        (space, sum(each.values()), sum(min(count, kept[space.name, image]) for image, count in each.items()))
        for space, each in questions
    ]
    return [(space, asked - known) for space, asked, known in there], sum(known for _, _, known in there)


def estimate(
    asked: Sequence[tuple[LabelSpace, int]],
    kept: int,
    *,
    candidates: int | None,
    shape: tuple[int, ...],
    most_tokens: int,
    per_minute: int | None,
) -> Estimate:
    """Estimate what questions cost.

    Parameters
    ----------
    asked, kept
        What ``left`` counted.
    candidates
        How many classes a question names; ``None`` for all.
    shape
        Of a picture: height, width, 3.
    most_tokens
        Of an answer.
    per_minute
        How many requests go in a minute.
    """
    requests, (height, width) = sum(count for _, count in asked), shape[:2]
    text = sum(count * _letters(space, candidates) / LETTERS for space, count in asked)
    picture = PER_IMAGE + PER_TILE * math.ceil(height / TILE) * math.ceil(width / TILE)
    return Estimate(
        requests=requests,
        kept=kept,
        tokens_of_text=math.ceil(text),
        tokens_of_pictures=requests * picture,
        tokens_out=requests * most_tokens,
        sent=requests * _largest(height, width),
        minutes=None if per_minute is None else requests / per_minute,
    )


def _letters(space: LabelSpace, candidates: int | None) -> float:
    names = [space.names[position] for position in space.columns or range(space.width)]
    listed = sum(len(name) + 1 for name in names)
    return len(TEMPLATE) + (listed if candidates is None else listed * candidates / len(names))


def _largest(height: int, width: int) -> int:
    """Return the bytes of a PNG that does not get any smaller, in base64."""
    rows = height * (3 * width + 1)
    return 4 * math.ceil((rows + rows // 1000 + 1024) / 3)


def _minutes(minutes: float) -> str:
    whole = math.ceil(minutes)
    return f"{whole} minute{'' if whole == 1 else 's'}" if whole < 120 else f"{minutes / 60:,.1f} hours"
