"""Modules and functions stay small enough to be read in one go."""

import ast

import pytest

import house

MODULE, FUNCTION = 400, 60  # lines; those of a function without its docstring


def lines_of(function):
    """Count the lines of a function, without its docstring."""
    n = function.end_lineno - function.lineno + 1
    if ast.get_docstring(function) is not None:
        n -= function.body[0].end_lineno - function.body[0].lineno + 1
    return n


@pytest.mark.parametrize("path", house.source_files(), ids=lambda path: str(path.relative_to(house.SOURCE)))
def test_a_module_and_its_functions_can_be_read_in_one_go(path):
    text = path.read_text(encoding="utf-8")
    n = len(text.splitlines())
    assert n <= MODULE, f"{path.name} has {n} lines; split it where its first sentence would need an 'and'"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert lines_of(node) <= FUNCTION, f"{node.name} of {path.name} has {lines_of(node)} lines of code"
