"""What is settled about a cluster before there is one: how many workers have room, and what is refused."""

import subprocess
import sys

import pytest

import oodometer
from oodometer.cli import main
from oodometer.corruptions.registry import REGISTRY
from oodometer.errors import ArgumentError, MissingDataError
from oodometer.scaling import Cluster
from oodometer.scaling.carried import Carried, Room, variables

CPUS = {"CPU": 8.0}
GPUS = {"CPU": 32.0, "GPU": 4.0}


@pytest.mark.parametrize(
    ("gpus", "nodes", "threads", "room"),
    [
        (0, [CPUS], None, Room(1, 8)),
        (0, [CPUS, CPUS, {"CPU": 4.0}], None, Room(2 + 2 + 1, 4)),
        (0, [CPUS, CPUS], 3, Room(4, 3)),
        (0, [{"CPU": 0.0}, CPUS], None, Room(1, 8)),
        (1, [CPUS, GPUS, GPUS], None, Room(8, 8)),
        (1, [GPUS], 16, Room(2, 16)),
        (2, [GPUS], None, Room(2, 16)),
        (0.5, [GPUS], None, Room(8, 4)),
        (4, [GPUS, {"CPU": 64.0, "GPU": 2.0}], None, Room(1, 32)),
    ],
)
def test_workers_fill_the_nodes_and_never_more(gpus, nodes, threads, room):
    assert Cluster(gpus_per_worker=gpus).room(nodes, threads) == room


@pytest.mark.parametrize(
    ("gpus", "nodes", "threads"), [(0, [], None), (0, [CPUS], 9), (1, [CPUS], None), (5, [GPUS], None)]
)
def test_no_room_is_an_error_that_says_what_there_is(gpus, nodes, threads):
    with pytest.raises(ArgumentError, match="No node of the cluster has room for a worker of"):
        Cluster(gpus_per_worker=gpus).room(nodes, threads)


@pytest.mark.parametrize("gpus", [-1, 1.5, True, "1"])
def test_graphics_processors_are_whole_or_a_fraction_of_one(gpus):
    with pytest.raises(ArgumentError, match="gpus_per_worker"):
        Cluster(gpus_per_worker=gpus)


def test_what_is_carried_is_registered_once(own):
    @oodometer.corruption("halved", severities=(1, 2, 3, 4, 5), random=False)
    def halved(image, rng, level):
        return image // (1 + level)

    carried = Carried.of(["fog", "halved"])
    assert [corruption.name for corruption in carried.corruptions] == ["halved"]
    assert Carried.of(["fog"]).corruptions == ()
    carried.unpack()
    assert REGISTRY["halved"] is carried.corruptions[0]


def test_as_many_threads_calculate_as_here(monkeypatch):
    import torch

    assert variables()["OMP_NUM_THREADS"] == str(torch.get_num_threads())
    monkeypatch.setenv("OODOMETER_FROST", "/some/folder")
    assert variables()["OODOMETER_FROST"] == "/some/folder"


def test_a_missing_ray_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDataError, match=r"pip install 'oodometer\[ray\]'"), Cluster().connected():
        pass


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("evaluate fake --data val --gpus-per-worker 1", "--gpus-per-worker goes with --ray"),
        ("evaluate fake --data val --gpus-per-worker 1.5 --ray", "gpus_per_worker must be 0, a fraction"),
        ("corrupt val out --dry-run --ray", "ray: --dry-run says what this machine takes"),
        ("corrupt a.png b.png -c fog -s 3 --ray", "ray: goes with a data set"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, monkeypatch, capsys, command, message):
    import numpy as np
    import PIL.Image

    monkeypatch.chdir(tmp_path)
    (tmp_path / "val" / "n01440764").mkdir(parents=True)
    picture = PIL.Image.fromarray(np.zeros((64, 64, 3), np.uint8))
    for place in ("val/n01440764/a.png", "a.png"):
        picture.save(tmp_path / place)
    with pytest.raises(SystemExit) as refused:
        main(command.split())
    assert refused.value.code == 2
    assert message in capsys.readouterr().err


def test_commands_do_not_import_ray_unless_asked():
    script = "import sys; import oodometer.cli.main; import oodometer.scaling; print('ray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "False"
