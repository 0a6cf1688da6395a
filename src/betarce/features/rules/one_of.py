"""Values that a column must end as: `one_of`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from betarce.errors import InvalidInput
from betarce.features.columns import Column
from betarce.features.rules.file_values import read_values
from betarce.features.rules.protocol import Guide, Rule, RulePart
from betarce.features.rules.reach import Ends
from betarce.features.rules.registry import rule
from betarce.features.rules.values import distinct, stored_values, unsaid
from betarce.storage.values import plain

_MOST_LEVELS = 12  # more are not listed in a file


@rule("one_of", stored=("values",), order=30)
@dataclass(frozen=True)
class OneOf(RulePart):
    """The only values that a column may end as."""

    values: tuple[Any, ...]

    guide: ClassVar[tuple[Guide, ...]] = (
        Guide("ends", 'one_of = ["car", "home"]', "one of these, wherever it is now"),
    )

    def in_words(self) -> str:
        """Say it in a few words."""
        return f"one of {', '.join(map(str, self.values)) or 'nothing'}"

    def joined(self, other: "OneOf") -> "OneOf":
        """Keep what both lists have; nothing may be left, which is a conflict of each row."""
        return OneOf(tuple(value for value in self.values if value in other.values))

    def named_values(self) -> Sequence[Any]:
        """Name all of them."""
        return self.values

    def ends(self, column: Column) -> Ends:
        """List the numbers, or the codes of the levels."""
        if column.levels is None:
            return Ends(values=np.array(sorted(float(value) for value in self.values)))
        return Ends(values=np.flatnonzero([level in self.values for level in column.levels]).astype(np.float64))

    def to_toml(self) -> Mapping[str, Any]:
        """Give its key in a file of rules."""
        return {"one_of": list(self.values)}

    @classmethod
    def from_value(cls, value: Any) -> "OneOf":
        """Read a list of values."""
        return _among(read_values(value))

    @classmethod
    def suggestions(cls, column: Column) -> Iterator[tuple[str, Any]]:
        """Offer the levels of a category, if they are few."""
        if column.kind == "categorical" and column.levels and len(column.levels) <= _MOST_LEVELS:
            yield "one_of", [level for level in column.levels if isinstance(level, (str, int, float))]

    def to_json(self) -> Mapping[str, Any]:
        """Give the list."""
        return {"values": [plain(value, what="a value of a column") for value in self.values]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "OneOf":
        """Read the list."""
        values = stored_values(data["values"])
        if len(values) != len(dict.fromkeys(values)):
            raise unsaid("values", values)
        return cls(values)


def one_of(values: Iterable[Any]) -> Rule:
    """Let the value end as one of these, wherever it is now.

    Examples
    --------
    >>> one_of(["car", "education"])
    <rule: one of car, education>
    """
    return Rule.of(_among(values))


def _among(values: Iterable[Any]) -> OneOf:
    allowed = distinct("values", values)
    if not allowed:
        raise InvalidInput("`values` must hold at least one value; got none.")
    return OneOf(allowed)
