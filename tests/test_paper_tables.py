"""The tables of papers: the published order, the numbers of the runs, the best in bold, and names that do no harm."""

import csv
import dataclasses
import io
import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import oodometer
from oodometer import cli
from oodometer.errors import ArgumentError, MetricError
from oodometer.families import IMAGENET_C
from oodometer.metrics import Estimate
from oodometer.paper_tables import Column, PaperTable, paper_tables, write_tables
from oodometer.run import Run
from oodometer.types import Protocol
from synthetic_runs import IMAGENET224, write_run

PROTOCOL = Protocol(IMAGENET224, "memory", "imagenet224", "fast", ("fog",), 0)


def _table(rows, columns=("one", "two")):
    numbers = [
        (name, tuple(None if v is None else Estimate(v, v - 0.01, v + 0.01, 0.005, 9) for v in values))
        for name, values in rows
    ]
    return PaperTable("t", "About.", PROTOCOL, None, tuple(Column(title, title) for title in columns), tuple(numbers))


def test_the_best_of_each_column_is_bold_and_ties_as_printed_are_both():
    table = _table([("a", (0.5, 0.20001)), ("b", (0.4, 0.20002)), ("c", (None, 0.3))])
    lines = [line for line in table.latex().splitlines() if line.startswith(("a ", "b ", "c "))]
    assert lines == [
        r"a & 50.0 & \textbf{20.0} \\",
        r"b & \textbf{40.0} & \textbf{20.0} \\",
        r"c & n/a & 30.0 \\",
    ]
    assert "| b | **40.0** | **20.0** |" in table.markdown()
    assert "textbf" not in _table([("a", (0.5, 0.2))]).latex()  # there is nothing to be better than


def test_intervals_on_request():
    assert r"50.0 {\scriptsize [49.0, 51.0]}" in _table([("a", (0.5, 0.2))]).latex(intervals=True)
    assert "50.0 [49.0, 51.0]" in _table([("a", (0.5, 0.2))]).markdown(intervals=True)


@given(st.text(max_size=80))
@example("[2ex] | <b>")
@example("*best*")
@example("\r")
@example(" =1+1")
def test_hostile_names_stay_in_their_cell(name):
    """Undone again, the name is there; and there are as many cells and lines as with a plain name."""
    table, plain = _table([(name, (0.5, 0.2))]), _table([("a", (0.5, 0.2))])
    latex, markdown = table.latex(), table.markdown()
    assert len(latex.splitlines()) == len(plain.latex().splitlines())
    row = latex.splitlines()[5]
    bare = re.sub(r"\\(text[a-z]+)\{\}|\\[&%$#_{}]", "", row.removesuffix(r" \\").removeprefix("{}"))
    assert bare.count("&") == 2
    assert not re.search(r"[%$#_^~{}<>|\\]", bare)
    assert not row.startswith(("[", "*"))
    cells = re.sub(r"\\.", "", markdown.splitlines()[2])
    assert (cells.count("|"), "<" in cells) == (4, False)
    (found,) = {row[0] for row in list(csv.reader(io.StringIO(table.csv())))[1:]}
    assert found[:1] not in ("=", "+", "-", "@")


@pytest.fixture
def runs(tmp_path):
    return [
        Run(write_run(tmp_path / model, images=30, masked=20, renditions=40, model=model).path)
        for model in ("one", "two")
    ]


def test_the_columns_are_those_of_the_papers(runs):
    table = paper_tables(runs)[0]
    groups = [(column.group, column.title) for column in table.columns]
    assert groups[:5] == [("", "Error"), ("", "mCE"), ("Noise", "Gauss."), ("Noise", "Shot"), ("Noise", "Impulse")]
    assert groups[-4:] == [("Digital", "Contrast"), ("Digital", "Elastic"), ("Digital", "Pixel"), ("Digital", "JPEG")]
    assert len(groups) == 2 + len(IMAGENET_C)


def test_the_numbers_are_those_of_the_runs(runs):
    rows = dict(paper_tables(runs)[0].rows)
    for run in runs:
        error, mce, *ces = rows[run.manifest.model.name]
        assert error == run.clean_error
        assert mce == run.mce()
        expected = oodometer.metrics.corruption_errors(run.errors, baseline="alexnet")
        assert [ce.value for ce in ces] == pytest.approx([expected[name] for name in IMAGENET_C])


def test_renditions_are_errors(runs):
    part = runs[0].summary().renditions
    clean, shifted, gap = dict(paper_tables(runs)[1].rows)["one"]
    assert shifted.value == pytest.approx(1 - part.accuracy.value)
    assert shifted.low == pytest.approx(1 - part.accuracy.high)
    assert gap.value == pytest.approx(shifted.value - clean.value)


