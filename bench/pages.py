"""Measured tables inside pages that are otherwise written by hand."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

BEGIN, END = "<!-- {} begin: measured, not written by hand -->", "<!-- {} end -->"


def replace_block(page: Path, name: str, text: str) -> None:
    """Write text between two markers of a page."""
    begin, end = BEGIN.format(name), END.format(name)
    before, _, rest = page.read_text().partition(begin)
    _, _, after = rest.partition(end)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}")


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Write a Markdown table."""
    head = list(columns)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)
