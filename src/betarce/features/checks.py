"""Do the rules fit the table?"""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from betarce.errors import InvalidInput
from betarce.features.columns import Column, listing
from betarce.features.rules import Rule


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
    if column.is_nominal and (rule.down, rule.up) not in ((None, None), (0, 0)):
        raise InvalidInput(
            f"{where} says {rule}, but its values have no order. Declare one: betarce.ordinal([lowest, ..., highest])."
        )
    if column.levels is not None and (rule.low is not None or rule.high is not None or rule.ceilings):
        raise InvalidInput(f"{where} says {rule}, which is for numbers; use betarce.one_of([...]) for categories.")
    if column.levels is None and rule.moves is not None:
        raise InvalidInput(f"{where} says which category may become which, but it holds numbers.")
    named = [*(rule.values or ()), *(level for start, ends in rule.moves or () for level in (start, *ends))]
    if column.levels is None:
        wrong = [value for value in named if isinstance(value, (str, bool)) or not np.isfinite(value)]
    else:
        wrong = [value for value in named if value not in column.levels]
    if wrong:
        known = "numbers" if column.levels is None else listing(column.levels)
        raise InvalidInput(f"{where} names {wrong[0]!r}, which the column cannot hold; it holds {known}.")
