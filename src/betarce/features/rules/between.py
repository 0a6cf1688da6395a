"""A range that a value must end in: `between`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from betarce.checks import is_number
from betarce.errors import InvalidInput
from betarce.features.columns import Column
from betarce.features.rules.file_values import short
from betarce.features.rules.protocol import Guide, Rule, RulePart
from betarce.features.rules.reach import Ends, largest, least
from betarce.features.rules.registry import rule
from betarce.features.rules.values import stored_number
from betarce.storage.values import plain


@rule("between", stored=("low", "high"), order=20)
@dataclass(frozen=True)
class Between(RulePart):
    """The range that a value must end in; None for no bound on that side."""

    low: float | None = None
    high: float | None = None

    guide: ClassVar[tuple[Guide, ...]] = (
        Guide("ends", "between = [0, 10]", "instead of the range of the training table"),
    )

    def in_words(self) -> str:
        """Say it in a few words."""
        low, high = self.low, self.high
        if low is not None and high is not None:
            return f"between {low:g} and {high:g}"
        return "" if low is None and high is None else f"at least {low:g}" if high is None else f"at most {high:g}"

    def joined(self, other: "Between") -> "Between":
        """Keep what both ranges have; nothing may be left, which is a conflict of each row."""
        return Between(largest(self.low, other.low), least(self.high, other.high))

    def misfit(self, column: Column, whole: Rule) -> str:
        """Names have no range."""
        if column.levels is None:
            return ""
        return f"says {whole}, which is for numbers; use betarce.one_of([...]) for categories."

    def ends(self, column: Column) -> Ends:
        """Take the place of the range of the training data."""
        return Ends(self.low, self.high)

    def to_toml(self) -> Mapping[str, Any]:
        """Give its key in a file of rules, which needs both ends."""
        if self.low is None or self.high is None:
            raise InvalidInput(
                "has a bound on one side only, which a file of rules cannot say. Use betarce.between(low, high), which "
                "it can."
            )
        return {"between": [short(self.low), short(self.high)]}

    @classmethod
    def from_value(cls, value: Any) -> "Between":
        """Read a pair of numbers."""
        if not isinstance(value, list) or len(value) != 2:
            raise InvalidInput(f"must be a pair such as [0, 10]; got {value!r}.")
        return _within(value[0], value[1])

    @classmethod
    def suggestions(cls, column: Column) -> Iterator[tuple[str, Any]]:
        """Offer the range of the training data."""
        if column.kind in ("integer", "continuous"):
            yield "between", [short(column.lower), short(column.upper)]

    def to_json(self) -> Mapping[str, Any]:
        """Give the bounds that it has."""
        said = {"low": self.low, "high": self.high}
        return {key: plain(bound, what="a part of a rule") for key, bound in said.items() if bound is not None}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Between":
        """Read the bounds that it has."""
        low, high = stored_number(data, "low"), stored_number(data, "high")
        if low is not None and high is not None and low > high:
            raise ValueError(f"no value lies between {low!r} and {high!r}")
        return cls(low, high)


def between(low: float, high: float) -> Rule:
    """Let the value end between `low` and `high`, whatever range the training data has.

    Examples
    --------
    >>> between(0, 10) & between(5, 20)
    <rule: between 5 and 10>
    """
    return Rule.of(_within(low, high))


def _within(low: float, high: float) -> Between:
    if not (is_number(low) and is_number(high) and low <= high):
        raise InvalidInput(f"`low` and `high` must be numbers with low <= high; got {low!r} and {high!r}.")
    return Between(low=float(low), high=float(high))
