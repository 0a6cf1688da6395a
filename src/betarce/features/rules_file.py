"""Rules as a file: written for people to edit, read for `features=`.

::

    max_changes = 3                       # how many columns of a row may change; no limit without it

    [columns.age]
    immutable = true

    [columns.income]
    kind = "continuous"
    step = 100
    increase_only = true
    at_most = 5000

    [columns.housing]
    transitions = {rent = ["own", "with family"], own = []}

    [columns.debt_share]
    derived = "debt / income"

    [groups]                              # columns of zeros and ones that stand for one category
    colour = ["is_red", "is_blue"]

    [columns.colour]                      # the rules of the group
    one_of = ["is_red"]
"""

import os
from collections.abc import Callable, Hashable, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, get_args

from betarce.errors import CorruptFile, InvalidInput
from betarce.features import rules as make
from betarce.features.columns import Kind
from betarce.features.rules import Rule
from betarce.storage.documents import parse_toml, parse_yaml
from betarce.storage.files import MOST_BYTES_BY_HAND, check_path, read_text

_SECTIONS = ("columns", "groups", "max_changes")
_NUMBERS = ("continuous", "integer")
_NAMES = ("categorical", "ordinal")


class RuleFile(dict[Any, Rule]):
    """The rules of a file, by column.

    Attributes
    ----------
    max_changes : int or None
        How many columns of a row may change.
    """

    max_changes: int | None = None


def read_rules(path: str | os.PathLike[str]) -> RuleFile:
    """Read rules from a TOML or YAML file.

    Parameters
    ----------
    path : str or path
        Ends in ".toml", or, with PyYAML (`pip install "betarce[yaml]"`), in ".yaml" or ".yml".

    Returns
    -------
    dict of column to Rule
        Its attribute `max_changes` says how many columns of a row may change, None without a limit.
        For `features=` of `BetaRCE`; ``BetaRCE(features="rules.toml")`` reads the file itself.

    Raises
    ------
    InvalidInput
        If the file is not there, not valid, or says something that no rule means; the message names the place.
    """
    return rules_of(_read(Path(check_path(path))), what=os.fspath(path))


def rules_of(document: Any, *, what: str) -> RuleFile:
    """Turn the content of a file into rules; `what` names the file in messages.

    Examples
    --------
    >>> rules_of({"columns": {"age": {"immutable": True}}}, what="rules.toml")
    {'age': <rule: immutable>}
    >>> rules_of({"columns": {"age": {"imutable": True}}}, what="rules.toml")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: rules.toml, [columns.age]: there is no key 'imutable'. Did you mean 'immutable'?
    """
    sections = _table(document if document is not None else {}, what, "the file")
    _check_keys(sections, _SECTIONS, what)
    groups = _table(sections.get("groups") or {}, what, "[groups]")
    found: dict[Any, Rule] = {}
    members = {name: _members(name, value, f"{what}, [groups]") for name, value in groups.items()}
    for name, columns in members.items():
        found[columns] = make.one_hot()
        for other, theirs in members.items():
            shared = [column for column in columns if column in theirs]
            if other != name and shared:
                raise InvalidInput(f"{what}, [groups]: {shared[0]!r} is in two groups, {name!r} and {other!r}.")
    for name, content in _table(sections.get("columns") or {}, what, "[columns]").items():
        place = f"{what}, [columns.{name}]"
        keys = dict(_table(content if content is not None else {}, what, f"[columns.{name}]"))
        column = members.get(name, name) if "column" not in keys else _column_name(keys.pop("column"), place)
        rule = _rule(keys, place)
        if column in found and name not in members:
            raise InvalidInput(f"{place}: the column {column!r} is named twice.")
        if name in members and (rule.kind or rule.levels or rule.step):
            raise InvalidInput(f"{place}: a group is always categorical, with its columns as levels; leave that out.")
        found[column] = _joined(found.get(column, Rule()), rule, place)
    kept = RuleFile((column, rule) for column, rule in found.items() if rule != Rule())
    kept.max_changes = _most(sections.get("max_changes"), what)
    return kept


def _most(value: Any, what: str) -> int | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise InvalidInput(f"{what}, max_changes: must be a whole number >= 1; got {value!r}.")
    return value


def _read(path: Path) -> Any:
    suffix = path.suffix.lower()
    if suffix not in (".toml", ".yaml", ".yml"):
        raise InvalidInput(f"A file of rules must end in .toml, .yaml or .yml; got {str(path)!r}.")
    try:
        text = read_text(path, most=MOST_BYTES_BY_HAND)
    except (FileNotFoundError, IsADirectoryError):
        raise InvalidInput(
            f"There is no file of rules at {str(path)!r}. `betarce init data.csv` writes one to edit."
        ) from None
    except CorruptFile as error:
        raise InvalidInput(f"{path} cannot be read: {error}.") from error
    try:
        return parse_toml(text) if suffix == ".toml" else parse_yaml(text, name=path.name)
    except CorruptFile as error:
        raise InvalidInput(f"{path} is {error}.") from error


def _table(value: Any, what: str, place: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what}: {place} must be a table of names and values; got {value!r}.")
    return value


def _check_keys(keys: Mapping[Any, Any], known: tuple[str, ...], place: str) -> None:
    for key in keys:
        if key not in known:
            close = get_close_matches(str(key), known, 1)
            hint = f"Did you mean {close[0]!r}?" if close else f"Known keys: {', '.join(known)}."
            raise InvalidInput(f"{place}: there is no key {key!r}. {hint}")


def _members(name: str, value: Any, place: str) -> tuple[Hashable, ...]:
    if not isinstance(value, list) or len(value) < 2:
        raise InvalidInput(f"{place}: {name!r} must list two or more columns of zeros and ones; got {value!r}.")
    return tuple(_column_name(member, place) for member in value)


