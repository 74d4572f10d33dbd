"""The scripts of the documentation: shown as they are, and run, with a stand-in for what only a cluster has."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

import oodometer
from documents import CHECKOUT
from oodometer.building import verify
from oodometer.datasets import imagenet1k
from oodometer.sweeping.plan import read_plan
from oodometer.sweeping.settling import settle

SCRIPTS = CHECKOUT / "docs" / "scripts"
OPTIONS = ["--preprocess", "none", "--edition", "tiny64", "--corruptions", "fog"]

SRUN = """#!/bin/bash
# A stand-in for SLURM's: starts as many processes as the job has tasks, each with its number, and waits for all.
while [[ $1 == --* ]]; do shift; done
for ((task = 0; task < SLURM_NTASKS; task++)); do
    SLURM_PROCID=$task "$@" &
    processes+=($!)
done
status=0
for process in "${processes[@]}"; do wait "$process" || status=$?; done
exit $status
"""


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.default_rng(0)
    for i in range(10):
        folder = tmp_path / "val" / imagenet1k().classes[i // 2 * 7]
        folder.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(folder / f"{i:04d}.png")
    return tmp_path / "val"


def run_script(name, place, *arguments, **variables):
    """Run a script with the commands of this environment and the stand-in on the path."""
    tools = place / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "srun").write_text(SRUN)
    (tools / "oodometer").write_text(f'#!/bin/bash\nexec {sys.executable} -m oodometer "$@"\n')
    for tool in tools.iterdir():
        tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "RANK", "WORLD"))
    }
    done = subprocess.run(
        ["bash", str(SCRIPTS / name), *map(str, arguments)],
        env=environment | {"PATH": path} | variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=place,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def check_same(one, other):
    """Compare all files of predictions byte by byte."""
    found = [
        {path.relative_to(root).as_posix(): path.read_bytes() for path in root.glob("predictions/**/*.parquet")}
        for root in (one, other)
    ]
    assert found[0]
    assert found[0] == found[1]


def test_the_page_shows_the_scripts_as_they_are():
    text = (CHECKOUT / "docs" / "clusters.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```bash\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert sorted(shown) == sorted(path.read_text(encoding="utf-8") for path in SCRIPTS.iterdir())


def test_slurm_evaluates_in_shards(pictures, tmp_path):
    """And again, as a job that was requeued does."""
    arguments = ["run", "fake", "--data", pictures, *OPTIONS, "--batch-size", "2"]
    variables = {"SLURM_NTASKS": "3", "SLURM_CPUS_PER_TASK": "1", "SLURM_PROCID": "0"}
    done = run_script("slurm-evaluate.sh", tmp_path, *arguments, **variables)
    assert "Not there" not in done.stderr
    assert "imagenet-c: 10 of 10 images" in done.stdout
    single = oodometer.evaluate(
        "fake", pictures, tmp_path / "single", preprocess="none", edition="tiny64", corruptions="fog", batch_size=2
    )
    check_same(tmp_path / "run" / "merged", single.path)
    assert (tmp_path / "run" / "merged" / "report.html").is_file()
    run_script("slurm-evaluate.sh", tmp_path, *arguments, **variables)


def test_slurm_builds_in_shards(tmp_path):
    """In two blocks of a tree."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "val" / imagenet1k().classes[0]
    folder.mkdir(parents=True)
    for i in range(260):
        PIL.Image.fromarray(rng.integers(0, 256, (32, 32, 3)).astype(np.uint8)).save(folder / f"{i:04d}.png")
    options = ["-c", "contrast", "-s", "3", "--preprocess", "none", "--edition", "tiny64"]
    variables = {"SLURM_NTASKS": "2", "SLURM_CPUS_PER_TASK": "1"}
    done = run_script("slurm-corrupt.sh", tmp_path, folder.parent, tmp_path / "out", *options, **variables)
    assert "shard 0/2: 250 pictures of 250 images" in done.stdout
    assert "shard 1/2: 10 pictures of 10 images" in done.stdout
    assert "260 pictures of 260 images; 0 made now" in done.stdout
    assert verify(tmp_path / "out") == []
    oodometer.build(
        folder.parent, tmp_path / "single", corruptions="contrast", severities="3", preprocess="none", edition="tiny64"
    )
    made, single = (
        {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "out", tmp_path / "single")
    )
    del made[".lock"], single[".lock"]
    assert made == single


@pytest.mark.long
def test_torchrun_evaluates_in_shards(pictures, tmp_path):
    """The demo model on the CPU, in two processes that torchrun starts."""
    pytest.importorskip("torch")
    arguments = [2, "run", "demo", "--data", pictures, "--corruptions", "fog", "--batch-size", "2"]
    run_script("torchrun-evaluate.sh", tmp_path, *arguments)
    # torchrun lets PyTorch have one thread in each process, on which the last digits of a network depend.
    command = [sys.executable, "-m", "oodometer", "evaluate", *map(str, arguments[2:]), "-o", str(tmp_path / "single")]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    subprocess.run(command, check=True, capture_output=True, env=environment, timeout=600)
    check_same(tmp_path / "run" / "merged", tmp_path / "single")
    assert not list((tmp_path / "run" / "shards").glob("*/report.html"))


def test_the_plan_of_the_page_is_one(pictures, tmp_path, monkeypatch):
    """Its keys and values are good, and so are its data, once they are there."""
    text = (CHECKOUT / "docs" / "sweep.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(shown.replace("limit = 5000", "limit = 10"))
    Path("path/to").mkdir(parents=True)
    pictures.rename("path/to/val")
    oodometer.build("path/to/val", "path/to/ImageNet-C", corruptions="fog", progress=False)
    pairs = settle(read_plan("plan.toml"), tmp_path / "out")
    assert [(pair.model.name, pair.benchmark.name) for pair in pairs] == [
        *(("resnet50", "corruptions"), ("resnet50", "files")),
        *(("clip", "corruptions"), ("clip", "files")),
    ]
    assert [pair.path.relative_to(tmp_path).as_posix() for pair in pairs][1] == "out/resnet50/files"
