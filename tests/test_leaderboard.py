"""Exported results say what the run says, are refuted if anything was changed, and are ranked only with their like."""

import csv
import io
import json
import re

import msgspec
import pytest

from oodometer import cli
from oodometer.errors import StoreError
from oodometer.leaderboard import collect, export, read_entry, validate, write_board
from oodometer.run import Run
from synthetic_runs import write_run

HOSTILE = "<script>document.title='caught'</script>\"'"


@pytest.fixture
def result(tmp_path):
    """Write a run and export it; return the function's arguments as fields of the run."""

    def make(name, **wishes):
        run = Run(write_run(tmp_path / "runs" / name, images=20, masked=10, renditions=12, **wishes).path)
        (tmp_path / "results").mkdir(exist_ok=True)
        file = tmp_path / "results" / f"{name}.json"
        return run, file, export(run, file)

    return make


def test_an_export_has_the_numbers_of_the_run(result):
    run, file, entry = result("a")
    assert read_entry(file) == entry
    assert entry.numbers["mCE (baseline alexnet)"] == run.mce()
    assert entry.numbers["Clean error"] == run.clean_error
    assert entry.numbers["ImageNet-R accuracy (200 classes)"] == run.summary().renditions.accuracy
    assert set(entry.predictions) == {
        path.relative_to(run.path).as_posix() for path in (run.path / "predictions").rglob("*.parquet")
    }


def test_what_follows_is_confirmed_and_without_predictions_it_is_open(result, tmp_path):
    run, file, _ = result("a")
    assert validate(file, run.path).verdict == "confirmed"
    assert validate(file).verdict == "open"
    assert validate(file, tmp_path / "nothing").verdict == "open"


@pytest.mark.parametrize(
    ("where", "value", "said"),
    [
        (("numbers", "Clean error", "value"), 0.01, "Clean error: 0.01 is claimed"),
        (("numbers", "mCE (baseline alexnet)", "low"), 0.0, "mCE"),
        (("numbers", "Mean corruption error", "n"), 50000, "Mean corruption error"),
        (("model", "name"), "a better one", "model"),
        (("baseline",), "resnet50", "baseline"),
        (("partial",), True, "partial"),
        (("parts", 0, "protocol", "encoding"), "jpeg85", "parts"),
        (("predictions",), {}, "besides"),
    ],
)
def test_whatever_is_changed_is_found(result, where, value, said):
    run, file, _ = result("a")
    content = json.loads(file.read_text())
    inner = content
    for key in where[:-1]:
        inner = inner[key]
    assert inner[where[-1]] != value
    inner[where[-1]] = value
    file.write_text(json.dumps(content))
    found = validate(file, run.path)
    assert found.verdict == "refuted"
    assert said in str(found)


def test_changed_predictions_refute(result):
    run, file, _ = result("a")
    path = next((run.path / "predictions" / "imagenet-c").iterdir())
    other, _, _ = result("b", error=0.1)
    path.write_bytes((other.path / path.relative_to(run.path)).read_bytes())
    assert validate(file, run.path).verdict != "confirmed"


def test_only_results_of_the_same_data_protocol_and_baseline_are_ranked_together(result, tmp_path):
    result("a", model="good", error=0.2)
    result("b", model="bad", error=0.8)
    result("c", model="other data", digest="1")
    result("d", model="other protocol", encoding="jpeg85")
    result("e", model="other baseline", baseline="resnet50")
    (tmp_path / "results" / "notes.json").write_text("{}")
    board = collect(tmp_path / "results")
    assert sorted([entry.model.name for _, entry in group.entries] for group in board.groups) == [
        ["good", "bad"],
        ["other baseline"],
        ["other data"],
        ["other protocol"],
    ]
    assert len(board.left_out) == 1


def test_the_page_and_the_table(result, tmp_path):
    result("a", model=HOSTILE)
    result("b", model="=1+1\r,\n")
    page, table = write_board(collect(tmp_path / "results"), tmp_path / "out")
    text = page.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert text.count("<script>") == 1
    assert all(f">{name}.json<" in text for name in "ab"), "models of one name are told apart by their files"
    assert not re.findall(r"(?:src|href)=|url\(", text)
    assert "76.7" in text.partition("Published by others")[2]
    rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    assert {row["kind"] for row in rows} == {"measured", "published"}
    assert {row["model"] for row in rows if row["file"] == "b.json"} == {"'=1+1 ,"}
    assert all(row["group"] == "" for row in rows if row["kind"] == "published")


def test_files_that_are_no_results(tmp_path):
    for content, said in (("", "no exported"), ("[1]", "no exported"), ('{"format": 9}', "format 9"), ("{}", "format")):
        (tmp_path / "x.json").write_text(content)
        with pytest.raises(StoreError, match=said):
            read_entry(tmp_path / "x.json")
    with pytest.raises(StoreError, match="cannot be read"):
        read_entry(tmp_path / "none.json")
    with pytest.raises(StoreError, match="no exported result"):
        collect(tmp_path / "empty")


def test_manifests_of_runs_are_no_results_and_are_not_written_over(result, capsys):
    run, _, _ = result("a")
    before = run.store.manifest_path.read_bytes()
    with pytest.raises(StoreError, match="oodometer export"):
        collect(run.path)
    for arguments in (["export", run.path, "-o"], ["compare", run.path, run.path, "--json"]):
        with pytest.raises(SystemExit) as ended:
            cli.main([*map(str, arguments), str(run.store.manifest_path)])
        assert ended.value.code == 2
        assert "Name another file" in capsys.readouterr().err
    assert run.store.manifest_path.read_bytes() == before


def test_the_commands(result, tmp_path, capsys):
    run, file, _ = result("a")
    for arguments, status in (
        (["export", run.path, "-o", tmp_path / "again.json"], 0),
        (["validate", file, "--run", run.path], 0),
        (["validate", file], 3),
        (["leaderboard", tmp_path / "results", "-o", tmp_path / "out"], 0),
    ):
        with pytest.raises(SystemExit) as ended:
            cli.main([*map(str, arguments)])
        assert ended.value.code == status, capsys.readouterr()
    assert msgspec.json.decode((tmp_path / "again.json").read_bytes()) == msgspec.json.decode(file.read_bytes())


@pytest.mark.long
def test_the_page_sorts_in_a_browser(result, tmp_path, page):
    for name, error in (("a", 0.5), ("b", 0.2), ("c", 0.8)):
        result(name, model=f"{HOSTILE} {name}", error=error)
    index, _ = write_board(collect(tmp_path / "results"), tmp_path / "out")
    page.goto(index.as_uri())

    def order():
        return [
            row.inner_text().split()[-2]  # behind the model stands the file
            for row in page.query_selector_all("section:first-of-type tbody td:first-child")
        ]

    column = page.query_selector("section:first-of-type thead th:nth-child(2) button")
    assert order() == ["b", "a", "c"]
    column.click()
    assert order() == ["b", "a", "c"]
    column.click()
    assert order() == ["c", "a", "b"]
    heading = page.query_selector("section:first-of-type thead th:nth-child(2)")
    assert heading.get_attribute("aria-sort") == "descending"
    assert page.title() == "Robustness leaderboard"
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
