"""Imports point down only, and importing the package costs next to nothing."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import betarce

SOURCE = Path(betarce.__file__).parent
LAYERS = [
    {"errors", "seeding", "arrays", "checks", "progress", "safe_text", "storage"},
    {"posterior", "plotting", "targets"},
    {"features", "data"},
    {"models", "search", "engines"},
    {"ensemble", "spaces"},
    {"explainers", "members"},
    {"robustify", "results"},
    {"runs"},
    {"comparison", "demo"},
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


def run(code):
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def test_importing_betarce_is_cheap_and_loads_no_optional_library():
    code = (
        "import time, sys, numpy; t = time.perf_counter(); import betarce; "
        "print(time.perf_counter() - t); "
        "print(*[m for m in ('sklearn', 'pandas', 'scipy', 'torch', 'numba') if m in sys.modules])"
    )
    seconds, loaded = run(code).split("\n")[:2]
    assert float(seconds) < 0.5
    assert loaded == ""


@pytest.mark.parametrize("name", betarce.__all__)
def test_every_public_name_resolves_and_is_listed(name):
    assert getattr(betarce, name) is not None
    assert name in dir(betarce)


def test_the_stub_lists_the_public_names():
    stub = ast.parse((SOURCE / "__init__.pyi").read_text())
    names = {
        alias.asname or alias.name: node.module
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert names == betarce._HOME_OF


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = betarce.nonsense
