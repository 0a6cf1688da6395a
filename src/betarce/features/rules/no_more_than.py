"""Columns that a value must not exceed: `no_more_than`."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.errors import InvalidInput
from betarce.features.columns import Column
from betarce.features.grid import snapped
from betarce.features.rules.file_values import read_column_name
from betarce.features.rules.protocol import Guide, Rule, RulePart, Scope
from betarce.features.rules.registry import rule
from betarce.features.rules.relation import Relation
from betarce.features.rules.values import stored_values, unsaid
from betarce.storage.values import plain

if TYPE_CHECKING:
    from betarce.features.box import Box


@rule("no_more_than", stored=("ceilings",), order=50)
@dataclass(frozen=True)
class NoMoreThan(RulePart):
    """The columns whose values this one must not exceed."""

    columns: tuple[Hashable, ...]

    scope: ClassVar[Scope] = "table"
    guide: ClassVar[tuple[Guide, ...]] = (Guide("ends", 'no_more_than = "limit"', "never above another column"),)

    def in_words(self) -> str:
        """Say it in a few words."""
        return f"no more than {' and '.join(map(str, self.columns))}"

    def joined(self, other: "NoMoreThan") -> "NoMoreThan":
        """Stay below all of them."""
        return NoMoreThan(tuple(dict.fromkeys(self.columns + other.columns)))

    def misfit(self, column: Column, whole: Rule) -> str:
        """Names are not compared."""
        if column.levels is None:
            return ""
        return f"says {whole}, which is for numbers; use betarce.one_of([...]) for categories."

    def relations(self, name: Hashable, places: Mapping[Hashable, int]) -> Sequence[Relation]:
        """Stay below each column."""
        for above in self.columns:
            if above not in places or above == name:
                raise InvalidInput(
                    f"`features[{name!r}]` must be no more than another column of the table; got {above!r}."
                )
        return [Ceiling(places[name], places[above]) for above in self.columns]

    def to_toml(self) -> Mapping[str, Any]:
        """Give its key in a file of rules."""
        single = len(self.columns) == 1 and not isinstance(self.columns[0], tuple)
        return {"no_more_than": self.columns[0] if single else list(self.columns)}

    @classmethod
    def from_value(cls, value: Any) -> "NoMoreThan | None":
        """Read a column or a list of them; a name in several levels is a list in that list."""
        columns = value if isinstance(value, list) else [value]
        return cls(tuple(dict.fromkeys(read_column_name(column, "it") for column in columns))) if columns else None

    def to_json(self) -> Mapping[str, Any]:
        """Give the names of the columns."""
        return {"ceilings": [plain(name, what="a value of a column") for name in self.columns]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "NoMoreThan":
        """Read the names of the columns."""
        columns = stored_values(data["ceilings"])
        if not columns:
            raise unsaid("ceilings", columns)
        return cls(columns)


def no_more_than(column: Hashable) -> Rule:
    """Keep the value at or below that of another column.

    Examples
    --------
    >>> no_more_than("limit")
    <rule: no more than limit>
    """
    if not isinstance(column, Hashable):
        raise InvalidInput(f"`column` must be the name of another column; got {column!r}.")
    return Rule.of(NoMoreThan((column,)))


@dataclass(frozen=True)
class Ceiling:
    """One column that must not exceed another."""

    below: int
    above: int

    @property
    def places(self) -> Sequence[int]:
        """Both columns."""
        return (self.below, self.above)

    def apply(self, points: FloatArray, box: "Box", columns: Sequence[Column]) -> None:
        """Lower what is too high, or raise its ceiling."""
        a, b = self.below, self.above
        over = np.flatnonzero(points[:, a] > points[:, b])
        if over.size:
            lowered = _to_grid(points[over, b], columns[a], up=False)
            points[over, a] = np.maximum(lowered, box.lower[over, a])
            still = over[points[over, a] > points[over, b]]
            raised = _to_grid(points[still, a], columns[b], up=True)
            points[still, b] = np.minimum(raised, box.upper[still, b])

    def violations(self, points: FloatArray) -> BoolArray:
        """Say which points are above the ceiling."""
        return np.asarray(points[:, self.below] > points[:, self.above])

    def conflicts(self, box: "Box", columns: Sequence[Column]) -> Iterator[tuple[int, str]]:
        """Name the rows in which a column cannot get below its ceiling."""
        low, high = columns[self.below], columns[self.above]
        for row in np.flatnonzero(box.lower[:, self.below] > box.upper[:, self.above]):
            yield (
                int(row),
                f"{low.title} can fall to {low.show(box.lower[row, self.below])} at least, {high.title} can rise to "
                f"{high.show(box.upper[row, self.above])} at most, but the former must not exceed the latter",
            )


def _to_grid(values: FloatArray, column: Column, *, up: bool) -> FloatArray:
    """Move values to the grid of a column, one way."""
    if (step := column.step) is None:
        return values
    places = np.ceil(values / step - 1e-9) if up else np.floor(values / step + 1e-9)
    return snapped(places * step, column)
