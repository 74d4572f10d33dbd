"""`oodometer check`: what it prints, and its exit status."""

import json

import pytest
import sane

from oodometer.cli import main

FIRST = sane.CLASSES[0]


@pytest.fixture
def call(capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as end:
            main(["check", *map(str, arguments)])
        output = capsys.readouterr()
        return end.value.code or 0, output.out, output.err

    return run


def test_a_sane_set(call, tmp_path):
    status, out, _ = call(sane.folder(tmp_path / "val"))
    assert status == 0
    assert "taken for images in class folders" in out
    assert "6 images, 2 classes" in out
    assert out.endswith("\nNo faults, 0 notes.\n")


def test_notes_do_not_change_the_status(call, tmp_path):
    root = sane.folder(tmp_path / "val")
    (root / FIRST / "._0.JPEG").write_bytes(b"x")
    status, out, _ = call(root)
    assert status == 0
    assert "NOTE hidden-files: " in out
    assert out.endswith("\nNo faults, 1 note.\n")


def test_faults_are_told_with_places_and_a_fix(call, tmp_path):
    root = sane.folder(tmp_path / "val", images=8)
    for number in range(8):
        (root / FIRST / f"{number}.JPEG").write_bytes(b"")
    status, out, _ = call(root, "--workers", 3)
    assert status == 1
    lines = out.splitlines()
    start = lines.index("FAULT empty-file: Files without content: 8 (the file is empty).")
    assert lines[start + 1 : start + 7] == [*(f"    {FIRST}/{number}.JPEG" for number in range(5)), "    and 3 more"]
    assert lines[start + 7].startswith("  Fix: ")
    assert lines[-1] == "1 fault, 0 notes."


def test_json_and_the_same_on_any_number_of_threads(call, tmp_path):
    root = sane.cells(tmp_path / "set")
    (root / "fog/3" / FIRST / "0.JPEG").write_bytes(b"x")
    (root / "fog/1" / FIRST / "0.JPEG").write_bytes(b"")
    status, out, _ = call(root, "--json", "--workers", 1)
    assert status == 1
    assert [f["code"] for f in json.loads(out)["findings"] if f["severity"] == "fault"] == [
        "empty-file",
        "not-an-image",
    ]
    assert call(root, "--json", "--workers", 4)[1] == out


def test_the_clean_images_can_be_given(call, tmp_path):
    root = sane.cells(tmp_path / "set")
    (root / "clean").rename(tmp_path / "val")
    status, out, _ = call(root, "--clean", tmp_path / "val")
    assert status == 0
    assert "110 images" in out


@pytest.mark.parametrize("path", ["gone", ""])
def test_what_is_no_data_set(call, tmp_path, path):
    status, out, err = call(tmp_path / path)
    assert (status, out) == (2, "")
    assert str(tmp_path) in err


def test_names_do_nothing_to_the_terminal(call, tmp_path):
    root = sane.folder(tmp_path / "val")
    (root / FIRST / "\x1b[2J.JPEG").write_bytes(b"")
    status, out, _ = call(root)
    assert status == 1
    assert "\x1b" not in out
    assert "\\x1b[2J.JPEG" in out
