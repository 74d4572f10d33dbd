"""Measure the corruptions beside the packages that do the same, all in one run and one process.

    python3 -m venv bench
    bench/bin/pip install . scikit-image
    bench/bin/pip install --no-deps imagecorruptions-imaug==1.1.5 corrupt-tta==0.1.7
    bench/bin/python benchmarks/corruptions.py [SECTION ...] [--rounds 15] [--json FILE]

The peers go into an environment of their own without their dependencies, since they require ``opencv-python``, which
overwrites the files of ``opencv-python-headless``. There they share one process with ours, and so one NumPy, one OpenCV
and one Numba; what runs first changes within a round, so that a slow moment of the machine hits all alike. A peer that
is not installed is left out.

Sections: ``table`` (the default): milliseconds an image of 224 x 224, for each corruption and severity.
``glass``: glass blur at 427 x 640, all severities together. ``sizes``: milliseconds a megapixel from 32 x 32 to
3840 x 2160. ``memory``: the peak of extra memory at 4000 x 3000 (Linux only). ``threads``: the throughput of 2 threads
over 1.

Everything runs on one thread, but for the last section. Every call gets another image and another seed and allocates
its result. A figure of the table is the median over the rounds of the mean over some images: 20, or as many as take
40 ms. ``--cpu haswell`` makes Numba generate code for that processor, so without AVX-512; OpenCV and NumPy choose their
own code as always.
"""

from __future__ import annotations

import os

# The libraries read these when they are imported.
os.environ.update(
    dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMBA_NUM_THREADS"),
        "1",
    )
)

import argparse
import importlib
import importlib.metadata
import importlib.util
import itertools
import json
import multiprocessing
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import cv2
import numpy as np
import PIL.Image
import PIL.ImageOps
from machine import machine, print_table

import oodometer
from oodometer.families import GROUPS, IMAGENET_C, SEVERITIES

OURS = "oodometer"
PEERS = {"imagecorruptions": "imagecorruptions-imaug", "corrupt_tta": "corrupt-tta"}
"""The packages measured beside ours: the module, and the name it is installed by."""

BOUNDS: dict[str, str] = {
    "gaussian_noise": "scalar table lookups 55 %, random words 25 %, choose and add 12 %",
    "shot_noise": "scalar table lookups 60 %, choose and narrow 23 %, random words 18 %",
    "impulse_noise": "random words 55 %, comparisons",
    "speckle_noise": "lookups in a 256 KB table (L2), 65 %; random words 17 %",
    "defocus_blur:1": "vector loads and adds, 14 rim points a value; 1.4 x its arithmetic",
    "defocus_blur:2": "vector loads and adds, 18 rim points a value",
    "defocus_blur:3": "vector loads and adds, 26 rim points a value",
    "defocus_blur:4": "vector loads and adds, 34 rim points a value, and the kernel's cut border",
    "defocus_blur:5": "vector loads and adds, 42 rim points a value, and the kernel's cut border",
    "glass_blur": "two Gaussians 60 %, the copies one by one 25 %, draws 12 %",
    "motion_blur": "vector loads: one unaligned load and high product a tap",
    "zoom_blur": "unaligned stores of the horizontal pass, one a zoom factor and run",
    "snow": "streaks' unaligned loads 36 %, overlay 20 %, enlarging 22 %, draws 8 %",
    "frost": "memory: one pass over image and texture",
    "fog": "plasma 65 % (half of it cost per row), blend 27 %",
    "brightness": "three-channel shuffles and one division a pixel",
    "saturate": "three-channel shuffles and one division a pixel",
    "contrast": "memory: two passes",
    "elastic_transform": "bilinear sampling 40 % (line-crossing loads), fields 45 %, places and borders 15 %",
    "pixelate": "scalar box sums and exact rounding, three multiplications a box; 3 x memory",
    "jpeg_compression": "DCT and quantiser 57 %, colour 33 %, chroma halving and doubling 10 %",
    "gaussian_blur": "arithmetic and loads, 2 (r + 1) taps a value",
    "spatter": "float64 Gaussian 47 %, distance 17 %, edges 13 %, normals 7 %",
    "spatter:4": "two float64 Gaussians 75 %, normals 12 %",
    "spatter:5": "two float64 Gaussians 75 %, normals 12 %",
}
"""What bounds a corruption (``"fog"``) or one cell of it (``"fog:3"``), as its kernel's parts were timed one by one.

The share is what is left to gain by a kernel without the other parts; ``n x`` is the distance from a pure pass."""

