"""Put the tables of the simulation into docs/guarantee.md: does the promise hold, in every fit?

Run: ``make guarantee``, which first runs ``betarce reproduce guarantee --out docs/results/guarantee``: every cell that
has no file yet, several at a time; it may be stopped at any moment and goes on where it was. A *cell* is a data set, a
model family, a space and a seed; it has one fitted model and 20 *fits*, each one draw of search and certifying members.
What counts is the share of the points handed out by a fit whose true validity rate is at least delta: its mean, 5th
percentile and minimum over the fits.
"""

from pathlib import Path

from pages import replace_block

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Copy every table that was written into its place on the page."""
    for path in sorted((ROOT / "docs" / "results" / "guarantee" / "report").glob("*.md")):
        replace_block(ROOT / "docs" / "guarantee.md", path.stem, path.read_text().strip())


if __name__ == "__main__":
    main()
