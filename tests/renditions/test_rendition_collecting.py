"""Candidates: every row and every file is accounted for once, whatever the table says."""

import os
import unicodedata

import pytest
from drawings import GOLDFISH, HEADER, SHARK, drawing, row, save, table

from oodometer.errors import ArgumentError, DatasetError
from oodometer.renditions import collect, open_collection, phrases, vocabulary
from oodometer.renditions.queries import PHRASES

HOSTILE = [
    "a'b\".png",
    "<script>alert(1)</script>.png",
    "\u202egnp.exe.png",
    "שלום, مرحبا.png",
    "=cmd|x.png",
    "a\nb.png",
]


def problems(collection):
    return {candidate.path: candidate.problem for candidate in collection.candidates}


def test_rows_and_files_are_put_together(pool, tmp_path):
    for name in ("b.png", "a.png", "deep/c.png", "unlisted.png", "notes.txt", ".DS_Store", "drawn.svg"):
        save(pool, name, drawing(1)) if name.endswith("png") else (pool / name).write_bytes(b"x")
    made = collect(table(pool, row("b.png", SHARK), row("deep/c.png"), row("a.png"), row("gone.png")), tmp_path / "w")
    assert [c.path for c in made.candidates] == [
        *(".DS_Store", "a.png", "b.png", "deep/c.png", "drawn.svg", "gone.png", "notes.txt", "unlisted.png"),
    ]
    assert problems(made) == {
        "a.png": "",
        "b.png": "",
        "deep/c.png": "",
        "gone.png": "missing_file",
        "unlisted.png": "no_label",
        "drawn.svg": "no_label",
        "notes.txt": "not_an_image",
        ".DS_Store": "not_an_image",
    }
    assert made.candidates[2].label == SHARK
    assert open_collection(tmp_path / "w") == made


def test_a_folder_tells_labels_and_styles(pool, tmp_path):
    for name in (f"{SHARK}/sketch_3.png", f"{SHARK}/toy/anything.png", f"{SHARK}/img_1.png", "loose.png"):
        save(pool, name, drawing(1))
    made = {c.path: (c.label, c.style, c.problem) for c in collect(pool, tmp_path / "w").candidates}
    assert made == {
        f"{SHARK}/sketch_3.png": (SHARK, "sketch", ""),
        f"{SHARK}/toy/anything.png": (SHARK, "toy", ""),
        f"{SHARK}/img_1.png": (SHARK, "", ""),
        "loose.png": ("", "", "no_label"),
    }


def test_other_names_of_columns_and_the_author(pool, tmp_path):
    save(pool, "a.png", drawing(1))
    header = ("url", "Class", "style", "source", "license", "author", "more")
    listed = table(pool, ("a.png", SHARK, "toy", "s", "MIT", "Ann", "x"), header=header)
    (only,) = collect(listed, tmp_path / "w").candidates
    assert (only.path, only.label, only.licence, only.author) == ("a.png", SHARK, "MIT", "Ann")


def test_duplicate_rows_count_once_and_contradictions_are_said(pool, tmp_path):
    save(pool, "a.png", drawing(1))
    save(pool, "b.png", drawing(2))
    rows = [row("a.png"), row("./a.png"), row("b.png"), row("b.png", SHARK), row("b.png")]
    made = collect(table(pool, *rows), tmp_path / "w")
    assert problems(made) == {"a.png": "", "b.png": "conflicting_rows"}
    assert SHARK in made.candidates[1].detail
    assert GOLDFISH in made.candidates[1].detail


@pytest.mark.parametrize("text", ["../out.png", "/etc/hostname", "a/../../out.png", "file:///etc/hostname"])
def test_paths_that_leave_the_folder_are_refused(pool, tmp_path, text):
    save(tmp_path, "out.png", drawing(1))
    save(pool, "a.png", drawing(2))
    assert problems(collect(table(pool, row(text), row("a.png")), tmp_path / "w"))[text] == "path_outside_root"


