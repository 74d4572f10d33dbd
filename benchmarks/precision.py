"""Simulate evaluations to a given precision by resampling the images of a real, full run.

    bench/bin/python benchmarks/precision.py RUN [--images 50000] [--simulations 2000] [--points 0.5 1 2] [--json FILE]

RUN is the folder of a run in which all images went through all conditions. A simulated benchmark draws its images from
that run's, with replacement, and is evaluated by the very functions that an evaluation uses: the blocks, the estimate,
the choice of the next step, the stopping. The true mCE is the run's own. For each half-width it prints how often the
95 % interval held the truth, the passes it took, and what part of the cost of the full benchmark that is; beside it
what the full design would need for the same half-width, and designs of a fixed number of conditions an image.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from machine import machine, print_table
from numpy.typing import NDArray

import oodometer
from oodometer.metrics.incomplete import Spread, mce_spread
from oodometer.metrics.sequential import FIRST_EACH, next_step, reached
from oodometer.sampling import taken

Z = 1.959964


@dataclass(frozen=True)
class Population:
    """Images to draw from: bool, images x conditions, and the name of each condition's corruption."""

    misses: NDArray[np.bool_]
    corruptions: tuple[str, ...]

    @property
    def whole(self) -> Spread:
        """The mCE of all of them, and its variance."""
        return mce_spread(self.misses, self.corruptions)

    def mce(self, drawn: NDArray[np.intp]) -> float:
        """Compute the mCE of some images by the plain formula, from their error under each condition."""
        errors: dict[str, list[float]] = {}
        for name, error in zip(self.corruptions, self.misses[drawn].mean(axis=0), strict=True):
            errors.setdefault(name, []).append(float(error))
        return oodometer.metrics.mce({name: values for name, values in errors.items() if name != "clean"})


@dataclass(frozen=True)
class Outcome:
    """How one simulated evaluation ended: what it knew, after how many looks, and what all conditions would give."""

    found: Spread
    looks: int
    enough: bool
    truth: float


def simulate(population: Population, images: int, half_width: float, decoding: float, seed: int) -> Outcome:
    """Evaluate a benchmark of so many images, drawn with replacement, to a precision."""
    drawn = np.random.default_rng(seed).integers(0, len(population.misses), images)
    conditions = len(population.corruptions)
    misses, seen, begin, looks = [], [], 0, 0
    take, each = min(conditions, images), FIRST_EACH
    while True:
        places = np.arange(begin, begin + take)
        misses.append(population.misses[drawn[places]])
        seen.append(np.zeros((take, conditions), bool))
        # Of images that are drawn anew each time, a few designs tell as much as thousands.
        np.put_along_axis(seen[-1], taken(seed % 4, places, conditions, each), True, axis=1)
        begin, looks = begin + take, looks + 1
        observed = np.ma.array(np.concatenate(misses), mask=~np.concatenate(seen))
        found = mce_spread(observed, population.corruptions)
        enough = reached(found, half_width, images) is not None
        if enough or begin == images:
            return Outcome(found, looks, enough, population.mce(drawn))
        choice = next_step(found, half_width, images, left=images - begin, most=conditions, decoding=decoding)
        take, each = choice.images, choice.each


def summarize(population: Population, images: int, outcomes: list[Outcome]) -> dict[str, float]:
    """Put many simulated evaluations into a few numbers; those in points are percentages of the mCE."""
    truth = population.whole.value
    estimates = [o.found.estimate for o in outcomes]
    errors = np.array([e.value - truth for e in estimates])
    passes = np.mean([o.found.passes for o in outcomes])
    every = [o.found.of_all(images) for o in outcomes]
    return {
        "coverage": float(np.mean([e.low <= truth <= e.high for e in estimates])),
        "half_width": 100 * float(np.mean([(e.high - e.low) / 2 for e in estimates])),
        "bias": 100 * float(errors.mean()),
        "bias_se": 100 * float(errors.std() / math.sqrt(len(errors))),
        "images": float(np.mean([o.found.images for o in outcomes])),
        "passes": float(passes),
        "share": float(passes / (images * len(population.corruptions))),
        "looks": float(np.mean([o.looks for o in outcomes])),
        "reached": float(np.mean([o.enough for o in outcomes])),
        "coverage_of_all": float(np.mean([e.low <= o.truth <= e.high for e, o in zip(every, outcomes, strict=True)])),
        "half_width_of_all": 100 * float(np.mean([(e.high - e.low) / 2 for e in every])),
    }


def fixed(population: Population, images: int, half_width: float, each: int) -> dict[str, float]:
    """Compute what so many conditions an image would take, if the variances were known beforehand."""
    whole, conditions = population.whole, len(population.corruptions)
    variance = whole.alone / each + whole.shared * (1 - 1 / each)
    needed = variance * (Z / half_width) ** 2
    return {"images": needed, "passes": needed * each, "share": needed * each / (images * conditions)}


def main() -> None:
    """Simulate, print the tables, and write the numbers if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--images", type=int, default=50_000)
    parser.add_argument("--simulations", type=int, default=2000)
    parser.add_argument("--points", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--decoding", type=float, default=0.2, help="cost of decoding an image, in passes")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    table = oodometer.Run(chosen.run).store.table("imagenet-c", "imagenet-1k")
    population = Population(table.misses, tuple(c.corruption for c in table.conditions))
    results: dict[str, object] = {"machine": machine()}
    for points in chosen.points:
        half_width, images = points / 100, chosen.images
        outcomes = [simulate(population, images, half_width, chosen.decoding, s) for s in range(chosen.simulations)]
        result = summarize(population, images, outcomes)
        designs = {str(each): fixed(population, images, half_width, each) for each in (1, 3, len(table.conditions))}
        results[f"{points:g} points"] = {"simulated": result, "fixed": designs}
        title = f"{points:g} points, {images:,} images, {chosen.simulations:,} simulations"
        print_table(title, ["", ""], [[name.replace("_", " "), f"{value:,.4f}"] for name, value in result.items()])
        lines = [[k, f"{d['images']:,.0f}", f"{d['passes']:,.0f}", f"{d['share']:.2%}"] for k, d in designs.items()]
        print_table("The same by fixed designs", ["conditions an image", "images", "passes", "share"], lines)
    if chosen.json:
        chosen.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
