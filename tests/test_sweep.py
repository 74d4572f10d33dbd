"""A sweep: every model on every benchmark, whatever becomes of one of them."""

import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import PIL.Image
import pytest
from click.testing import CliRunner

import oodometer
from oodometer.cli import cli
from oodometer.datasets import imagenet1k
from oodometer.errors import ArgumentError
from oodometer.store import RunStore
from oodometer.sweeping import Sweep
from oodometer.sweeping.plan import BenchmarkEntry, ModelEntry, SweepPlan, read_plan
from oodometer.sweeping.settling import settle

MODELS = """
import os, signal, time
import numpy as np

class Base:
    def predict(self, images):
        rng = np.random.default_rng(0)
        weights = rng.normal(size=(32 * 32 * 3, 1000)).astype(np.float32)
        return images.reshape(len(images), -1).astype(np.float32) @ weights / 1e4

class Failing(Base):
    def predict(self, images):
        raise ValueError("it cannot see")

class Unloadable:
    def __init__(self):
        raise OSError("weights are gone")

class Greedy(Base):
    def predict(self, images):
        os.kill(os.getpid(), signal.SIGKILL)

class Exhausted(Base):
    def predict(self, images):
        raise RuntimeError("CUDA out of memory. Tried to allocate 1 TiB")

class Strange(Base):
    @property
    def name(self):
        raise ZeroDivisionError("no error of the user's that we foresaw")

class Leaving(Base):
    asked = 0

    def predict(self, images):
        Leaving.asked += 1
        if Leaving.asked > 15:
            os._exit(int(os.environ["STATUS"]))
        return super().predict(images)

class Deaf(Base):
    asked = 0

    def __init__(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def predict(self, images):
        Deaf.asked += 1
        if Deaf.asked > 15:
            time.sleep(600)
        return super().predict(images)

class Slow(Base):
    def predict(self, images):
        time.sleep(0.05)
        return super().predict(images)
"""