Cell = tuple[str, int]
Corrupt = Callable[[np.ndarray, str, int, int], object]
"""``corrupt(image, corruption, severity, seed)``."""

IMAGES = 20
SLICE = 40  # milliseconds
SIZES = ((32, 32), (64, 64), (128, 128), (224, 224), (512, 512), (720, 1280), (1080, 1920), (2160, 3840))
LARGE = (3000, 4000)


def contenders() -> dict[str, Corrupt]:
    """Return ours and the installed peers, by the name they are installed by."""

    def ours(image: np.ndarray, name: str, severity: int, seed: int) -> object:
        return oodometer.corrupt(image, name, severity, seed=seed)

    found: dict[str, Corrupt] = {OURS: ours}
    for module, package in PEERS.items():
        if importlib.util.find_spec(module) is not None:
            found[package] = _peer(importlib.import_module(module).corrupt)
    return found


def _peer(function: Callable[..., object]) -> Corrupt:
    def corrupt(image: np.ndarray, name: str, severity: int, seed: int) -> object:  # seeded before
        return function(image, severity=severity, corruption_name=name)

    return corrupt


def synthetic(seed: int, height: int, width: int) -> np.ndarray:
    """Draw what is a photograph to these kernels: a 1/f spectrum, muted colours, edges, clipped parts."""
    rng = np.random.RandomState(seed)
    frequency = np.hypot(np.fft.fftfreq(height)[:, np.newaxis], np.fft.rfftfreq(width))
    amplitude = 1 / np.maximum(frequency, 1 / max(height, width))

    def field() -> np.ndarray:
        waves = np.fft.irfft2(np.fft.rfft2(rng.normal(size=(height, width))) * amplitude, (height, width))
        return waves / waves.std()

    light, warm, green = field(), field(), field()
    picture = 115 + 60 * np.stack([light + 0.3 * warm, light + 0.3 * green, light - 0.3 * warm], axis=2)
    rows, columns = np.mgrid[:height, :width]
    for _ in range(6):
        y, x, radius = rng.uniform(0, height), rng.uniform(0, width), rng.uniform(0.05, 0.25) * min(height, width)
        inside = np.hypot(rows - y, columns - x) < radius
        picture[inside] = 0.5 * picture[inside] + 0.5 * rng.uniform(0, 255, 3)
    return np.clip(picture, 0, 255).astype(np.uint8)


def pictures(folder: Path | None) -> list[np.ndarray]:
    """Return the pictures of 224 x 224 to measure on: those of a folder, cut in the middle, or drawn ones."""
    if folder is None:
        return [synthetic(seed, 224, 224) for seed in range(IMAGES)]
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png"))[:IMAGES]
    if not files:
        sys.exit(f"There is no .jpg, .jpeg or .png file in {folder}.")
    return [np.array(PIL.ImageOps.fit(PIL.Image.open(path).convert("RGB"), (224, 224))) for path in files]


def milliseconds(corrupt: Corrupt, cell: Cell, images: Iterable[np.ndarray], seeds: Iterable[int]) -> float:
    """Return the mean time of a call."""
    times = []
    for image, seed in zip(images, seeds, strict=False):
        np.random.seed(seed)  # where the peers draw from
        start = time.perf_counter()
        corrupt(image, *cell, seed)
        times.append(time.perf_counter() - start)
    return 1000 * statistics.fmean(times)


def measure(
    found: dict[str, Corrupt], cells: Sequence[Cell], images: Sequence[np.ndarray], rounds: int
) -> dict[str, dict[Cell, list[float]]]:
    """Time each cell of each contender in each round, in turns; milliseconds."""
    seeds = itertools.count()
    times: dict[str, dict[Cell, list[float]]] = {name: {cell: [] for cell in cells} for name in found}
    counts = {}  # as many calls for all, as far as time allows: the first of each turn finds the caches cold
    for name, cell in itertools.product(found, cells):
        milliseconds(found[name], cell, images[:1], seeds)  # compiles, and reads textures
        once = milliseconds(found[name], cell, images[:1], seeds)
        counts[name, cell] = max(2, min(IMAGES, int(SLICE / once)))
    order = list(found)
    for turn in range(rounds):
        for cell in cells:
            order = order[1:] + order[:1]
            for name in order:
                count = counts[name, cell]
                some = [images[(turn * count + k) % len(images)] for k in range(count)]
                times[name][cell].append(milliseconds(found[name], cell, some, seeds))
    return times


