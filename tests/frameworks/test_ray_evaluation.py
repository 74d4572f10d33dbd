"""Evaluations on a cluster of several nodes give what a single process gives, whatever fails in between."""

import json
import subprocess
import sys

import numpy as np
import pytest
from ray_nodes import photographs, predictions, started, wait_for

import oodometer
from oodometer.errors import ArgumentError, DatasetError, ModelError
from oodometer.scaling import Cluster
from oodometer.store import RunStore

pytestmark = [pytest.mark.frameworks, pytest.mark.filterwarnings("ignore::ResourceWarning:ray")]

OPTIONS = {"corruptions": "fog", "preprocess": "none", "batch_size": 4, "progress": False}
FAULTY = "python:faulty:Model"


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return photographs(tmp_path_factory.mktemp("images") / "val")


@pytest.fixture(scope="module")
def expected(images, nodes, tmp_path_factory):
    """Evaluate in one process, without any fault."""
    out = tmp_path_factory.mktemp("expected") / "run"
    oodometer.evaluate(FAULTY, images, out, **OPTIONS)
    return out


@pytest.fixture
def evaluated(images, nodes, tmp_path):
    """Return a function that evaluates on the cluster and checks that no image was predicted twice."""

    def evaluate(out=tmp_path / "run", **options):
        run = oodometer.evaluate(FAULTY, images, out, cluster=Cluster(nodes.address), workers=1, **OPTIONS | options)
        assert len(run.store.table("imagenet-c", "imagenet-1k").images) == 24  # which refuses what is there twice
        return out

    return evaluate


def test_the_run_is_that_of_one_process(evaluated, expected):
    out = evaluated()
    assert predictions(out) == predictions(expected)
    ours, theirs = (json.loads((run / "manifest.json").read_text()) for run in (out, expected))
    assert {key for key in ours if ours[key] != theirs[key]} <= {"created"}


def test_a_network_gives_the_same_bits(images, nodes, tmp_path):
    options = OPTIONS | {"preprocess": "imagenet224", "limit": 8}
    here, there = tmp_path / "here", tmp_path / "there"
    oodometer.evaluate("demo", images, here, **options)
    oodometer.evaluate("demo", images, there, cluster=Cluster(nodes.address), workers=1, **options)
    assert predictions(there) == predictions(here)


def test_an_automatic_batch_size_is_measured_on_a_worker(images, nodes, tmp_path):
    options = OPTIONS | {"batch_size": "auto", "preprocess": "imagenet224", "limit": 8}
    run = oodometer.evaluate("demo", images, tmp_path / "run", cluster=Cluster(nodes.address), **options)
    assert run.manifest.batch_size in (2, 4, 8, 16)
    assert len(run.store.table("imagenet-c", "imagenet-1k").images) == 8


def test_a_module_is_sent_as_it_is(images, nodes, tmp_path):
    import torch

    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, 1000))
    here, there = tmp_path / "here", tmp_path / "there"
    oodometer.evaluate(module, images, here, **OPTIONS)
    oodometer.evaluate(module, images, there, cluster=Cluster(nodes.address), workers=1, **OPTIONS)
    assert predictions(there) == predictions(here)


def test_a_precision_is_reached_step_by_step(images, nodes, tmp_path):
    options = OPTIONS | {"corruptions": "imagenet-c", "precision": 30}
    images = photographs(tmp_path / "more", 100)
    run = oodometer.evaluate("fake", images, tmp_path / "run", cluster=Cluster(nodes.address), workers=1, **options)
    assert run.store.table("imagenet-c", "imagenet-1k").seen.sum() < 100 * 76
    found = run.mce()
    assert (found.high - found.low) / 2 < 0.3


def test_a_worker_that_is_killed_loses_nothing(evaluated, expected, faults):
    (faults / "die").touch()
    assert predictions(evaluated()) == predictions(expected)
    assert not (faults / "die").exists()


def test_a_node_that_is_removed_loses_nothing(evaluated, expected, nodes, monkeypatch):
    write, extra = RunStore.write_block, [nodes.add_node(num_cpus=1)]

    def removing(store, *block):
        if extra:
            nodes.remove_node(extra.pop(), allow_graceful=False)
        write(store, *block)

    monkeypatch.setattr(RunStore, "write_block", removing)
    assert predictions(evaluated()) == predictions(expected)
    assert not extra