def test_no_space_of_a_name_is_lost(pool, tmp_path):
    save(pool, " a.png", drawing(2))
    assert problems(collect(table(pool, row(" a.png")), tmp_path / "w")) == {" a.png": ""}


@pytest.mark.parametrize("text", ["https://example.org/a.png", "ftp://x/a.png", "file://elsewhere/a.png"])
def test_nothing_is_downloaded(pool, tmp_path, text):
    save(pool, "a.png", drawing(2))
    assert problems(collect(table(pool, row(text), row("a.png")), tmp_path / "w"))[text] == "not_local"


def test_addresses_absolute_paths_and_other_systems_names_of_the_same_file(pool, tmp_path):
    place = save(pool, "in/ä b.png", drawing(2))
    for text in (place.as_uri(), str(place), "in\\ä b.png", unicodedata.normalize("NFD", "in/ä b.png")):
        (only,) = collect(table(pool, row(text)), tmp_path / "w").candidates
        assert (only.path, only.problem) == ("in/ä b.png", "")


def test_links_are_followed_only_within(pool, tmp_path):
    save(tmp_path, "secret.png", drawing(1))
    save(tmp_path, "folder/x.png", drawing(1))
    save(pool, "a.png", drawing(2))
    (pool / "out.png").symlink_to(tmp_path / "secret.png")
    (pool / "in.png").symlink_to("a.png")
    (pool / "nowhere.png").symlink_to("gone.png")
    (pool / "elsewhere").symlink_to(tmp_path / "folder")
    (pool / "round").symlink_to(pool)
    os.mkfifo(pool / "pipe.png")
    rows = [row(name) for name in ("a.png", "out.png", "in.png", "nowhere.png", "elsewhere/x.png", "pipe.png")]
    assert problems(collect(table(pool, *rows), tmp_path / "w")) == {
        "a.png": "",
        "in.png": "",
        "out.png": "path_outside_root",
        "elsewhere": "path_outside_root",
        "elsewhere/x.png": "path_outside_root",
        "round": "linked_folder",
        "nowhere.png": "missing_file",
        "pipe.png": "missing_file",
    }


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_survive_the_table(pool, tmp_path, name):
    save(pool, name, drawing(1))
    made = collect(table(pool, row(name, label=name, source=name)), tmp_path / "w")
    assert open_collection(tmp_path / "w").candidates == made.candidates
    assert made.candidates[0].path == name


def test_a_table_without_the_columns_is_refused_by_name(pool, tmp_path):
    save(pool, "a.png", drawing(1))
    with pytest.raises(DatasetError, match=r"labels\.csv lacks the columns label, licence; its header is path, style"):
        collect(table(pool, header=("path", "style", "source")), tmp_path / "w")
    with pytest.raises(DatasetError, match="two columns of one meaning"):
        collect(table(pool, header=(*HEADER, "wnid")), tmp_path / "w")
    with pytest.raises(DatasetError, match="line 2: more cells"):
        collect(table(pool, (*row("a.png"), "surplus")), tmp_path / "w")
    with pytest.raises(DatasetError, match="line 2: the path is empty"):
        collect(table(pool, row("")), tmp_path / "w")
    (pool / "labels.csv").write_bytes(b"path,label\xff")
    with pytest.raises(DatasetError, match=r"labels\.csv is not UTF-8"):
        collect(pool / "labels.csv", tmp_path / "w")


def test_wrong_places_are_refused(pool, tmp_path):
    save(pool, "a.png", drawing(1))
    with pytest.raises(ArgumentError, match="lies within the data"):
        collect(pool, pool / "work")
    with pytest.raises(DatasetError, match=r"a\.png is a picture: give the folder"):
        collect(pool / "a.png", tmp_path / "w")
    with pytest.raises(DatasetError, match="There is no"):
        collect(tmp_path / "gone.csv", tmp_path / "w")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetError, match="holds no pictures"):
        collect(tmp_path / "empty", tmp_path / "w")
    with pytest.raises(DatasetError, match="holds no collection"):
        open_collection(tmp_path / "empty")
    with pytest.raises(ArgumentError, match="classes must be imagenet-r, imagenet-1k, or a text file"):
        collect(pool, tmp_path / "w", classes="imagenet-x")


