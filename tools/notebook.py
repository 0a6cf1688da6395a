"""Write docs/start.ipynb, the start page as a notebook: text becomes text, and Python blocks become cells.

    python tools/notebook.py

Blocks of output stay out, since a notebook makes its own. A test compares the file with the page, another one runs it.
"""

import json
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "start.md"
NOTEBOOK = PAGE.with_suffix(".ipynb")
SKIPPED = "It is also a\n[notebook](start.ipynb)."


def cells(page: str) -> list[dict[str, Any]]:
    """Cut a page into cells."""
    found: list[dict[str, Any]] = []
    text = page.replace(SKIPPED, "")
    text = re.sub(r"```text\n.*?```\n", "", text, flags=re.DOTALL)
    for position, part in enumerate(re.split(r"```python\n(.*?)```\n", text, flags=re.DOTALL)):
        if source := part.strip():
            found.append(code(source, len(found)) if position % 2 else words(source, len(found)))
    return found


def words(source: str, number: int) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}, "source": lines(source)}


def code(source: str, number: int) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"cell-{number}",
        "metadata": {},
        "outputs": [],
        "source": lines(source),
    }


def lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


def notebook(page: str) -> str:
    """Give a page as the text of a notebook."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": cells(page),
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"Wrote {NOTEBOOK}")
