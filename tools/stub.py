"""Write the stubs of what is imported lazily or by name from the one list of public names.

``python tools/stub.py`` writes them, so that editors and type checkers see the names of `betarce` and of
`betarce.features.rules`.
"""

from pathlib import Path

from betarce.exports import HOMES, NAMESPACES, RULE_HOMES

SOURCE = Path(__file__).resolve().parents[1] / "src" / "betarce"
HEADING = '"""Types of the {} names; `python tools/stub.py` writes this file from `exports.py`."""'


def stubs() -> dict[Path, str]:
    """Give the text of each stub: an import per public name."""
    top = [f"from betarce import {name} as {name}" for name in sorted(NAMESPACES)]
    for home, names in sorted(HOMES.items()):
        top += [f"from {home} import {name} as {name}" for name in sorted(names)]
    rules = [
        f"from betarce.features.rules.{module} import {name} as {name}"
        for module, names in sorted(RULE_HOMES.items())
        for name in sorted(names)
    ]
    listed = [
        "__all__ = [",
        *(f'    "{name}",' for name in sorted(name for names in RULE_HOMES.values() for name in names)),
        "]",
    ]
    return {
        SOURCE / "__init__.pyi": _text("lazily imported", top, ["__version__: str", "__all__: list[str]"]),
        SOURCE / "features" / "rules" / "__init__.pyi": _text("rules, which are imported by their", rules, listed),
    }


def _text(what: str, imports: list[str], rest: list[str]) -> str:
    return "\n".join([HEADING.format(what), "", *imports, "", *rest, ""])


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
        print(f"wrote {path}")
