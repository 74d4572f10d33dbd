"""The page stands alone, says the numbers of the summary, and no name from outside can do anything in it."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import jinja2
import pytest

from oodometer.families import IMAGENET_C
from oodometer.report import heat, html, summarize, write_report
from oodometer.report.headlines import headlines
from oodometer.report.html import page_html, table_html
from oodometer.report.words import interval, percent
from oodometer.store import Skipped
from oodometer.types import CLEAN, Condition

PICTURES = (CLEAN, Condition("fog", 1), Condition("fog", 5))
VOID = {"meta", "img", "link", "br", "hr", "input"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egpj.exe\u202c שלום مرحبا",
    "x" * 300,
    "</style></title></pre>&amp;",
]


class Page(HTMLParser):
    """The elements, attributes and text of a page, and whether its tags are balanced."""

    def __init__(self, source):
        super().__init__()
        self.open, self.elements, self.tables, self.text, self.scripts = [], [], [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.tables.append([])
        if tag in {"td", "th"} and self.tables:
            self.tables[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        if self.open and self.open[-1] in {"style", "script"}:
            return
        self.text.append(data)
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1] += data

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def test_the_page_says_the_numbers_of_the_summary(make_run):
    summary = summarize(make_run(images=60, masked=20, renditions=40, pictures=PICTURES))
    page = Page(page_html(summary))
    rows = {row[0].strip(): row[1:] for row in page.tables if len(row) == 8}
    for row in summary.corruptions.rows:
        shown = rows[row.name.replace("_", " ")]
        assert shown[:5] == [percent(e.value) for e in row.errors]
        assert shown[5].split(" ", 1) == [percent(row.mean.value), interval(row.mean)]
        assert shown[6].split(" ", 1) == [percent(row.ce.value), interval(row.ce)]
    for line in headlines(summary):
        assert line.title in page.words
        assert f"{percent(line.estimate.value)} {line.unit}" in page.words
        assert f"{interval(line.estimate)} from {line.images} images" in page.words
    for said in (*summary.notes, summary.command, "mean [0.498], std [0.502]", "256->224, memory", "oodometer 0.1.0"):
        assert said in page.words


@pytest.mark.parametrize("make", [page_html, table_html])
def test_nothing_is_fetched_and_only_our_script_runs(make_run, make):
    source = make(summarize(make_run(renditions=8, pictures=PICTURES)))
    page = Page(source)
    script = (Path(html.__file__).parent / "templates" / "page.js").read_text()
    assert page.scripts == ([script] if make is page_html else [])
    for tag, attributes in page.elements:
        assert tag not in {"link", "iframe", "object", "base", "form"}
        assert not [name for name in attributes if name.startswith("on")]
        for name in ("src", "href"):
            assert attributes.get(name, "data:").startswith("data:")
    # The names of the two languages that pictures are written in are no addresses.
    named = source.replace("http://www.w3.org/2000/svg", "").replace("http://www.w3.org/1999/xlink", "")
    assert not re.search(r"https?://|@import|url\(", named)


def test_the_browser_is_told_to_run_no_other_script(make_run):
    page = Page(page_html(summarize(make_run())))
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    digest = base64.b64encode(hashlib.sha256(page.scripts[0].encode()).digest()).decode()
    assert policy == f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_inert(make_run, name):
    plain = make_run(pictures=PICTURES, renditions=8)
    expected = [tag for tag, _ in Page(page_html(summarize(plain))).elements]
    hostile = make_run(pictures=PICTURES, renditions=8, model=name, names=(name,) * 1000, prefix=f"{name}/")
    page = Page(page_html(summarize(hostile)))
    assert [tag for tag, _ in page.elements] == expected
    assert " ".join(name.split()).replace("\u202e", "\\u202e").replace("\u202c", "\\u202c") in page.words
    assert "\u202e" not in page_html(summarize(hostile))
    Page(table_html(summarize(hostile)))


def test_hostile_files_baselines_and_reasons_are_inert(make_run):
    own = {"name": HOSTILE[0], "source": HOSTILE[1], "errors": dict.fromkeys(IMAGENET_C, 0.5)}
    skipped = (Skipped(f"a/{HOSTILE[0]}.jpg", HOSTILE[1]),)
    store = make_run(skipped=skipped, unavailable={"spatter": HOSTILE[0]})
    page = Page(page_html(summarize(store, baseline=own)))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("script") == 1
    assert "img" not in tags
    assert page.words.count(HOSTILE[0]) > 3


def test_right_and_wrong_are_told_in_words(make_run):
    words = Page(page_html(summarize(make_run(pictures=PICTURES)))).words
    assert "✓ right" in words
    assert "✗ wrong" in words


def test_pictures_have_a_description(make_run):
    page = Page(page_html(summarize(make_run(pictures=PICTURES, names=("tench",) * 1000))))
    # Once beside each other, if among the worst or the best, and once in the table of all.
    assert {a["alt"] for tag, a in page.elements if tag == "img"} == {"tench, clean", "tench, fog/1", "tench, fog/5"}


@pytest.mark.parametrize(
    "wishes",
    [
        {"conditions": (), "renditions": 8},
        {"conditions": (CLEAN,)},
        {"baseline": None},
        {"skipped": (Skipped("a", "b"),), "planned": 90},
        {"conditions": (CLEAN, *(Condition("spatter", s) for s in range(1, 6)))},
    ],
)
def test_every_kind_of_run_has_a_page(make_run, wishes):
    summary = summarize(make_run(**wishes))
    assert summary.model.name in Page(page_html(summary)).words
    Page(table_html(summary))


def test_a_name_that_the_template_gets_wrong_raises():
    with pytest.raises(jinja2.UndefinedError):
        html._environment().from_string("{{ nothing }}").render()


def test_the_page_goes_into_the_run_or_where_it_is_told(make_run, tmp_path):
    store = make_run()
    assert write_report(store) == store.path / "report.html"
    elsewhere = tmp_path / "new" / "page.html"
    assert write_report(store, elsewhere) == elsewhere
    assert elsewhere.read_bytes() == (store.path / "report.html").read_bytes()


def luminance(colour):
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scale", [heat.LIGHT, heat.DARK])
def test_every_step_of_the_heat_can_be_read(scale):
    for background, text in scale:
        low, high = sorted([luminance(background), luminance(text)])
        assert (high + 0.05) / (low + 0.05) >= 4.5


def test_the_heat_goes_from_no_error_to_all_wrong():
    assert [heat.step(e) for e in (0.0, 0.04, 0.5, 1.0)] == [0, 0, 5, 10]
    assert len(heat.LIGHT) == len(heat.DARK) == 11
