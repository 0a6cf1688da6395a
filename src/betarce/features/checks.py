"""Refuse rules that do not fit the table."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from betarce.arrays import IntArray
from betarce.checks import is_number
from betarce.errors import InvalidInput
from betarce.features.columns import Column, listing
from betarce.features.rules.protocol import Rule, check_rule


def check_names(
    rules: Mapping[Hashable, Rule],
    groups: Mapping[Hashable, Rule],
    names: Sequence[Hashable],
    what: str = "features",
) -> None:
    """Refuse rules about columns that are not there."""
    for name in rules:
        members = name if name in groups and isinstance(name, tuple) else (name,)
        if name in groups and (not isinstance(name, tuple) or len(name) < 2):
            raise InvalidInput(f"`{what}` must name two or more columns of a one-hot group, in a tuple; got {name!r}.")
        for member in members:
            if member not in names:
                raise InvalidInput(
                    f"`{what}` names the column {member!r}, which the table lacks. Its columns are: {listing(names)}."
                )
            if name in groups and member in rules:
                raise InvalidInput(f"`{what}` names {member!r} twice: alone, and in the one-hot group {name!r}.")


def check_rule_fits(column: Column, rule: Rule) -> None:
    """Refuse rules that make no sense for a column of this kind."""
    where = f"`features[{column.name!r}]`"
    for part in rule.parts:
        if reason := part.misfit(column, rule):
            raise InvalidInput(f"{where} {reason}")
    wrong = [value for part in rule.parts for value in part.named_values() if not _can_hold(column, value)]
    if wrong:
        known = "numbers" if column.levels is None else listing(column.levels)
        raise InvalidInput(f"{where} names {wrong[0]!r}, which the column cannot hold; it holds {known}.")


def rules_of_rows(
    overrides: Sequence[Mapping[Any, Any] | None] | None, columns: Sequence[Column]
) -> dict[Hashable, list[tuple[Rule, IntArray]]]:
    """Sort the rules of single rows by column, and refuse those that do not fit."""
    by_name = {column.name: column for column in columns}
    own: dict[Hashable, list[tuple[Rule, IntArray]]] = {}
    for row, rules in enumerate(overrides or ()):
        if rules is not None and not isinstance(rules, Mapping):
            raise InvalidInput(
                "`overrides` must map each row to its rules by column, such as {17: {'income': "
                f"betarce.immutable()}}}}; got {rules!r} for a row."
            )
        declared = {name: check_rule(rule, name) for name, rule in (rules or {}).items()}
        check_names(declared, {}, list(by_name), what="overrides")
        for name, rule in declared.items():
            if any(part.scope != "row" for part in rule.parts):
                raise InvalidInput(
                    f"`overrides` may say how {name!r} moves in one row, not what it is or costs; got {rule}."
                )
            check_rule_fits(by_name[name], rule)
            own.setdefault(name, []).append((rule, np.array([row])))
    return own


def _can_hold(column: Column, value: Any) -> bool:
    return value in column.levels if column.levels is not None else is_number(value) and bool(np.isfinite(value))
