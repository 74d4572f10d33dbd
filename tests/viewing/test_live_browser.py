"""The live page in a real browser: no error, no request but to this machine, filters, slider, upload, phone width."""

import re
import threading

import numpy as np
import pytest
import uvicorn
from live import photograph

import oodometer
from oodometer.viewing.app import make_app
from oodometer.viewing.serving import listening
from synthetic_runs import write_run

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def address(tmp_path_factory, photographs, frost):
    """Serve a real run and a hostile one, with a model, from a thread; return where."""
    root = tmp_path_factory.mktemp("browsed") / "runs"
    for name in ("one", "two"):
        model = oodometer.FakeModel() if name == "one" else "fake"
        oodometer.evaluate(model, photographs, root / name, progress=False)
    write_run(root / "<img src=x onerror=alert(1)>", model="<script>alert(1)</script>" + "x" * 300, digest="1")
    (root / "broken" / "predictions").mkdir(parents=True)
    (root / "broken" / "manifest.json").write_text("{")
    app = make_app(root, data=[str(photographs)], model="fake")
    listener = listening(0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    listener.close()


@pytest.fixture(params=["desktop", "phone", "dark"])
def wide(request):
    """Name the ways in which it is looked at."""
    return {
        "desktop": {"viewport": {"width": 1200, "height": 900}},
        "phone": {"viewport": {"width": 375, "height": 800}, "has_touch": True, "is_mobile": True},
        "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
    }[request.param]


@pytest.fixture
def live(browser, address, wide):
    """Open a page at which any message, any error and any request to elsewhere is a failure."""
    context = browser.new_context(base_url=address, **wide)
    opened, wrong = context.new_page(), []
    opened.on("request", lambda r: r.url.startswith((f"{address}/", f"blob:{address}/")) or wrong.append(r.url))
    opened.on("response", lambda r: r.status == 200 or wrong.append(f"{r.status} {r.url}"))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("dialog", lambda dialog: wrong.append(dialog.message))
    opened.wrong = wrong
    yield opened
    assert wrong == []
    context.close()


def fits(page):
    page.wait_for_load_state()  # with its styles
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def loaded(page):
    """Wait for all pictures, those that are loaded when one scrolls to them, too."""
    for picture in page.query_selector_all("img"):
        picture.scroll_into_view_if_needed()
    page.wait_for_function("() => [...document.images].every((image) => image.complete && image.naturalWidth)")


def test_from_the_index_to_a_comparison(live):
    live.goto("/")
    assert live.inner_text("h1") == "Runs"
    assert fits(live)
    assert "cannot be shown" in live.inner_text("tr:has-text('broken')")
    live.check("[aria-label='Compare one']")
    live.check("[aria-label='Compare two']")
    live.click("button")
    live.wait_for_url(re.compile("compare"))
    assert live.inner_text("h1") == "2 models compared"
    row = live.get_by_role("region", name="B less A").locator("tr:has-text('gaussian noise')").inner_text().split()
    assert (row[2], row[-1]) == ("0.0", "1.000")  # as it is a model and itself
    assert fits(live)
    live.go_back()
    live.check("[aria-label='Compare one']")
    live.check("[aria-label^='Compare <img']")
    live.click("button")
    live.wait_for_url(re.compile("compare"))
    assert "cannot be compared" in live.inner_text(".note")


def test_a_run_and_its_report(live):
    live.goto("/")
    for name in ("one", "<img src=x onerror=alert(1)>"):
        live.goto("/")
        live.get_by_role("link", name=name, exact=True).click()
        assert live.inner_text("h1") == name
        assert fits(live)
        live.get_by_role("link", name="The report").click()
        live.wait_for_load_state("networkidle")
        assert live.query_selector("h1")


def test_outcomes_are_filtered_and_paged(live):
    live.goto("/")
    live.get_by_role("link", name="one", exact=True).click()
    live.get_by_role("link", name="Images of imagenet-c").click()
    assert "456 outcomes, page 1 of 19" in live.inner_text(".pager")
    loaded(live)
    assert fits(live)
    live.get_by_role("link", name="Next").first.click()
    assert "page 2 of 19" in live.inner_text(".pager")
    live.get_by_label("Corruption").select_option("fog")
    live.get_by_label("Severity").select_option("2")
    live.get_by_role("button", name="Show").click()
    assert "6 outcomes, page 1 of 1" in live.inner_text(".pager")
    assert live.get_by_label("Corruption").input_value() == "fog"
    assert {text.splitlines()[0] for text in live.locator("figcaption").all_inner_texts()} == {"fog 2"}
    live.get_by_label("Outcome").select_option("changed")
    live.get_by_role("button", name="Show").click()
    assert int(live.inner_text(".pager span").split()[0]) <= 6
    live.locator("figcaption a").first.click()
    assert "76 outcomes" in live.inner_text(".pager")
    loaded(live)
    live.locator("figure > a").first.click()
    live.wait_for_url(re.compile("playground"))


def settled(page):
    """Wait until the picture is that of the controls, and return its pixels as they are shown."""
    name, value = page.locator("#corruption option:checked").inner_text(), page.input_value("#severity")
    page.wait_for_function("words => document.getElementById('caption').textContent === words", arg=f"{name} {value}")
    page.wait_for_load_state("networkidle")
    values = page.evaluate(
        """() => {
            const picture = document.getElementById("corrupted"), canvas = document.createElement("canvas");
            canvas.width = picture.naturalWidth;
            canvas.height = picture.naturalHeight;
            const context = canvas.getContext("2d");
            context.drawImage(picture, 0, 0);
            return [...context.getImageData(0, 0, canvas.width, canvas.height).data];
        }"""
    )
    return np.array(values, np.uint8).reshape(224, 224, 4)[:, :, :3]


def another(page, source):
    """Wait until another picture is shown; return where it is from."""
    page.wait_for_function("source => document.getElementById('corrupted').src !== source", arg=source)
    return page.get_attribute("#corrupted", "src")


def test_the_slider_changes_the_picture_and_what_the_model_says(live, photographs):
    live.goto("/playground?image=2")
    image = sorted(photographs.rglob("*.png"))[2]
    name = image.relative_to(photographs).as_posix()
    clean = oodometer.show(image, corruptions="fog", severities=[0]).cells[0][0].image
    live.get_by_label("Corruption").select_option("motion_blur")
    for key, severity in (("Home", 0.0), ("ArrowRight", 0.1), ("End", 5.0), ("ArrowLeft", 4.9)):
        live.get_by_label("Severity").press(key)
        found = settled(live)
        assert live.inner_text("#shown") == f"{severity:.1f}"
        expected = oodometer.corrupt(clean, "motion_blur", severity, image_id=name)
        np.testing.assert_array_equal(found, expected)
        cell = oodometer.show(expected, corruptions="fog", severities=[0], preprocess="none", model="fake").cells[0][0]
        assert live.inner_text("#best") == f"{cell.prediction}, {100 * cell.confidence:.1f} %"
    assert fits(live)
    assert live.query_selector("#trouble").is_hidden()


def test_of_many_changes_the_last_one_is_shown(live):
    asked = []
    live.on("request", lambda request: asked.append(request.url) if "/playground/picture" in request.url else None)
    live.goto("/playground?image=1")
    live.get_by_label("Corruption").select_option("elastic_transform")
    settled(live)
    asked.clear()
    live.evaluate(
        """() => {
            const slider = document.getElementById("severity");
            for (let step = 0; step <= 50; step++) {
                slider.value = step / 10;
                slider.dispatchEvent(new Event("input"));
            }
        }"""
    )
    settled(live)
    assert live.inner_text("#caption") == "elastic transform 5"
    assert [re.search(r"severity=([\d.]+)", url)[1] for url in asked] == ["0", "5"]


def test_another_image_is_picked_and_one_is_uploaded(live, tmp_path):
    live.goto("/playground")
    before = settled(live)
    first = live.get_attribute("#corrupted", "src")
    live.locator("#picks a").nth(3).click()
    second = another(live, first)
    assert live.get_attribute("#picks [aria-current]", "data-image") == "3"
    assert (settled(live) != before).any()
    photograph(77, (400, 300)).save(tmp_path / "mine.png")
    live.set_input_files("#file", tmp_path / "mine.png")
    another(live, second)
    assert live.query_selector("#picks [aria-current]") is None
    uploaded = settled(live)
    clean = oodometer.show(tmp_path / "mine.png", corruptions="fog", severities=[0]).cells[0][0].image
    np.testing.assert_array_equal(uploaded, oodometer.corrupt(clean, "fog", 3.0))
    assert fits(live)


def test_a_bad_upload_is_said_and_the_picture_stays(live, tmp_path):
    live.goto("/playground")
    before = settled(live)
    (tmp_path / "bad.png").write_bytes(b"no image")
    with live.expect_response("**/uploads"):
        live.set_input_files("#file", tmp_path / "bad.png")
    live.wait_for_selector("#trouble:visible")
    assert "not an image of a known format" in live.inner_text("#trouble")
    # The browser itself says of the answer that it is a refusal.
    assert [text for text in live.wrong if "422" not in text] == []
    live.wrong.clear()
    (tmp_path / "huge.png").write_bytes(bytes(20_000_001))
    live.set_input_files("#file", tmp_path / "huge.png")
    live.wait_for_function(
        "() => document.getElementById('trouble').textContent.includes('20 MB')"
    )  # before it is sent
    np.testing.assert_array_equal(settled(live), before)


def test_nothing_is_in_the_way_of_anybody(live, wide):
    """By the rules of axe, in every page."""
    from axe_playwright_python.sync_playwright import Axe

    live.goto("/")
    run = live.get_by_role("link", name="one", exact=True).get_attribute("href")
    token, other = run.rpartition("/")[2], live.locator("[name=run]").nth(2).get_attribute("value")
    compared = f"/compare?run={token}&run={other}"
    for place in ("/", run, f"{run}/sets/imagenet-c", f"{run}/sets/imagenet-c?severity=3", "/playground", compared):
        live.goto(place)
        live.wait_for_load_state("networkidle")
        # The page's policy lets no script in but its own, which is what it is for: axe goes around it.
        found = Axe().run(live)
        assert found.response["passes"]  # the rules were asked
        wrong = [(v["id"], v["nodes"][0]["html"][:200]) for v in found.response["violations"]]
        assert wrong == [], place
