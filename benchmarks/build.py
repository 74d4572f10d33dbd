"""Measure how fast a corrupted data set is built, stage by stage, and beside it the way of a plain script.

    python3 -m venv bench
    bench/bin/pip install . scikit-image
    bench/bin/pip install --no-deps imagecorruptions-imaug==1.1.5 corrupt-tta==0.1.7
    bench/bin/python benchmarks/build.py PHOTOGRAPHS [SECTION ...] [--limit 400] [--to FOLDER] [--json FILE]

PHOTOGRAPHS is a folder of images, best of photographs as large as ImageNet's. Sections:

``build`` (the default): the 15 corruptions x 5 severities of so many photographs, as files in the published layout, by
``oodometer.build``; alternately the same work without any file on the same number of threads (decode, corrupt, encode),
of which the build is a multiple; the same work with each picture written straight to its place and nothing more, which
is what the file system costs at least; CPU use; and what it comes to for the 50,000 images of ImageNet-C.
``stages``: where the time goes, on one thread, in milliseconds an image.
``memory``: the peak of memory of a fresh process, for so many photographs and for a quarter of them.
``script``: the way of the published script, on one thread: cell by cell, each image decoded again, corrupted by the
kernels of another package, written by Pillow. A few photographs stand for all. See ``corruptions.py`` for the packages.

The kernels are compiled, and the photographs are in the system's cache, before anything is timed. They are linked into
class folders of 50, as ImageNet has them, since a folder for each file would cost as much as the file. Files go to a
temporary folder below ``--to``, and no time is given to the disk to take them in. Nothing is deleted before the end:
ext4 makes a file ten times as slowly for some seconds after many were deleted, by whichever process.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import PIL.Image
from machine import machine, print_table

import oodometer
from oodometer.building import Options, settle
from oodometer.building.cells import Item, Place
from oodometer.building.manifest import BuildFolder
from oodometer.building.recipe import Recipe
from oodometer.families import IMAGENET_C, SEVERITIES
from oodometer.preprocess import PREPROCESS, apply

IMAGENET = 50_000
IN_A_CLASS = 50
FEW = 4
"""The photographs that the script's way is measured on."""


@dataclass(frozen=True)
class Work:
    """What is measured: photographs, how many of them, on how many threads, where to, how often."""

    photographs: Path
    limit: int
    workers: int
    to: Path
    rounds: int

    def folder(self) -> Path:
        """Return a new folder for files."""
        return Path(tempfile.mkdtemp(dir=self.to))

    def recipe(self) -> Recipe:
        """Settle the build of all 75 cells."""
        return settle(self.photographs, self.to / "never", Options(limit=self.limit))


def cpu_seconds() -> float:
    """Return what all threads of this process have used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Return the seconds that a call takes, and those of the processors."""
    start, before = time.perf_counter(), cpu_seconds()
    work()
    return time.perf_counter() - start, cpu_seconds() - before


def built(work: Work, out: Path, limit: int) -> tuple[float, float, int]:
    """Build once; return the seconds, those of the processors, and the bytes of all files."""
    options = {"limit": limit, "workers": work.workers, "progress": False}
    seconds, cpu = timed(lambda: oodometer.build(work.photographs, out, **options))
    return seconds, cpu, sum(path.stat().st_size for path in out.rglob("*") if path.is_file())


def plainly(recipe: Recipe, workers: int, out: Path | None = None) -> float:
    """Return the seconds of the same work on the same number of threads, without files or with nothing but files."""
    for cell, item in itertools.product(recipe.cells, recipe.items) if out else ():
        (out / cell.folder / item.name).parent.mkdir(parents=True, exist_ok=True)

    def through(item: Item) -> None:
        image = recipe.source_image(item)
        for cell in recipe.cells:
            data = recipe.format.encoding.encode(recipe.picture(image, item, cell))
            if out:
                with open(f"{out}/{cell.folder}/{item.name}", "wb", buffering=0) as file:  # noqa: PTH123 - the fastest
                    file.write(data)

    with ThreadPoolExecutor(workers) as pool:
        return timed(lambda: list(pool.map(through, recipe.items)))[0]


def build(work: Work) -> dict[str, float]:
    """Measure the build, the work without files, and that with plain files, in turns."""
    recipe = work.recipe()
    runs, floors, plain = [], [], []
    built(work, work.folder(), 1)  # compiles
    for _ in range(work.rounds):
        floors.append(plainly(recipe, work.workers))
        runs.append(built(work, work.folder(), work.limit))
        plain.append(plainly(recipe, work.workers, work.folder()))
    seconds = statistics.median(run[0] for run in runs)
    figures = {
        "images a second": work.limit / seconds,
        "files a second": work.limit * len(recipe.cells) / seconds,
        "times decode + corrupt + encode": statistics.median(
            run[0] / floor for run, floor in zip(runs, floors, strict=True)
        ),
        "times, if files are written plainly and no more": statistics.median(
            one / floor for one, floor in zip(plain, floors, strict=True)
        ),
        "processors in use": statistics.median(run[1] / run[0] for run in runs),
        "minutes for ImageNet-C": seconds / work.limit * IMAGENET / 60,
        "GB for ImageNet-C": runs[0][2] / work.limit * IMAGENET / 1e9,
    }
    title = f"{work.limit} photographs x {len(recipe.cells)} cells, {work.workers} threads"
    print_table(title, ["what", "figure"], [[name, f"{figure:.2f}"] for name, figure in figures.items()])
    return figures


