"""The charts say what the summaries say, wherever their numbers are read: in the data, the SVG and the files."""

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import PIL.Image
import pytest

import oodometer
from oodometer.comparison import compare
from oodometer.report import html, summarize
from oodometer.report.drawing import PAGE, page_charts
from oodometer.report.figures import write_figures
from oodometer.report.gallery import extremes, shown_images
from oodometer.report.html import page_html
from oodometer.report.page import lettered, notes_of, published_rows, same_as_published
from oodometer.report.panels import cells, curves, diagrams
from oodometer.report.words import interval, percent
from oodometer.types import CLEAN, Condition, Stored
from synthetic_runs import CELLS, write_run

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def two(tmp_path):
    stores = [write_run(tmp_path / name, model=name, error=error, renditions=8, pictures=CELLS) for name, error in (
        ("plain", 0.6), ("<b>\u202ebold", 0.3)
    )]  # fmt: skip
    return stores, [summarize(store) for store in stores]


def test_the_worst_condition_comes_first(two):
    found = cells(lettered(two[1]))
    expected = {
        (row.name, k + 1): tuple(
            next(r for r in summary.corruptions.rows if r.name == row.name).errors[k].value for summary in two[1]
        )
        for row in two[1][0].corruptions.rows
        for k in range(5)
    }
    assert {(c.corruption, c.severity): tuple(e.value for e in c.estimates) for c in found} == expected
    assert [c.mean for c in found] == sorted((np.mean(v) for v in expected.values()), reverse=True)
    worst, best = extremes(found)
    assert worst[0] is found[0]
    assert best[0] is found[-1]
    assert len({c.corruption for c in worst}) == len({c.corruption for c in best}) == 3


def test_a_curve_has_a_point_for_each_severity_and_the_clean_one(two):
    for panel in curves(lettered(two[1])):
        for series, summary in zip(panel.series, two[1], strict=True):
            row = next(row for row in summary.corruptions.rows if row.name == panel.name)
            assert [point.x for point in series.points] == [0, 1, 2, 3, 4, 5]
            assert [point.estimate for point in series.points] == [summary.corruptions.clean_error, *row.errors]


def test_a_diagram_is_of_clean_corrupted_and_shifted_pictures(tmp_path):
    confidence = np.linspace(0.05, 0.95, 60)
    store = write_run(tmp_path / "run", images=60, confidence=confidence, renditions=40, error=0.3)
    summary = summarize(store)
    panel = diagrams(lettered([summary])[0])
    assert [series.title for series in panel.series] == ["clean", "corrupted", "ImageNet-R"]
    table = store.table("imagenet-c", "imagenet-1k")
    corrupted = [k for k, condition in enumerate(table.conditions) if condition != CLEAN]
    for point in panel.series[1].points:
        k = min(int(point.x * 15), 14)
        inside = (table.confidence[:, corrupted] * 15).astype(int) == k
        assert point.estimate.value == pytest.approx((~table.misses[:, corrupted])[inside].mean())
        assert point.estimate.n == np.count_nonzero(inside.any(axis=1))


def test_the_drawn_points_are_where_their_numbers_are(two):
    name, chart = page_charts(lettered(two[1][:1]), None).curves[0]
    row = next(row for row in two[1][0].corruptions.rows if row.name == name)
    points = [one for one in ET.fromstring(chart).iter(f"{SVG}path") if one.get("aria-roledescription") == "point"]
    places = [tuple(map(float, re.findall(r"[-\d.]+", one.get("transform"))[:2])) for one in points]
    values = [two[1][0].corruptions.clean_error, *row.errors]
    for k, ((x, y), value) in enumerate(zip(places, values, strict=True)):
        assert x == pytest.approx(PAGE.width * k / 5, abs=0.6)
        assert y == pytest.approx(PAGE.height * (1 - value.value), abs=0.6)
    said = [one.get("aria-label") for one in points]
    assert (
        said[3] == f"{name.replace('_', ' ')}, severity 3: {percent(row.errors[2].value)} % {interval(row.errors[2])}"
    )


def test_pictures_of_several_runs_are_shown_once_with_what_each_said(two):
    runs = lettered(two[1])
    worst, best = extremes(cells(runs))
    (image,) = shown_images(runs, worst, best)
    assert [shown.condition for shown in image.worst] == [Condition(c.corruption, c.severity) for c in worst]
    for shown in (image.clean, *image.worst, *image.best):
        assert [letter for letter, _ in shown.said] == ["A", "B"]
        for (_, picture), summary in zip(shown.said, two[1], strict=True):
            kept = {p.condition: p for p in summary.corruption_strips[0].pictures}
            assert picture == kept[shown.condition]


