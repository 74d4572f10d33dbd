"""Every decision has its reason, depends on nothing but the pictures and the table, and deletes nothing."""

import random
import subprocess
import sys

import numpy as np
import PIL.Image
import PIL.ImageOps
import pytest
from drawings import GOLDFISH, SHARK, TIGER, drawing, photograph, row, save, table

from oodometer.errors import ArgumentError, DatasetError, MissingDataError
from oodometer.renditions import balance, collect, open_collection, read_screening, screen
from oodometer.renditions.pictures import look
from oodometer.renditions.reasons import REASONS

CLEAR = (0, 0, 0, 0)


def outcome(rows):
    return {path: (one.decision, one.reason) for path, one in rows.items()}


def on_transparency(image, colour=None):
    """Cut what is not white out of a drawing: its alpha is its shape."""
    alpha = image.convert("L").point(lambda level: 255 if level < 250 else 0)
    drawn = PIL.Image.new("RGBA", image.size, CLEAR)
    drawn.paste(PIL.Image.new("RGB", image.size, colour) if colour else image, mask=alpha)
    return drawn


def test_files_that_are_no_usable_pictures(screened, pool):
    save(pool, "whole.png", drawing(1))
    content = (pool / "whole.png").read_bytes()
    for name, damaged in {
        "empty.jpg": b"",
        "half.png": content[: len(content) // 2],
        "page.jpg": b"<html>not found</html>",
        "drawn.svg": b"<svg/>",
    }.items():
        (pool / name).write_bytes(damaged)
    pictures = {"thin.png": drawing(2, size=(15, 90)), "flat.jpg": PIL.Image.new("RGB", (64, 64), "teal")}
    names = ["whole.png", "empty.jpg", "half.png", "page.jpg", "drawn.svg", *pictures]
    _, rows = screened(pictures, rows=[row(name) for name in names])
    assert outcome(rows) == {
        "whole.png": ("keep", ""),
        "empty.jpg": ("drop", "unreadable"),
        "half.png": ("drop", "unreadable"),
        "page.jpg": ("drop", "unreadable"),
        "drawn.svg": ("drop", "unsupported_format"),
        "thin.png": ("drop", "too_small"),
        "flat.jpg": ("drop", "blank"),
    }
    assert "15 x 90 pixels" in rows["thin.png"].detail
    assert "the file is empty" in rows["empty.jpg"].detail


def test_the_smallest_side_is_a_choice(screened):
    collection, rows = screened(
        {"a.png": drawing(1, size=(120, 100)), "b.png": drawing(2, size=(99, 120))}, smallest=100
    )
    assert outcome(rows) == {"a.png": ("keep", ""), "b.png": ("drop", "too_small")}
    with pytest.raises(ArgumentError, match="smallest must be a whole number"):
        screen(collection, smallest=0)


def test_what_the_table_says(screened):
    rows = [
        row("bad.png", label="goldfish"),
        row("other.png", label="n01514668"),
        row("foreign.png", label="n02374451"),
        row("unlabelled.png", label=""),
        row("style.png", style="sketchy"),
        row("licence.png", licence=" "),
        row("both.png", style="", licence=""),
    ]
    _, made = screened({one[0]: drawing(n) for n, one in enumerate(rows)}, rows=rows)
    assert outcome(made) == {
        "bad.png": ("drop", "bad_wnid"),
        "other.png": ("drop", "class_not_in_imagenet_r"),
        "foreign.png": ("drop", "class_not_in_imagenet_1k"),
        "unlabelled.png": ("review", "no_label"),
        "style.png": ("review", "unknown_style"),
        "licence.png": ("review", "missing_licence"),
        "both.png": ("review", "unknown_style"),
    }
    assert "did you mean sketch?" in made["style.png"].detail
    assert made["both.png"].also == "missing_licence"


def test_conversions(screened, pool):
    upright = drawing(1)
    exif = PIL.Image.Exif()
    exif[0x0112] = 6
    save(pool, "turned.jpg", upright.transpose(PIL.Image.Transpose.ROTATE_90), exif=exif, quality=95)
    save(pool, "moving.gif", drawing(2), save_all=True, append_images=[drawing(3)])
    save(pool, "print.jpg", drawing(4).convert("CMYK"))
    gray = np.asarray(drawing(5).convert("L")).astype(np.uint16) * 257
    save(pool, "deep.png", PIL.Image.fromarray(gray))
    save(pool, "web.webp", drawing(6))
    save(pool, "lines.png", on_transparency(drawing(7), colour="black"))
    save(pool, "cut.png", on_transparency(drawing(8)))
    save(pool, "really.png", drawing(9)).rename(pool / "wrong.jpg")
    names = ["turned.jpg", "moving.gif", "print.jpg", "deep.png", "web.webp", "lines.png", "cut.png", "wrong.jpg"]
    _, rows = screened({}, rows=[row(name) for name in names])
    assert outcome(rows) == {
        "turned.jpg": ("convert", "exif_orientation"),
        "moving.gif": ("convert", "animation"),
        "print.jpg": ("convert", "colour_mode"),
        "deep.png": ("convert", "bit_depth"),
        "web.webp": ("convert", "format"),
        "lines.png": ("convert", "alpha"),
        "cut.png": ("keep", ""),
        "wrong.jpg": ("convert", "extension_mismatch"),
    }
    assert (rows["turned.jpg"].width, rows["turned.jpg"].height) == upright.size
    assert {name: rows[name].extension for name in names} == {
        **dict.fromkeys(names, ""),
        "wrong.jpg": ".png",
    }
    # The picture is as people see it: upright, on white, with its 16 bits scaled.
    assert np.abs(np.asarray(look(pool / "turned.jpg", "").image).astype(int) - np.asarray(upright)).mean() < 3
    assert np.array_equal(np.asarray(look(pool / "cut.png", "").image), _on_white(pool / "cut.png"))
    assert np.array_equal(np.asarray(look(pool / "deep.png", "").image)[..., 0], gray // 257)


def _on_white(path):
    """Blend by the definition: alpha times the drawing, and white for the rest."""
    levels = np.asarray(PIL.Image.open(path)).astype(float)
    alpha = levels[..., 3:] / 255
    return np.round(alpha * levels[..., :3] + (1 - alpha) * 255).astype(np.uint8)


def test_copies_with_the_same_pixels(screened, pool):
    for name in ("b.png", "a.png", "Z.png"):
        save(pool, name, drawing(1))
    save(pool, "c.bmp", drawing(1))
    save(pool, "d.png", drawing(1), compress_level=1)
    save(pool, "e.png", drawing(1))
    names = ["b.png", "a.png", "Z.png", "c.bmp", "d.png"]
    _, rows = screened({}, rows=[*map(row, names), row("e.png", label=SHARK)])
    assert outcome(rows) == {
        "Z.png": ("review", "label_conflict"),  # the first in the order of bytes
        "e.png": ("review", "label_conflict"),
        **dict.fromkeys(["a.png", "b.png", "c.bmp", "d.png"], ("drop", "duplicate")),
    }
    assert {rows[name].related for name in ("a.png", "b.png", "c.bmp", "d.png", "e.png")} == {"Z.png"}
    assert rows["Z.png"].related == "e.png"


def test_a_copy_without_a_label_is_no_contradiction(screened):
    pictures = {"A.png": drawing(1), "b.png": drawing(1), "c.png": drawing(1)}
    _, rows = screened(pictures, rows=[row("b.png", label=TIGER)])
    assert outcome(rows) == {
        "A.png": ("drop", "duplicate"),
        "b.png": ("keep", ""),
        "c.png": ("drop", "duplicate"),
    }


def test_a_label_that_a_person_added_to_the_table_counts(screened):
    collection, rows = screened({"a.png": drawing(1)}, rows=[])
    assert outcome(rows) == {"a.png": ("review", "no_label")}
    mended = collection.path / "candidates.csv"
    mended.write_text(mended.read_text().replace("a.png,,,,", f"a.png,{TIGER},sketch,made here,CC0-1.0"))
    assert [(one.decision, one.reason) for one in screen(open_collection(collection.path))] == [("keep", "")]


def test_a_dropped_picture_takes_no_copy_with_it(screened):
    _, rows = screened(
        {"a.png": drawing(1), "b.png": drawing(1)}, rows=[row("a.png", label="nonsense"), row("b.png", label=TIGER)]
    )
    assert outcome(rows) == {"a.png": ("drop", "bad_wnid"), "b.png": ("keep", "")}


def test_leaks_from_clean_and_training_images(screened, tmp_path):
    for number, folder in enumerate(("train", "val")):
        save(tmp_path / folder, "n01443537/x.png", drawing(number))
    save(tmp_path / "val", "n01443537/again.png", drawing(0))
    (tmp_path / "val" / "n01443537" / "broken.png").write_bytes(b"no")
    pictures = {
        "same.png": drawing(0),
        "like.jpg": PIL.ImageOps.mirror(drawing(1, size=(90, 72))),
        "own.png": drawing(2),
        "twin.png": drawing(0),
    }
    _, rows = screened(pictures, clean=[tmp_path / "train", tmp_path / "val"])
    assert outcome(rows) == {
        "same.png": ("drop", "leaked"),
        "twin.png": ("drop", "leaked"),
        "like.jpg": ("review", "near_leak"),
        "own.png": ("keep", ""),
    }
    assert rows["same.png"].related == "clean:train/n01443537/x.png"
    assert rows["like.jpg"].related == "clean:val/n01443537/x.png"
    (tmp_path / "none").mkdir()
    with pytest.raises(DatasetError, match="holds no images"):
        screened({"a.png": drawing(1)}, clean=[tmp_path / "none"], out="again")


def test_photographs_are_flagged_and_never_dropped(screened):
    pictures = {f"{number}.png": photograph(number) for number in range(5)} | {"drawn.png": drawing(1)}
    _, rows = screened(pictures)
    assert {one.decision for path, one in rows.items() if path != "drawn.png"} == {"review"}
    assert outcome(rows)["0.png"] == ("review", "not_a_rendition")
    assert outcome(rows)["drawn.png"] == ("keep", "")


def test_order_and_threads_change_nothing_and_nothing_is_deleted(pool, tmp_path):
    pictures = {f"{n}.png": drawing(n % 7) for n in range(12)} | {
        f"m{n}.jpg": PIL.ImageOps.mirror(drawing(n)) for n in range(4)
    }
    for name, image in pictures.items():
        save(pool, name, image)
    rows = [row(name, label=random.Random(name).choice([GOLDFISH, SHARK])) for name in pictures]
    first = screen(collect(table(pool, *rows), tmp_path / "one"), workers=1)
    second = screen(collect(table(pool, *rows[::-1]), tmp_path / "two"), workers=4)
    assert first == second
    assert (tmp_path / "one" / "screening.csv").read_bytes() == (tmp_path / "two" / "screening.csv").read_bytes()
    assert sorted(path.name for path in pool.iterdir()) == sorted([*pictures, "labels.csv"])
    assert [one.path for one in first] == sorted(pictures, key=str.encode)
    assert {one.reason for one in first} <= {"", *REASONS}


def test_the_table_is_read_back_and_held_to_the_candidates(screened, pool, tmp_path):
    collection, rows = screened({"a.png": drawing(1), 'ü, "q".png': drawing(2)})
    assert {one.path: one for one in read_screening(collection)} == rows
    other = collect(table(pool, row("a.png", label=SHARK), row('ü, "q".png')), tmp_path / "work")
    with pytest.raises(DatasetError, match="not of the present table"):
        read_screening(other)
    with pytest.raises(DatasetError, match=r"Run `oodometer renditions screen .*` first"):
        read_screening(collect(table(pool, row("a.png")), tmp_path / "fresh"))
    text = (tmp_path / "work" / "screening.csv").read_text("utf-8")
    (tmp_path / "work" / "screening.csv").write_text(text.replace("keep", "kept"), "utf-8")
    with pytest.raises(DatasetError, match="line 2, cannot be read"):
        read_screening(other)


def test_the_balance_counts_every_class_and_style(screened):
    rows = [row("a.png"), row("b.png"), row("c.png", label=SHARK, style="toy", licence=""), row("d.png", label="x")]
    collection, made = screened({one[0]: drawing(n) for n, one in enumerate(rows)}, rows=rows)
    counts = {(b.label, b.style): (b.kept, b.review, b.dropped) for b in balance(collection, made.values())}
    assert len(counts) == 200 * 15
    assert counts[GOLDFISH, "sketch"] == (2, 0, 0)
    assert counts[SHARK, "toy"] == (0, 1, 0)
    assert sum(map(sum, counts.values())) == 3


def test_without_the_package_it_says_what_to_install(screened, monkeypatch):
    monkeypatch.setitem(sys.modules, "imagehash", None)
    with pytest.raises(MissingDataError, match=r"pip install 'oodometer\[renditions\]'"):
        screened({"a.png": drawing(1)})


def test_importing_it_is_light():
    heavy = ["numba", "imagehash", "torch", "scipy"]
    script = f"import sys, oodometer.renditions, oodometer.cli; print([n for n in {heavy} if n in sys.modules])"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert out.stdout.strip() == "[]"
