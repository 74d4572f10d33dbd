"""Runs handed to trackers, read back with what each has for reading, and held to the run's own numbers."""

import dataclasses
import json
import math
import os
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from oodometer.errors import ArgumentError, StoreError
from oodometer.run import Run
from oodometer.tracking import quantities, track
from synthetic_runs import write_run

pytestmark = pytest.mark.frameworks


@pytest.fixture
def run(tmp_path):
    return Run(write_run(tmp_path / "runs" / "ours", images=120, masked=20, renditions=40).path)


@pytest.fixture(autouse=True)
def settled(monkeypatch, tmp_path):
    """No word of whoever runs the tests counts, and nothing is written to their home."""
    for name in list(os.environ):
        if name.startswith(("WANDB_", "MLFLOW_")):
            monkeypatch.delenv(name)
    for name in ("WANDB_DIR", "WANDB_CACHE_DIR", "WANDB_CONFIG_DIR", "WANDB_DATA_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("WANDB_ERROR_REPORTING", "false")


@pytest.fixture
def expected(run):
    """List what every tracker must hold, from the run's own methods and not by way of ``quantities``."""
    found = {
        "oodometer/mCE": run.mce(),
        "oodometer/relative_mCE": run.relative_mce(),
        "oodometer/clean_error": run.clean_error,
        "oodometer/clean/nll": run.nll(),
        "oodometer/clean/ECE": run.ece(),
        "oodometer/shifted/imagenet-r/gap": run.summary().renditions.gap,
    }
    numbers = {f"oodometer/error/{name}/{s}": e for name, es in run.errors.items() for s, e in enumerate(es, start=1)}
    for name, estimate in found.items():
        numbers |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    assert len(numbers) == 75 + 18
    return numbers


def _agree(found, expected, rel):
    assert expected.keys() <= found.keys()
    assert {name: found[name] for name in expected} == pytest.approx(expected, rel=rel)


def test_tensorboard_reads_what_was_written(run, expected, tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    places = [track(run, f"tensorboard:{tmp_path / 'board'}") for _ in range(2)]
    assert places[0] == places[1] == (str(tmp_path / "board" / "ours"),)
    events = EventAccumulator(places[0][0]).Reload()
    scalars = {name: events.Scalars(name) for name in events.Tags()["scalars"]}
    assert {len(points) for points in scalars.values()} == {1}  # what was written first is replaced
    _agree({name: point.value for name, (point,) in scalars.items()}, expected, rel=1e-6)
    (name,) = events.Tags()["tensors"]
    (text,) = (event.tensor_proto.string_val[0].decode() for event in events.Tensors(name))
    assert f"| plan | {run.store.plan_digest()} |" in text
    assert "| data/imagenet-c/protocol | 256->224, memory |" in text


def test_tensorboard_mixes_no_two_runs(run, tmp_path):
    track(run, f"tensorboard:{tmp_path / 'board'}")
    other = write_run(tmp_path / "elsewhere" / "ours", images=5, model="another")
    with pytest.raises(StoreError, match="another run"):
        track(other.path, f"tensorboard:{tmp_path / 'board'}")
    with pytest.raises(ArgumentError, match="both be called 'ours'"):
        track([run, other.path], f"tensorboard:{tmp_path / 'new'}")
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_written_is_told(run, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"Failed while writing .*Not a directory"):
        track(run, f"tensorboard:{tmp_path / 'file'}")


def test_mlflow_reads_what_was_written(run, expected, tmp_path):
    from mlflow import MlflowClient

    uri = (tmp_path / "mlruns").as_uri()
    (place,) = track(run, f"mlflow:{uri}")
    client = MlflowClient(tracking_uri=uri)
    experiment = client.get_experiment_by_name("oodometer")
    (found,) = client.search_runs([experiment.experiment_id])
    assert place == f"{uri}, run {found.info.run_id}"
    assert (found.info.run_name, found.info.status) == ("ours", "FINISHED")
    _agree(found.data.metrics, expected, rel=1e-12)
    assert found.data.params["oodometer/plan"] == found.data.tags["oodometer.plan"] == run.store.plan_digest()
    assert found.data.params["oodometer/data/imagenet-c/protocol"] == "256->224, memory"
    assert found.data.params["oodometer/model/name"] == "a model"
    assert sorted(entry.path for entry in client.list_artifacts(found.info.run_id)) == ["report.html", "results.json"]
    results = json.loads(Path(client.download_artifacts(found.info.run_id, "results.json")).read_text())
    assert results["corruptions"]["mce"]["value"] == run.mce().value


def test_mlflow_takes_a_folder_by_its_path_and_an_experiment_of_ones_own(run, tmp_path, monkeypatch):
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_EXPERIMENT_NAME", "robustness")
    for _ in range(2):
        track(run, f"mlflow:{tmp_path / 'mlruns'}")
    client = MlflowClient(tracking_uri=str(tmp_path / "mlruns"))
    experiment = client.get_experiment_by_name("robustness")
    assert len(client.search_runs([experiment.experiment_id])) == 2


def test_an_mlflow_store_that_is_none_is_refused_in_a_line(run):
    with pytest.raises(StoreError, match="mlflow:nonsense://x refused 'ours'"):
        track(run, "mlflow:nonsense://x")


def _records(path):
    """Read a file of W&B: the log format of LevelDB, whose records are W&B's own protobufs."""
    from wandb.proto import wandb_internal_pb2

    content = path.read_bytes()
    assert content[:4] == b":W&B"
    at, begun = 7, b""
    while at + 7 <= len(content):
        left = 32768 - at % 32768
        _, length, kind = struct.unpack("<IHB", content[at : at + 7])
        if left < 7 or kind == 0:
            at += left
            continue
        begun, at = begun + content[at + 7 : at + 7 + length], at + 7 + length
        if kind in (1, 4):  # a whole record, or the last piece of one
            record = wandb_internal_pb2.Record()
            record.ParseFromString(begun)
            yield record
            begun = b""


@pytest.fixture
def ended(settled):
    """Return a function that waits until W&B's other process has written everything; it forgets its settings, too."""
    import wandb

    yield wandb.teardown
    wandb.teardown()


def _key(item):
    return item.key or "/".join(item.nested_key)


def test_wandb_writes_an_offline_run(run, expected, tmp_path, monkeypatch, ended):
    monkeypatch.chdir(tmp_path)
    (place,) = track(run, "wandb:robustness")
    ended()
    folder = next((tmp_path / "WANDB_DIR" / "wandb").glob("offline-run-*"))
    assert place == str(folder)
    records = list(_records(next(folder.glob("*.wandb"))))
    history = {_key(i): json.loads(i.value_json) for r in records for i in r.history.item if r.HasField("history")}
    _agree(history, expected, rel=1e-12)
    begun = next(r.run for r in records if r.HasField("run"))
    assert (begun.project, begun.display_name) == ("robustness", "ours")
    config = {_key(item): json.loads(item.value_json) for item in begun.config.update}
    assert config["plan"] == run.store.plan_digest()
    assert config["data/imagenet-c/protocol"] == "256->224, memory"
    saved = {file.path for r in records for file in r.files.files}
    assert {"report.html", "results.json"} <= saved
    assert json.loads((folder / "files" / "results.json").read_text())["corruptions"]["mce"]["value"] == run.mce().value
    assert any(r.HasField("exit") for r in records)


def test_a_training_that_wandb_follows_goes_on(run, tmp_path, monkeypatch, ended):
    import wandb

    monkeypatch.chdir(tmp_path)
    with wandb.init(project="training", mode="offline", settings=wandb.Settings(console="off", silent=True)) as own:
        track(run, "wandb:robustness")
        own.log({"loss": 0.5})
        assert wandb.run is own
    ended()
    (file,) = (tmp_path / "WANDB_DIR" / "wandb").glob(f"offline-run-*/run-{own.id}.wandb")
    names = {_key(item) for record in _records(file) for item in record.history.item}
    assert "loss" in names
    assert not [name for name in names if name.startswith("oodometer/")]


def test_mlflow_takes_settings_of_any_name(run, tmp_path, monkeypatch):
    from mlflow import MlflowClient

    manifest = run.manifest
    model = dataclasses.replace(manifest.model, settings={"Größe (p95) %": "x" * 9000})
    monkeypatch.setattr(run, "manifest", dataclasses.replace(manifest, model=model))
    track(run, f"mlflow:{tmp_path / 'mlruns'}")
    client = MlflowClient(tracking_uri=str(tmp_path / "mlruns"))
    (found,) = client.search_runs([client.get_experiment_by_name("oodometer").experiment_id])
    assert found.data.params["oodometer/model/Gr__e__p95___"] == "x" * 500


_WATCHED = """
import socket, sys
from oodometer.tracking import track

looked_up = []
real = socket.getaddrinfo
def getaddrinfo(host, *rest, **more):
    looked_up.append(str(host))
    return real(host, *rest, **more)
socket.getaddrinfo = getaddrinfo
connected = []
real_connect = socket.socket.connect
def connect(self, address):
    if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
        connected.append(str(address))
    return real_connect(self, address)
socket.socket.connect = connect
track(sys.argv[1], sys.argv[2])
here = ("localhost", "127.0.0.1", "::1", socket.gethostname())
print("seen", [host for host in looked_up if host not in here], connected)
"""


@pytest.mark.parametrize("to", ["wandb:p", "mlflow:mlruns", "tensorboard:board"])
def test_no_network_is_touched(run, to, tmp_path, monkeypatch):
    """By Python's sockets, or by W&B's other process, which would go through the proxy that stands in for the world."""
    for name in ("MLFLOW_DISABLE_TELEMETRY", "WANDB_ERROR_REPORTING", *os.environ):
        if name.startswith(("MLFLOW_", "WANDB_E", "PYTEST_", "CI", "GITHUB_")):  # some stay silent in tests and in CI
            monkeypatch.delenv(name, raising=False)
    called = []
    with socket.socket() as proxy:
        proxy.bind(("127.0.0.1", 0))
        proxy.listen()
        address = f"http://127.0.0.1:{proxy.getsockname()[1]}"

        def answer():
            while True:
                try:
                    connection, _ = proxy.accept()
                except OSError:
                    return
                called.append(connection.recv(200))
                connection.close()

        listening = threading.Thread(target=answer, daemon=True)
        listening.start()
        proxies = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), address)
        done = subprocess.run(
            [sys.executable, "-c", _WATCHED, str(run.path), to],
            cwd=tmp_path,
            env={**os.environ, **proxies, "WANDB_BASE_URL": address, "NO_PROXY": "", "no_proxy": ""},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        proxy.shutdown(socket.SHUT_RDWR)
    listening.join(timeout=30)
    assert done.returncode == 0, done.stderr
    assert "seen [] []" in done.stdout
    assert called == []


def test_every_number_is_finite_and_within_its_interval(run):
    for name, estimate in quantities(run.summary()).items():
        assert math.isfinite(estimate.value), name
        assert estimate.low <= estimate.value <= estimate.high, name