def test_other_pixels_are_not_shown_as_the_same_picture(two):
    first, second = two[1]
    strips = tuple(
        replace(strip, pictures=tuple(replace(picture, jpeg=b"other") for picture in strip.pictures))
        for strip in second.corruption_strips
    )
    runs = lettered([first, replace(second, corruption_strips=strips)])
    (image,) = shown_images(runs, *extremes(cells(runs)))
    assert [letter for letter, _ in image.clean.said] == ["A"]


def test_a_note_of_all_runs_is_said_once(tmp_path):
    summaries = [
        summarize(write_run(tmp_path / name, images=images, planned=40)) for name, images in (("a", 40), ("b", 30))
    ]
    found = dict(notes_of(lettered(summaries)))
    assert set(found) == {note for summary in summaries for note in summary.notes}
    assert sorted(found.values()) == sorted(
        () if all(note in s.notes for s in summaries) else ("AB"[note in summaries[1].notes],) for note in found
    )


def published(summary, kind="imagenet-c", measured=50_000, baseline="alexnet"):
    part = summary.corruptions
    stored = Stored(kind=kind, severities={}, clean=None)
    return replace(
        summary,
        corruptions=replace(
            part,
            protocol=replace(part.protocol, encoding="files", stored=stored),
            counts=replace(part.counts, measured=measured),
            baseline=replace(part.baseline, name=baseline),
        ),
    )


@pytest.mark.parametrize("other", [{"kind": "build"}, {"measured": 49_999}, {"baseline": "resnet50"}])
def test_only_the_same_protocol_stands_among_published_results(two, other):
    summary = two[1][0]
    assert not same_as_published(summary.corruptions)
    assert not same_as_published(published(summary, **other).corruptions)
    alike = published(summary)
    rows = published_rows(lettered([alike]))
    assert [row.mce for row in rows] == sorted(row.mce for row in rows)
    assert [row.run.summary for row in rows if row.run is not None] == [alike]
    assert ">measured here<" in page_html(alike)
    assert "not to be ranked with these" in page_html(summary)
    assert ">measured here<" not in page_html(summary)


def test_a_published_figure_is_what_its_source_prints(two):
    by_name = {row.published.model: row.mce for row in published_rows(lettered(two[1]))}
    assert by_name["ResNet-50, AugMix"] == pytest.approx(0.653)


def test_figures_are_svg_and_png_of_the_same_chart(two, tmp_path):
    compared = compare([store.path for store in two[0]])
    files = write_figures(two[1], tmp_path / "figures", compared)
    names = {"curves", "heat-A", "heat-B", "reliability-A", "reliability-B", "differences-A-B"}
    assert {path.name for path in files} == {f"{name}.{ending}" for name in names for ending in ("svg", "png")}
    assert set((tmp_path / "figures").iterdir()) == set(files)
    for name in names:
        root = ET.parse(tmp_path / "figures" / f"{name}.svg").getroot()
        with PIL.Image.open(tmp_path / "figures" / f"{name}.png") as image:
            assert image.info["dpi"] == pytest.approx((300, 300), abs=1)
            assert image.width == pytest.approx(float(root.get("width")) * 300 / 96, rel=0.02)
            assert image.height / image.width == pytest.approx(
                float(root.get("height")) / float(root.get("width")), rel=0.02
            )
    # A page of two columns has a text 6.75 inches wide; pixels of SVG are 1/96 inch.
    assert float(ET.parse(tmp_path / "figures" / "curves.svg").getroot().get("width")) <= 6.75 * 96 * 1.1


@pytest.fixture(scope="module")
def nine(tmp_path_factory):
    """Write nine runs: more than there are colours, of models of one name, and of one with a long name."""
    place = tmp_path_factory.mktemp("nine")
    models = ("one", "one", "a long name " * 20, *("one",) * 5, "last")
    stores = [
        write_run(place / f"run{k}", model=model, images=4, renditions=4, pictures=CELLS[:2])
        for k, model in enumerate(models)
    ]
    return [summarize(store) for store in stores], compare([store.path for store in stores])


def test_models_of_one_name_have_their_folders_beside_it(nine):
    names = [run.name for run in lettered(*nine)]
    assert names[:2] == ["one (run0)", "one (run1)"]
    assert names[8] == "last"
    said = page_html(*nine[0], compared=nine[1])
    assert all(said.count(f">{name}</bdi>") > 1 for name in (*names[:2], "last"))