def test_the_command_writes_four_files_a_table(runs, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main(["tables", *(str(run.path) for run in runs), "-o", str(tmp_path / "out")])
    assert ended.value.code == 0
    made = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert made == [f"imagenet-{kind}.{ending}" for kind in "cr" for ending in ("csv", "json", "md", "tex")]


def test_json_has_the_numbers_by_names_for_programs(runs):
    corrupted, renditions = (json.loads(json.dumps(table.results())) for table in paper_tables(runs))
    assert [column["name"] for column in corrupted["columns"]] == ["clean_error", "mce", *IMAGENET_C]
    assert corrupted["protocol"]["label"] == "256->224, memory"
    assert corrupted["baseline"]["name"] == "alexnet"
    for run, row in zip(runs, corrupted["rows"], strict=True):
        assert row["network"] == run.manifest.model.name
        found = dict(zip(("clean_error", "mce"), row["cells"], strict=False))
        assert found["clean_error"] == dataclasses.asdict(run.clean_error)
        assert found["mce"] == dataclasses.asdict(run.mce())
    assert [column["name"] for column in renditions["columns"]] == ["clean_error", "error", "gap"]
    assert renditions["baseline"] is None


def test_a_table_of_an_earlier_call_does_not_stay(runs, tmp_path):
    out = tmp_path / "out"
    first = write_tables(runs, out)
    mine = out / "imagenet-r.md"
    mine.write_text("My own words.")
    written = write_tables([Run(write_run(tmp_path / "c alone", images=30).path)], out)
    assert {path.name for path in written} == {f"imagenet-c.{ending}" for ending in ("csv", "json", "md", "tex")}
    assert set(out.iterdir()) == {*written, mine}
    assert set(written) < set(first)


def test_runs_of_one_model_and_one_folder_name_are_told_apart(tmp_path):
    paths = [tmp_path / "a" / "run", tmp_path / "b" / "run", tmp_path / "c"]
    runs = [Run(write_run(path, images=5, model="m").path) for path in paths]
    names = [name for name, _ in paper_tables(runs)[0].rows]
    assert names == [f"m ({paths[0]})", f"m ({paths[1]})", "m (c)"]


def test_the_caption_counts_what_each_run_measured(tmp_path):
    runs = [
        Run(write_run(tmp_path / str(n), images=n, planned=9, renditions=r, masked=3).path) for n, r in ((9, 7), (5, 8))
    ]
    corrupted, renditions = paper_tables(runs)
    assert "5 to 9 images" in corrupted.caption
    assert "7 to 8 renditions" in renditions.caption


def test_clean_images_are_the_same_also_where_a_run_has_none(tmp_path):
    """A row of the renditions' table without a clean error is no reason not to look at the others' images."""
    one, none, other = (
        write_run(tmp_path / name, renditions=9, masked=5, **wishes)
        for name, wishes in (("one", {}), ("none", {"conditions": ()}), ("other", {"seed": 5, "encoding": "jpeg85"}))
    )
    rows = paper_tables([Run(one.path), Run(none.path)])[0].rows
    assert [row[0] is None for _, row in rows] == [False, True]
    with pytest.raises(MetricError, match="cannot be compared"):
        paper_tables([Run(one.path), Run(none.path), Run(other.path)])


def test_runs_without_labels_have_no_such_numbers(tmp_path):
    store = write_run(tmp_path / "run", images=5)
    manifest = store.read_manifest()
    records = tuple(dataclasses.replace(record, labelled=False) for record in manifest.benchmarks)
    shutil.rmtree(store.path / "predictions")
    store.write_manifest(dataclasses.replace(manifest, benchmarks=records, baseline=None))
    part = next(write_run(tmp_path / "other", images=5).parts("imagenet-c"))
    store.write_part("imagenet-c", dataclasses.replace(part, rows=_without_labels(part.rows)))
    with pytest.raises(MetricError, match="no numbers that the tables"):
        paper_tables([Run(store.path)])


def _without_labels(rows):
    return rows.set_column(1, "label", pa.array(np.full(len(rows), -1, dtype=np.int32)))


def test_refusals(runs, tmp_path):
    with pytest.raises(ArgumentError, match="needs a run"):
        paper_tables([])
    other = Run(write_run(tmp_path / "other", images=30, digest="1").path)
    with pytest.raises(MetricError, match="cannot be compared"):
        paper_tables([runs[0], other])
