"""The protocol that every rule follows.

Each class of rules is one module of this package. It inherits from `RulePart` and says what it means there: where
values may go, how it is said in words, what it looks like in files. Nothing else in betarce knows single rules, except
for three that shape the table itself: what a column holds, which columns are one, which are computed.
"""

import math
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeVar, cast

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.errors import InvalidInput
from betarce.features.columns import Column
from betarce.features.rules.file_values import at_key, read_flag, read_table, read_value
from betarce.features.rules.reach import Ends, Moves
from betarce.features.rules.registry import entry_of, is_part
from betarce.features.rules.relation import Relation
from betarce.storage.values import plain, unplain

Scope = Literal["row", "table", "column"]
Topic = Literal["moves", "ends", "holds"]


class Guide(NamedTuple):
    """A line of the manual at the top of a file of rules.

    Examples
    --------
    >>> Guide("moves", "increase_only = true", "never goes down").meaning
    'never goes down'
    """

    topic: Topic
    example: str
    meaning: str = ""


class RulePart(Protocol):
    """One rule about one column.

    A subclass is a frozen dataclass, decorated by `rule`. It must say itself `in_words`; every other method has a
    default for rules that have nothing to say there, and for files, where a rule without fields is written as
    ``name = true``, one with a single field as ``name = value``, and others as ``name = {field = value, ...}``.

    Attributes
    ----------
    scope : {"row", "table", "column"}
        Whether it may hold for single rows, only for all of them, or says what the column is.
    restricts : bool
        Whether it takes values away, by itself.
    lets_miss : bool
        Whether it lets values be withdrawn, or filled in.
    guide : tuple of Guide
        Its lines of the manual at the top of a file of rules.

    Examples
    --------
    >>> from betarce.features.rules import immutable
    >>> immutable().parts
    (Movement(down=0, up=0),)
    """

    scope: ClassVar[Scope] = "row"
    restricts: ClassVar[bool] = True
    lets_miss: ClassVar[bool] = False
    guide: ClassVar[tuple[Guide, ...]] = ()

    @abstractmethod
    def in_words(self) -> str:
        """Say it in a few words, such as "increase only"."""

    def __and__(self, other: object) -> "Rule":
        return Rule.of(self) & other

    def joined(self, other: Self) -> Self:
        """Give the rule of this class that says the same as this one together with another."""
        raise InvalidInput(f"{self.in_words()!r} and {other.in_words()!r} cannot both hold.")

    # What columns it is for

    def misfit(self, column: Column, whole: "Rule") -> str:
        """Say why it makes no sense for a column; "" if it does. `whole` is what the user declared for it."""
        return ""

    def named_values(self) -> Sequence[Any]:
        """Give the values that it names, all of which the column must be able to hold."""
        return ()

    def denied_by(self, column: Column) -> str:
        """Say what a column that was read under this rule cannot be, but is; "" if nothing."""
        return ""

    # Where values may go

    def ends(self, column: Column) -> Ends | None:
        """Say where values may end, wherever they are now."""
        return None

    def moves(self, column: Column, origin: FloatArray) -> Moves | None:
        """Say where values may go from where they are."""
        return None

    def relations(self, name: Hashable, places: Mapping[Hashable, int]) -> Sequence[Relation]:
        """Say what holds between this column and others; `places` finds columns by name."""
        return ()

    def cost_factor(self) -> float:
        """Say how many times as much a change costs."""
        return 1.0

    def breaks(self, column: Column, before: FloatArray, after: FloatArray) -> BoolArray:
        """Say which changes of a column break this rule, whatever others say; relations are not looked at."""
        ends, moves = self.ends(column) or Ends(), self.moves(column, before) or Moves()
        known = ~np.isnan(after)
        broken = _beyond(column, ends, moves, before, after)
        if ends.values is not None:
            broken |= known & ~np.isin(after, ends.values)
        if moves.allowed is not None:
            broken |= known & ~moves.allowed[np.arange(len(after)), np.where(known, after, 0).astype(np.intp)]
        return broken

    # Files of rules

    def to_toml(self) -> Mapping[str, Any]:
        """Give its keys and values in a file of rules; raise InvalidInput, saying why, if it has none."""
        values = _values(self)
        return {entry_of(self).name: values if len(values) > 1 else next(iter(values.values()), True)}

    @classmethod
    def from_toml(cls, said: Mapping[str, Any]) -> Self | None:
        """Read it from those of its keys that a section has; None if they say nothing."""
        ((key, value),) = said.items()
        with at_key(key):
            return cls.from_value(value)

    @classmethod
    def from_value(cls, value: Any) -> Self | None:
        """Read it from the value of its only key; None if that says nothing."""
        make: Any = cls
        names = [field.name for field in fields(make)]
        if not names:
            return cast(Self, make()) if read_flag(value) else None
        return cast(Self, make(read_value(value)) if len(names) == 1 else make(**read_table(value, names)))

    @classmethod
    def suggestions(cls, column: Column) -> Iterable[tuple[str, Any]]:
        """Offer keys and values that fit a column without rules."""
        return ()

    # JSON

    def to_json(self) -> Mapping[str, Any]:
        """Give its keys and values in JSON."""
        values = {name: plain(value, what="a part of a rule") for name, value in _values(self).items()}
        return {entry_of(self).name: values}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read it from those of its keys that JSON has; raise ValueError if no rule says that."""
        make: Any = cls
        (said,) = data.values()
        return cast(Self, make(**{str(key): unplain(value) for key, value in said.items()}))


def _values(part: Any) -> dict[str, Any]:
    return {field.name: getattr(part, field.name) for field in fields(part)}


def _beyond(column: Column, ends: Ends, moves: Moves, before: FloatArray, after: FloatArray) -> BoolArray:
    """Say which values lie beyond a bound by more than their grid can round."""
    beyond = np.zeros(len(after), dtype=bool)
    if column.is_nominal:  # codes of names have no order: bounds only say whether a name may change
        if moves.lower is not None and moves.upper is not None:
            beyond |= (moves.lower == moves.upper) & (after != before) & ~np.isnan(after)
        return beyond
    slack: FloatArray | float = 0.0 if column.step is None else 1e-9 * column.step
    if column.single and column.step is not None:
        slack = slack + np.spacing(np.fmax(np.abs(before), np.abs(after)).astype(np.float32))
    for low in (ends.low, moves.lower):
        beyond |= False if low is None else after < low - slack
    for high in (ends.high, moves.upper):
        beyond |= False if high is None else after > high + slack
    return beyond


_Part = TypeVar("_Part", bound=RulePart)


@dataclass(frozen=True)
class Rule:
    """What is declared for one column: rules that all hold.

    Made by the functions of this package, and joined by `&`: ``increase_only() & at_most(2)``.

    Attributes
    ----------
    parts : tuple of RulePart
        At most one of each class, in the order of words.

    Examples
    --------
    >>> from betarce import at_most, increase_only
    >>> rule = increase_only() & at_most(2)
    >>> [type(part).__name__ for part in rule.parts]
    ['Movement']
    """

    parts: tuple[RulePart, ...] = ()

    @classmethod
    def of(cls, *parts: RulePart) -> "Rule":
        """Join single rules.

        Raises
        ------
        InvalidInput
            If two of them cannot both hold.
        """
        joined: dict[type, Any] = {}
        for part in parts:
            mine = joined.get(type(part))
            joined[type(part)] = part if mine is None else mine if mine == part else mine.joined(part)
        return cls(tuple(sorted(joined.values(), key=lambda part: entry_of(part).order)))

    def __and__(self, other: object) -> "Rule":
        if isinstance(other, Rule):
            return Rule.of(*self.parts, *other.parts)
        if is_part(other):
            return Rule.of(*self.parts, cast(RulePart, other))
        raise InvalidInput(f"A rule goes together with another one, such as betarce.immutable(); got {other!r}.")

    def __repr__(self) -> str:
        return f"<rule: {self}>"

    def __str__(self) -> str:
        return ", ".join(filter(None, (part.in_words() for part in self.parts)))

    def part(self, kind: type[_Part]) -> _Part | None:
        """Find the rule of one class."""
        return next((part for part in self.parts if isinstance(part, kind)), None)

    def without(self, kind: type[RulePart]) -> "Rule":
        """Leave out the rule of one class."""
        return Rule(tuple(part for part in self.parts if type(part) is not kind))

    @property
    def without_limits(self) -> "Rule":
        """The same rule without what keeps values of single rows where they are."""
        return Rule(tuple(part for part in self.parts if part.scope != "row" or not part.restricts))

    @property
    def lets_miss(self) -> bool:
        """Whether values may be withdrawn, or filled in."""
        return any(part.lets_miss for part in self.parts)

    @property
    def weight(self) -> float:
        """How many times as much a change costs."""
        return math.prod((part.cost_factor() for part in self.parts), start=1.0)

    def ends(self, column: Column) -> Ends:
        """Say where values of a column may end, wherever they are now."""
        return reduce(Ends.__and__, filter(None, (part.ends(column) for part in self.parts)), Ends())

    def moves(self, column: Column, origin: FloatArray) -> Moves:
        """Say where values of a column may go from where they are."""
        return reduce(Moves.__and__, filter(None, (part.moves(column, origin) for part in self.parts)), Moves())


def check_rules(rules: Any) -> Mapping[Any, Any]:
    """Refuse what is no mapping of columns to rules."""
    if not isinstance(rules, Mapping):
        raise InvalidInput(
            f"Rules must be a mapping of column to rule such as {{'age': betarce.immutable()}}; got {rules!r}."
        )
    return rules


def check_rule(rule: Any, name: Hashable) -> Rule:
    """Turn what the user wrote for one column into a rule: a rule, or several in a list."""
    joined = Rule()
    for part in rule if isinstance(rule, (list, tuple)) else [rule]:
        if not isinstance(part, Rule) and not is_part(part):
            raise InvalidInput(
                f"`features[{name!r}]` must be a rule such as betarce.immutable(), or a list of rules; got {part!r}."
            )
        try:
            joined = joined & part
        except InvalidInput as error:
            raise InvalidInput(f"`features[{name!r}]` contradicts itself: {error}") from None
    return joined
