"""The page for people: how large its file is, and how soon a browser shows it. Needs Chromium and playwright.

``python bench/page.py`` prints one line per number of rows, of 20 mixed columns.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from betarce.results.page.document import page_html
from results_by_hand import many

ROWS = (100, 1_000, 10_000)
OPENINGS = 5
FIRST_PAINT = """() => new Promise((done) => {
    const seen = () => performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
    const look = () => (seen() === undefined ? setTimeout(look, 10) : done(seen()));
    look();
})"""


def main() -> None:
    """Write pages of several sizes and open each a few times."""
    from playwright.sync_api import sync_playwright

    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        print("rows    kB in file   s to write   ms to first paint (median, worst of 5)")
        for n in ROWS:
            result = many(n, 20)
            started = time.perf_counter()
            html = page_html(result)
            seconds = time.perf_counter() - started
            file = Path(folder) / "page.html"
            file.write_text(html, encoding="utf-8")
            paints = sorted(first_paint(browser, file) for _ in range(OPENINGS))
            print(
                f"{n:<7,} {len(html.encode()) / 1e3:>10,.0f} {seconds:>12.2f} {paints[2]:>10,.0f} {paints[-1]:>8,.0f}"
            )
        browser.close()


def first_paint(browser: object, file: Path) -> float:
    """Open a page in a new window, and say after how many milliseconds something was to be seen."""
    context = browser.new_context()  # type: ignore[attr-defined]
    page = context.new_page()
    page.goto(file.as_uri())
    found = float(page.evaluate(FIRST_PAINT))
    context.close()
    return found


if __name__ == "__main__":
    main()
