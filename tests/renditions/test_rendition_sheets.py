"""The contact sheets stand alone, show what a person must know, and no name from outside can do anything in them."""

import base64
import hashlib
import io
import json
import re
from html.parser import HTMLParser

import PIL.Image
import pytest
from drawings import SHARK, drawing, row, save

from oodometer.errors import DatasetError
from oodometer.renditions import write_sheets

VOID = {"meta", "img", "input", "br"}
HOSTILE = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "' onfocus=alert(1) autofocus x='",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egpj.exe\u202c שלום مرحبا",
    "</script></style></title>&amp;",
]


class Page(HTMLParser):
    """The elements and the text of a page, and whether its tags are balanced."""

    def __init__(self, source):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["script"]):
            self.text.append(data)

    @property
    def cards(self):
        return [json.loads(attributes["data-card"]) for tag, attributes in self.elements if tag == "article"]


def sheets(collection, rows):
    index = write_sheets(collection, list(rows.values()))
    return {path.name: path.read_text("utf-8") for path in index.parent.iterdir()}


def test_a_sheet_for_each_class_with_the_doubtful_first(screened, pool):
    (pool / "broken.png").write_bytes(b"no")
    rows = [
        row("a.png"),
        row("b.png", licence=""),
        row("c.png", label=SHARK),
        row("d.png", label="nonsense"),
        row("broken.png"),
    ]
    collection, made = screened({f"{n}.png": drawing(i) for i, n in enumerate("abcde")}, rows=rows)
    pages = sheets(collection, made)
    assert set(pages) == {"index.html", "n01443537.html", f"{SHARK}.html", "_no_label.html"}
    fish = Page(pages["n01443537.html"])
    assert [card["path"] for card in fish.cards] == ["b.png", "a.png"]
    assert fish.cards[0] == {"path": "b.png", "sha256": made["b.png"].sha256, "label": "n01443537", "style": "sketch"}
    assert "has no licence" in fish.text
    assert "goldfish" in fish.text
    assert [card["path"] for card in Page(pages["_no_label.html"]).cards] == ["e.png"]
    links = [attributes["href"] for tag, attributes in Page(pages["index.html"]).elements if tag == "a"]
    assert set(links) == set(pages) - {"index.html"}


def test_pictures_are_inside_and_the_look_alike_beside(screened, pool):
    save(pool, "a.png", drawing(1, size=(640, 512)))
    save(pool, "b.jpg", drawing(1))
    collection, rows = screened({}, rows=[row("a.png"), row("b.jpg")])
    page = Page(sheets(collection, rows)["n01443537.html"])
    images = [attributes["src"] for tag, attributes in page.elements if tag == "img"]
    sizes = [PIL.Image.open(io.BytesIO(base64.b64decode(src.split(",")[1]))).size for src in images]
    assert sizes == [(120, 96), (128, 102), (320, 256)]  # b.jpg waits for a person and comes first, beside a.png
    assert "looks like this" in page.text


def test_only_its_own_script_runs_and_nothing_is_fetched(screened):
    collection, rows = screened({"a.png": drawing(1)})
    for source in sheets(collection, rows).values():
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', source)[1]
        scripts = re.findall(r"<script>(.*?)</script>", source, re.DOTALL)
        digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
        assert policy.startswith("default-src 'none'")
        assert re.findall(r"'sha256-([^']*)'", policy) == digests
        for tag, attributes in Page(source).elements:
            assert tag not in {"link", "iframe", "object", "base", "form"}
            assert not [name for name in attributes if name.startswith("on")]
            assert attributes.get("src", "data:").startswith("data:")
        assert not re.search(r"https?://|@import|url\(", source)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_inert(screened, pool, name):
    plain = [row("a.png", licence=""), row("b.png", style="x")]
    collection, rows = screened({"a.png": drawing(1), "b.png": drawing(2)}, rows=plain)
    expected = [tag for tag, _ in Page(sheets(collection, rows)["n01443537.html"]).elements]
    (pool / "a.png").unlink()
    path = name.replace("/", "_") + ".png"
    hostile = [row(path, source=name, licence=""), row("b.png", style=name, source=name, licence=name)]
    collection, rows = screened({path: drawing(1)}, rows=hostile, out="hostile")
    source = sheets(collection, rows)["n01443537.html"]
    page = Page(source)
    assert [tag for tag, _ in page.elements] == expected
    assert {card["path"] for card in page.cards} == {path, "b.png"}  # to the letter, for the file of decisions
    assert name.strip() in {card["style"] for card in page.cards}
    assert "\u202e" not in source
    assert name.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c") in page.text


def test_a_class_of_ones_own_may_have_any_name(screened, tmp_path):
    (tmp_path / "classes.txt").write_text("ein fisch & 'co'", "utf-8")
    label = (tmp_path / "classes.txt").read_text("utf-8")
    collection, rows = screened(
        {"a.png": drawing(1)}, rows=[row("a.png", label=label)], classes=tmp_path / "classes.txt"
    )
    pages = sheets(collection, rows)
    assert f"{label}.html" in pages
    assert label in Page(pages["index.html"]).text


def test_what_has_changed_since_or_is_empty_is_refused(screened, pool):
    collection, rows = screened({"a.png": drawing(1)})
    save(pool, "a.png", drawing(2))
    with pytest.raises(DatasetError, match=r"a\.png has changed since the screening"):
        sheets(collection, rows)
    collection, rows = screened({"b.png": drawing(3)}, rows=[row("a.png", label="x"), row("b.png", label="y")])
    with pytest.raises(DatasetError, match="no picture that a person could look at"):
        sheets(collection, rows)
