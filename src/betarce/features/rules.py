"""Rules about columns: what a value is, how it may move, where it may end."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from betarce.errors import InvalidInput
from betarce.features.columns import Kind
from betarce.features.formula import Formula


@dataclass(frozen=True)
class Rule:
    """What is known about one column; parts that are silent are None.

    Made by the functions of this module, and joined by `&`: ``increase_only() & at_most(2)``.
    """

    down: float | None = None
    up: float | None = None
    low: float | None = None
    high: float | None = None
    values: tuple[Any, ...] | None = None
    moves: tuple[tuple[Any, tuple[Any, ...]], ...] | None = None
    ceilings: tuple[Hashable, ...] | None = None
    derived: Callable[[Any], Any] | None = None
    missing: bool | None = None
    kind: Kind | None = None
    levels: tuple[Any, ...] | None = None
    step: float | None = None
    group: bool | None = None
    weight: float | None = None

    def __and__(self, other: "Rule") -> "Rule":
        if not isinstance(other, Rule):
            return NotImplemented
        joined = {}
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine is None or theirs is None or mine == theirs:
                joined[field.name] = theirs if mine is None else mine
            elif field.name in _BOTH:
                joined[field.name] = _BOTH[field.name](mine, theirs)
            else:
                say = _WORDS[field.name]
                raise InvalidInput(f"{say(mine)!r} and {say(theirs)!r} cannot both hold.")
        return Rule(**joined)

    def __repr__(self) -> str:
        return f"<rule: {self}>"

    def __str__(self) -> str:
        words = [_movement(self.down, self.up), _range(self.low, self.high)]
        words += [say(value) for name, say in _WORDS.items() if (value := getattr(self, name))]
        return ", ".join(filter(None, words))


_BOTH: dict[str, Callable[[Any, Any], Any]] = {
    "down": min,
    "up": min,
    "low": max,
    "high": min,
    "values": lambda a, b: tuple(value for value in a if value in b),
    "ceilings": lambda a, b: tuple(dict.fromkeys(a + b)),
}


_WORDS: dict[str, Callable[[Any], str]] = {
    "values": lambda v: f"one of {', '.join(map(str, v))}",
    "moves": lambda v: "; ".join(f"{a} to {' or '.join(map(str, b)) or 'nothing else'}" for a, b in v),
    "ceilings": lambda v: f"no more than {' and '.join(map(str, v))}",
    "derived": lambda v: f"derived from {v.text}" if isinstance(v, Formula) else "derived",
    "missing": lambda _: "may be missing",
    "kind": str,
    "levels": lambda v: f"levels {' < '.join(map(str, v))}",
    "step": lambda v: f"in steps of {v:g}",
    "group": lambda _: "one-hot",
    "weight": lambda v: f"costs {v:g} times as much",
}


def _movement(down: float | None, up: float | None) -> str:
    if down is not None and down == up:
        return "immutable" if up == 0 else f"at most {up:g} either way"
    words = {"increase only": down == 0, "decrease only": up == 0}
    words |= {f"down by at most {down}": bool(down), f"up by at most {up}": bool(up)}
    return ", ".join(word for word, holds in words.items() if holds)


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"between {low:g} and {high:g}"
    return "" if low is None and high is None else f"at least {low:g}" if high is None else f"at most {high:g}"


def immutable() -> Rule:
    """Keep the value as it is.

    Examples
    --------
    >>> immutable()
    <rule: immutable>
    """
    return Rule(down=0, up=0)


def increase_only() -> Rule:
    """Let the value grow, never shrink; for ordered categories, along their order.

    Examples
    --------
    >>> increase_only() & at_most(2)
    <rule: increase only, up by at most 2.0>
    """
    return Rule(down=0)


def decrease_only() -> Rule:
    """Let the value shrink, never grow; for ordered categories, along their order."""
    return Rule(up=0)


def at_most(change: float) -> Rule:
    """Let the value move by no more than `change`, in its own units; for ordered categories, in places."""
    if not _is_number(change) or not change >= 0:
        raise InvalidInput(f"`change` must be a number >= 0; got {change!r}.")
    return Rule(down=float(change), up=float(change))


def between(low: float, high: float) -> Rule:
    """Let the value end between `low` and `high`, whatever range the training data has."""
    if not (_is_number(low) and _is_number(high) and low <= high):
        raise InvalidInput(f"`low` and `high` must be numbers with low <= high; got {low!r} and {high!r}.")
    return Rule(low=float(low), high=float(high))


def one_of(values: Iterable[Any]) -> Rule:
    """Let the value end as one of these, wherever it is now.

    Examples
    --------
    >>> one_of(["car", "education"])
    <rule: one of car, education>
    """
    allowed = _distinct("values", values)
    if not allowed:
        raise InvalidInput("`values` must hold at least one value; got none.")
    return Rule(values=allowed)


def transitions(moves: Mapping[Any, Iterable[Any]]) -> Rule:
    """Say which category may become which others; to stay is always allowed, what is not listed stays.

    Examples
    --------
    >>> transitions({"rent": ["own", "with family"], "own": []})
    <rule: rent to own or with family; own to nothing else>
    """
    if not isinstance(moves, Mapping) or not moves:
        raise InvalidInput(f"`moves` must map categories to those they may become; got {moves!r}.")
    return Rule(moves=tuple((start, _distinct(f"moves[{start!r}]", ends)) for start, ends in moves.items()))


def no_more_than(column: Hashable) -> Rule:
    """Keep the value at or below that of another column."""
    return Rule(ceilings=(column,))


def derived(function: Callable[[Any], Any] | str) -> Rule:
    """Compute the value from the other columns.

    Parameters
    ----------
    function : callable or str
        Takes a table of the user's own kind, returns one value a row: ``lambda t: t["debt"] / t["income"]``. Arithmetic
        may also be written as text, ``"debt / income"``, which can be kept in a file.
    """
    if isinstance(function, str):
        function = Formula(function)
    if not callable(function):
        raise InvalidInput(f"`function` must be a callable from a table to a column; got {function!r}.")
    return Rule(derived=function)


def may_be_missing() -> Rule:
    """Let a value be withdrawn, and a missing one be filled in; without this rule, missing stays missing."""
    return Rule(missing=True)


def continuous(*, step: float | None = None, decimals: int | None = None) -> Rule:
    """Say that a column holds numbers: any, multiples of `step`, or rounded to so many decimals.

    Examples
    --------
    >>> continuous(decimals=2)
    <rule: continuous, in steps of 0.01>
    """
    if decimals is not None:
        if step is not None or not isinstance(decimals, int) or isinstance(decimals, bool) or not 0 <= decimals <= 15:
            raise InvalidInput(f"`decimals` must be a whole number from 0 to 15, without `step`; got {decimals!r}.")
        step = float(f"1e-{decimals}")
    return Rule(kind="continuous", step=_check_step(step))


def integer(*, step: float | None = None) -> Rule:
    """Say that a column holds whole numbers, or whole multiples of `step`."""
    step = _check_step(step)
    if step is not None and not float(step).is_integer():
        raise InvalidInput(f"`step` of whole numbers must be whole; got {step!r}.")
    return Rule(kind="integer", step=step)


def categorical(levels: Iterable[Any] | None = None) -> Rule:
    """Say that a column holds names without an order, such as postcodes that are written as numbers."""
    return Rule(kind="categorical", levels=None if levels is None else _distinct("levels", levels))


def ordinal(levels: Iterable[Any]) -> Rule:
    """Say that a column holds names in an order, lowest first.

    Examples
    --------
    >>> ordinal(["low", "middle", "high"])
    <rule: ordinal, levels low < middle < high>
    """
    named = _distinct("levels", levels)
    if len(named) < 2:
        raise InvalidInput(f"`levels` must hold at least two names, lowest first; got {list(named)!r}.")
    return Rule(kind="ordinal", levels=named)


def one_hot() -> Rule:
    """Say that several columns of zeros and ones stand for one category: ``{("a_x", "a_y"): one_hot()}``."""
    return Rule(group=True)


def cost(weight: float) -> Rule:
    """Say how hard a feature is to change: a weight of 3 counts each of its units three times.

    Every certified point is the cheapest one that the search finds, so a feature that costs more changes less often.
    Distances in results stay plain.

    Examples
    --------
    >>> cost(3) & decrease_only()
    <rule: decrease only, costs 3 times as much>
    """
    if not _is_number(weight) or not 0 < weight < np.inf:
        raise InvalidInput(f"`weight` must be a number > 0; got {weight!r}. To forbid a change, use immutable().")
    return Rule(weight=float(weight))


def check_rule(rule: Any, name: Hashable) -> Rule:
    """Turn what the user wrote for one column into a rule: a rule, or several in a list."""
    parts = rule if isinstance(rule, (list, tuple)) else [rule]
    joined = Rule()
    for part in parts:
        if not isinstance(part, Rule):
            raise InvalidInput(
                f"`features[{name!r}]` must be a rule such as betarce.immutable(), or a list of rules; got {part!r}."
            )
        try:
            joined = joined & part
        except InvalidInput as error:
            raise InvalidInput(f"`features[{name!r}]` contradicts itself: {error}") from None
    return joined


def _distinct(name: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"`{name}` must be a list of values; got {values!r}.")
    return tuple(dict.fromkeys(value.item() if isinstance(value, np.generic) else value for value in values))


def _check_step(step: float | None) -> float | None:
    if step is None:
        return None
    if not _is_number(step) or not 0 < step < np.inf:
        raise InvalidInput(f"`step` must be a number > 0; got {step!r}.")
    return float(step)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and not np.isnan(value)
