"""The page in a real browser: without a network or an error, sorted and filtered, dark, narrow, printed, accessible."""

import itertools
import re

import pytest
from axe_playwright_python.sync_playwright import Axe

from oodometer import Run
from oodometer.families import IMAGENET_C
from oodometer.report.words import interval, percent
from oodometer.reports import write_reports
from oodometer.types import Condition
from synthetic_runs import CELLS, write_run

pytestmark = pytest.mark.long

LONG = "<script>document.title = 'mine'</script>\"' \u202egpj " + "x" * 260
PHONE = {"width": 360, "height": 740}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Write the report of two runs, one of them with a name that means harm; the runs, and the page."""
    place = tmp_path_factory.mktemp("two")
    cells = (*CELLS, *(Condition("spatter", severity) for severity in range(1, 6)))
    common = {"images": 60, "masked": 20, "renditions": 40, "pictures": CELLS, "conditions": cells}
    names = tuple(f"{LONG} {k}" for k in range(1000))
    write_run(place / "a", model="plain", error=0.6, names=names, **common)
    write_run(place / "b", model=LONG, error=0.3, names=names, **common)
    runs = [Run(place / name) for name in "ab"]
    return runs, write_reports(runs, place / "report")[0]


@pytest.fixture
def opened(page, two):
    page.goto(two[1].as_uri())
    return page


def columns(table, number):
    return [row.locator("td").nth(number).inner_text() for row in table.locator("tbody tr:not(.group)").all()]


def test_the_numbers_of_the_page_are_those_of_the_api(opened, two):
    said = opened.locator(".cards").inner_text()
    for run in two[0]:
        for number in (run.mce(), run.relative_mce(), run.clean_error, run.summary().renditions.gap):
            assert percent(number.value) in said
            assert f"95 % interval {interval(number)}" in " ".join(said.split())
    for run, table in zip(two[0], opened.locator("table.errors").all(), strict=True):
        shown = {
            row.locator("th").text_content().replace(" ", "_"): [c.text_content() for c in row.locator(".cell").all()]
            for row in table.locator("tr[data-name]").all()
        }
        assert shown == {name: [percent(e) for e in errors] for name, errors in run.errors.items()}


def test_names_from_outside_do_nothing(opened):
    assert opened.title() == "Robustness of 2 models"
    assert LONG.replace("\u202e", "\\u202e")[:60] in opened.locator("header").inner_text()


def test_tables_sort_worst_first_then_best_first_then_as_published(opened, two):
    table = opened.locator("table.errors").first
    names = [name.replace("_", " ") for name in (*IMAGENET_C, "spatter")]

    def first():
        return [row.locator("th").inner_text() for row in table.locator("tr[data-name]").all()]

    assert first() == names
    rows = {row.name: row.mean.value for row in (*two[0][0].summary().corruptions.rows,)}
    button = table.get_by_role("button", name="mean")
    button.focus()
    opened.keyboard.press("Enter")
    means = [float(text.split()[0]) for text in columns(table, 5)]
    assert means == sorted(means, reverse=True)
    assert max(means[:2]) >= max(round(100 * value, 1) for value in rows.values()) - 1e-9
    assert table.locator("tr.group:visible").count() == 0
    button.click()
    means = [float(text.split()[0]) for text in columns(table, 5)]
    assert means == sorted(means)
    button.click()
    assert first() == names
    assert table.locator("tr.group:visible").count() == 5


def test_every_condition_stands_in_a_table_the_worst_first(opened, two):
    opened.get_by_text("Every condition in numbers").click()
    table = opened.get_by_role("region", name="Every condition").locator("table")
    rows = [[cell.inner_text() for cell in row.locator("th, td").all()] for row in table.locator("tbody tr").all()]
    first, second = two[0]
    assert len(rows) == len(CELLS) - 1 + 5
    found = {(row[0].replace(" ", "_"), int(row[1])): (row[2], row[4]) for row in rows}
    for name in first.errors:
        for k in range(5):
            assert found[name, k + 1] == (percent(first.errors[name][k]), percent(second.errors[name][k]))
    means = [(float(row[2]) + float(row[4])) / 2 for row in rows]
    assert all(one >= other - 0.11 for one, other in itertools.pairwise(means))


def test_the_filter_leaves_what_is_named(opened):
    section = opened.locator("[data-filtered]")
    section.get_by_role("searchbox").fill("Noise")
    for place in ("details[open] tr[data-name]", ".charts > div"):
        left = [item.get_attribute("data-name") for item in section.locator(f"{place}:visible").all()]
        assert left == ["gaussian noise", "shot noise", "impulse noise"]
    section.get_by_role("searchbox").fill("")
    assert section.locator(".charts > div:visible").count() == 16


def test_a_point_says_its_numbers(opened, two):
    point = opened.locator(".charts svg [aria-label^='A, fog, severity 3']").first
    point.scroll_into_view_if_needed()
    point.hover(force=True)
    error = two[0][0].summary().corruptions.rows[IMAGENET_C.index("fog")].errors[2]
    said = f"fog, severity 3: {percent(error.value)} % {interval(error)}"
    assert said in opened.locator("#tip").inner_text()


def test_the_dark_page_is_dark_in_its_charts_too(opened):
    def colours():
        return opened.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('.charts svg path[stroke^=var]')).stroke]"
        )

    light = colours()
    opened.emulate_media(color_scheme="dark")
    dark = colours()
    assert light[1] != dark[1]
    assert sum(map(int, re.findall(r"\d+", dark[0])[:3])) < 150 < sum(map(int, re.findall(r"\d+", light[0])[:3]))


@pytest.mark.parametrize("width", [320, 360, 768])
def test_nothing_makes_the_page_wider_than_the_screen(opened, width):
    opened.set_viewport_size({"width": width, "height": 740})
    for details in opened.locator("details").all():
        details.evaluate("one => one.open = true")
    assert opened.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [1100, 360])
def test_what_stands_above_a_table_can_be_read_without_scrolling_it(opened, width):
    opened.set_viewport_size({"width": width, "height": 800})
    for details in opened.locator("details").all():
        details.evaluate("one => one.open = true")
    cut = """captions => captions.filter((one) => {
        const region = one.closest(".scroll").getBoundingClientRect(), text = document.createRange();
        text.selectNodeContents(one);
        return text.getBoundingClientRect().right > region.right + 1;
    }).map((one) => one.textContent)"""
    assert opened.locator("caption").count() > 5
    assert opened.locator("caption").evaluate_all(cut) == []


def test_it_prints(opened):
    printed = opened.pdf()
    assert printed.startswith(b"%PDF-")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 3


def test_what_each_run_says_is_unfolded_on_paper_alone(opened):
    folded = "document.querySelectorAll('details[data-of-run]:not([open])').length"
    before = opened.evaluate(folded)
    assert before > 0
    opened.evaluate(f"addEventListener('beforeprint', () => window.foldedOnPaper = {folded})")
    opened.pdf()
    assert opened.evaluate("window.foldedOnPaper") == 0
    assert opened.evaluate(folded) == before


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [{"width": 1100, "height": 800}, PHONE])
def test_axe_finds_nothing(opened, scheme, size):
    opened.emulate_media(color_scheme=scheme)
    opened.set_viewport_size(size)
    for details in opened.locator("details").all():
        details.evaluate("one => one.open = true")
    found = Axe().run(opened).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_a_page_with_pictures_of_every_condition_is_small(two):
    """Four images under all conditions; the demo's page, of real pictures, is measured by another test."""
    assert two[1].stat().st_size < 3_000_000
