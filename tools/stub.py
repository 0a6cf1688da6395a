"""Write the stub of the package's top level from the one list of public names.

``python tools/stub.py`` writes `src/betarce/__init__.pyi`, so that editors and type checkers see what `__init__.py`
imports lazily.
"""

from pathlib import Path

from betarce.exports import HOMES, NAMESPACES

STUB = Path(__file__).resolve().parents[1] / "src" / "betarce" / "__init__.pyi"
HEADING = '"""Types of the lazily imported names; `python tools/stub.py` writes this file from `exports.py`."""'


def stub_text() -> str:
    """Give the text of the stub: an import per public name."""
    imports = [f"from betarce import {name} as {name}" for name in sorted(NAMESPACES)]
    for home, names in sorted(HOMES.items()):
        imports += [f"from {home} import {name} as {name}" for name in sorted(names)]
    return "\n".join([HEADING, "", *imports, "", "__version__: str", "__all__: list[str]", ""])


if __name__ == "__main__":
    STUB.write_text(stub_text())
    print(f"wrote {STUB}")
