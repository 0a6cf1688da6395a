"""A feature space as a commented TOML file, for people to edit."""

import json
import math
import os
import re
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from betarce.errors import InvalidInput
from betarce.features.columns import Column
from betarce.features.formula import Formula
from betarce.features.rules import Rule
from betarce.features.rules_file import NO_LEVEL
from betarce.features.space import FeatureSpace
from betarce.storage.documents import LARGEST
from betarce.storage.files import check_path, write_whole

_MOST_LEVELS = 12
_HEADER = """\
# What may change, and how: one section a column. Use it as BetaRCE(features="this file.toml"), or on the command
# line as --features. A line that starts with # is a note; take its # away to make it a rule. A column without a rule
# may take every value that the training table has.
#
# How a value may move            immutable = true            it never changes
#                                 increase_only = true        numbers and ordered names only grow
#                                 decrease_only = true        ... or only shrink
#                                 at_most = 2                 it moves by no more than this
#                                 transitions = {rent = ["own"], own = []}    which name may become which
#                                 cost = 3                    a change counts three times: it is made less often
# Where it may end                between = [0, 10]           instead of the range of the training table
#                                 one_of = ["car", "home"]    one of these, wherever it is now
#                                 no_more_than = "limit"      never above another column
#                                 derived = "debt / income"   computed from others: + - * / ** min(...) max(...)
#                                 may_be_missing = true       it may be withdrawn, or filled in
# What it is, if guessed wrongly  kind = "continuous", "integer", "binary", "categorical" or "ordinal"
#                                 step = 100 or decimals = 2 (numbers), levels = ["low", "mid", "high"] (names)
# How many columns of a row may change: max_changes = 3, above all sections.
# Columns of zeros and ones that stand for one category: [groups] with colour = ["is_red", "is_blue"];
# the rules of the group then go under [columns.colour].
"""


def write_rules(
    space: FeatureSpace,
    path: str | os.PathLike[str] | None = None,
    *,
    notes: Mapping[Hashable, str] | None = None,
) -> str:
    """Write a feature space as TOML to edit: its rules, and as comments what was read off the table.

    Parameters
    ----------
    space : FeatureSpace
    path : str or path, optional
        Where to write it; what is there already is replaced.
    notes : mapping of column to str, optional
        Further comments.

    Returns
    -------
    str
        What was written; `read_rules` gives the same rules back.

    Examples
    --------
    >>> import pandas as pd
    >>> from betarce.features.rules import increase_only
    >>> table = pd.DataFrame({"age": [20, 60], "housing": ["rent", "own"]})
    >>> text = write_rules(FeatureSpace.infer(table, {"age": increase_only()}))
    >>> print(text[text.index("[columns.age]"):])
    [columns.age]  # integer: 20 to 60
    increase_only = true
    <BLANKLINE>
    [columns.housing]  # categorical: own, rent
    # immutable = true
    # one_of = ["own", "rent"]
    """
    keys = _section_names(space)
    lines = [_HEADER]
    if space.max_changes is not None:
        lines += [f"max_changes = {space.max_changes}", ""]
    groups = {key: column for key, column in zip(keys, space.columns, strict=True) if len(column.raw) > 1}
    if groups:
        lines += ["[groups]", *(f"{_key(key)} = {_toml(list(c.raw))}" for key, c in groups.items()), ""]
    for key, column in zip(keys, space.columns, strict=True):
        lines += _section(key, column, space.rules.get(column.name, Rule()), (notes or {}).get(column.name, ""))
    text = "\n".join(lines).rstrip("\n") + "\n"
    if path is not None:
        if not check_path(path).lower().endswith(".toml"):
            raise InvalidInput(f"`path` must end in .toml; got {os.fspath(path)!r}.")
        write_whole(path, text)
    return text


def _section_names(space: FeatureSpace) -> list[str]:
    """Name each section: by its column, by what a group has in common; distinct from all columns and each other."""
    taken = {str(name) for name in space.form.names}
    names: list[str] = []
    for column in space.columns:
        title = str(column.name) if len(column.raw) == 1 else column.title
        while (len(column.raw) > 1 and title in taken) or title in names:
            title += "_"
        names.append(title)
    return names


