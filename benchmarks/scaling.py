"""Measure what a Ray cluster costs over threads on this machine, and plan from it what 1,000 graphics processors need.

    python3 -m venv bench && bench/bin/pip install -c constraints-frameworks.txt '.[demo,ray]'
    bench/bin/python benchmarks/scaling.py PHOTOGRAPHS [--limit 96] [--rounds 3] [--write docs/scaling.md]

PHOTOGRAPHS is a folder of class folders named by wnid, best of photographs as large as ImageNet's. The machine should
be idle, and have two processors at least. What is measured, in this order:

``workers``: pictures a second of an evaluation with a model that costs next to nothing, so that all of it is decoding,
corrupting and keeping; and of a build. On one and two threads of one process, and on one and two workers of Ray with a
thread each. Rates are from the time on when each worker had given its first two blocks, so that starting is not in
them; a ratio is the median of those of rounds in turns.
``scheduling``: what handing out a block and taking it back costs the process that holds the plan, by blocks of which
the worker has nothing to do; and what keeping a block in the store costs it.
``bytes``: of a photograph, of a picture's predictions in the store, and of a picture as a file.

The plan is arithmetic on these figures, and on the assumptions below, which are no measurements. With ``--write`` all
of it goes into a page between its two marks.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ["OMP_NUM_THREADS"] = "1"  # a worker is one thread, here and there

import numpy as np
from machine import machine

import oodometer
from oodometer.building.tree import Tree
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.plan import corrupted, make_protocol
from oodometer.road import Execution, cut, drive
from oodometer.scaling import Cluster
from oodometer.store import RunStore

CONDITIONS = 1 + len(IMAGENET_C) * len(SEVERITIES)
BATCH = 8
"""Images of a block, small so that there are many for few photographs."""

MARKS = "<!-- measured by benchmarks/scaling.py -->", "<!-- end of what was measured -->"

ASSUMED = {
    "pictures a second of a graphics processor": 3000.0,
    "processor cores beside a graphics processor": 16.0,
    "GB a second of the storage that all nodes read from": 5.0,
    "images of a block in the plan": 64.0,
    "images of ImageNet's validation set": 50_000.0,
    "models on a leaderboard": 100.0,
}
"""What the plan takes for given, in round numbers; no such hardware was at hand."""

PLANNED = (1, 8, 64, 256, 1000)


class Cheap:
    """A classifier that costs next to nothing: its logits are bytes of the picture, made to differ."""

    name = "cheap"

    def predict(self, images: np.ndarray) -> np.ndarray:
        """Map uint8 pictures, N x 224 x 224 x 3, to N x 1000 logits."""
        return images.reshape(len(images), -1)[:, :1000] + np.arange(1000, dtype=np.float32) / 4096


@dataclass(frozen=True)
class Figures:
    """What was measured. Rates are pictures a second, by workers; seconds are of one block; bytes are of one thing."""

    evaluation_threads: dict[int, float]
    evaluation_ray: dict[int, float]
    evaluation_ratio: dict[int, float]
    building_threads: dict[int, float]
    building_ray: dict[int, float]
    building_ratio: dict[int, float]
    handing_out: float
    keeping: float
    photograph: float
    prediction: float
    picture: float


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@contextmanager
def ray_of(workers: int) -> Iterator[Cluster]:
    """Start a cluster of this machine with so many processors; each worker has one."""
    import ray

    ray.init(num_cpus=workers, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
    try:
        yield Cluster()
    finally:
        ray.shutdown()


def evaluation(photographs: Path, limit: int, workers: int, cluster: Cluster | None) -> Path:
    """Evaluate, and return the folder of the run's predictions, a file a block."""
    out = Path(tempfile.mkdtemp(), "run")
    given = {"limit": limit, "batch_size": BATCH, "progress": False, "cluster": cluster}
    oodometer.evaluate(Cheap(), photographs, out, workers=workers if cluster is None else 1, **given)
    return out / "predictions" / "imagenet-c"


def building(photographs: Path, limit: int, workers: int, cluster: Cluster | None) -> Path:
    """Build, and return the folder of the lists of what was made, a file a block."""
    out = Path(tempfile.mkdtemp(), "built")
    given = {"limit": limit, "progress": False, "cluster": cluster}
    oodometer.build(photographs, out, workers=workers if cluster is None else 1, **given)
    return out / "manifest"


def rate(blocks: Path, workers: int) -> float:
    """Return the pictures a second from the time on when each worker had given its first two blocks."""
    times = sorted(path.stat().st_mtime_ns for path in blocks.glob("*.parquet"))
    first = 2 * workers - 1
    return (len(times) - 1 - first) * BATCH * CONDITIONS / ((times[-1] - times[first]) / 1e9)


def rates(
    work: Callable[..., Path], photographs: Path, limit: int, rounds: int, workers: int
) -> tuple[float, float, float]:
    """Return the rate on threads, that on Ray, and how many times as long Ray takes."""
    here, there = [], []
    with ray_of(workers) as cluster:
        for _ in range(rounds):
            here.append(rate(work(photographs, limit, workers, None), workers))
            there.append(rate(work(photographs, limit, workers, cluster), workers))
    ratio = statistics.median(one / other for one, other in zip(here, there, strict=True))
    return statistics.median(here), statistics.median(there), ratio


