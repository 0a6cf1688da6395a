"""Measured tables inside pages that are otherwise written by hand."""

from pathlib import Path

BEGIN, END = "<!-- {} begin: measured, not written by hand -->", "<!-- {} end -->"


def replace_block(page: Path, name: str, text: str) -> None:
    """Write text between two markers of a page."""
    begin, end = BEGIN.format(name), END.format(name)
    before, _, rest = page.read_text().partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")
