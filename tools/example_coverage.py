"""Print which public names an example shows: in the gallery, on a page, or in the name's own docstring.

    python tools/example_coverage.py

Ends with 1 if a name is shown nowhere. Errors, warnings and protocols are left out: they show themselves where they are
raised, or through what implements them.
"""

import inspect
import re
import sys
from pathlib import Path

from docstrings import needs_example, public_names

ROOT = Path(__file__).parents[1]


def code_of_pages() -> str:
    """Give the Python code of all pages and of the README."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks = [re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL) for page in pages]
    return "\n".join(block for found in blocks for block in found)


def code_of_gallery() -> str:
    """Give all scripts of the gallery."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.py")))


def main() -> int:
    shown_in = {"gallery": code_of_gallery(), "pages": code_of_pages()}
    names = {name: thing for name, thing in public_names().items() if needs_example(name, thing)}
    counts = dict.fromkeys([*shown_in, "docstring", "any"], 0)
    missing = []
    for name, thing in sorted(names.items()):
        last = re.compile(rf"\b{re.escape(name.rsplit('.', 1)[-1])}\b")
        where = {place for place, code in shown_in.items() if last.search(code)}
        where |= {"docstring"} if ">>>" in (inspect.getdoc(thing) or "") else set()
        for place in (*where, *(["any"] if where else [])):
            counts[place] += 1
        if not where:
            missing.append(name)
    for place, count in counts.items():
        print(f"{place:10} {count:4} of {len(names)} public names ({count / len(names):.0%})")
    print("\n".join(f"{name} is shown nowhere" for name in missing), end="\n" if missing else "")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
