"""What results show of themselves in a notebook: the numbers of the API, read back, and no markup of others."""

import html.parser
import re

import numpy as np
import PIL.Image
import pytest

import oodometer
from oodometer.datasets import imagenet1k
from oodometer.leaderboard import collect, export
from oodometer.paper_tables import paper_tables
from oodometer.report.layout import notes_grid, pairs_grid, safe_text, table_grid
from oodometer.report.notebook import notebook_html
from oodometer.report.words import interval, percent
from oodometer.run import Run
from synthetic_runs import write_run

HOSTILE = "<script>alert(1)</script>&amp;\"'\u202egnp.exe {{ 7 * 7 }}"


class _Reader(html.parser.HTMLParser):
    """Reads tables as a browser would: the text of each cell, and the names of all elements."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.elements, self.words = [], set(), ""
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        assert not [name for name, _ in attrs if name.startswith("on")]
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self._inside = True

    def handle_endtag(self, tag):
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data):
        self.words += data
        if self._inside:
            self.rows[-1][-1] += data


def read(shown):
    reader = _Reader(shown._repr_html_())
    known = {"div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "p", "b", "bdi", "small", "img"}
    assert reader.elements <= known | {"h2", "h3", "span", "strong", "ul", "li", "button"}
    return reader


def row_of(reader, name):
    (found,) = (row for row in reader.rows if row and row[0] == name)
    return found


def told(estimate):
    return f"{percent(estimate.value)} {interval(estimate)}"


@pytest.fixture
def runs(tmp_path):
    made = [
        write_run(tmp_path / letter, images=60, masked=20, renditions=40, model=f"{HOSTILE} {letter}", error=error)
        for letter, error in (("a", 0.5), ("b", 0.4), ("c", 0.3))
    ]
    return [Run(store.path) for store in made]


def test_a_comparison(runs):
    found = oodometer.compare(runs)
    reader = read(found)
    for side in found.runs[:2]:
        shown = [row[1:] for row in reader.rows if row[0] == side.letter]
        assert [told(side.clean_error), told(side.mean_error), told(side.mce)] in shown
        assert [told(side.accuracy_r), told(side.gap)] in shown
    pair = found.pairs[0]
    fog = next(one for one in pair.corruptions if one.name == "fog")
    assert told(fog.difference) in [row[1] for row in reader.rows if row[0] == "fog"]
    assert "<script>" in reader.words  # as text


def test_a_table_of_a_paper_and_several(runs):
    tables = paper_tables(runs)
    for table in tables:
        reader = read(table)
        assert reader.rows[0][0] == "Network"
        assert len(reader.rows) == 1 + len(table.rows)
        for (name, estimates), row in zip(table.rows, reader.rows[1:], strict=True):
            assert row[1:] == [percent(e.value) for e in estimates]
            assert row[0].startswith(name[:30])
        best = re.findall(r"<strong>([\d.]+)</strong>", table._repr_html_())
        assert len(best) >= len(table.columns)
        assert table.caption in reader.words
    both = tables._repr_html_()
    assert all(table._repr_html_() in both for table in tables)
    assert isinstance(tables, tuple)


def test_a_leaderboard(runs, tmp_path):
    for run in runs:
        export(run, tmp_path / "results" / f"{run.path.name}.json")
    (tmp_path / "results" / "d<b>.json").write_text("{}")
    reader = read(collect(tmp_path / "results"))
    found = {row[0][-1]: row for row in reader.rows if row[0].startswith("<script>")}
    for run in runs:
        row = found[run.path.name]
        assert told(run.mce()) in row
        assert row[-1] == "60"
    assert ["ResNet-50, AugMix", "65.3", "README of google-research/augmix"] in reader.rows
    assert "d<b>.json" in reader.words


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(0)
    for k in range(8):
        place = tmp_path / "val" / imagenet1k().classes[k] / f"{k}.png"
        place.parent.mkdir(parents=True)
        PIL.Image.fromarray(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(place)
    return tmp_path / "val"


class Hostile:
    name = HOSTILE

    def predict(self, images):
        return np.eye(1000)[images.sum((1, 2, 3)) % 8]


def test_a_strength_curve(folder):
    curve = oodometer.strength_curve(Hostile(), folder, "contrast", [1, 2.5], preprocess="none", progress=False)
    reader = read(curve)
    assert "<script>" in row_of(reader, "Model")[1]
    for point in curve.points:
        assert row_of(reader, f"{point.severity:g}" if point.severity else "clean")[1] == told(point.error)
    assert curve.verdict in reader.words
    assert str(curve).splitlines()[-1].strip() == curve.verdict


def test_sequences(folder, tmp_path):
    oodometer.build_sequences(folder, tmp_path / "p", perturbations=["brightness", "tilt"], progress=False)
    run = oodometer.evaluate_sequences(Hostile(), tmp_path / "p", tmp_path / "run", progress=False)
    reader = read(run)
    assert "<script>" in row_of(reader, "Model")[1]
    for name, rate in run.flip_rates.items():
        assert row_of(reader, name)[4] == told(rate)


def test_what_the_doctor_found(folder):
    (folder / imagenet1k().classes[0] / "broken<script>.png").write_bytes(b"no picture")
    found = oodometer.check(folder)
    reader = read(found)
    assert found.faults
    for finding in found.findings:
        row = row_of(reader, f"{finding.severity} {finding.code}")
        assert row[1] == finding.message
        assert row[3] == finding.fix
    assert "broken<script>.png" in reader.words
    (folder / imagenet1k().classes[0] / "broken<script>.png").unlink()
    assert "No faults" in read(oodometer.check(folder)).words


def test_a_grid_of_pictures():
    picture = np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    grid = oodometer.show(picture, corruptions=["fog", "contrast"], severities=(0, 3), preprocess="none")
    reader = read(grid)
    assert grid._repr_html_().count("data:image/jpeg;base64,") == 4
    assert [row[0] for row in reader.rows] == ["corruption", "fog", "contrast"]


def test_a_run_and_its_table(runs):
    run = runs[0]
    shown = run._repr_html_()
    assert "<script>" not in shown
    assert percent(run.mce().value) in shown


def test_no_name_turns_the_direction_of_the_text(runs):
    for shown in (oodometer.compare(runs), paper_tables(runs)):
        assert "\u202e" not in shown._repr_html_()


def test_everything_from_outside_is_text():
    table = table_grid(HOSTILE, HOSTILE)
    table.add_column(HOSTILE)
    table.add_row(HOSTILE)
    parts = [HOSTILE, safe_text(HOSTILE), table, pairs_grid([(HOSTILE, HOSTILE)]), notes_grid([HOSTILE]), ""]
    made = notebook_html(parts)
    assert "<script" not in made
    assert "49" not in made
    assert made.count("&lt;script&gt;") == 9
