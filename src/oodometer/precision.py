"""An evaluation to a given precision, step by step: what is known, whether that is enough, and what to do next.

An image goes through the first few conditions of its own sequence (``sampling.py``), and a step says which images, and
through how many. The first step is fixed; a later one is chosen from the predictions of all before it, read from the
store, and from what decoding an image costs. It is written down before it is begun, so that a run that is killed goes
on with the same steps and ends the same.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator

from oodometer.errors import MetricError
from oodometer.meter import Meter
from oodometer.metrics import Baseline
from oodometer.metrics.incomplete import Spread, mce_spread
from oodometer.metrics.sequential import FIRST_EACH, next_step, reached
from oodometer.pairing import difference
from oodometer.plan import Benchmark
from oodometer.progress import Observer
from oodometer.store import RunStore, Step, Table
from oodometer.tables import counted_names

__all__ = ["steps"]


def steps(
    store: RunStore, benchmark: Benchmark, baseline: Baseline | None, meter: Meter, observer: Observer
) -> Iterator[Step]:
    """Yield what is to be done of a benchmark; a step is asked for when the one before it is in the store.

    Parameters
    ----------
    store
        The run.
    benchmark
        The plan. Without a precision all that it offers is done.
    baseline
        What the mCE is divided by; without one the precision is that of the mean corruption error.
    meter
        What an image has cost so far.
    observer
        Is told how many pictures to expect.
    """
    if benchmark.half_width is None:
        yield from benchmark.offered
        return
    choice = _Choice(benchmark, baseline, observer)
    begun = list(store.steps(benchmark.name)) or [choice.first(0)]
    yield from begun
    while (step := choice.after(begun[-1], store, meter.decoding)) is not None:
        begun.append(step)
        if store.exists():  # not while no image could be read
            store.write_steps(benchmark.name, begun)
        yield step


class _Choice:
    """Chooses the steps of a benchmark."""

    def __init__(self, benchmark: Benchmark, baseline: Baseline | None, observer: Observer) -> None:
        self._benchmark = benchmark
        self._baseline = baseline
        self._observer = observer
        self._offered = benchmark.offered
        self._places = [place for place, _ in benchmark.placed]

    def first(self, begin: int) -> Step:
        """Take as many images as there are conditions, from a position in the order on."""
        return self._step(begin, len(self._benchmark.conditions), FIRST_EACH, None)

    def after(self, last: Step, store: RunStore, decoding: float | None) -> Step | None:
        """Choose the next step from what is in the store; ``None`` if that suffices, or if there are no more images."""
        begin = bisect.bisect_left(self._places, last.stop)
        half_width = self._benchmark.half_width
        if begin == len(self._places) or half_width is None:
            return None
        table = store.table(self._benchmark.name, self._benchmark.dataset.label_space.name)
        found = self._known(table)
        if found is None:
            return self.first(begin)
        readable = len(table.images) / begin  # of the images that were tried
        images, left = math.ceil(len(self._places) * readable), math.ceil((len(self._places) - begin) * readable)
        if reached(found, half_width, images):
            return None
        decoding = decoding or last.decoding or 0.0
        most = self._offer(begin).each
        choice = next_step(found, half_width, images, left=left, most=most, decoding=decoding)
        self._observer.expect(choice.forecast)
        return self._step(begin, math.ceil(choice.images / readable), choice.each, decoding)

    def _known(self, table: Table) -> Spread | None:
        """Say what is known of the mCE, or of its difference; ``None`` while conditions lack images."""
        partner = self._benchmark.partner
        try:
            if partner is not None:
                return difference(table, partner.table, self._baseline)
            return mce_spread(table.misses, counted_names(table.conditions), self._baseline)
        except MetricError:
            return None

    def _step(self, begin: int, images: int, each: int, decoding: float | None) -> Step:
        """Take images from a position in the order on, as far as they are offered alike."""
        offer = self._offer(begin)
        end = min(begin + images, bisect.bisect_left(self._places, offer.stop))
        return Step(self._places[begin], self._places[end - 1] + 1, min(each, offer.each), decoding)

    def _offer(self, position: int) -> Step:
        return next(offer for offer in self._offered if self._places[position] < offer.stop)