def _column_name(value: Any, place: str) -> Hashable:
    """Read the name of a column; a list stands for a name in several levels."""
    if isinstance(value, list):
        return tuple(_column_name(part, place) for part in value)
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise InvalidInput(f"{place}: a column is named by text or a whole number; got {value!r}.")
    return value


# From keys to rules


def _rule(keys: Mapping[str, Any], place: str) -> Rule:
    _check_keys(keys, (*_WHAT, *_KEYS, "column"), place)
    parts = [_what(keys, place)]
    parts += [_said(key, partial(read, keys[key]), place) for key, read in _KEYS.items() if key in keys]
    joined = Rule()
    for part in parts:
        joined = _joined(joined, part, place)
    return joined


def _joined(one: Rule, other: Rule, place: str) -> Rule:
    try:
        return one & other
    except InvalidInput as error:
        raise InvalidInput(f"{place} contradicts itself: {error}") from None


def _said(key: str, rule: Callable[[], Rule], place: str) -> Rule:
    """Make a rule; name the place if what was said makes none."""
    try:
        return rule()
    except (InvalidInput, TypeError) as error:
        raise InvalidInput(f"{place}, key {key!r}: {error}") from None


def _what(keys: Mapping[str, Any], place: str) -> Rule:
    """Read what a column is: kind, levels, step, decimals."""
    kind = keys.get("kind")
    if kind is not None and kind not in get_args(Kind):
        close = get_close_matches(str(kind), get_args(Kind), 1)
        hint = f"Did you mean {close[0]!r}?" if close else f"Known kinds: {', '.join(get_args(Kind))}."
        raise InvalidInput(f"{place}, key 'kind': there is no kind {kind!r}. {hint}")
    for key, kinds in (("step", _NUMBERS), ("decimals", ("continuous",)), ("levels", _NAMES)):
        if key in keys and kind not in kinds:
            wanted = " or ".join(f'kind = "{each}"' for each in kinds)
            raise InvalidInput(f"{place}: {key!r} needs {wanted} beside it; got kind = {kind!r}.")
    step, decimals = keys.get("step"), keys.get("decimals")
    match kind:
        case "continuous":
            key = "step" if decimals is None else "decimals"
            return _said(key, lambda: make.continuous(step=step, decimals=decimals), place)
        case "integer":
            return _said("step", lambda: make.integer(step=step), place)
        case "categorical":
            return _said("levels", lambda: make.categorical(_maybe_values(keys.get("levels"))), place)
        case "ordinal":
            if "levels" not in keys:
                raise InvalidInput(f'{place}: kind = "ordinal" needs levels = [lowest, ..., highest] beside it.')
            return _said("levels", lambda: make.ordinal(_values(keys["levels"])), place)
    return Rule(kind=kind)


def _flag(rule: Callable[[], Rule]) -> Callable[[Any], Rule]:
    def read(value: Any) -> Rule:
        if not isinstance(value, bool):
            raise InvalidInput(f"must be true or false; got {value!r}.")
        return rule() if value else Rule()

    return read


def _between(value: Any) -> Rule:
    if not isinstance(value, list) or len(value) != 2:
        raise InvalidInput(f"must be a pair such as [0, 10]; got {value!r}.")
    return make.between(value[0], value[1])


def _values(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(f"must be a list of values; got {value!r}.")
    return [_level(each) for each in value]


def _maybe_values(value: Any) -> list[Any] | None:
    return None if value is None else _values(value)


def _level(value: Any) -> Any:
    if value == NO_LEVEL:
        return None
    if isinstance(value, list):
        return tuple(_level(part) for part in value)
    if value is not None and not isinstance(value, (str, int, float)):
        raise InvalidInput(f"a value must be text, a number, or true or false; got {value!r}.")
    return value


NO_LEVEL = {"none": True}
"""Stands for "none of the columns of the group", since TOML has no null."""


def _transitions(value: Any) -> Rule:
    if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        starts = [_level(start) for start, _ in value]
        twice = [start for i, start in enumerate(starts) if start in starts[:i]]
        if twice:
            raise InvalidInput(f"must say once what may become of each value; {twice[0]!r} is there twice.")
        return make.transitions({start: _values(ends) for start, (_, ends) in zip(starts, value, strict=True)})
    if not isinstance(value, Mapping):
        raise InvalidInput(f'must say what may become what, such as {{rent = ["own"], own = []}}; got {value!r}.')
    return make.transitions({start: _values(ends) for start, ends in value.items()})


def _no_more_than(value: Any) -> Rule:
    # A list holds several columns; a name in several levels is a list in that list.
    columns = value if isinstance(value, list) else [value]
    return Rule(ceilings=tuple(dict.fromkeys(_column_name(column, "it") for column in columns)) or None)


def _derived(value: Any) -> Rule:
    if not isinstance(value, str):
        raise InvalidInput(f'must be arithmetic over columns, such as "debt / income"; got {value!r}.')
    return make.derived(value)


_WHAT = ("kind", "levels", "step", "decimals")
_KEYS: Mapping[str, Callable[[Any], Rule]] = {
    "immutable": _flag(make.immutable),
    "increase_only": _flag(make.increase_only),
    "decrease_only": _flag(make.decrease_only),
    "at_most": make.at_most,
    "between": _between,
    "one_of": lambda value: make.one_of(_values(value)),
    "transitions": _transitions,
    "no_more_than": _no_more_than,
    "may_be_missing": _flag(make.may_be_missing),
    "derived": _derived,
    "cost": make.cost,
}
