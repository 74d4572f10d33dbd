"""What several test modules need: the golden images, the frost textures, the tools and a browser."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

import documents
from oodometer import textures
from oodometer.corruptions import registry

# No test asserts a time: how long an example takes says more about the machine.
hypothesis.settings.register_profile("oodometer", deadline=None)
hypothesis.settings.load_profile("oodometer")

CHECKOUT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def golden():
    """Find the outputs of the published code, whose photographs may not be copied into the repository."""
    folder = Path(os.environ.get("OODOMETER_GOLDEN") or CHECKOUT.parent / "shared" / "golden")
    if (folder / "manifest.json").is_file():
        return folder
    message = f"No golden images in {folder}: set OODOMETER_GOLDEN to the folder that holds their manifest.json."
    if os.environ.get("OODOMETER_REQUIRE_GOLDEN") == "1":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="session")
def frost():
    """Find frost's textures, or fetch them; a test that needs them fails without."""
    return textures.find_frost() or textures.fetch_frost()


@pytest.fixture(scope="session")
def exactness():
    """Load the script ``tools/exactness.py`` as a module."""
    return documents.load_tool("exactness")


@pytest.fixture
def own():
    """Forget the corruptions that a test registers."""
    before = dict(registry._corruptions)
    yield
    registry._corruptions.clear()
    registry._corruptions.update(before)


@pytest.fixture(scope="session")
def browser():
    """Start the system's Chromium: ``OODOMETER_CHROMIUM``, or whichever is on the path."""
    places = (os.environ.get("OODOMETER_CHROMIUM"), shutil.which("chromium"), shutil.which("chromium-browser"))
    place = next(filter(None, places), None)
    if place is None:
        message = "No Chromium: install it (Debian: apt-get install chromium), or set OODOMETER_CHROMIUM."
        if os.environ.get("OODOMETER_REQUIRE_GOLDEN") == "1":
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # Chromium refuses its own sandbox to the root user, as whom CI may run; the pages are ours and offline.
        launched = playwright.chromium.launch(executable_path=place, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def page(browser):
    """Open a page of a browser without a network, in which any request but for a file, and any error, is a failure."""
    context = browser.new_context(offline=True, accept_downloads=True, viewport={"width": 1100, "height": 800})
    opened, wrong = context.new_page(), []
    opened.on(
        "request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or wrong.append(request.url)
    )
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("console", lambda message: wrong.append(message.text))
    yield opened
    assert wrong == []
    context.close()


@dataclass(frozen=True)
class DemoRun:
    """What the command ``oodometer demo`` left, and what it printed."""

    path: Path
    printed: str


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory, frost):
    """Run the demo once for all tests that read what it makes."""
    place = tmp_path_factory.mktemp("demo") / "demo"
    command = [sys.executable, "-m", "oodometer", "demo", "-o", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    return DemoRun(place, done.stdout)