def handing_out(blocks: int = 300) -> float:
    """Return the seconds that a block costs which a worker gives back at once: a result as large as one of a block."""
    import ray

    images = int(ASSUMED["images of a block in the plan"])

    class Idle:
        def work(self, _: object) -> bytes:
            return bytes(images * CONDITIONS * 32)

    def through(actor: Any) -> None:  # noqa: ANN401 - Ray's
        flying, left = [actor.work.remote(range(images)) for _ in range(4)], blocks
        while flying:
            (done, *_), flying = ray.wait(flying, num_returns=1)
            ray.get(done)
            left -= 1
            if left >= 4:
                flying.append(actor.work.remote(range(images)))

    with ray_of(2):
        actor = ray.remote(Idle).remote()
        through(actor)  # starts it
        return seconds(lambda: through(actor)) / blocks


def keeping(photographs: Path, run: Path, times: int = 20) -> float:
    """Return the seconds that keeping a block of the plan's size costs."""
    images = int(ASSUMED["images of a block in the plan"])
    chosen = {"preprocess": "imagenet224", "encoding": "memory", "edition": "imagenet224", "method": "fast", "seed": 0}
    dataset = oodometer.open_dataset(photographs)
    limit = min(images, len(dataset.samples))
    benchmark = corrupted(dataset, make_protocol(corruptions="imagenet-c", **chosen), limit=limit)
    step, execution = benchmark.offered[0], Execution.of(images, 2)
    (stage,) = drive(Cheap(), benchmark, step, cut(benchmark, step, (), execution), execution, lambda _: None)
    store = RunStore(run)
    took = seconds(lambda: [store.write_block("imagenet-c", 0, stage.block) for _ in range(times)]) / times
    return took * images / limit


def size(folder: Path, pattern: str) -> float:
    """Return the bytes of all files of a pattern."""
    return float(sum(path.stat().st_size for path in folder.rglob(pattern)))


def measured(photographs: Path, limit: int, rounds: int) -> Figures:
    """Measure everything."""
    evaluations = {workers: rates(evaluation, photographs, limit, rounds, workers) for workers in (1, 2)}
    with small_blocks():
        builds = {workers: rates(building, photographs, limit, rounds, workers) for workers in (1, 2)}
    run = evaluation(photographs, limit, 1, None).parents[1]
    built = building(photographs, BATCH, 1, None).parent
    images = [sample.size for sample in oodometer.open_dataset(photographs).samples]
    return Figures(
        *({workers: found[i] for workers, found in evaluations.items()} for i in range(3)),
        *({workers: found[i] for workers, found in builds.items()} for i in range(3)),
        handing_out=handing_out(),
        prediction=size(run / "predictions", "*.parquet") / (limit * CONDITIONS),
        keeping=keeping(photographs, run),
        photograph=statistics.mean(images),
        picture=size(built, "*.JPEG") / (BATCH * (CONDITIONS - 1)),
    )


@contextmanager
def small_blocks() -> Iterator[None]:
    """Have a build of few images in many blocks."""
    before = Tree.images
    Tree.images = BATCH
    try:
        yield
    finally:
        Tree.images = before


def table(head: list[str], lines: list[list[object]]) -> str:
    """Return Markdown."""
    rows = [head, ["---"] * len(head), *lines]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows) + "\n"


def overhead_table(found: Figures) -> str:
    """Say what Ray costs over threads."""
    lines: list[list[object]] = []
    for what in ("evaluation", "building"):
        here, there, ratio = (getattr(found, f"{what}_{name}") for name in ("threads", "ray", "ratio"))
        lines += [
            [what, workers, f"{here[workers]:.0f}", f"{there[workers]:.0f}", f"{ratio[workers]:.2f}",
             f"{there[workers] / there[1]:.2f}"]
            for workers in here
        ]  # fmt: skip
    head = [
        "work",
        "workers",
        "pictures/s, threads",
        "pictures/s, Ray",
        "time on Ray / on threads",
        "Ray / its 1 worker",
    ]
    return table(head, lines)


def inputs_table(found: Figures) -> str:
    """Say what the plan rests on: what was measured, and what is assumed."""
    core = found.evaluation_threads[1]
    lines: list[list[object]] = [
        ["pictures a second that one core decodes, corrupts and scores", f"{core:.0f}", "measured"],
        ["bytes of a photograph, read once for all conditions", f"{found.photograph:.0f}", "measured"],
        ["bytes read for a picture", f"{found.photograph / CONDITIONS:.0f}", "measured"],
        ["bytes of a picture's prediction in the store", f"{found.prediction:.1f}", "measured"],
        ["bytes of a built picture (JPEG, quality 85)", f"{found.picture:.0f}", "measured"],
        ["milliseconds to hand out a block and take it back", f"{1000 * found.handing_out:.2f}", "measured"],
        ["milliseconds to keep a block", f"{1000 * found.keeping:.2f}", "measured"],
        *([name, f"{value:,.0f}", "assumed"] for name, value in ASSUMED.items()),
    ]
    return table(["what", "figure", "from"], lines)


