"""The published schemas: made from the dataclasses as they are, and kept by what is really written."""

import json

import jsonschema
import msgspec
import numpy as np
import PIL.Image
import pytest

import documents
import oodometer
from oodometer import cli
from oodometer.datasets import imagenet1k
from oodometer.families import SEVERITIES
from oodometer.leaderboard import export
from oodometer.paper_tables import write_tables
from oodometer.run import Run
from oodometer.types import CLEAN, Condition
from synthetic_runs import CELLS, write_run


@pytest.fixture(scope="module")
def tool():
    return documents.load_tool("schemas")


@pytest.fixture(scope="module")
def stored(tool):
    """Read the schemas as published, without room for keys that they do not name."""

    def closed(part):
        if isinstance(part, dict):
            # So that a key which is written and not named is found, though readers must bear it.
            shut = {"additionalProperties": False} if "properties" in part else {}
            return {key: closed(value) for key, value in part.items()} | shut
        return [closed(value) for value in part] if isinstance(part, list) else part

    return {
        name: closed(json.loads((tool.FOLDER / f"{name}.json").read_text(encoding="utf-8"))) for name in tool.SCHEMAS
    }


@pytest.fixture
def check(stored):
    """Return a function that holds a written text to a schema by an independent validator."""

    def checked(name, text):
        content = json.loads(text)
        jsonschema.Draft202012Validator(stored[name]).validate(content)
        return content

    return checked


def test_they_are_those_of_the_code(tool):
    for name in tool.SCHEMAS:
        path = tool.FOLDER / f"{name}.json"
        assert path.read_text(encoding="utf-8") == tool.text(name), f"{path.name} is old: run tools/schemas.py"
    assert {path.stem for path in tool.FOLDER.iterdir()} == set(tool.SCHEMAS)


def test_they_are_schemas(stored):
    for content in stored.values():
        jsonschema.Draft202012Validator.check_schema(content)


SHAPES = {
    "whole": {"images": 120, "masked": 20, "renditions": 40},
    "few": {"images": 2, "baseline": None},
    "cells": {"images": 9, "conditions": (CLEAN, *(Condition("fog", s) for s in SEVERITIES)), "planned": 20},
    "extra": {"images": 9, "conditions": (*CELLS, *(Condition("saturate", s) for s in SEVERITIES))},
    "renditions": {"conditions": (), "renditions": 240},
    "pictures": {"images": 120, "pictures": CELLS[:6]},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_results_of_runs_keep_theirs(tmp_path, check, shape):
    run = Run(write_run(tmp_path / "run", **SHAPES[shape]).path)
    run.report()
    content = check("results", (run.path / "results.json").read_text(encoding="utf-8"))
    assert content["corruptions"] is None or content["corruptions"]["clean_error"]["n"] == SHAPES[shape]["images"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Write pictures of ImageNet's classes, in three sets."""
    place = tmp_path_factory.mktemp("sets")
    rng = np.random.default_rng(0)
    for folder, images in (("val", 6), ("mine", 6), ("many", 80)):
        for k in range(images):
            target = place / folder / imagenet1k().classes[k % 3] / f"{k}.png"
            target.parent.mkdir(parents=True, exist_ok=True)
            PIL.Image.fromarray(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(target)
    return place


TINY = {"preprocess": "none", "corruptions": ("contrast", "brightness"), "progress": False}
ASKED = {
    "suite": {"suite": {"mine": "mine", "o": "mine"}},
    "design": {"data": "many", "precision": 40, "corruptions": "imagenet-c"},
    "unlabelled": {"unlabelled": True},
}


@pytest.mark.parametrize("kind", ASKED)
def test_results_of_evaluations_keep_theirs(folders, tmp_path, check, frost, kind):
    asked = {"data": "val"} | ASKED[kind]
    asked["data"] = folders / asked["data"]
    if "suite" in asked:
        asked["suite"] = {name: folders / folder for name, folder in asked["suite"].items()}
    run = oodometer.evaluate("fake", out=tmp_path / "run", **TINY | asked)
    run.report()
    content = check("results", (run.path / "results.json").read_text(encoding="utf-8"))
    found = {
        "suite": content["shifted"],
        "design": content["corruptions"] and content["corruptions"]["design"],
        "unlabelled": content["unlabelled"],
    }
    assert found[kind]


def test_tables_keep_theirs(tmp_path, check):
    runs = [
        Run(write_run(tmp_path / name, images=30, masked=20, renditions=40, baseline=baseline).path)
        for name, baseline in (("a", "alexnet"), ("b", None))
    ]
    for baseline in (None, "none"):
        written = [path for path in write_tables(runs, tmp_path / "out", baseline) if path.suffix == ".json"]
        names = [check("table", path.read_text(encoding="utf-8"))["name"] for path in written]
        assert names == ["imagenet-c", "imagenet-r"]


def test_comparisons_and_exported_results_keep_theirs(tmp_path, check):
    runs = [Run(write_run(tmp_path / name, images=30, masked=20, renditions=40).path) for name in "abc"]
    comparison = msgspec.json.encode(oodometer.compare(runs).results())
    assert len(check("comparison", comparison)["pairs"]) == 2
    export(runs[0], tmp_path / "result.json")
    assert check("exported-result", (tmp_path / "result.json").read_text(encoding="utf-8"))["numbers"]


def test_a_diagnosis_keeps_its_own(folders, check, capsys):
    with pytest.raises(SystemExit):
        cli.main(["check", str(folders / "val"), "--json"])
    assert check("diagnosis", capsys.readouterr().out)["kind"]


def test_sequences_keep_theirs(folders, tmp_path, check):
    oodometer.build_sequences(folders / "val", tmp_path / "p", perturbations="brightness", progress=False)
    run = oodometer.evaluate_sequences("fake", tmp_path / "p", tmp_path / "run", progress=False)
    assert check("sequences", run.write_results().read_text(encoding="utf-8"))["rows"]


def test_a_slip_is_found(tmp_path, check):
    """The checks above can fail: for a key that goes, one that comes, and one of another kind."""
    run = Run(write_run(tmp_path / "run", images=5).path)
    run.report()
    text = (run.path / "results.json").read_text(encoding="utf-8")
    for slip in (
        lambda content: content["corruptions"].pop("mce"),
        lambda content: content["corruptions"].update(newer=1),
        lambda content: content["corruptions"]["clean_error"].update(value="0.5"),
        lambda content: content.update(format=content["format"] + 1),
    ):
        content = json.loads(text)
        slip(content)
        with pytest.raises(jsonschema.ValidationError):
            check("results", json.dumps(content))
