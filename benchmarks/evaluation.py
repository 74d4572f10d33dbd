"""Measure how far the corruptions hide behind the model when a classifier is evaluated on the fly.

    python3 -m venv bench && bench/bin/pip install -c constraints.txt '.[demo]'
    bench/bin/python benchmarks/evaluation.py PHOTOGRAPHS [SECTION ...] [--limit 60] [--json FILE]

PHOTOGRAPHS is a folder of class folders named by wnid. Sections:

``pipeline``: corrupted images of 224 x 224 a second, decoding included, with a model that costs next to nothing.
``overhead``: the built-in model on the fly, beside the same model fed with ready-made arrays of the same batches.
``noise``: by how much the built-in model's answers to the same pictures differ with the number of them in a batch.
``memory``: the peak of memory for all photographs beside that for half of them, with the same cheap model.

Everything goes through ``oodometer.evaluate`` with its store, as a user's run does; 15 corruptions x 5 severities and
the clean images. The kernels are compiled, and the files are in the system's cache, before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from machine import machine, print_table

import oodometer
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.models import load_model
from oodometer.preprocess import PREPROCESS, apply

CONDITIONS = 1 + len(IMAGENET_C) * len(SEVERITIES)


class Cheap:
    """A classifier that costs next to nothing: its logits are bytes of the picture, made to differ."""

    name = "cheap"
    differing = np.arange(1000, dtype=np.float32) / 4096

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Map uint8 pictures, N x 224 x 224 x 3, to N x 1000 logits."""
        return images.reshape(len(images), -1)[:, :1000] + self.differing


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def evaluated(model: object, data: Path, limit: int) -> float:
    """Return the seconds of an evaluation of so many images, with its store."""
    with tempfile.TemporaryDirectory() as folder:
        return seconds(lambda: oodometer.evaluate(model, data, Path(folder, "run"), limit=limit, progress=False))


def pipeline(data: Path, limit: int, rounds: int) -> dict[str, float]:
    """Measure corrupted images a second, for the cheap model and for the one that reads every pixel."""
    passes = limit * CONDITIONS
    figures = {}
    for name, model in {"cheap": Cheap(), "fake": oodometer.FakeModel()}.items():
        evaluated(model, data, limit)
        figures[name] = passes / statistics.median(evaluated(model, data, limit) for _ in range(rounds))
    print_table("Pipeline", ["model", "images a second"], [[name, f"{rate:.0f}"] for name, rate in figures.items()])
    return figures


def overhead(data: Path, limit: int, rounds: int) -> dict[str, float]:
    """Measure the built-in model on the fly and on arrays that are ready, alternately."""
    model = load_model("demo")
    batch = np.random.default_rng(0).integers(0, 256, (16, 224, 224, 3)).astype(np.uint8)
    full, rest = divmod(limit, 16)

    def ready() -> None:
        for count in [16] * (full * CONDITIONS) + [rest] * (CONDITIONS if rest else 0):
            model.predict(batch[:count])

    ready_made, on_the_fly = [], []
    evaluated(Cheap(), data, limit)
    for _ in range(rounds):
        ready_made.append(seconds(ready))
        on_the_fly.append(evaluated(model, data, limit))
    ratio = statistics.median(fly / made for fly, made in zip(on_the_fly, ready_made, strict=True))
    print_table("Overhead", ["on the fly against ready-made arrays"], [[f"{ratio:.3f} times"]])
    return {"ratio": ratio}


def noise(data: Path, limit: int, _: int) -> dict[str, float]:
    """Measure the float noise: clean pictures one by one, and in greater batches."""
    model, dataset = load_model("demo"), oodometer.open_dataset(data)
    pictures = np.stack([apply(dataset.read(sample), PREPROCESS["imagenet224"]) for sample in dataset.samples[:limit]])

    def answers(size: int) -> tuple[np.ndarray, np.ndarray]:
        logits = np.concatenate([model.predict(pictures[at : at + size]) for at in range(0, limit, size)])
        shares = np.exp(logits - logits.max(axis=1, keepdims=True), dtype=np.float64)
        return logits, shares / shares.sum(axis=1, keepdims=True)

    alone, lines, worst = answers(1), [], 0.0
    for size in (2, 4, 16, 64):
        logits, shares = answers(size)
        off = [float(np.abs(a - b).max()) for a, b in zip((logits, shares), alone, strict=True)]
        other = int((logits.argmax(axis=1) != alone[0].argmax(axis=1)).sum())
        lines.append([size, f"{off[0]:.1e}", f"{off[1]:.1e}", f"{other} of {limit}"])
        worst = max(worst, off[1])
    print_table("Float noise, against one picture at a time", ["batch", "logit", "probability", "other class"], lines)
    return {"probability": worst}


def memory(data: Path, limit: int, _: int) -> dict[str, float]:
    """Measure the peak of memory in two fresh processes, for so many images and for half of them."""
    figures = {}
    for count in (limit // 2, limit):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            figures[str(count)] = process.submit(_peak, data, count).result()
    print_table("Memory", ["images", "peak, MB"], [[count, f"{peak:.0f}"] for count, peak in figures.items()])
    return figures


def _peak(data: Path, limit: int) -> float:
    import resource

    evaluated(Cheap(), data, limit)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


SECTIONS = {"pipeline": pipeline, "overhead": overhead, "noise": noise, "memory": memory}


def main() -> None:
    """Measure the sections asked for, print Markdown, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description="Measure evaluation on the fly.")
    parser.add_argument("photographs", type=Path, metavar="PHOTOGRAPHS")
    parser.add_argument("sections", nargs="*", metavar="SECTION", default=["pipeline"], help=", ".join(SECTIONS))
    parser.add_argument("--limit", type=int, default=60, help="how many photographs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - set(SECTIONS):
        parser.error(f"there is no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    about = machine()
    print_table("Machine", ["what", "which"], about.items())
    figures = {s: SECTIONS[s](arguments.photographs, arguments.limit, arguments.rounds) for s in arguments.sections}
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": about, **figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
