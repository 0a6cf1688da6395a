"""A real Chromium for the tests of the page; without one they are skipped, and say why."""

import os
import shutil
from pathlib import Path

import pytest

PLACES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def chromium():
    """Give a browser that all tests share; each opens a window of its own."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, PLACES)), None)
    if path is None:
        pytest.skip("there is no Chromium: install the package `chromium`, or say where it is in CHROMIUM")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def window(chromium):
    """Open windows on pages; at the end, nothing may have gone wrong in any of them."""
    opened, faults = [], []

    def open_window(address, *, width=1200, height=900, **options):
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        page.on("dialog", lambda dialog: (faults.append(dialog.message), dialog.dismiss()))
        page.goto(address if isinstance(address, str) else Path(address).as_uri())
        page.wait_for_selector("main h1")
        return page

    open_window.faults = faults
    yield open_window
    for context in opened:
        context.close()
    assert faults == []


@pytest.fixture(scope="session")
def axe():
    """Give axe-core, which finds what keeps people out."""
    places = [os.environ.get("AXE"), ROOT / ".venv/node_modules/axe-core/axe.min.js"]
    for place in filter(None, places):
        if Path(place).is_file():
            return Path(place).read_text(encoding="utf-8")
    return pytest.skip("axe-core is not here: npm install --prefix .venv axe-core, or say where it is in AXE")
