"""A deliberately messy pool of real drawings: the automatic decisions are those that its makers wrote down."""

import csv

import pytest
from drawings import drawing, save

import oodometer
from oodometer.renditions import collect, export, screen

# What only a person can see: a chestnut that its source calls an acorn, a doll called Granny Smith, and a photograph of
# a gorilla that was cut out and put on transparency. The pool's own README says that no tool can tell from the bytes.
FOR_PEOPLE = {"emoji-b/acorn.png", "stamps/grannysmith.jpg", "photos/gorilla.png"}


@pytest.fixture(scope="module")
def screened_pool(candidates, tmp_path_factory):
    collection = collect(candidates / "labels.csv", tmp_path_factory.mktemp("pool") / "work")
    return collection, screen(collection)


def test_the_decisions_are_those_of_the_truth(candidates, screened_pool):
    with (candidates / "truth.csv").open(encoding="utf-8", newline="") as file:
        truth = {line["path"]: line for line in csv.DictReader(file)}
    _, rows = screened_pool
    found = {row.path: row for row in rows}
    besides = {"truth.csv", "README.md", "LICENSES.md"}  # lie beside the pool, and are no pictures
    assert set(found) - set(truth) == besides
    assert {found[path].decision for path in besides} == {"ignore"}
    differing = {}
    for path, line in truth.items():
        row = found[path]
        if (row.decision, row.reason, row.related) != (line["expected"], line["reason"], line["related_path"]):
            differing[path] = (row.decision, line["reason"])
    assert differing == {
        "emoji-b/acorn.png": ("keep", "wrong_label"),
        "stamps/grannysmith.jpg": ("keep", "wrong_label"),
        "photos/gorilla.png": ("keep", "not_a_rendition"),
    }


def test_the_exported_set_evaluates(screened_pool, tmp_path):
    collection, rows = screened_pool
    made = export(collection, rows, [], tmp_path / "set")
    assert len(made.parts) == 43 + 9  # kept and converted; FOR_PEOPLE among them
    assert {part.original for part in made.parts} >= FOR_PEOPLE
    save(tmp_path / "val", "n01443537/x.png", drawing(1))
    run = oodometer.evaluate("fake", tmp_path / "val", imagenet_r=tmp_path / "set", corruptions="fog", limit=1)
    assert run.summary().renditions.counts.measured == 52
    assert not run.skipped
