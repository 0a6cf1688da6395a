"""Parse untrusted JSON, TOML or YAML within limits.

Every limit is checked before the work that it bounds: depth and length before parsing, digits before a number is made,
the size of unfolded aliases before anything iterates over them. A text that breaks a limit raises CorruptFile, never
another error.
"""

import json
import math
import re
from collections.abc import Hashable, Mapping
from functools import cache
from typing import Any

import numpy as np

from betarce.errors import CorruptFile, require

MOST_DEPTH = 64
"""Most levels of nested lists and objects; files of betarce have ten at most."""
MOST_DIGITS = 100
"""Most characters of a number; one of 5,000 digits takes long to read, and no column holds it."""
LARGEST = 2**64
"""Whole numbers of a file that people write must be smaller."""
MOST_VALUES = 1_000_000
"""Most values of a file that people write, with aliases unfolded."""

_NOT_MARKS = bytes(set(range(256)) - set(b'"[]{}'))
_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MOST_DEPTH},}}")
_FAULTS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError)


def parse_json(text: str) -> Any:
    """Read strict JSON: no NaN, no number beyond what a float holds, no key twice.

    Examples
    --------
    >>> parse_json('{"a": [1, 2.5, null]}')
    {'a': [1, 2.5, None]}
    >>> parse_json('{"a": 1, "a": 2}')
    Traceback (most recent call last):
    betarce.errors.CorruptFile: it is not strict JSON: an object has the key 'a' twice
    """
    if _depth_of_json(text) > MOST_DEPTH:
        raise CorruptFile(f"it is not strict JSON: more than {MOST_DEPTH} levels of lists and objects in each other")
    try:
        return json.loads(
            text,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_bounded,
            object_pairs_hook=_distinct_pairs,
        )
    except (ValueError, RecursionError) as error:
        raise CorruptFile(f"it is not strict JSON: {error}") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Read TOML.

    Examples
    --------
    >>> parse_toml("[columns.age]\\nimmutable = true")
    {'columns': {'age': {'immutable': True}}}
    """
    import tomllib

    # The parser takes a time that grows with the square of a dotted key's parts.
    if _DEEP_KEY.search(text):
        raise CorruptFile(f"not valid TOML: a key has more than {MOST_DEPTH} parts")
    try:
        document = tomllib.loads(text)
        check_limits(document)
    except _FAULTS as error:
        raise CorruptFile(f"not valid TOML: {_reason(error)}") from error
    return document


def parse_yaml(text: str, *, name: str) -> Any:
    """Read YAML of plain values; `name` is that of the file, for the message that PyYAML is missing.

    Aliases and merge keys (`<<`) are accepted as long as they unfold to few values.
    """
    yaml = require("yaml", extra="yaml", purpose=f"Reading {name}")
    loader = None
    try:
        loader = _yaml_loader(yaml)(text)
        node = loader.get_single_node()
        document = None if node is None else loader.construct_object(node, deep=True)
        check_limits(document)
    except (yaml.YAMLError, *_FAULTS) as error:
        raise CorruptFile(f"not valid YAML: {_reason(error)}") from error
    finally:
        if loader is not None:
            loader.dispose()
    return document


def check_limits(document: Any) -> None:
    """Refuse plain data that is too deep, too large with aliases unfolded, or holds very long numbers.

    Raises
    ------
    ValueError
        With the reason alone.

    Examples
    --------
    >>> check_limits({"a": [1] * 10})
    >>> check_limits(10**5000)
    Traceback (most recent call last):
    ValueError: a whole number has more than 64 bits
    """
    stack = [(document, 1)]
    n_values = 0
    while stack:
        value, depth = stack.pop()
        n_values += 1
        if n_values > MOST_VALUES:
            raise ValueError(f"it holds more than {MOST_VALUES:,} values")
        if isinstance(value, int) and abs(value) >= LARGEST:
            raise ValueError("a whole number has more than 64 bits")
        if isinstance(value, (Mapping, list)):
            if depth > MOST_DEPTH:
                raise ValueError(f"more than {MOST_DEPTH} levels of lists and sections in each other")
            inner = [*value, *value.values()] if isinstance(value, Mapping) else value
            stack += [(each, depth + 1) for each in inner]


def _reason(error: Exception) -> str:
    known = isinstance(error, ValueError) or type(error).__module__.startswith("yaml")
    return str(error) if known else f"{type(error).__name__}: {error}"


# JSON


def _depth_of_json(text: str) -> int:
    """Count the levels of nested brackets, without parsing anything else."""
    marks = text.encode("utf-8", "surrogatepass")
    if b"\\" in marks:
        marks = re.sub(rb"\\.", b"", marks, flags=re.DOTALL)
    marks = marks.translate(None, _NOT_MARKS).replace(b'""', b"")
    if b'"' in marks:
        marks = re.sub(rb'"[^"]*+"?', b"", marks)
    if not marks:
        return 0
    brackets = np.frombuffer(marks, dtype=np.uint8)
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.cumsum(np.where(opening, 1, -1)).max())


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text[:20]} is more than a number can be")
    return value


def _bounded(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number has more than {MOST_DIGITS} digits")
    return int(text)


def _distinct_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"an object has the key {twice[:80]!r} twice")
    return found


# YAML


@cache
def _yaml_loader(yaml: Any) -> Any:
    """Make a strict version of PyYAML's safe loader: no key twice, no long numbers, no unbounded merging."""

    class StrictLoader(yaml.SafeLoader):  # type: ignore[misc]
        merged = 0

        def construct_scalar(self, node: Any) -> Any:
            text = super().construct_scalar(node)
            if not node.tag.endswith(":str") and isinstance(text, str) and len(text) > MOST_DIGITS:
                raise ValueError(f"a number has more than {MOST_DIGITS} digits{_place(node)}")
            return text

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
            if not isinstance(node, yaml.MappingNode):
                raise ValueError(f"expected names and values{_place(node)}")
            own: dict[Hashable, Any] = {}
            below: dict[Hashable, Any] = {}
            for key_node, value_node in node.value:
                if key_node.tag == "tag:yaml.org,2002:merge":
                    below = self.merge(value_node) | below
                    continue
                key = self.construct_object(key_node, deep=True)
                if not isinstance(key, Hashable):
                    raise ValueError(f"a key cannot be a list{_place(key_node)}")
                if key in own:
                    raise ValueError(f"the key {key!r} is there twice{_place(key_node)}")
                own[key] = self.construct_object(value_node, deep=True)
            return below | own

        def merge(self, node: Any) -> dict[Hashable, Any]:
            given = self.construct_object(node, deep=True)
            parts = given if isinstance(given, list) else [given]
            found: dict[Hashable, Any] = {}
            for part in reversed(parts):  # the first one counts
                if not isinstance(part, dict):
                    raise ValueError(f"only names and values can be merged{_place(node)}")
                self.merged += len(part)
                if self.merged > MOST_VALUES:
                    raise ValueError(f"merging gives more than {MOST_VALUES:,} values")
                found.update(part)
            return found

    return StrictLoader


def _place(node: Any) -> str:
    return f" (line {node.start_mark.line + 1})"
