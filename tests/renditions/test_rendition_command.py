"""The way of the work on the command line, from a table to a set, and what it says when something is wrong."""

import json

import numpy as np
import PIL.Image
import pytest
from drawings import SHARK, drawing, row, save, table

import oodometer
from oodometer import cli
from oodometer.renditions.decisions import FORMAT


@pytest.fixture
def command(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as done:
            cli.main(["renditions", *map(str, arguments)])
        return done.value.code, capsys.readouterr()

    return run


def test_the_whole_way(pool, tmp_path, command):
    for number, name in enumerate(["a.png", "b.png", "c.png"]):
        save(pool, name, drawing(number))
    listed = table(pool, row("a.png"), row("b.png", licence=""), row("c.png", label=SHARK), row("gone.png"))
    work, out = tmp_path / "work", tmp_path / "set"

    status, said = command("collect", listed, "-o", work)
    assert (status, f"Next: oodometer renditions screen {work}" in said.out) == (0, True)
    assert "3 candidates." in said.out
    assert "1 row: has a row, but there is no such file." in said.out

    status, said = command("screen", work)
    assert status == 0
    assert "keep           2" in said.out
    assert "1  missing_licence: has no licence" in said.out
    assert "2 of 200 classes have pictures, 0 to 2 each" in said.out
    assert (work / "balance.csv").read_text().startswith("label,style,kept,review,dropped\nn01443537,art,0,0,0\n")

    status, said = command("review", work)
    assert (status, f"Contact sheets: {work / 'review' / 'index.html'}" in said.out) == (0, True)

    rows = {line.split(",")[0]: line.split(",") for line in (work / "screening.csv").read_text().splitlines()[1:]}
    for name, verdicts in {
        "Ann": {"a.png": "keep", "c.png": "drop"},
        "Bob": {"a.png": "keep", "c.png": "unsure"},
    }.items():
        judged = [
            {"path": p, "sha256": rows[p][-2], "label": rows[p][6], "style": rows[p][7], "decision": verdict}
            for p, verdict in verdicts.items()
        ]
        (tmp_path / f"{name}.json").write_text(json.dumps({"format": FORMAT, "reviewer": name, "decisions": judged}))
    status, said = command("review", work, "--decisions", tmp_path / "Ann.json", "--decisions", tmp_path / "Bob.json")
    assert status == 0
    assert "Ann: 2 of 3 judged: keep 1, drop 1." in said.out
    assert "1 that wait for a person are not judged yet, the first is b.png" in said.out
    assert "they agree on 1 of the 2 pictures" in said.out
    assert "c.png: drop / unsure" in said.out

    status, said = command("export", work, out, "--decisions", tmp_path / "Ann.json")
    assert status == 0
    assert f"{out}: 1 picture, 0 of them kept without a person's look." in said.out
    assert "left out 1: drop (Ann)" in said.out
    assert f"Next: oodometer evaluate MODEL --data VAL --imagenet-r {out}" in said.out
    assert (out / "n01443537" / "sketch_0.png").read_bytes() == (pool / "a.png").read_bytes()


def test_phrases_are_printed_and_nothing_is_written(tmp_path, command, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text("tea potx\n", "utf-8")
    status, said = command("collect", "--query-only", "--classes", "own.txt")
    lines = said.out.splitlines()
    assert (status, lines[0], lines[1]) == (0, "label,style,phrase", "tea potx,art,tea potx art")
    assert [path.name for path in tmp_path.iterdir()] == ["own.txt"]


def test_mistakes_are_said_in_one_message(pool, tmp_path, command):
    save(pool, "a.png", drawing(1))
    for arguments, message in [
        (("collect", pool), "Give SOURCE and -o DIR, or --query-only."),
        (("collect", table(pool, header=("path",)), "-o", tmp_path / "w"), "labels.csv lacks the columns label, style"),
        (("screen", tmp_path / "none"), "holds no collection of candidates"),
        (("collect", pool, "-o", tmp_path / "w", "--classes", "imagenet"), "classes must be imagenet-r"),
    ]:
        status, said = command(*arguments)
        assert (status, message in said.err) == (2, True)
    command("collect", pool, "-o", tmp_path / "w")
    for step in (("review", tmp_path / "w"), ("export", tmp_path / "w", tmp_path / "set")):
        status, said = command(*step)
        assert (status, "Run `oodometer renditions screen" in said.err) == (2, True)


def test_photographs_are_redrawn_as_corrupt_does_it(tmp_path, command):
    source = tmp_path / "photographs"
    save(source / SHARK, "a.png", drawing(1))
    status, said = command(
        "synthesize", source, tmp_path / "drawn", "--filters", "pencil,oil", "-s", "2", "--format", "png", "--seed", 3,
        "--preprocess", "none",
    )  # fmt: skip
    assert status == 0, said.err
    made = sorted(path.relative_to(tmp_path / "drawn").as_posix() for path in (tmp_path / "drawn").rglob("*.png"))
    assert made == [f"oil/2/{SHARK}/a.png", f"pencil/2/{SHARK}/a.png"]
    with PIL.Image.open(source / SHARK / "a.png") as image:
        clean = np.asarray(image.convert("RGB"))
    with PIL.Image.open(tmp_path / "drawn" / made[1]) as image:
        expected = oodometer.corrupt(clean, "pencil", severity=2, seed=3, image_id=f"{SHARK}/a.png")
        np.testing.assert_array_equal(np.asarray(image), expected)


def test_filters_are_known_by_name(tmp_path, command):
    status, said = command("synthesize", tmp_path, tmp_path / "drawn", "--filters", "fog")
    assert status == 2
    assert "fog" in said.err
    assert "pencil" in said.err
