"""What a vision-language model is asked: one question about one picture, with the classes to choose from."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from oodometer.errors import ArgumentError
from oodometer.models.vlm.rules import RULES
from oodometer.seeding import order_stream
from oodometer.types import UNLABELLED, LabelSpace, Sample

__all__ = ["TEMPLATE", "Candidates", "ask_for", "check_candidates", "draw", "protocol"]

TEMPLATE = (
    "What is the main object in the picture? Answer with one of the following names, exactly as it is written, and "
    "with nothing else.\n\n{names}"
)
"""The question; ``{names}`` are those of the candidates, a line each."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The classes to choose from, in the order in which they are named: positions in a label space, and their names."""

    positions: tuple[int, ...]
    names: tuple[str, ...]


def protocol(candidates: int | None) -> str:
    """Say how classes are asked for and answers are read: what makes two results comparable or not.

    Parameters
    ----------
    candidates
        How many classes are named for each image; ``None`` for all.
    """
    asked = hashlib.sha256(TEMPLATE.encode()).hexdigest()[:8]
    drawn = f"{candidates} classes drawn for each image, the true one among them"
    among = "all classes" if candidates is None else drawn
    return f"free-text answers among {among} (question {asked}, rules {RULES})"


def check_candidates(candidates: int | None, space: LabelSpace) -> None:
    """Refuse to draw more candidates than there are classes.

    Raises
    ------
    ArgumentError
        Naming both numbers.
    """
    there = len(_taking_part(space))
    if candidates is not None and candidates > there:
        raise ArgumentError(
            f"{candidates} candidates were asked for, and {space.name} has {there} classes to choose from. Ask for "
            "fewer, or leave the option out to name all."
        )


def draw(sample: Sample, space: LabelSpace, candidates: int | None, seed: int) -> Candidates:
    """Choose the candidates for one image: all classes that take part, or some that are drawn.

    Parameters
    ----------
    sample
        The image. What is drawn depends on its id and the seed, so it is the same under all conditions and for all
        models; the true class is among them, at a random place.
    space
        The classes.
    candidates
        How many to draw; ``None`` for all, in the order of the label space.
    seed
        The seed of the run.

    Raises
    ------
    ArgumentError
        If some are to be drawn for an image without a label, or more than there are.
    """
    positions = _taking_part(space)
    if candidates is not None:
        check_candidates(candidates, space)
        if sample.label == UNLABELLED:
            raise ArgumentError(
                f"{sample.id!r} has no label, so its class cannot be put among {candidates} candidates. Name all "
                "classes instead."
            )
        rng = order_stream(seed, f"candidates\0{space.name}\0{candidates}\0{sample.id}")
        others = [position for position in positions if position != sample.label]
        drawn = [sample.label, *(others[k] for k in rng.permutation(len(others))[: candidates - 1])]
        positions = tuple(drawn[k] for k in rng.permutation(candidates))
    return Candidates(positions, tuple(space.names[position] for position in positions))


def ask_for(candidates: Candidates) -> str:
    """Write the question."""
    return TEMPLATE.format(names="\n".join(name.replace("_", " ") for name in candidates.names))


def _taking_part(space: LabelSpace) -> tuple[int, ...]:
    return tuple(range(space.width)) if space.columns is None else space.columns