BENCHMARKS = """
[[benchmark]]
name = "corruptions"
data = "val"
corruptions = ["fog", "contrast"]
preprocess = "none"
edition = "tiny64"

[[benchmark]]
name = "few"
data = "val"
corruptions = "fog"
preprocess = "none"
edition = "tiny64"
limit = 3
seed = 7
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Make pictures, a module of models, and a plan's way to them; return the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "swept.py").write_text(MODELS)
    rng = np.random.default_rng(0)
    for i in range(8):
        folder = tmp_path / "val" / imagenet1k().classes[i // 2 * 7]
        folder.mkdir(parents=True, exist_ok=True)
        PIL.Image.fromarray(rng.integers(0, 256, (32, 32, 3)).astype(np.uint8)).save(folder / f"{i:04d}.png")
    return tmp_path


def plan(place, *models, benchmarks=BENCHMARKS):
    """Write a plan of models, by name and specification or with more lines."""
    text = "".join(
        f'[[model]]\nname = "{name}"\nspec = "{spec}"\nbatch_size = 2\nworkers = 1\n{more}\n'
        for name, spec, more in models
    )
    path = place / "plan.toml"
    path.write_text(text + benchmarks)
    return path


def model(name, more=""):
    return (name.lower(), f"python:swept:{name}", more)


def test_every_model_is_run_on_every_benchmark(place):
    found = oodometer.sweep(plan(place, ("fake", "fake", ""), model("Base")), place / "out", progress=False)
    assert isinstance(found, Sweep)
    assert [(one.model, one.benchmark) for one in found.outcomes] == [
        (name, benchmark) for name in ("fake", "base") for benchmark in ("corruptions", "few")
    ]
    assert not found.failed
    options = {"preprocess": "none", "edition": "tiny64", "progress": False, "batch_size": 2}
    direct = oodometer.evaluate("fake", "val", corruptions="fog", limit=3, seed=7, **options)
    run = oodometer.Run(place / "out" / "fake" / "few")
    assert run.errors == direct.errors
    assert run.clean_error == direct.clean_error
    assert (run.path / "report.html").is_file()
    rows = list(csv.DictReader(io.StringIO((place / "out" / "sweep.csv").read_text())))
    (clean,) = (r for r in rows if (r["model"], r["benchmark"], r["number"]) == ("fake", "few", "Clean error"))
    assert [float(clean[part]) for part in ("value", "low", "high")] == [
        direct.clean_error.value,
        direct.clean_error.low,
        direct.clean_error.high,
    ]
    text = (place / "out" / "sweep.md").read_text()
    assert text.startswith("## corruptions\n\n| model | ")
    assert "\n## few\n" in text
    assert text.count("\n| base | ") == 2
    shown = f"{100 * direct.clean_error.value:.1f} [{100 * direct.clean_error.low:.1f}"
    assert shown in text
    assert "few" in str(found)


def test_one_that_fails_does_not_stop_the_others(place):
    """Whether it cannot be loaded, fails, is ended by the system, or meets a fault of ours."""
    names = ("Failing", "Unloadable", "Greedy", "Exhausted", "Strange", "Base")
    file = plan(place, *map(model, names), benchmarks=BENCHMARKS.partition('[[benchmark]]\nname = "few"')[0])
    call = CliRunner().invoke(cli, ["sweep", str(file), "-o", "out"])
    assert call.exit_code == 3, call.output
    said = " ".join(call.stdout.split())
    for name, words in {
        "failing": "ValueError: it cannot see",
        "unloadable": "weights are gone",
        "greedy": "its process was ended by SIGKILL, as when the memory of the machine is exhausted",
        "exhausted": "CUDA out of memory. Tried to allocate 1 TiB",
        "strange": "ZeroDivisionError: no error of the user's that we foresaw",
    }.items():
        assert f"{name} on corruptions: " in said
        assert words in said
        assert words in call.stderr
        assert not (place / "out" / name / "corruptions" / "manifest.json").exists()
    assert "5 runs of 6 failed" in said
    assert "[6/6] base on corruptions: done" in call.stderr
    assert "Traceback (most recent call last)" in (place / "out" / "strange" / "corruptions.log").read_text()
    assert "Traceback" not in (place / "out" / "failing" / "corruptions.log").read_text()
    assert oodometer.Run(place / "out" / "base" / "corruptions").errors.keys() == {"fog", "contrast"}
    failed = [row for row in csv.DictReader(io.StringIO((place / "out" / "sweep.csv").read_text())) if row["failed"]]
    assert [row["model"] for row in failed] == [name.lower() for name in names[:-1]]


@pytest.mark.parametrize("status", ["0", "3", "1"])
def test_a_model_that_ends_the_process_made_no_whole_run(place, monkeypatch, status):
    monkeypatch.setenv("STATUS", status)
    whole = BENCHMARKS.partition('[[benchmark]]\nname = "few"')[0]
    file = plan(place, model("Leaving"), benchmarks=whole)
    for _ in range(2):
        (outcome,) = oodometer.sweep(file, "out", progress=False).outcomes
        assert 0 < len(RunStore(outcome.path).done("imagenet-c")) < 8
        assert outcome.failed is not None
        assert outcome.summary is None


def test_what_is_finished_is_not_made_again(place, monkeypatch):
    file = plan(place, model("Base"), model("Failing"))
    assert [one.model for one in oodometer.sweep(file, "out", progress=False).failed] == ["failing"] * 2
    before = {p: p.stat().st_mtime_ns for p in (place / "out" / "base").rglob("*")}
    (place / "swept.py").write_text(
        MODELS.replace('raise ValueError("it cannot see")', "return super().predict(images)")
    )
    found = oodometer.sweep(file, "out", progress=False)
    assert not found.failed
    assert {p: p.stat().st_mtime_ns for p in (place / "out" / "base").rglob("*")} == before
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda *arguments, **_: started.append(arguments))
    again = oodometer.sweep(file, "out", progress=False)
    assert not started
    assert again.csv() == found.csv()


def test_a_run_of_another_plan_is_no_finished_one(place):
    oodometer.sweep(plan(place, model("Base")), "out", progress=False)
    more = BENCHMARKS.replace("limit = 3", "limit = 4")
    found = oodometer.sweep(plan(place, model("Base"), benchmarks=more), "out", progress=False)
    (one,) = found.failed
    assert (one.benchmark, "holds another run" in one.failed) == ("few", True)
    # A baseline is no part of what was measured: the numbers follow.
    based = BENCHMARKS.replace("limit = 3", 'limit = 3\nbaseline = "resnet50"')
    assert not oodometer.sweep(plan(place, model("Base"), benchmarks=based), "out", progress=False).failed
    assert oodometer.Run("out/base/few").manifest.baseline == "resnet50"


def test_unreadable_images_are_told(place):
    next((place / "val").rglob("*.png")).write_bytes(b"no image")
    call = CliRunner().invoke(cli, ["sweep", str(plan(place, model("Base"))), "-o", "out"])
    assert call.exit_code == 3
    assert "base on corruptions: 1 image could not be read" in " ".join(call.stdout.split())


def test_a_sweep_that_is_killed_takes_its_process_along_and_continues(place):
    file = plan(place, model("Slow"), benchmarks=BENCHMARKS.partition('[[benchmark]]\nname = "few"')[0])
    command = [sys.executable, "-m", "oodometer", "sweep", str(file), "-o", "out"]
    run = place / "out" / "slow" / "corruptions"
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 120
        while not list(run.glob("predictions/imagenet-c/*.parquet")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
    assert 0 < len(RunStore(run).done("imagenet-c")) < 8
    found = oodometer.sweep(file, "out", progress=False)  # its process is gone, or this would find the folder in use
    assert not found.failed
    options = {"preprocess": "none", "edition": "tiny64", "progress": False, "batch_size": 2}
    sys.path.insert(0, str(place))
    try:
        direct = oodometer.evaluate("python:swept:Base", "val", corruptions="fog,contrast", **options)
    finally:
        sys.path.remove(str(place))
        sys.modules.pop("swept", None)
    assert oodometer.Run(run).errors == direct.errors


@pytest.mark.parametrize("name", ["Slow", "Deaf"])
def test_ctrl_c_stops_it(place, name):
    file = plan(place, model(name))
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from oodometer.cli import main; main(sys.argv[1:])"
    command = [sys.executable, "-c", script, "sweep", str(file), "-o", "out"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + 120
    while not list((place / "out").glob("*/corruptions/predictions/imagenet-c/*.parquet")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command continues" in errors
    assert "Traceback" not in errors


def test_shards_of_a_sweep_make_each_run_once(place):
    file = plan(place, ("fake", "fake", ""), model("Base"))
    made = [oodometer.sweep(file, "out", shard=(k, 3), progress=False).outcomes for k in range(3)]
    assert [len(outcomes) for outcomes in made] == [2, 1, 1]
    assert not (place / "out" / "sweep.csv").exists()
    before = {p: p.stat().st_mtime_ns for p in (place / "out").rglob("*.parquet")}
    assert len(oodometer.sweep(file, "out", progress=False).outcomes) == 4
    assert {p: p.stat().st_mtime_ns for p in (place / "out").rglob("*.parquet")} == before


def test_options_reach_the_evaluation(place):
    """Every option of an entry is one of ``oodometer evaluate``, and what is given comes there."""
    options = {name for option in cli.commands["evaluate"].params for name in option.opts}
    entries = {
        f"--{field.replace('_', '-')}" for kind in (ModelEntry, BenchmarkEntry) for field in kind.__struct_fields__
    }
    assert entries - options == {"--name", "--spec"}
    assert options - entries >= {"--out", "--paired", "--shard"}
    entry = BenchmarkEntry(name="b", data="val", corruptions=("fog", "snow"), unlabelled=True, limit=3)
    model = ModelEntry(name="m", spec="fake", batch_size="auto")
    (pair,) = settle(SweepPlan(model=(model,), benchmark=(entry,)), Path("out"))
    assert pair.command == (
        *("evaluate", "fake", "--data=val", "--unlabelled", "--corruptions=fog,snow", "--limit=3"),
        *("--batch-size=auto", "-o", "out/m/b"),
    )


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("limit = 3", "limt = 3", r"Unknown key of benchmark 2 in .*'limt'\. Did you mean 'limit'"),
        ("batch_size", "batchsize", r"Unknown key of model 1 in .*Did you mean 'batch_size'"),
        ("[[model]]", "[[modell]]", r"Unknown key in .*'modell'\. Did you mean 'model'"),
        ("limit = 3", 'limit = "three"', r"Expected `int \| null`, got `str` - at `\$\.benchmark\[1\]\.limit`"),
        ("limit = 3", "limit = true", r"got `bool` - at `\$\.benchmark\[1\]\.limit`"),
        ('spec = "fake"', "", r"missing required field `spec` - at `\$\.model\[0\]`"),
        ('name = "few"', 'name = "Corruptions"', "the benchmark 'corruptions' more than once"),
        ('name = "few"', 'name = "../few"', "cannot be the name of a benchmark"),
        ('name = "few"', 'name = "corruptions.log"', "cannot be the name of a benchmark"),
        ('name = "fake"', 'name = "sweep.md"', "cannot be the name of a model"),
        ("limit = 3", "limit = ", "is not TOML"),
        ("limit = 3", 'imagenet_r = "r"\nimagenet-r = "r"', "benchmark 2 has 'imagenet-r' twice"),
    ],
)
def test_a_plan_with_a_slip_is_refused(place, old, new, words):
    file = plan(place, ("fake", "fake", ""))
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(ArgumentError, match=words):
        read_plan(file)


def test_plans_without_models_or_benchmarks_are_refused(place):
    for text, words in (("", r"at least one \[\[model"), ('[model]\nname = "a"', r"at least one \[\[model")):
        (place / "plan.toml").write_text(text)
        with pytest.raises(ArgumentError, match=words):
            read_plan("plan.toml")
    with pytest.raises(ArgumentError, match=r"at least one \[\[benchmark"):
        read_plan(plan(place, ("fake", "fake", ""), benchmarks=""))
    with pytest.raises(ArgumentError, match="cannot be read"):
        read_plan("nowhere.toml")


def test_all_faults_are_told_before_any_work(place):
    models = [
        ("a", "fake", ""),
        ("b", "fkae", ""),
        ("c", "onnx:gone.onnx", ""),
        ("d", "gone.pt2", ""),
        ("e", "fake", 'device = "gpu"'),
        ("f", "keras:gone", ""),
        ("g", "fake", "device = 'cpu'\n[[model]]\nname = 'h'\nspec = 'fake'\nworkers = 0"),
        ("i", "fake", "device = 'cpu'\n[[model]]\nname = 'j'\nspec = 'fake'\nbatch_size = -1"),
    ]
    benchmarks = "".join(
        f'[[benchmark]]\nname = "{name}"\ndata = "{data}"\n{more}\n'
        for name, data, more in (
            ("good", "val", ""),
            ("gone", "nowhere", ""),
            ("names", "val", 'corruptions = "fgo"'),
            ("many", "val", "limit = 99"),
            ("base", "val", 'baseline = "alexnt"'),
            ("seed", "val", f"seed = {2**64}"),
            ("none", "val", "corruptions = []"),
            ("empty", "val", 'corruptions = ""'),
        )
    )
    file = plan(place, *models, benchmarks=benchmarks)
    call = CliRunner().invoke(cli, ["sweep", str(file), "-o", "out"])
    assert isinstance(call.exception, ArgumentError)
    lines = str(call.exception).splitlines()
    assert [line.partition(":")[0] for line in lines[1:]] == [
        *(f"model {name}" for name in "bcdefhj"),
        *(f"benchmark {name}" for name in ("gone", "names", "many", "base", "seed", "none", "empty")),
    ]
    assert "Did you mean 'fake'" in lines[1]
    assert not (place / "out").exists()


def test_the_folder_of_a_run_is_none_for_a_sweep(place):
    oodometer.evaluate("fake", "val", "run", corruptions="fog", preprocess="none", edition="tiny64", progress=False)
    with pytest.raises(ArgumentError, match="holds a run or a data set"):
        oodometer.sweep(plan(place, ("fake", "fake", "")), "run")


def test_corruptions_of_ones_own_are_known_to_each_process(place):
    (place / "mine.py").write_text(
        "import oodometer\n"
        "@oodometer.corruption('darker', severities=[2, 3, 4, 5, 6])\n"
        "def darker(image, rng, divisor):\n"
        "    return image // divisor\n"
    )
    benchmark = '[[benchmark]]\nname = "own"\ndata = "val"\ncorruptions = "darker"\npreprocess = "none"\n'
    file = plan(place, ("fake", "fake", ""), benchmarks=benchmark)
    command = [sys.executable, "-m", "oodometer", "--import", "mine", "sweep", str(file), "-o", "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "darker" in oodometer.Run("out/fake/own").store.table("imagenet-c", "imagenet-1k").conditions[1].corruption
