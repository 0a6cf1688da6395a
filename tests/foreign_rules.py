"""Rules as another package would write them: by the public protocol, without a change of betarce."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from betarce.errors import InvalidInput
from betarce.features.rules.registry import RULES
from betarce.rules import Ends, Guide, Moves, Rule, RulePart, rule


@dataclass(frozen=True)
class MultiplesOf(RulePart):
    """A value must end as a multiple of a whole number: loans run for whole years."""

    base: int

    guide: ClassVar = (Guide("ends", "multiples_of = 12", "a multiple of this number"),)

    def __post_init__(self) -> None:
        if not isinstance(self.base, int) or isinstance(self.base, bool) or self.base < 1:
            raise InvalidInput(f"`base` must be a whole number >= 1; got {self.base!r}.")

    def in_words(self) -> str:
        return f"a multiple of {self.base}"

    def joined(self, other: "MultiplesOf") -> "MultiplesOf":
        return MultiplesOf(math.lcm(self.base, other.base))

    def misfit(self, column, whole) -> str:
        return "" if column.kind == "integer" else f"says {whole}, which is for whole numbers."

    def ends(self, column) -> Ends:
        first, last = math.ceil(column.lower / self.base), math.floor(column.upper / self.base)
        return Ends(values=self.base * np.arange(first, last + 1.0))


@dataclass(frozen=True)
class ByShare(RulePart):
    """A value may move by a share of what it is: nobody's income doubles."""

    share: float

    def in_words(self) -> str:
        return f"by at most {self.share:.0%}"

    def moves(self, column, origin) -> Moves:
        reach = self.share * np.abs(origin)
        return Moves(origin - reach, origin + reach)


@dataclass(frozen=True)
class Outside(RulePart):
    """A value must not fall within a band, which no box can say: a relation of the column to itself."""

    low: float
    high: float

    scope: ClassVar = "table"

    def in_words(self) -> str:
        return f"not between {self.low:g} and {self.high:g}"

    def relations(self, name, places) -> Sequence["Band"]:
        return [Band(places[name], self.low, self.high)]


@dataclass(frozen=True)
class Band:
    """Where values of one column must not lie."""

    column: int
    low: float
    high: float

    @property
    def places(self) -> Sequence[int]:
        return (self.column,)

    def apply(self, points, box, columns) -> None:
        values = points[:, self.column]
        lower, upper = box.lower[:, self.column], box.upper[:, self.column]
        down = ((values - self.low <= self.high - values) & (self.low >= lower)) | (self.high > upper)
        moved = np.where(down, np.maximum(self.low, lower), np.minimum(self.high, upper))
        points[:, self.column] = np.where(self.violations(points), moved, values)

    def violations(self, points):
        return (points[:, self.column] > self.low) & (points[:, self.column] < self.high)

    def conflicts(self, box, columns) -> Iterator[tuple[int, str]]:
        inside = (box.lower[:, self.column] > self.low) & (box.upper[:, self.column] < self.high)
        for row in np.flatnonzero(inside):
            yield int(row), f"{columns[self.column].title} cannot leave the band from {self.low:g} to {self.high:g}"


def multiples_of(base: int) -> Rule:
    """Let a value end as a multiple of `base`."""
    return Rule.of(MultiplesOf(base))


@contextmanager
def registered():
    """Register the rules of this module for a while; a package would decorate them and be done."""
    for name, part in (("multiples_of", MultiplesOf), ("by_share", ByShare), ("outside", Outside)):
        rule(name)(part)
    try:
        yield
    finally:
        for name in ("multiples_of", "by_share", "outside"):
            RULES.pop(name, None)
