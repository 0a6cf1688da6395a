"""Imports point down only."""

import ast
from pathlib import Path

import pytest

import betarce

SOURCE = Path(betarce.__file__).parent
LAYERS = [
    {"errors", "exports", "seeding", "arrays", "checks", "parameters", "progress", "safe_text", "storage"},
    {"posterior", "plotting", "targets"},
    {"features", "rules", "datasets", "tables"},
    {"models", "search", "engines"},
    {"ensemble", "spaces"},
    {"explainers", "members"},
    {"robustify", "results"},
    {"runs"},
    {"comparison", "metrics", "demo"},
    {"paper"},
    {"cli", "__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
FILES = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py"]


def top_level_name(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down_only(path):
    own = top_level_name(path)
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
            if node.module == "betarce":
                modules = [f"betarce.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            parts = module.split(".")
            if parts[0] == "betarce" and len(parts) > 1 and parts[1] != own:
                assert LEVEL[parts[1]] <= LEVEL[own], f"{own} (layer {LEVEL[own]}) imports {module}"


def test_every_module_has_a_layer():
    assert {top_level_name(path) for path in FILES} <= set(LEVEL)
