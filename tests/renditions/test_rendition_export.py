"""The finished set: ImageNet-R's layout, the same bytes from the same decisions, and all about each picture."""

import csv
import hashlib

import numpy as np
import PIL.Image
import pytest
from drawings import GOLDFISH, SHARK, TIGER, drawing, row, save

import oodometer
from oodometer.datasets import open_dataset
from oodometer.errors import ArgumentError, DatasetError
from oodometer.renditions import Reviewer, export, read_screening
from oodometer.renditions.pictures import look


def files(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def manifest(folder):
    with (folder / "manifest.csv").open(encoding="utf-8", newline="") as file:
        return {line["original"]: line for line in csv.DictReader(file)}


@pytest.fixture
def mixed(screened, pool):
    """Screen pictures of which some can be copied, some must be written anew, and some wait for a person."""
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    save(pool, "turned.jpg", drawing(1), exif=exif)
    alpha = drawing(2).convert("RGBA")
    alpha.putalpha(PIL.Image.linear_gradient("L").resize(alpha.size))
    save(pool, "glass.png", alpha)
    save(pool, "plain.jpg", drawing(3))
    save(pool, "gray.png", drawing(4, mode="L"))
    save(pool, "free.png", drawing(5))
    save(pool, "strange.png", drawing(6))
    rows = [
        row("turned.jpg"),
        row("glass.png"),
        row("plain.jpg", source="a | b\n<script>", licence="CC-BY-4.0"),
        row("gray.png", label=SHARK, style="toy"),
        row("free.png", licence=""),
        row("strange.png", label=TIGER, style="mosaic"),
    ]
    collection, made = screened({}, rows=rows)
    return collection, list(made.values())


def test_layout_manifest_and_pictures(mixed, tmp_path, pool):
    out = tmp_path / "set"
    made = export(*mixed, [], out)
    assert sorted(files(out)) == sorted(
        [
            *(f"{GOLDFISH}/sketch_0.png", f"{GOLDFISH}/sketch_1.jpg", f"{GOLDFISH}/sketch_2.png", f"{SHARK}/toy_0.png"),
            *("DATASHEET.md", "LICENSES.md", "classes.txt", "labels.csv", "manifest.csv"),
        ]
    )
    listed = manifest(out)
    assert [line["file"] for line in listed.values()] == sorted(line["file"] for line in listed.values())
    assert {original: line["file"] for original, line in listed.items()} == {
        "glass.png": f"{GOLDFISH}/sketch_0.png",
        "plain.jpg": f"{GOLDFISH}/sketch_1.jpg",
        "turned.jpg": f"{GOLDFISH}/sketch_2.png",
        "gray.png": f"{SHARK}/toy_0.png",
    }
    assert {line["original"]: line["conversion"] for line in listed.values()} == {
        "glass.png": "transparency on white",
        "plain.jpg": "",
        "turned.jpg": "exif_orientation",
        "gray.png": "",
    }
    dataset = open_dataset(f"imagenet-r:{out}")
    for sample in dataset.samples:
        (line,) = [line for line in listed.values() if line["file"] == sample.id]
        assert hashlib.sha256((out / sample.id).read_bytes()).hexdigest() == line["sha256"]
        assert hashlib.sha256((pool / line["original"]).read_bytes()).hexdigest() == line["original_sha256"]
        # What an evaluation reads is what people were shown, though it ignores alpha and orientation.
        shown = look(pool / line["original"], "").image
        assert np.array_equal(np.asarray(dataset.read(sample)), np.asarray(shown))
        assert (int(line["width"]), int(line["height"])) == shown.size
    for copied in ("plain.jpg", "gray.png"):
        assert (pool / copied).read_bytes() == (out / listed[copied]["file"]).read_bytes()
    assert {one.screened.path: one.why for one in made.left_out} == {
        "free.png": "waits for a person: it has no licence",
        "strange.png": "waits for a person: it has a style that ImageNet-R does not know",
    }


def test_the_same_decisions_give_the_same_bytes(mixed, tmp_path):
    collection, rows = mixed
    people = [
        Reviewer("Ann", {"turned.jpg": "keep", "gray.png": "drop"}, ()),
        Reviewer("Bob", {"gray.png": "keep"}, ()),
    ]
    export(collection, rows, people, tmp_path / "one", workers=1)
    export(collection, read_screening(collection), people, tmp_path / "elsewhere" / "two", workers=4)
    assert files(tmp_path / "one") == files(tmp_path / "elsewhere" / "two")
    assert not list(tmp_path.glob(".*"))


def test_people_decide(mixed, tmp_path):
    collection, rows = mixed
    ann = Reviewer("Ann", {"strange.png": "keep", "free.png": "keep", "plain.jpg": "keep", "gray.png": "keep"}, ())
    bob = Reviewer("Bob", {"gray.png": "wrong style", "plain.jpg": "keep", "turned.jpg": "unsure"}, ())
    made = export(collection, rows, [ann, bob], tmp_path / "set")
    assert {part.original: (part.file, part.judged_by) for part in made.parts} == {
        "glass.png": (f"{GOLDFISH}/sketch_0.png", ""),
        "plain.jpg": (f"{GOLDFISH}/sketch_1.jpg", "Ann; Bob"),
        "strange.png": (f"{TIGER}/mosaic_0.png", "Ann"),
    }
    assert {one.screened.path: one.why for one in made.left_out} == {
        "free.png": "has no licence: add it to the table",
        "gray.png": "wrong style (Bob)",
        "turned.jpg": "unsure (Bob)",
    }
    sheet = (tmp_path / "set" / "DATASHEET.md").read_text("utf-8")
    assert "Ann (4 pictures), Bob (3 pictures)." in sheet
    assert "**Agreement of Ann and Bob:** Cohen's kappa 0.00" in sheet
    assert "1 of the 3 were kept by the automatic screening alone" in sheet


def test_an_outdated_decision_does_not_let_a_picture_in(mixed, tmp_path):
    collection, rows = mixed
    ann, bob = Reviewer("Ann", {}, ("plain.jpg", "gray.png")), Reviewer("Bob", {"gray.png": "keep"}, ())
    made = export(collection, rows, [ann, bob], tmp_path / "set")
    assert {part.original for part in made.parts} == {"turned.jpg", "glass.png", "gray.png"}
    (why,) = (one.why for one in made.left_out if one.screened.path == "plain.jpg")
    assert why == "was judged under another class or style: review it again"


def test_two_equal_pictures_cannot_both_stay(screened, tmp_path):
    rows = [row("a.png"), row("b.png", label=SHARK)]
    collection, made = screened({"a.png": drawing(1), "b.png": drawing(1)}, rows=rows)
    both = Reviewer("Ann", {"a.png": "keep", "b.png": "keep"}, ())
    with pytest.raises(DatasetError, match=r"a\.png and b\.png have the same pixels, and both were kept"):
        export(collection, list(made.values()), [both], tmp_path / "set")
    assert not (tmp_path / "set").exists()
    with pytest.raises(DatasetError, match=r"No picture of .* is kept: the first one waits for a person"):
        export(collection, list(made.values()), [], tmp_path / "set")


def test_wrong_places_and_changed_pictures_are_refused(mixed, tmp_path, pool):
    collection, rows = mixed
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("mine")
    with pytest.raises(DatasetError, match="is there already"):
        export(collection, rows, [], tmp_path / "full")
    with pytest.raises(ArgumentError, match="lies within the data"):
        export(collection, rows, [], pool / "set")
    save(pool, "gray.png", drawing(9))
    with pytest.raises(DatasetError, match=r"gray\.png has changed since the screening"):
        export(collection, rows, [], tmp_path / "set")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "pool", "work"]
    assert (tmp_path / "full" / "x").read_text() == "mine"