def table(found: dict[str, Corrupt], cells: Sequence[Cell], images: Sequence[np.ndarray], rounds: int) -> dict:
    """Measure the cells and print one line for each, then the mean over the 15 x 5 if all are there."""
    times = measure(found, cells, images, rounds)
    medians = {name: {cell: statistics.median(of) for cell, of in times[name].items()} for name in found}
    peers = [name for name in found if name != OURS]
    lines = [
        [f"{name} {severity}", *_line({who: medians[who][name, severity] for who in found}), _bound(name, severity)]
        for name, severity in cells
    ]
    counted = list(itertools.product(IMAGENET_C, SEVERITIES))
    means = {}
    if set(counted) <= set(cells):
        means = {who: statistics.fmean(medians[who][cell] for cell in counted) for who in found}
        lines.append(["**mean of 15 x 5**", *_line(means), ""])
    title = f"Milliseconds an image of 224 x 224, one thread, median of {rounds} rounds"
    print_table(title, ["cell", OURS, *peers, "better peer / ours", "bounded by"], lines)
    return {
        "cells": {
            f"{cell[0]}:{cell[1]}": {
                who: {"median": medians[who][cell], "least": min(times[who][cell])} for who in found
            }
            for cell in cells
        },
        "mean_15x5": means,
    }


def _line(figures: dict[str, float]) -> list[str]:
    """Format the figures of ours and the peers, and the ratio of the better peer to ours."""
    peers = [figure for name, figure in figures.items() if name != OURS]
    return [*(f"{figure:.3f}" for figure in figures.values()), f"{min(peers) / figures[OURS]:.1f}" if peers else ""]


def _bound(name: str, severity: int) -> str:
    return BOUNDS.get(f"{name}:{severity}", BOUNDS.get(name, ""))


def glass(found: dict[str, Corrupt], rounds: int) -> dict:
    """Measure glass blur on a picture of 427 x 640, the sum of the five severities."""
    cells = [("glass_blur", severity) for severity in SEVERITIES]
    times = measure(found, cells, [synthetic(seed, 427, 640) for seed in range(2)], rounds)
    seconds = {who: sum(statistics.median(times[who][cell]) for cell in cells) / 1000 for who in found}
    print_table(
        "Glass blur at 427 x 640, severities 1 to 5 together, seconds", [*found, "better peer / ours"], [_line(seconds)]
    )
    return seconds


