"""The README's commands and snippets are those that work."""

import re
import shlex
from pathlib import Path

import numpy as np
import PIL.Image
import pytest

import documents
import oodometer
from oodometer.cli import main

README = (documents.CHECKOUT / "README.md").read_text(encoding="utf-8")


def test_the_snippets_run_as_printed(tmp_path, monkeypatch, frost, own):
    monkeypatch.chdir(tmp_path)
    names = documents.stand_ins()
    assert len(documents.snippets(README)) == 3
    for snippet in documents.snippets(README):
        exec(snippet, names)
    assert names["y"].shape == names["x"].shape
    assert (tmp_path / "report.html").is_file()
    assert (tmp_path / "runs" / "mine" / "manifest.json").is_file()


@pytest.mark.parametrize("line", documents.commands(README))
def test_each_command_parses(line):
    documents.check_parses(line)


@pytest.mark.parametrize(
    "line", re.findall(r"^    oodometer ((?:corrupt|check|fetch|list)\b(?!.* --to ).*)$", README, re.MULTILINE)
)
def test_each_command_on_data_runs(line, tmp_path, monkeypatch, frost):
    monkeypatch.chdir(tmp_path)
    picture = PIL.Image.fromarray(np.random.default_rng(0).integers(0, 256, (80, 90, 3)).astype(np.uint8))
    for name in ("path/to/val/n01440764/a.png", "photos/cat.jpg", "photo.jpg"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        picture.save(name)
    oodometer.build("path/to/val", "imagenet-c", corruptions="imagenet-c", progress=False)
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(line, comments=True))
    assert ended.value.code == 0


def test_the_two_commands_stand_there():
    commands = re.findall(r"^    (python3 -m venv .*)$", README, re.MULTILINE)
    assert [c.rsplit(" ", 1)[-1] for c in commands] == ["demo", ".venv/bin/pytest"]


def test_every_picture_and_page_is_there():
    assert documents.dead_links(documents.CHECKOUT / "README.md") == []


def test_the_figure_of_fifty_percent_is_right():
    errors = {name: [0.5] * 5 for name in oodometer.list_corruptions()}
    assert f"an mCE of {100 * oodometer.metrics.mce(errors):.1f}" in " ".join(README.split())
