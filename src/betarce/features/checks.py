"""Refuse rules that do not fit the table."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from betarce.checks import is_number
from betarce.errors import InvalidInput
from betarce.features.columns import Column, listing
from betarce.features.rules.protocol import Rule


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


def _can_hold(column: Column, value: Any) -> bool:
    return value in column.levels if column.levels is not None else is_number(value) and bool(np.isfinite(value))
