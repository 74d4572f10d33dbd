"""`oodometer sequences`, and `oodometer report` of what it made."""

import json

import pytest
from made_sequences import write_set

from oodometer.cli import main

VIDEOS = {"n0/a": [1, 2, 3], "n1/b": [4, 5, 6]}


def run(*arguments):
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return ended.value.code


@pytest.fixture
def data(tmp_path):
    return write_set(tmp_path / "p", {"tilt": VIDEOS, "shot_noise": VIDEOS, "shot_noise_2": VIDEOS})


def test_the_command_prints_what_the_run_keeps(data, tmp_path, capsys):
    command = ("sequences", "fake", "--data", data, "-o", tmp_path / "run")
    assert run(*command, "--json", tmp_path / "out.json") == 0
    printed = capsys.readouterr().out
    for words in ("Model", "shot_noise_2", "the one before", "Mean flip rate over 2 of 10", "sequences.json"):
        assert words in printed
    kept = json.loads((tmp_path / "run" / "sequences.json").read_text())
    assert kept == json.loads((tmp_path / "out.json").read_text())
    assert kept["counted"] == ["shot_noise", "tilt"]
    (tmp_path / "run" / "sequences.json").unlink()
    assert run("report", tmp_path / "run") == 0
    assert capsys.readouterr().out == printed
    assert json.loads((tmp_path / "run" / "sequences.json").read_text()) == kept
    assert run("report", tmp_path / "run", "--difficulty", "2") == 0
    assert "2 before" in capsys.readouterr().out
    assert run("report", tmp_path / "run", "--baseline", tmp_path / "run") == 0
    assert "of fake-1000, with 95 %" in capsys.readouterr().out


def test_a_difficulty_and_a_limit(data, tmp_path, capsys):
    assert run("sequences", "fake", "--data", data, "--difficulty", "2", "--limit", "1") == 0
    printed = capsys.readouterr().out
    assert "2 before" in printed
    assert "Nothing was saved" in printed


def test_a_damaged_video_is_named_and_the_status_says_so(data, tmp_path, capsys):
    (data / "tilt" / "n0" / "a" / "1.png").write_bytes(b"x")
    assert run("sequences", "fake", "--data", data, "-o", tmp_path / "run") == 3
    err = capsys.readouterr().err
    assert "Videos that could not be read and were left out: 1" in err
    assert "tilt/n0/a/1.png" in err
    assert run("report", tmp_path / "run") == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--preprocess", "x"), "Unknown preprocessing 'x'"),
        (("--baseline", "alexnet"), "published in no file"),
        (("--classes", "10", "--label-space", "cifar-10"), "classes goes with classes of the model's own"),
    ],
)
def test_a_mistake_is_one_message(data, capsys, options, message):
    assert run("sequences", "fake", "--data", data, *options) == 2
    assert message in " ".join(capsys.readouterr().err.split())