def test_a_collection_may_move_with_its_pictures_and_be_mended_by_hand(collected, tmp_path):
    collected({"a.png": drawing(1)}, rows=[row("a.png", licence="")])
    home = tmp_path / "moved"
    home.mkdir()
    for name in ("pool", "work"):
        (tmp_path / name).rename(home / name)
    text = (home / "work" / "candidates.csv").read_text()
    (home / "work" / "candidates.csv").write_text("\ufeff" + text.replace("made here,", "made here,MIT"), "utf-8")
    moved = open_collection(home / "work")
    assert moved.root == home / "pool"
    assert moved.candidates[0].licence == "MIT"
    (home / "work" / "candidates.csv").write_text(text + '"', "utf-8")
    with pytest.raises(DatasetError, match=r"candidates\.csv, line \d, cannot be read"):
        open_collection(home / "work")
    (home / "work" / "candidates.csv").write_text("")
    with pytest.raises(DatasetError, match=r"candidates\.csv is empty"):
        open_collection(home / "work")


def test_what_a_person_mended_is_never_lost(pool, tmp_path):
    save(pool, f"{SHARK}/a.png", drawing(1))
    collect(pool, tmp_path / "w")
    save(pool, f"{SHARK}/b.png", drawing(2))
    collect(pool, tmp_path / "w")  # nobody touched the table
    mended = tmp_path / "w" / "candidates.csv"
    mended.write_text(mended.read_text().replace("a.png,n01484850,,,", "a.png,n01484850,toy,,MIT"))
    before = mended.read_bytes()
    with pytest.raises(
        DatasetError, match=r"candidates\.csv was mended by hand.* lose what it says of n01484850/a\.png"
    ):
        collect(pool, tmp_path / "w")
    assert mended.read_bytes() == before
    save(pool, f"{SHARK}/c.png", drawing(3))
    (pool / "mine.csv").write_bytes(before)
    again = collect(pool / "mine.csv", tmp_path / "w")
    assert [(c.path[-5:], c.style, c.licence) for c in again.candidates] == [
        ("a.png", "toy", "MIT"),
        ("b.png", "", ""),
        ("c.png", "", ""),
    ]


def test_own_classes_come_from_a_file(tmp_path):
    file = tmp_path / "classes.txt"
    file.write_text("tea pot\n\nKanne\n", encoding="utf-8")
    own = vocabulary(file)
    assert own.classes == ("tea pot", "Kanne")
    assert own.fault("Kanne") is None
    assert own.fault("kane") == ("unknown_class", "'kane' is not in the list of classes. Did you mean Kanne?")
    for text, message in {"a/b": "cannot be the name", "a\nA": "more than once", " ": "names no class"}.items():
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ArgumentError, match=message):
            vocabulary(file)


def test_unknown_labels_name_the_nearest():
    known = vocabulary("imagenet-r")
    assert len(known.classes) == 200
    reason, said = known.fault("goldfish")
    assert (reason, "Did you mean n01443537 (goldfish)?" in said) == ("bad_wnid", True)
    assert "n02129604 (tiger)" in known.fault("tigr")[1]
    assert known.fault("n01514668")[0] == "class_not_in_imagenet_r"
    assert known.fault("n02374451")[0] == "class_not_in_imagenet_1k"
    assert vocabulary("imagenet-1k").fault("n01514668") is None


def test_phrases_are_of_every_class_and_style():
    made = list(phrases(vocabulary("imagenet-r")))
    assert len(made) == 200 * sum(map(len, PHRASES.values()))
    assert (GOLDFISH, "sketch", "goldfish line drawing") in made
    assert len({(label, style) for label, style, _ in made}) == 200 * 15
