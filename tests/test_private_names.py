"""Tests see what users see: no test looks into private names."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# What has no public form: how dice-ml is made to fail for one row, and how a test finds its caller.
KNOWN = {("explainers/test_dice.py", "_generate_counterfactuals"), ("ensemble/test_foreign.py", "_getframe")}


def private(name):
    return name.startswith("_") and not name.endswith("_")


@pytest.mark.parametrize("path", sorted(TESTS.rglob("*.py")), ids=lambda path: str(path.relative_to(TESTS)))
def test_no_private_name_is_looked_into(path):
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        own = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
        if isinstance(node, ast.Attribute) and private(node.attr) and not own:
            found.add(node.attr)
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names if private(alias.name)}
    here = str(path.relative_to(TESTS))
    assert sorted(name for name in found if (here, name) not in KNOWN) == []
