"""The documentation: commands, snippets and links are good, boxes hold what is printed, and the site is whole."""

import re
import subprocess
import sys
import zlib

import numpy as np
import pytest

import documents
import oodometer
from documents import CHECKOUT

DOCS = CHECKOUT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = {str(page.relative_to(DOCS)): page.read_text(encoding="utf-8") for page in PAGES}
ELSEWHERE = r"(?:https?:)?//"


@pytest.fixture(scope="session")
def tutorial():
    return documents.load_tool("tutorial")


@pytest.fixture(scope="session")
def markup():
    pytest.importorskip("griffe", reason="of the extra docs")
    return documents.load_tool("docstring_markup")


@pytest.mark.parametrize(
    ("page", "line"), [(page, line) for page, text in TEXTS.items() for line in documents.commands(text)]
)
def test_each_command_parses(page, line):
    documents.check_parses(line)


@pytest.mark.parametrize("line", ["oodometer evaluat fake", "oodometer evaluate fake --dat x", "oodometer tables a b"])
def test_a_command_with_a_slip_does_not_parse(line):
    import click

    with pytest.raises(click.UsageError):
        documents.check_parses(line)


@pytest.mark.parametrize(
    "page", [name for name, text in TEXTS.items() if "```python" in text and name != "tutorial.md"]
)
def test_the_snippets_run_as_printed(page, tmp_path, monkeypatch, frost, own):
    """In the order of the page; those of the tutorial are run by its own test, with what they print."""
    monkeypatch.chdir(tmp_path)
    names = documents.stand_ins() | {"oodometer": oodometer, "module": _module()}
    for name in ("baseline", "ours"):
        oodometer.evaluate("fake", "path/to/val", f"runs/{name}", corruptions="fog", progress=False)
    for snippet in documents.snippets(TEXTS[page]):
        exec(compile(snippet, page, "exec"), names)


def _module():
    import torch

    return torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(3, 1000))


@pytest.mark.parametrize("page", PAGES, ids=TEXTS)
def test_every_link_leads_somewhere(page):
    assert documents.dead_links(page) == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "there.md").write_text("# One thing, and another\n")
    page = tmp_path / "page.md"
    page.write_text("[a](there.md#one-thing-and-another) [b](there.md#no) [c](gone.md) [d](https://example.org)\n")
    assert documents.dead_links(page) == ["there.md#no", "gone.md"]


def test_every_page_is_in_the_navigation():
    config = (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8")
    assert set(re.findall(r"[\w/-]+\.md$", config.partition("nav:")[2], re.MULTILINE)) == set(TEXTS)


def test_the_figures_of_the_page_on_numbers_are_right():
    text = " ".join(TEXTS["numbers.md"].split())
    alexnet = oodometer.metrics.BASELINES["alexnet"]
    for error in (0.5, 1.0):
        made = oodometer.metrics.mce({name: [error] * 5 for name in oodometer.list_corruptions()})
        assert f"errors of {100 * error:.0f} % {'everywhere ' * (error < 1)}are {100 * made:.1f}" in text
    rises = [100 * alexnet.mean_rise(name) for name in ("brightness", "gaussian_noise")]
    assert "rise under brightness is {:.0f} points, under gaussian_noise {:.0f}".format(*rises) in text
    assert "are {:.0f} and {:.0f} points of relative CE".format(*(300 / rise for rise in rises)) in text
    assert f"a gap of {100 * _resnet50_gap():.2f} points" in text


def _resnet50_gap():
    (line,) = (line for name, line in oodometer.metrics.REFERENCE_LINES.items() if name == "imagenet-r")
    (model,) = (model for model in line.models if model.name == "ResNet-50")
    return model.clean - model.shifted


@pytest.mark.long
def test_simple_tables_become_markdown(markup):
    text = (
        "Columns::\n\n    code\n\n====  =====\na     1 ``x<y`` <b>\nb     two\n      more | else\n====  =====\n\nEnd."
    )
    made = markup.to_markdown(text).splitlines()
    assert made[0] == "Columns:"
    assert made[4:] == ["|  |  |", "| --- | --- |", "| a | 1 ``x<y`` &lt;b> |", r"| b | two more \| else |", "", "End."]


@pytest.mark.long
def test_no_docstring_keeps_markup_that_the_site_would_not_show(markup):
    for path in (CHECKOUT / "src").rglob("*.py"):
        made = markup.to_markdown(path.read_text(encoding="utf-8"))
        assert not re.search(r"^ *=+( +=+)+$|:(?:class|func|meth|mod):`", made, re.MULTILINE), path


def test_boxes_are_filled_with_what_is_printed(tutorial, tmp_path):
    page = (
        "    oodometer list\n\n```python\nx = 3\nprint(x + 1)\n```\n\n```text\nold\n```\n\n```python\nprint(x)\n```\n"
    )
    made = tutorial.filled(page, tmp_path)
    assert made == page.replace("old", "4")
    assert "fog" in tutorial.filled("    oodometer list\n\n```text\n```\n", tmp_path)


@pytest.mark.long
def test_the_tutorial_prints_what_it_says(tutorial, demo_run, tmp_path, monkeypatch):
    """The words to the letter; the numbers nearly, as another processor may tip a prediction over."""
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "oodometer-demo").symlink_to(demo_run.path)
    before, after = TEXTS["tutorial.md"], tutorial.filled(TEXTS["tutorial.md"], tmp_path)
    number = r"-?\d+(?:\.\d+)?"
    assert re.sub(r"[ -]+", " ", re.sub(number, "#", after)) == re.sub(r"[ -]+", " ", re.sub(number, "#", before))
    said, found = (np.array(re.findall(number, text), dtype=float) for text in (before, after))
    assert np.abs(said - found).max() <= 10
    for name in ("photo.png", "grid.png", "comparison.json"):
        assert (tmp_path / name).is_file()


