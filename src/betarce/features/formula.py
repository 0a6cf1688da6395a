"""Arithmetic over columns, written as text: "debt / income"."""

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property, reduce
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.errors import InvalidInput

_QUOTED = re.compile(r"`([^`]+)`")
_BINARY: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}
_FUNCTIONS: Mapping[str, Callable[[Any, Any], Any]] = {"min": np.minimum, "max": np.maximum}
_LONGEST = 1000
_DEEPEST = 300
_ALLOWED = "+ - * / **, brackets, numbers, min(...), max(...) and column names (`in backticks` where they have spaces)"


@dataclass(frozen=True)
class Formula:
    """A column computed from others, as text that can be stored in a file.

    The text is parsed, never run: nothing but arithmetic is known.

    Examples
    --------
    >>> share = Formula("min(debt / income, 1)")
    >>> share(pd.DataFrame({"debt": [500, 3000], "income": [1000, 2000]}))
    array([0.5, 1. ])
    >>> share.names
    ('debt', 'income')
    >>> Formula("debt.sum()")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: A formula may use + - * / **, brackets, numbers, min(...), max(...) and column names
    (`in backticks` where they have spaces); got 'debt.sum()'.
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise InvalidInput(f"A formula must be text such as 'debt / income'; got {self.text!r}.")
        if len(self.text) > _LONGEST:
            raise InvalidInput(f"A formula must have at most {_LONGEST} characters; got {len(self.text)}.")
        if _depth(self._tree[0]) > _DEEPEST:
            raise InvalidInput(f"A formula must have at most {_DEEPEST} operations in a row; got {self.text!r}.")
        _check(self._tree[0], self._tree[1])
        if not self.names:
            raise InvalidInput(f"A formula must name at least one column; got {self.text!r}.")

    def __call__(self, table: Any) -> FloatArray:
        values = {name: _column(table, name, self.text) for name in self.names}
        tree, quoted = self._tree
        with np.errstate(all="ignore"):
            return np.asarray(_value(tree, {mark: values[name] for mark, name in quoted.items()} | values))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that it reads, in the order of their first mention."""
        tree, quoted = self._tree
        functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
        found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in functions]
        in_order = sorted(found, key=lambda node: (node.lineno, node.col_offset))
        return tuple(dict.fromkeys(quoted.get(node.id, node.id) for node in in_order))

    @cached_property
    def _tree(self) -> tuple[ast.expr, dict[str, str]]:
        quoted: dict[str, str] = {}
        prefix = "_quoted_"
        while prefix in self.text:  # a column may be called anything
            prefix += "_"

        def mark(found: re.Match[str]) -> str:
            name = f"{prefix}{len(quoted)}"
            quoted[name] = found[1]
            return f" {name} "  # a`b` names nothing, and must not become one name

        text = _QUOTED.sub(mark, self.text).strip()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "1or a" is doubtful Python, and refused below anyway
                return _with_names_as_written(ast.parse(text, mode="eval").body, text), quoted
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise InvalidInput(f"The formula {self.text!r} cannot be read. It may use {_ALLOWED}.") from None


def _with_names_as_written(tree: ast.expr, text: str) -> ast.expr:
    """Undo what Python does to names: it reads the ligature of "ﬁle" as two letters, another column perhaps."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = ast.get_source_segment(text, node) or node.id
    return tree


def _depth(tree: ast.expr) -> int:
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def _check(node: ast.expr, quoted: Mapping[str, str]) -> None:
    """Refuse everything but arithmetic."""
    match node:
        case ast.BinOp(left, op, right) if type(op) in _BINARY:
            _check(left, quoted)
            _check(right, quoted)
        case ast.UnaryOp(ast.USub() | ast.UAdd(), operand):
            _check(operand, quoted)
        case ast.Call(ast.Name(name), [_, *_] as parts, []) if name in _FUNCTIONS:
            for part in parts:
                _check(part, quoted)
        case ast.Constant(int() | float() as number) if not isinstance(number, bool) and abs(number) < 1e300:
            pass
        case ast.Name():
            pass
        case _:
            shown = reduce(lambda text, pair: text.replace(pair[0], f"`{pair[1]}`"), quoted.items(), ast.unparse(node))
            raise InvalidInput(f"A formula may use {_ALLOWED}; got {shown!r}.")


def _value(node: ast.expr, values: Mapping[str, FloatArray]) -> Any:
    match node:
        case ast.BinOp(left, op, right):
            return _BINARY[type(op)](_value(left, values), _value(right, values))
        case ast.UnaryOp(op, operand):
            inner = _value(operand, values)
            return -inner if isinstance(op, ast.USub) else inner
        case ast.Call(ast.Name(name), parts):
            return reduce(_FUNCTIONS[name], [_value(part, values) for part in parts])
        case ast.Constant(int() | float() as number):
            return np.float64(number)
        case ast.Name(name):
            return values[name]
    raise AssertionError(node)


def _column(table: Any, name: str, text: str) -> FloatArray:
    """Read one column as floats off a table of any kind; NaN where it is missing."""
    names = [f"x{j}" for j in range(table.shape[1])] if isinstance(table, np.ndarray) else list(table.columns)
    if name not in names:
        close = get_close_matches(name, list(map(str, names)), 1)
        hint = f" Did you mean {close[0]!r}?" if close else f" Its columns are: {', '.join(map(str, names[:12]))}."
        raise InvalidInput(f"The formula {text!r} names {name!r}, which the table lacks.{hint}")
    column = table[:, names.index(name)] if isinstance(table, np.ndarray) else table[name]
    try:
        if isinstance(column, pd.Series):
            return column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"The formula {text!r} computes with {name!r}, which does not hold numbers.") from None