@dataclass(frozen=True)
class Plan:
    """What so many graphics processors ask of everything else, when all of them are busy."""

    gpus: int
    pictures: float
    cores: float
    read: float
    written: float
    blocks: float
    driver: float
    minutes: float
    models: float


def plan(found: Figures, gpus: int) -> Plan:
    """Work out the plan from the figures and the assumptions."""
    speed, _, _, images, whole, models = ASSUMED.values()
    pictures = gpus * speed
    block = images * CONDITIONS
    blocks = pictures / block
    each = found.handing_out + found.keeping
    at_once = math.ceil(whole / images)  # blocks of one model, beyond which more processors have nothing to do
    return Plan(
        gpus=gpus,
        pictures=pictures,
        cores=pictures / found.evaluation_threads[1],
        read=pictures / CONDITIONS * found.photograph,
        written=pictures * found.prediction,
        blocks=blocks,
        driver=blocks * each,
        minutes=whole * CONDITIONS / (min(gpus, at_once) * speed) / 60,
        models=models * whole * CONDITIONS / pictures / 3600,
    )


def plan_table(found: Figures) -> str:
    """Show the plan."""
    head = ["GPUs", "pictures/s", "cores that corrupt", "read, MB/s", "store, MB/s", "blocks/s", "driver busy",
            "one model, min", "all models, h"]  # fmt: skip
    lines: list[list[object]] = [
        [p.gpus, f"{p.pictures:,.0f}", f"{p.cores:,.0f}", f"{p.read / 1e6:,.1f}", f"{p.written / 1e6:,.2f}",
         f"{p.blocks:.1f}", f"{100 * p.driver:.0f} %", f"{p.minutes:.2f}", f"{p.models:,.2f}"]
        for p in (plan(found, gpus) for gpus in PLANNED)
    ]  # fmt: skip
    return table(head, lines)


def limits_table(found: Figures) -> str:
    """Say at how many graphics processors what is full, the first first."""
    one, (_, cores, storage, images, whole, _) = plan(found, 1), ASSUMED.values()
    reached = {
        "the process that holds the plan, by handing out and keeping blocks": 1 / one.driver,
        "the storage, by reading photographs": storage * 1e9 / one.read,
        "blocks of one model: each processor has one": math.ceil(whole / images),
        "the cores beside each graphics processor, by corrupting": math.inf if one.cores <= cores else 0,
    }
    beside = f"{one.cores:.1f} are needed of {cores:.0f}"
    words = {math.inf: f"never: {beside}", 0: f"from the first on: {beside}"}
    lines: list[list[object]] = [
        [what, words.get(count, f"{count:,.0f}")] for what, count in sorted(reached.items(), key=lambda entry: entry[1])
    ]
    store = whole * CONDITIONS * found.prediction
    built = whole * (CONDITIONS - 1) * found.picture
    sizes = (
        f"The store of one model on ImageNet-C is {store / 1e6:,.0f} MB; ImageNet-C as files is {built / 1e9:,.0f} GB. "
        f"One core builds it in {whole * (CONDITIONS - 1) / found.building_threads[1] / 3600:,.1f} hours.\n"
    )
    return table(["what is full first", "at so many GPUs"], lines) + sizes


def page(found: Figures) -> str:
    """Return all of it as Markdown."""
    about = table(["what", "which"], [list(entry) for entry in machine().items()])
    parts = {
        "The machine": about,
        "Ray over threads": overhead_table(found),
        "What the plan rests on": inputs_table(found),
        "The plan": plan_table(found),
        "What is full first": limits_table(found),
    }
    return "".join(f"### {title}\n\n{text}\n" for title, text in parts.items()).replace("\n\n\n", "\n\n")


def written(text: str, found: str) -> str:
    """Return a page with what was measured between its marks.

    Raises
    ------
    ValueError
        If it lacks the marks.
    """
    before, begin, rest = text.partition(MARKS[0])
    _, end, after = rest.partition(MARKS[1])
    if not (begin and end):
        raise ValueError(f"The page lacks the marks {MARKS[0]} and {MARKS[1]}.")
    return f"{before}{begin}\n\n{found}{end}{after}"


def main() -> None:
    """Measure, print Markdown, and write it where it is asked for."""
    parser = argparse.ArgumentParser(description="Measure Ray over threads, and plan from it.")
    parser.add_argument("photographs", type=Path, metavar="PHOTOGRAPHS")
    parser.add_argument("--limit", type=int, default=96, help="how many photographs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put it into this page, between its marks")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    given = parser.parse_args()
    if given.limit < 6 * BATCH:
        parser.error(f"--limit must be {6 * BATCH} or more")
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        found = measured(given.photographs, given.limit, given.rounds)
        tempfile.tempdir = None
    sys.stdout.write(page(found))
    if given.write:
        given.write.write_text(written(given.write.read_text(encoding="utf-8"), page(found)), encoding="utf-8")
    if given.json:
        given.json.write_text(json.dumps({"machine": machine(), **asdict(found)}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