@pytest.mark.long
def test_the_notebook_runs(tmp_path):
    """In a kernel of its own; it is stored without outputs, so that none is older than the code."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(DOCS / "tutorial.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in cells)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = [{kind for output in cell.outputs for kind in output.get("data", {})} for cell in cells]
    assert "image/png" in kinds[0] & kinds[1] & kinds[2]
    assert "text/html" in kinds[3]
    shown = {cell.id: "".join(o.data.get("text/html", "") for o in cell.outputs if "data" in o) for cell in cells}
    assert "clean error" in shown["compared"]
    assert "Elastic" in shown["tables"]
    assert (tmp_path / "report.html").is_file()


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Build the site, strictly."""
    pytest.importorskip("mkdocs", reason="of the extra docs")
    place = tmp_path_factory.mktemp("site") / "site"
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@pytest.mark.long
def test_no_page_loads_anything_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(PAGES)  # one each, and that of addresses that are not there
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(rf"<(?:script|img|iframe|source|video)[^>]*\ssrc=[\"']?{ELSEWHERE}", text), page
        assert not re.search(rf"<link[^>]*\shref=[\"']?{ELSEWHERE}", text), page
    for sheet in site.rglob("*.css"):
        assert not re.search(rf"(?:url\([\"']?|@import *[\"']){ELSEWHERE}", sheet.read_text(encoding="utf-8")), sheet


@pytest.mark.long
def test_the_reference_holds_every_public_name(site):
    packed = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]  # after four lines for people
    there = {line.split()[0] for line in zlib.decompress(packed).decode().splitlines()}
    modules = {"compat", "corruptions", "datasets", "models", "perturbations"}  # whose public names stand by themselves
    wanted = {f"oodometer.{name}" for name in set(oodometer.__all__) - modules}
    assert wanted <= there
    missing = {name for name in oodometer.metrics.__all__ if f"oodometer.metrics.{name}" not in there}
    assert {name for name in missing if f"oodometer.metrics.{name}.{name}" not in there} == set()


@pytest.mark.long
def test_the_site_is_searched_from_a_disk_without_a_network(site, page):
    page.goto((site / "data.html").as_uri())
    page.locator(".md-search__input").click()
    page.keyboard.type("effective robustness")
    page.wait_for_selector(".md-search-result__item")
    assert "misleads" in " ".join(page.locator(".md-search-result__item h1").all_inner_texts())