def stages(work: Work) -> dict[str, float]:
    """Measure each stage of the images one after the other, on one thread."""
    recipe = work.recipe()
    spent = dict.fromkeys(("decode and crop", "corrupt", "encode", "write, hash and journal"), 0.0)
    place = Place(BuildFolder(work.folder()), recipe.planned.source, recipe.cells, recipe.format.encoding, None)
    block = recipe.format.layout(place).open(0, recipe.items)
    for warm, item in itertools.chain([(True, recipe.items[0])], ((False, item) for item in recipe.items)):
        clock = [time.perf_counter()]
        image = recipe.source_image(item)
        clock.append(time.perf_counter())
        pictures = [recipe.picture(image, item, cell) for cell in recipe.cells]
        clock.append(time.perf_counter())
        files = [recipe.format.encoding.encode(picture) for picture in pictures]
        clock.append(time.perf_counter())
        for cell, data in zip(recipe.cells, files, strict=True):
            block.put(item, cell, data)
        clock.append(time.perf_counter())
        for name, (start, end) in zip(spent, itertools.pairwise(clock), strict=True):
            spent[name] += 0 if warm else end - start
    block.release()
    figures = {name: 1000 * seconds / work.limit for name, seconds in spent.items()}
    total = sum(figures.values())
    lines = [[name, f"{ms:.2f}", f"{100 * ms / total:.0f} %"] for name, ms in figures.items()]
    print_table("Stages, one thread", ["stage", "ms an image", "share"], lines)
    return figures


def memory(work: Work) -> dict[str, float]:
    """Measure the peak of memory in fresh processes."""
    figures = {}
    for count in (max(1, work.limit // 4), work.limit):
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
            figures[str(count)] = process.submit(_peak, work, count).result()
    print_table("Memory", ["photographs", "peak, MB"], [[count, f"{peak:.0f}"] for count, peak in figures.items()])
    return figures


def _peak(work: Work, limit: int) -> float:
    built(work, work.folder(), limit)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def script(work: Work) -> dict[str, float]:
    """Measure the way of the published script with each package that is installed."""
    from corruptions import OURS, contenders

    warnings.simplefilter("ignore")  # of the peers
    dataset = oodometer.open_dataset(work.photographs, unlabelled=True)
    samples = dataset.samples[:: max(1, len(dataset.samples) // FEW)][:FEW]
    figures = {}
    for name, corrupt in contenders().items():
        if name == OURS:
            continue
        for sample in samples[:1], samples:  # the first compiles
            seconds = timed(lambda some=sample, by=corrupt: _as_the_script_does(dataset, some, by, work.folder()))[0]
        figures[name] = seconds / len(samples) * IMAGENET / 3600
    lines = [[name, f"{hours:.1f}"] for name, hours in figures.items()]
    print_table("The way of the script, one thread", ["kernels of", "hours for ImageNet-C"], lines)
    return figures


def _as_the_script_does(dataset: object, samples: object, corrupt: Callable[..., object], out: Path) -> None:
    for name, severity in itertools.product(IMAGENET_C, SEVERITIES):
        cell = out / name / str(severity)
        cell.mkdir(parents=True)
        for number, sample in enumerate(samples):
            image = apply(dataset.read(sample), PREPROCESS["imagenet224"])
            made = np.asarray(corrupt(image, name, severity, number)).astype(np.uint8)
            buffer = io.BytesIO()
            PIL.Image.fromarray(made).save(buffer, "JPEG", quality=85, optimize=True)
            (cell / f"{number}.JPEG").write_bytes(buffer.getvalue())


SECTIONS = {"build": build, "stages": stages, "memory": memory, "script": script}


def linked(photographs: Path, folder: Path, limit: int) -> Path:
    """Link the first photographs into class folders of a usual size."""
    found = sorted(
        path.resolve() for path in photographs.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png")
    )
    if len(found) < limit:
        raise SystemExit(f"There are {len(found)} images in {photographs}; choose a --limit that is not larger.")
    for number, path in enumerate(found[:limit]):
        place = folder / "val" / f"class{number // IN_A_CLASS}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:05d}{path.suffix}").symlink_to(path)
    return folder / "val"


def main() -> None:
    """Measure the sections asked for, print Markdown, and write JSON if asked to."""
    parser = argparse.ArgumentParser(description="Measure the building of corrupted data sets.")
    parser.add_argument("photographs", type=Path, metavar="PHOTOGRAPHS")
    parser.add_argument("sections", nargs="*", metavar="SECTION", default=["build"], help=", ".join(SECTIONS))
    parser.add_argument("--limit", type=int, default=400, help="how many photographs")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--to", type=Path, default=Path(tempfile.gettempdir()), help="where the files go for a while")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    given = parser.parse_args()
    if unknown := set(given.sections) - set(SECTIONS):
        parser.error(f"there is no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    about = machine()
    print_table("Machine", ["what", "which"], about.items())
    with tempfile.TemporaryDirectory(dir=given.to) as folder:
        photographs = linked(given.photographs, Path(folder), given.limit)
        work = Work(photographs, given.limit, given.workers, Path(folder), given.rounds)
        figures = {section: SECTIONS[section](work) for section in given.sections}
    if given.json:
        given.json.write_text(json.dumps({"machine": about, **figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