def test_no_two_of_many_series_look_the_same(nine):
    source = page_html(*nine[0], compared=nine[1])
    key = source[source.index('<ul class="key">') :].partition("</ul>")[0]
    marks = re.findall(r'<path fill="(.+?)" d="(.+?)"', key)
    assert len(marks) == len(set(marks)) == 9
    _, chart = page_charts(lettered(*nine), None).curves[0]
    points = ET.fromstring(chart).iter(f"{SVG}path")
    drawn = {(one.get("fill"), one.get("d")) for one in points if one.get("aria-roledescription") == "point"}
    assert len(drawn) == 9


def test_a_legend_that_is_too_wide_begins_another_line(nine, tmp_path):
    write_figures(nine[0], tmp_path, nine[1])
    root = ET.parse(tmp_path / "curves.svg").getroot()
    assert float(root.get("width")) <= 6.75 * 96 * 1.1
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert all(f"{run.letter}: {run.name}"[:60] in words for run in lettered(*nine))


def test_regions_have_names_of_their_own_and_headings_leave_no_level_out(nine):
    source = page_html(*nine[0], compared=nine[1])
    names = re.findall(r'role="region" aria-label="(.*?)"', source)
    assert len(names) == len(set(names)) > 30
    levels = [int(level) for level in re.findall(r"<h([1-6])", source)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_the_map_of_colours_has_every_number(two, tmp_path):
    write_figures(two[1][:1], tmp_path)
    words = [text.text for text in ET.parse(tmp_path / "heat.svg").getroot().iter(f"{SVG}text")]
    for row in two[1][0].corruptions.rows:
        assert row.name.replace("_", " ") in words
    shown = sorted(word for word in words if re.fullmatch(r"\d+\.\d", word))
    assert shown == sorted(percent(e.value) for row in two[1][0].corruptions.rows for e in row.errors)


def test_names_from_outside_are_text_in_the_figures(two, tmp_path):
    write_figures(two[1], tmp_path)
    source = (tmp_path / "curves.svg").read_text()
    assert "\u202e" not in source
    words = [text.text for text in ET.fromstring(source).iter(f"{SVG}text")]
    assert "B: <b>\\u202ebold" in words


def test_colours_of_series_can_be_told_from_the_ground():
    def luminance(colour):
        channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    themes = html._file("page.css").split("@media screen and (prefers-color-scheme: dark)")[:2]
    for theme in themes:
        ground = luminance(re.search(r"--card: (#\w{6})", theme)[1])
        colours = re.findall(r"--series-\d: (#\w{6})", theme)
        assert len(colours) == 8
        for colour in colours:
            low, high = sorted([ground, luminance(colour)])
            assert (high + 0.05) / (low + 0.05) >= 3  # WCAG 1.4.11, of graphical objects


def test_a_run_without_labels_has_curves_of_changes(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "images"
    folder.mkdir()
    for k in range(6):
        PIL.Image.fromarray(rng.integers(0, 256, (64, 64, 3)).astype(np.uint8)).save(folder / f"{k}.png")
    run = oodometer.evaluate(
        "fake", folder, out=tmp_path / "run", unlabelled=True, corruptions=["brightness"], preprocess="none",
        edition="tiny64", progress=False,
    )  # fmt: skip
    summary = run.summary()
    (panel,) = curves(lettered([summary]))
    assert [point.estimate for point in panel.series[0].points] == list(summary.unlabelled.rows[0].changes)
    page = page_html(summary)
    assert "Where does it change its mind?" in page
    assert "Can its confidence be believed?" not in page


@pytest.mark.parametrize(
    "name", ["toString", "constructor", "__proto__", "datum.x", "]; alert(1)//", "100%", "</text>"]
)
def test_no_name_of_a_corruption_breaks_a_chart(tmp_path, name):
    conditions = (CLEAN, *(Condition(one, severity) for one in (name, "fog") for severity in range(1, 6)))
    stores = [
        write_run(tmp_path / run, conditions=conditions, error=error, model=name)
        for run, error in (("a", 0.4), ("b", 0.6))
    ]
    summaries = [summarize(store) for store in stores]
    compared = compare([store.path for store in stores])
    assert {panel for panel, _ in page_charts(lettered(summaries), compared).curves} == {name, "fog"}
    write_figures(summaries, tmp_path / "figures", compared)
    for figure in ("curves", "heat-A", "differences-A-B"):
        words = [text.text for text in ET.parse(tmp_path / "figures" / f"{figure}.svg").getroot().iter(f"{SVG}text")]
        assert name.replace("_", " ").strip() in [word and word.strip() for word in words]