def test_a_driver_that_is_killed_is_started_again(evaluated, expected, images, nodes, faults, tmp_path):
    out = tmp_path / "run"
    (faults / "gate").touch()
    options = ["--corruptions", "fog", "--preprocess", "none", "--batch-size", "4", "--workers", "1"]
    command = [sys.executable, "-m", "oodometer", "evaluate", FAULTY, "--data", str(images), "-o", str(out), *options]
    with started([*command, "--ray", nodes.address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        wait_for(lambda: len(list(out.glob("predictions/imagenet-c/*.parquet"))) >= 2, process)
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("predictions/imagenet-c/*.parquet")}
    assert len(done) < 6
    (faults / "gate").unlink()
    evaluated(out)
    assert predictions(out) == predictions(expected)
    after = {path.name: path.stat().st_mtime_ns for path in out.glob("predictions/imagenet-c/*.parquet")}
    assert done.items() <= after.items()


def test_the_others_take_the_blocks_of_a_slow_worker(evaluated, expected, faults):
    (faults / "slow").touch()
    out = evaluated()
    assert predictions(out) == predictions(expected)
    assert not (faults / "slow").exists()
    batches = (faults / "batches").read_text().splitlines()  # of all but the slow one, which waits for them
    assert len(batches) >= 4 * 6


def test_a_full_object_store_stops_nothing(evaluated, expected, nodes):
    ray = pytest.importorskip("ray")
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        held = [ray.put(np.zeros(19 * 2**20, np.uint8)) for _ in range(6)]
        pinned = [ray.get(reference) for reference in held[:4]]
        out = evaluated()
        assert sum(array.nbytes for array in pinned) > 0.9 * 80 * 2**20
    finally:
        ray.shutdown()
    assert predictions(out) == predictions(expected)


def test_a_block_over_which_every_worker_dies_is_named(evaluated, monkeypatch, faults):
    monkeypatch.setattr("oodometer.scaling.replicas.MOST_DEATHS", 0)
    (faults / "die").touch()
    with pytest.raises(ModelError, match=r"1 workers died over the block of images that begins with n\d+/\d+\.png"):
        evaluated()


def test_what_a_worker_raises_is_raised_here(images, nodes, tmp_path):
    with pytest.raises(ModelError, match=r"python:nowhere:Model"):
        oodometer.evaluate("python:nowhere:Model", images, tmp_path / "run", cluster=Cluster(nodes.address), **OPTIONS)
    assert not (tmp_path / "run").exists()


def test_pictures_of_two_sizes_are_refused(nodes, tmp_path):
    root = photographs(tmp_path / "val", 8)
    photographs(tmp_path / "other", 24, side=72)
    (tmp_path / "other").rename(root / "..x")
    for path in sorted((root / "..x").rglob("*.png"))[8:]:
        (root / path.parent.name).mkdir(exist_ok=True)
        path.rename(root / path.parent.name / path.name)
    with pytest.raises(DatasetError, match="pixels where others are"):
        oodometer.evaluate("fake", root, tmp_path / "run", cluster=Cluster(nodes.address), workers=1, **OPTIONS)


def test_a_model_that_cannot_be_sent_says_so(images, nodes, tmp_path):
    import threading

    model = oodometer.FakeModel()
    model.lock = threading.Lock()
    with pytest.raises(ArgumentError, match="cannot be sent to the processes of a cluster"):
        oodometer.evaluate(model, images, tmp_path / "run", cluster=Cluster(nodes.address), **OPTIONS)


@pytest.mark.parametrize(
    ("cluster", "options", "message"),
    [
        (Cluster("127.0.0.1:1"), {}, "There is no Ray cluster at 127.0.0.1:1"),
        (Cluster("ray://127.0.0.1:10001"), {}, "a client of Ray is not supported"),
        (Cluster(gpus_per_worker=1), {}, "No node of the cluster has room for a worker of 1 CPUs and 1 GPUs"),
        (Cluster(), {"workers": 99}, "No node of the cluster has room for a worker of 99 CPUs"),
    ],
)
def test_a_cluster_that_will_not_do(images, nodes, tmp_path, monkeypatch, cluster, options, message):
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    with pytest.raises(ArgumentError, match=message):
        oodometer.evaluate("fake", images, tmp_path / "run", cluster=cluster, **OPTIONS | options)


def test_a_model_behind_an_endpoint_has_no_use_for_a_cluster(images, tmp_path):
    with pytest.raises(ArgumentError, match="--requests"):
        oodometer.evaluate("vlm:http://127.0.0.1:1/v1#m", images, tmp_path / "run", cluster=Cluster(), **OPTIONS)
