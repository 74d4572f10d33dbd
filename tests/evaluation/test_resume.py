"""A run that is killed at any moment goes on, and ends as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from probes import FAST

import oodometer
from oodometer.store import RunStore

OPTIONS = FAST | {"corruptions": "noise,fog,glass_blur", "batch_size": 2}

SCRIPT = """
import signal, sys, time
import oodometer
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored
fake = oodometer.FakeModel()
predict = fake.predict
def slow(images):
    time.sleep(0.004)
    return predict(images)
fake.predict = slow
oodometer.evaluate(fake, sys.argv[1], sys.argv[2], **eval(sys.argv[3]))
"""


def _start(root, out):
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(root), str(out), repr(OPTIONS)])


def _same(one, other):
    a, b = (run.store.table("imagenet-c", "imagenet-1k") for run in (one, other))
    assert (a.images, a.conditions) == (b.images, b.conditions)
    for field in ("labels", "top", "confidence", "nll", "brier"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


def _wait_for_blocks(out, count, process):
    deadline = time.monotonic() + 120
    while len(list(out.glob("predictions/imagenet-c/*.parquet"))) < count:
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline, "the run makes no progress"
        time.sleep(0.002)


def _check_files(out):
    """Whatever has a final name can be read whole."""
    store = RunStore(out)
    if store.exists():
        store.read_manifest()
        store.table("imagenet-c", "imagenet-1k")


@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGINT"])
def test_a_killed_run_continues_to_the_same_result(photographs, tmp_path, signal_name):
    root, out = photographs(12), tmp_path / "run"
    process = _start(root, out)
    _wait_for_blocks(out, 2, process)
    process.send_signal(getattr(signal, signal_name))
    assert process.wait(60) != 0
    _check_files(out)
    done = {p.name: p.stat().st_mtime_ns for p in out.glob("predictions/imagenet-c/*.parquet")}
    assert 2 <= len(done) < 6
    resumed = oodometer.evaluate("fake", root, out, **OPTIONS)
    assert done.items() <= {p.name: p.stat().st_mtime_ns for p in out.glob("predictions/imagenet-c/*.parquet")}.items()
    _same(resumed, oodometer.evaluate("fake", root, **OPTIONS))


def test_a_partial_run_says_on_how_many_images_it_rests(photographs, tmp_path):
    root, out = photographs(12), tmp_path / "run"
    process = _start(root, out)
    _wait_for_blocks(out, 1, process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(60)
    run = oodometer.Run(out)
    counts = run.summary().corruptions.counts
    assert counts.planned == 12
    assert 2 <= counts.measured < 12
    assert f"{counts.measured} of 12" in " ".join(str(run.table()).split())


@pytest.mark.long
def test_ten_kills_at_random_moments(photographs, tmp_path):
    root, out = photographs(40), tmp_path / "run"
    rng = np.random.default_rng(0)
    for _ in range(10):
        process = _start(root, out)
        time.sleep(rng.uniform(0.3, 2.5))
        process.kill()
        process.wait(60)
        _check_files(out)
    resumed = oodometer.evaluate("fake", root, out, **OPTIONS)
    _same(resumed, oodometer.evaluate("fake", root, **OPTIONS))
    assert not [p for p in out.rglob("*.tmp") if p.name in {f.name for f in out.rglob("*.parquet")}]


def test_other_batches_finish_what_was_begun(photographs, tmp_path):
    """The cut into blocks is no part of the plan."""
    root, out = photographs(9), tmp_path / "run"
    calls = []
    fake = oodometer.FakeModel()
    predict = fake.predict

    def interrupted(images):
        calls.append(len(images))
        if len(calls) > 50:
            raise KeyboardInterrupt
        return predict(images)

    fake.predict = interrupted
    with pytest.raises(KeyboardInterrupt):
        oodometer.evaluate(fake, root, out, **OPTIONS)
    assert 0 < len(RunStore(out).done("imagenet-c")) < 9
    resumed = oodometer.evaluate("fake", root, out, **(OPTIONS | {"batch_size": 5}))
    _same(resumed, oodometer.evaluate("fake", root, **OPTIONS))


def test_a_command_that_is_stopped_says_what_it_leaves(photographs, tmp_path):
    """Ctrl-C: status 130, and a partial result that the same command continues."""
    root, out = photographs(40), tmp_path / "run"
    command = ["evaluate", "fake", "--data", str(root), "-o", str(out), "--batch-size", "2"]
    command += ["--preprocess", "none", "--edition", "tiny64"]
    script = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    script += "from oodometer.cli import main; main(sys.argv[1:])"
    process = subprocess.Popen([sys.executable, "-c", script, *command], stderr=subprocess.PIPE, text=True)
    _wait_for_blocks(out, 1, process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command continues" in err
    assert "Traceback" not in err
    assert 2 <= len(RunStore(out).done("imagenet-c")) < 40
