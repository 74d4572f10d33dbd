"""The benchmark runs; its figures are claims about a machine, and no test compares them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

import oodometer

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
SCRIPT = BENCHMARKS / "corruptions.py"
PACKAGES = Path(oodometer.__file__).resolve().parents[1]


def _run(*arguments):
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    command = [sys.executable, str(SCRIPT), "--rounds", "1", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)


def test_two_cells_are_measured_and_written(tmp_path):
    file = tmp_path / "figures.json"
    run = _run("table", "threads", "--cells", "contrast:1", "gaussian_noise:2", "--json", str(file))
    assert run.returncode == 0, run.stderr
    rows = [line.split("|")[1].strip() for line in run.stdout.splitlines() if line.startswith("| ")]
    assert {"contrast 1", "gaussian_noise 2", "processor", "numpy"} <= set(rows)
    figures = json.loads(file.read_text())
    assert set(figures["table"]["cells"]) == {"contrast:1", "gaussian_noise:2"}
    assert all(cell["oodometer"]["least"] > 0 for cell in figures["table"]["cells"].values())
    assert figures["table"]["mean_15x5"] == {}  # not all of them were measured
    assert set(figures["threads"]) == {"1", "2"}


def test_code_can_be_held_to_an_older_processor():
    run = _run("--cells", "contrast:1", "--cpu", "generic")
    assert run.returncode == 0, run.stderr
    assert "| code for | generic, without AVX-512 |" in run.stdout


def test_an_unknown_section_is_refused():
    run = _run("tables")
    assert run.returncode == 2
    assert "tables" in run.stderr


@pytest.mark.long
def test_the_live_page_is_measured_for_every_corruption(tmp_path, frost):
    file = tmp_path / "figures.json"
    command = [sys.executable, str(BENCHMARKS / "view.py"), "--changes", "2", "--json", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)
    assert run.returncode == 0, run.stderr
    figures = json.loads(file.read_text())["milliseconds"]
    assert set(figures) == set(oodometer.list_corruptions("all"))
    assert all(len(taken) == 2 for taken in figures.values())


@pytest.mark.long
def test_building_is_measured_stage_by_stage(tmp_path):
    for i in range(3):
        noise = np.random.default_rng(i).integers(0, 256, (300, 400, 3)).astype(np.uint8)
        PIL.Image.fromarray(noise).save(tmp_path / f"{i}.jpg")
    file = tmp_path / "figures.json"
    arguments = [str(tmp_path), "build", "stages", "memory", "script", "--limit", "2", "--rounds", "1"]
    command = [sys.executable, str(BENCHMARKS / "build.py"), *arguments, "--to", str(tmp_path), "--json", str(file)]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900, env=environment)
    assert run.returncode == 0, run.stderr
    figures = json.loads(file.read_text())
    assert figures["build"]["files a second"] > figures["build"]["images a second"] > 0
    assert set(figures["stages"]) == {"decode and crop", "corrupt", "encode", "write, hash and journal"}
    assert set(figures["memory"]) == {"1", "2"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.jpg", "1.jpg", "2.jpg", "figures.json"]
