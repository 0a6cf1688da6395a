"""Files of rules, which people edit.

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

import json
import math
import os
import re
from collections.abc import Hashable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from betarce.errors import CorruptFile, InvalidInput
from betarce.features.columns import Column
from betarce.features.rules.file_values import NO_LEVEL, WrongKey, read_column_name
from betarce.features.rules.kind import DeclaredKind
from betarce.features.rules.one_hot import OneHot
from betarce.features.rules.protocol import Rule, RulePart, Topic
from betarce.features.rules.registry import entry_of, in_file_order, in_order
from betarce.features.space import FeatureSpace
from betarce.storage.documents import LARGEST, parse_toml, parse_yaml
from betarce.storage.files import MOST_BYTES_BY_HAND, check_path, read_text, write_whole

_SECTIONS = ("columns", "groups", "max_changes")
_HEADER = """\
# What may change, and how: one section per column. Use it as BetaRCE(features="this file.toml"), or on the command
# line as --features. A line that starts with # is a note; take its # away to make it a rule. A column without a rule
# may take every value that the training table has.
#
{guide}
# How many columns of a row may change: max_changes = 3, above all sections.
# Columns of zeros and ones that stand for one category: [groups] with colour = ["is_red", "is_blue"];
# the rules of the group then go under [columns.colour].
"""
_TOPICS: Mapping[Topic, str] = {
    "moves": "How a value may move",
    "ends": "Where it may end",
    "holds": "What it is, if guessed wrongly",
}


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

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "features.toml"
    >>> _ = path.write_text("max_changes = 3\\n[columns.age]\\nimmutable = true\\n")
    >>> rules = read_rules(path)
    >>> list(rules), rules.max_changes
    (['age'], 3)
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
    owners: dict[Any, str] = {}
    for name, columns in members.items():
        found[columns] = Rule.of(OneHot())
        for column in columns:
            if owners.setdefault(column, name) != name:
                raise InvalidInput(f"{what}, [groups]: {column!r} is in two groups, {owners[column]!r} and {name!r}.")
    for name, content in _table(sections.get("columns") or {}, what, "[columns]").items():
        place = f"{what}, [columns.{name}]"
        keys = dict(_table(content if content is not None else {}, what, f"[columns.{name}]"))
        column = members.get(name, name) if "column" not in keys else read_column_name(keys.pop("column"), place)
        rule = _rule(keys, place)
        if column in found and name not in members:
            raise InvalidInput(f"{place}: the column {column!r} is named twice.")
        if name in members and rule.part(DeclaredKind) is not None:
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
    return tuple(read_column_name(member, place) for member in value)


def _rule(keys: Mapping[str, Any], place: str) -> Rule:
    entries = in_file_order()
    _check_keys(keys, (*(key for entry in entries for key in entry.keys), "column"), place)
    joined = Rule()
    for entry in entries:
        if said := {key: keys[key] for key in entry.keys if key in keys}:
            joined = _joined(joined, _read_part(entry.part, said, place), place)
    return joined


def _read_part(part: type[RulePart], said: Mapping[str, Any], place: str) -> Rule:
    """Read one rule; name the place if what was said makes none."""
    try:
        read = part.from_toml(said)
    except WrongKey as error:
        raise InvalidInput(f"{place}, key {error.key!r}: {error}") from None
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
    return Rule() if read is None else Rule.of(read)


def _joined(one: Rule, other: Rule, place: str) -> Rule:
    try:
        return one & other
    except InvalidInput as error:
        raise InvalidInput(f"{place} contradicts itself: {error}") from None


# From rules to text


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
    if not isinstance(space, FeatureSpace):
        raise InvalidInput(f"`space` must be a FeatureSpace, such as FeatureSpace.infer(X); got {space!r}.")
    keys = _section_names(space)
    lines = [_header()]
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


def _header() -> str:
    """Write the manual at the top of a file, with the lines of every rule."""
    lines = []
    for topic, heading in _TOPICS.items():
        guides = [guide for entry in in_order() for guide in entry.part.guide if guide.topic == topic]
        for k, (_, example, meaning) in enumerate(guides):
            said = f"{example:<28}" if len(example) < 28 else f"{example}    "
            lines.append(f"# {heading if k == 0 else '':<32}{said}{meaning}".rstrip())
    return _HEADER.format(guide="\n".join(lines))


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
    ends = rule.ends(column)
    values = _one_line(column.range_in_words(ends.low, ends.high))
    lines = [f"[columns.{_key(key)}]  # {column.kind}: {values}{missing}"]
    lines += [f"# {_one_line(note)}"] * bool(note)
    if len(column.raw) == 1 and column.name != key:
        lines.append(f"column = {_toml(column.name)}")
    said = [f"{name} = {_toml(value)}" for name, value in _keys(rule, column.name)]
    offered = [pair for entry in in_file_order() for pair in entry.part.suggestions(column)]
    return [*lines, *(said or [f"# {name} = {_toml(value)}" for name, value in offered]), ""]


def _keys(rule: Rule, name: Hashable) -> Iterator[tuple[str, Any]]:
    """Take a rule apart into what a file says."""
    for part in sorted(rule.parts, key=lambda part: entry_of(part).order_in_file):
        try:
            yield from part.to_toml().items()
        except InvalidInput as error:
            raise InvalidInput(f"Column {name!r} {error}") from None


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
