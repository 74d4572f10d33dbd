"""A contact sheet in a real browser: keys note decisions, a reload loses nothing, the saved file is read back."""

import pytest
from drawings import SHARK, drawing, photograph, row

from oodometer.renditions import read_decisions, write_sheets

pytestmark = pytest.mark.long
NAME = "<img src=x onerror=\"document.title='caught'\">"


@pytest.fixture
def sheet(screened):
    """Make a sheet of six pictures, of which two wait for a person and come first, with hostile words."""
    pictures = {f"{n}.png": drawing(n) for n in range(5)} | {f"{SHARK} photo.png": photograph(1)}
    rows = [row(path, source=NAME, style="sketch" if path != "4.png" else NAME) for path in pictures]
    collection, made = screened(pictures, rows=rows)
    write_sheets(collection, list(made.values()))
    return made, collection.path / "review" / "n01443537.html"


def verdicts(page):
    return [card.get_attribute("data-verdict") for card in page.query_selector_all("article")]


def save(page, place):
    with page.expect_download() as download:
        page.click("#save")
    download.value.save_as(place / download.value.suggested_filename)
    return place / download.value.suggested_filename


def test_keys_note_decisions_and_the_file_is_read_back(page, sheet, tmp_path):
    rows, path = sheet
    page.goto(path.as_uri())
    assert page.title() == "Review: goldfish"
    assert verdicts(page) == [""] * 6
    for key in "kdcSu":
        page.keyboard.press(key)
    assert verdicts(page) == ["keep", "drop", "wrong class", "wrong style", "unsure", ""]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Backspace")
    page.keyboard.press("Home")  # is no key of the sheet
    page.keyboard.press("Control+d")  # is the browser's
    assert verdicts(page) == ["keep", "drop", "wrong class", "wrong style", "", ""]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("d")
    assert verdicts(page)[0] == "drop"
    assert page.inner_text("#count") == "4 of 6 judged"

    page.click("#save")  # nobody's decisions are not saved
    assert "Enter your name first" in page.inner_text("#said")
    page.keyboard.type("kds Ann")  # goes into the name, and decides nothing
    assert verdicts(page) == ["drop", "drop", "wrong class", "wrong style", "", ""]
    page.fill("#reviewer", 'Ann "ü"/..')
    file = save(page, tmp_path)
    assert file.name == "decisions-n01443537-Ann_ü_.json"
    (reviewer,) = read_decisions([file], rows.values())
    shown = [card.query_selector(".path").inner_text() for card in page.query_selector_all("article")]
    assert reviewer.name == 'Ann "ü"/..'
    assert list(reviewer.verdicts.items()) == sorted(
        zip(shown, ["drop", "drop", "wrong class", "wrong style"], strict=False)
    )
    assert shown[0] in {"4.png", f"{SHARK} photo.png"}


def test_a_reload_loses_nothing_and_goes_on(page, sheet, tmp_path):
    _, path = sheet
    page.goto(path.as_uri())
    page.keyboard.press("k")
    page.keyboard.press("u")
    page.fill("#reviewer", "Ann")
    page.reload()
    assert verdicts(page) == ["keep", "unsure", "", "", "", ""]
    assert page.input_value("#reviewer") == "Ann"
    page.keyboard.press("d")  # the first that is not judged yet is the one at hand
    assert verdicts(page) == ["keep", "unsure", "drop", "", "", ""]
    assert page.inner_text("article[aria-current] .path >> nth=0") == page.inner_text(
        "article >> nth=3 >> .path >> nth=0"
    )
    page.screenshot(path=tmp_path / "sheet.png")


def test_a_click_chooses_a_picture_and_names_do_nothing(page, sheet):
    _, path = sheet
    page.goto(path.as_uri())
    page.click("article >> nth=3")
    page.keyboard.press("d")
    assert verdicts(page) == ["", "", "", "drop", "", ""]
    assert page.title() == "Review: goldfish"
    assert page.query_selector("img[src=x]") is None
    assert NAME in page.inner_text("main")


def test_what_another_page_left_in_the_store_does_no_harm(page, sheet):
    _, path = sheet
    page.goto(path.as_uri())
    for text in ("null", "[1", '{"x": 1}', '"text"'):
        page.evaluate("text => localStorage.setItem('oodometer-renditions:n01443537', text)", text)
        page.reload()
        assert verdicts(page) == [""] * 6
        page.keyboard.press("k")
        assert verdicts(page)[0] == "keep"
