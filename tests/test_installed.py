"""What is installed is whole, and works away from the checkout."""

import importlib.metadata
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]

EVERYTHING = """
import json, warnings
warnings.simplefilter("error")
import numpy as np
import oodometer
from oodometer.datasets import imagenet_r
image = np.random.default_rng(0).integers(0, 256, (224, 224, 3)).astype(np.uint8)
shapes = {
    name: [oodometer.corrupt(image, name, s, method=m).shape for s in range(1, 6) for m in ("fast", "reference")]
    for name in oodometer.list_corruptions("all")
}
print(json.dumps({"where": oodometer.__file__, "shapes": shapes, "r": len(imagenet_r().columns)}))
"""


def test_exactly_one_opencv_is_installed():
    """Two distributions of OpenCV overwrite each other's files, and one of them needs libGL."""
    names = {d.metadata["Name"].lower().replace("_", "-") for d in importlib.metadata.distributions()}
    assert {n for n in names if n.startswith("opencv")} == {"opencv-python-headless"}


def test_constraints_pin_what_the_project_asks_for():
    pinned = {
        re.split(r"==", line)[0].lower().replace("_", "-")
        for file in ("constraints.txt", "constraints-frameworks.txt")
        for line in (CHECKOUT / file).read_text().splitlines()
        if "==" in line
    }
    asked = {
        re.split(r"[>=<\[; ]", r)[0].lower() for r in importlib.metadata.requires("oodometer") if "oodometer" not in r
    }
    # TensorFlow is tested by its build for processors, which has another name.
    assert {name.replace("tensorflow-cpu", "tensorflow") for name in asked} <= pinned | {"tensorflow"}
    assert "tensorflow-cpu" in pinned


@pytest.mark.long
def test_the_wheel_works_in_a_fresh_environment(tmp_path, frost, monkeypatch):
    """Cases A1 and A2: with the newest releases that the installer resolves, from ``/``, with no checkout in reach."""
    python = tmp_path / "venv" / "bin" / "python"
    steps = [
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", tmp_path / "dist", CHECKOUT],
        [sys.executable, "-m", "venv", tmp_path / "venv"],
        [python, "-m", "pip", "install", "--quiet", "--find-links", tmp_path / "dist", "oodometer"],
    ]
    for step in steps:
        subprocess.run(list(map(str, step)), check=True, timeout=900)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    monkeypatch.setenv("OODOMETER_FROST", str(frost))
    done = subprocess.run(
        [str(python), "-c", EVERYTHING], cwd="/", capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["where"].startswith(str(tmp_path / "venv"))
    assert found["r"] == 200
    assert len(found["shapes"]) == 19
    assert all(shape == [224, 224, 3] for shapes in found["shapes"].values() for shape in shapes)


@pytest.mark.long
def test_the_demo_runs_and_its_report_is_rebuilt_from_the_store(demo_run):
    for words in ("256->224, memory", "mCE (baseline alexnet)", "ImageNet-R accuracy", "20 of 20 images", "74 of 74"):
        assert words in demo_run.printed
    page = (demo_run.path / "report.html").read_bytes()
    command = [sys.executable, "-m", "oodometer", "report", str(demo_run.path)]
    again = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    assert again.stdout == demo_run.printed
    assert (demo_run.path / "report.html").read_bytes() == page
    numbers = json.loads((demo_run.path / "results.json").read_text())
    assert len(json.dumps(numbers)) > 1000