def _section(key: str, column: Column, rule: Rule, note: str) -> list[str]:
    missing = ", may be missing" if column.missing else ""
    lines = [
        f"[columns.{_key(key)}]  # {column.kind}: {_one_line(column.range_in_words(rule.low, rule.high))}{missing}"
    ]
    lines += [f"# {_one_line(note)}"] * bool(note)
    if len(column.raw) == 1 and column.name != key:
        lines.append(f"column = {_toml(column.name)}")
    said = [f"{name} = {_toml(value)}" for name, value in _keys(rule, column.name)]
    return [*lines, *(said or [f"# {line}" for line in _suggestions(column)]), ""]


def _suggestions(column: Column) -> Iterator[str]:
    """Offer rules that fit a column, filled in with its own values."""
    yield "immutable = true"
    if column.kind in ("integer", "continuous"):
        yield "increase_only = true"
        yield f"between = {_toml([_short(column.lower), _short(column.upper)])}"
    elif column.kind == "ordinal":
        yield "increase_only = true"
    elif column.levels and len(column.levels) <= _MOST_LEVELS and column.kind == "categorical":
        values = [level for level in column.levels if isinstance(level, (str, int, float))]
        yield f"one_of = {_toml(values)}"


def _keys(rule: Rule, name: Hashable) -> Iterator[tuple[str, Any]]:
    """Take a rule apart into what a file says."""
    if rule.kind:
        yield "kind", rule.kind
    if rule.levels is not None:
        yield "levels", list(rule.levels)
    if rule.step is not None:
        yield "step", _short(rule.step)
    yield from _movement(rule, name)
    if rule.low is not None or rule.high is not None:
        if rule.low is None or rule.high is None:
            raise _unwritable(name, "has a bound on one side only", "betarce.between(low, high)")
        yield "between", [_short(rule.low), _short(rule.high)]
    if rule.values is not None:
        yield "one_of", list(rule.values)
    if rule.moves is not None:
        texts = all(isinstance(start, str) for start, _ in rule.moves)
        pairs = [(start, list(ends)) for start, ends in rule.moves]
        yield "transitions", dict(pairs) if texts else [list(pair) for pair in pairs]
    if rule.ceilings:
        single = len(rule.ceilings) == 1 and not isinstance(rule.ceilings[0], tuple)
        yield "no_more_than", rule.ceilings[0] if single else list(rule.ceilings)
    if rule.missing:
        yield "may_be_missing", True
    if rule.derived is not None:
        if not isinstance(rule.derived, Formula):
            raise _unwritable(name, "is derived by a Python function", 'betarce.derived("debt / income")')
        yield "derived", rule.derived.text
    if rule.weight is not None:
        yield "cost", _short(rule.weight)


def _movement(rule: Rule, name: Hashable) -> Iterator[tuple[str, Any]]:
    down, up = rule.down, rule.up
    if down == 0 and up == 0:
        yield "immutable", True
        return
    if down == 0:
        yield "increase_only", True
    if up == 0:
        yield "decrease_only", True
    furthest = {change for change in (down, up) if change}
    if len(furthest) > 1 or (furthest and None in (down, up)):
        raise _unwritable(name, f"may move down by {down} and up by {up}", "betarce.at_most(change)")
    for change in furthest:
        yield "at_most", _short(change)


def _unwritable(name: Hashable, problem: str, instead: str) -> InvalidInput:
    return InvalidInput(f"Column {name!r} {problem}, which a file of rules cannot say. Use {instead}, which it can.")


# TOML


def _toml(value: Any) -> str:
    match value:
        case None:
            return _toml(NO_LEVEL)
        case bool():
            return "true" if value else "false"
        case str():
            return _text(value)
        case int() if abs(value) < LARGEST:
            return str(value)
        case float():
            return repr(float(value)) if math.isfinite(value) else str(float(value))
        case list() | tuple():
            return "[" + ", ".join(_toml(each) for each in value) + "]"
        case Mapping():
            return "{" + ", ".join(f"{_key(key)} = {_toml(each)}" for key, each in value.items()) + "}"
    raise InvalidInput(
        f"{value!r} ({type(value).__name__}) cannot be written in a file of rules: text and numbers can."
    )


def _text(value: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{value!r} cannot be written in a file of rules: it is not valid Unicode.") from None
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _one_line(text: str) -> str:
    """Keep control characters out of comments, which may not hold them."""
    return "".join(char if char.isprintable() else "?" for char in text)


def _short(value: float) -> int | float:
    """Write whole numbers whole."""
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)