def test_licences_and_hostile_words(mixed, tmp_path):
    export(*mixed, [], tmp_path / "set")
    words = (tmp_path / "set" / "LICENSES.md").read_text("utf-8")
    assert words.index("## CC-BY-4.0") < words.index("## CC0-1.0")
    assert "| n01443537/sketch\\_1.jpg | see the source | a \\| b\\\\n\\<script\\> |" in words
    sheet = (tmp_path / "set" / "DATASHEET.md").read_text("utf-8")
    assert "<script>" not in words + sheet
    assert "4 pictures of 2 of the 200 classes" in sheet
    assert "| sketch | 3 | 1 |" in sheet
    assert "exif orientation (1)" in sheet
    assert sheet.count("**Fill in") > 5


def test_the_set_evaluates_as_renditions(mixed, tmp_path):
    export(*mixed, [], tmp_path / "set")
    for label in (GOLDFISH, SHARK):
        save(tmp_path / "val", f"{label}/x.png", drawing(8))
    run = oodometer.evaluate(
        "fake", tmp_path / "val", imagenet_r=tmp_path / "set", corruptions=["brightness"], baseline=None
    )
    assert run.summary().renditions.counts.measured == 4
    assert not run.skipped


def test_a_set_of_ones_own_classes_evaluates(screened, tmp_path):
    (tmp_path / "classes.txt").write_text("tea pot\nkettle\ncup\n", "utf-8")
    rows = [row("a.png", label="cup"), row("b.png", label="tea pot")]
    pictures = {"a.png": drawing(1), "b.png": drawing(2)}
    collection, made = screened(pictures, rows=rows, classes=tmp_path / "classes.txt")
    out = tmp_path / "set"
    export(collection, list(made.values()), [], out)
    assert (out / "labels.csv").read_text() == "name,label\ntea pot,0\ncup,2\n"
    assert (out / "classes.txt").read_text() == "tea pot\nkettle\ncup\n"
    dataset = open_dataset(out, labels=out / "labels.csv", classes=3)
    assert {sample.id: sample.label for sample in dataset.samples} == {"cup/sketch_0.png": 2, "tea pot/sketch_0.png": 0}
    assert "--labels FOLDER/labels.csv --classes 3" in (out / "DATASHEET.md").read_text("utf-8")