def sizes(found: dict[str, Corrupt], names: Sequence[str], rounds: int) -> dict:
    """Measure ours at several sizes and severity 3, the least of the rounds, in milliseconds a megapixel."""
    scales: dict[str, list[float]] = {name: [] for name in names}
    for height, width in SIZES:
        count = max(1, min(IMAGES, 10**6 // (height * width)))
        some = [synthetic(seed, height, width) for seed in range(count)]
        times = measure({OURS: found[OURS]}, [(name, 3) for name in names], some, rounds)[OURS]
        for name in names:
            scales[name].append(min(times[name, 3]) * 1e6 / (height * width))
    titles = [f"{width} x {height}" for height, width in SIZES]
    lines = [[name, *(f"{ms:.2f}" for ms in of), f"{max(of) / min(of):.2f}"] for name, of in scales.items()]
    print_table("Milliseconds a megapixel, severity 3", ["corruption", *titles, "most / least"], lines)
    return {name: dict(zip(titles, of, strict=True)) for name, of in scales.items()}


def memory(cells: Sequence[Cell]) -> dict:
    """Measure the extra memory of each cell at 4000 x 3000, each in a process of its own, in sizes of the image."""
    if not Path("/proc/self/clear_refs").exists():
        sys.exit("The peak of memory is read from /proc, which only Linux has.")
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as fresh:
        peaks = dict(zip(cells, fresh.map(_peak, cells), strict=True))
    names = list(dict.fromkeys(name for name, _ in cells))
    worst = {name: max((peaks[cell], cell[1]) for cell in cells if cell[0] == name) for name in names}
    lines = [[name, f"{peak:.1f}", severity] for name, (peak, severity) in worst.items()]
    title = "Extra memory at 4000 x 3000, the result included, in sizes of the image (36 MB)"
    print_table(title, ["corruption", "most", "at severity"], lines)
    return {f"{cell[0]}:{cell[1]}": peak for cell, peak in peaks.items()}


def _peak(cell: Cell) -> float:
    image = np.random.RandomState(0).randint(0, 256, (*LARGE, 3), np.uint8)  # leaves no freed memory to be used again
    oodometer.corrupt(image[:256, :256], *cell)  # compiles, and reads textures
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forgets the peak
    before = _status("VmRSS")
    oodometer.corrupt(image, *cell)
    return (_status("VmHWM") - before) / image.nbytes


def _status(field: str) -> int:
    """Return a size of this process from the kernel, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


def threads(found: dict[str, Corrupt], cells: Sequence[Cell], images: Sequence[np.ndarray], rounds: int) -> dict:
    """Measure the throughput of ours with 1 and 2 threads, where a task is one image through all cells."""
    corrupt = found[OURS]

    def task(image: np.ndarray) -> None:
        for seed, cell in enumerate(cells):
            corrupt(image, *cell, seed)

    task(images[0])
    seconds: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for count, of in seconds.items():
            with ThreadPoolExecutor(count) as pool:
                start = time.perf_counter()
                list(pool.map(task, images))
                of.append(time.perf_counter() - start)
    rates = {count: len(images) * len(cells) / statistics.median(of) for count, of in seconds.items()}
    lines = [[count, f"{rate:.0f}", f"{rate / rates[1]:.2f}"] for count, rate in rates.items()]
    print_table("Throughput with threads", ["threads", "corrupted images a second", "over one thread"], lines)
    return {str(count): rate for count, rate in rates.items()}


def _cells(words: Sequence[str]) -> list[Cell]:
    """Read cells: ``fog:3``, ``fog`` for its five, or the name of a group."""
    cells: list[Cell] = []
    for word in words:
        name, _, severity = word.partition(":")
        names = GROUPS.get(name, (name,))
        cells += itertools.product(names, [int(severity)] if severity else SEVERITIES)
    return list(dict.fromkeys(cells))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the corruptions beside other packages.")
    known = ("table", "glass", "sizes", "memory", "threads")
    parser.add_argument("sections", nargs="*", metavar="SECTION", default=["table"], help=", ".join(known))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument(
        "--cells", nargs="+", default=["all"], metavar="CELL", help="fog:3, fog, or a group; default: all"
    )
    parser.add_argument("--images", type=Path, metavar="FOLDER", help="photographs to use; default: drawn ones")
    parser.add_argument("--cpu", metavar="NAME", help="generate code for this processor, such as haswell (AVX2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    arguments = parser.parse_args()
    if unknown := set(arguments.sections) - set(known):
        parser.error(f"there is no section {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return arguments


def main() -> None:
    """Measure the sections asked for, print Markdown, and write JSON if asked to."""
    arguments = _arguments()
    if arguments.cpu and os.environ.get("NUMBA_CPU_NAME") != arguments.cpu:
        # Numba reads both at import. Without the second it takes the features of this machine, AVX-512 with them.
        target = {"NUMBA_CPU_NAME": arguments.cpu, "NUMBA_CPU_FEATURES": ""}
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **target})
    cv2.setNumThreads(1)
    warnings.simplefilter("ignore")  # of the peers, and of ours on small images
    cells, rounds = _cells(arguments.cells), arguments.rounds
    names = list(dict.fromkeys(name for name, _ in cells))
    found, images = contenders(), pictures(arguments.images)
    sections = {
        "table": lambda: table(found, cells, images, rounds),
        "glass": lambda: glass(found, rounds),
        "sizes": lambda: sizes(found, names, rounds),
        "memory": lambda: memory(cells),
        "threads": lambda: threads(found, cells, images, rounds),
    }
    about = machine()
    print_table("Machine", ["what", "which"], about.items())
    figures = {name: sections[name]() for name in arguments.sections}
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": about, **figures}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
