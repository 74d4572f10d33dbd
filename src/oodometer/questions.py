"""How many questions an evaluation will put to a model that is asked in words, which costs: counted beforehand."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from oodometer.plan import Benchmark
from oodometer.predicting import taking_part
from oodometer.types import CLEAN, LabelSpace

__all__ = ["questions"]


def questions(benchmark: Benchmark, done: Collection[str]) -> Iterator[tuple[LabelSpace, Mapping[str, int]]]:
    """Count what there is left to ask.

    Parameters
    ----------
    benchmark
        The plan.
    done
        The ids of the images that need no more work.

    Yields
    ------
    tuple
        A label space, and how many questions there are about each image in it: at most as many, where images turn out
        to be unreadable, or a precision is reached before.
    """
    left = [sample for sample in benchmark.order if sample.id not in done]
    every, partner = len(benchmark.conditions), benchmark.partner
    seen = {} if partner is None else dict(zip(partner.table.images, partner.table.seen.sum(axis=1), strict=True))
    yield benchmark.dataset.label_space, {sample.id: int(seen.get(sample.id, every)) for sample in left}
    for space in benchmark.also if CLEAN in benchmark.conditions else ():
        yield space, {left[row].id: 1 for row in taking_part(left, space)}
