"""Columns that depend on others: computed from them, or never above them."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.errors import InvalidInput
from betarce.features.box import Box
from betarce.features.rules import Rule

if TYPE_CHECKING:
    from betarce.features.space import FeatureSpace

_TOLERANCE = 1e-6  # of a column's range: how far a computed value may lie from the recorded one


@dataclass(frozen=True, eq=False)
class Links:
    """What holds between columns.

    Attributes
    ----------
    ceilings : tuple of pairs of int
        Column and the column that it may not exceed.
    derived : tuple of pairs of int and callable
        Column and how it is computed from a table.
    """

    ceilings: tuple[tuple[int, int], ...]
    derived: tuple[tuple[int, Callable[[Any], Any]], ...]

    @classmethod
    def of(cls, rules: Mapping[Hashable, Rule], names: Sequence[Hashable]) -> "Links":
        """Read the links off the rules."""
        places = {name: j for j, name in enumerate(names)}
        ceilings = [(name, above) for name, rule in rules.items() for above in rule.ceilings or ()]
        for name, above in ceilings:
            if above not in places or above == name:
                raise InvalidInput(
                    f"`features[{name!r}]` must be no more than another column of the table; got {above!r}."
                )
        derived = [(places[name], rule.derived) for name, rule in rules.items() if rule.derived is not None]
        return cls(tuple((places[a], places[b]) for a, b in ceilings), tuple(derived))

    def __bool__(self) -> bool:
        return bool(self.ceilings or self.derived)

    @property
    def derived_columns(self) -> list[int]:
        """Which columns are computed."""
        return [j for j, _ in self.derived]

    def apply(self, points: FloatArray, box: Box, features: "FeatureSpace") -> FloatArray:
        """Make projected points obey: lower what is too high, or raise its ceiling; then compute what is derived."""
        for a, b in self.ceilings:
            over = np.flatnonzero(points[:, a] > points[:, b])
            if over.size:
                lowered = _floor(points[over, b], a, features)
                points[over, a] = np.maximum(lowered, box.lower[over, a])
                still = over[points[over, a] > points[over, b]]
                raised = _ceil(points[still, a], b, features)
                points[still, b] = np.minimum(raised, box.upper[still, b])
        if self.derived:
            moved = features.differs(points, box.origin)
            moved[:, self.derived_columns] = False
            rows = np.flatnonzero(moved.any(axis=1))
            for j, _ in self.derived:
                points[:, j] = box.origin[:, j]
            if rows.size:
                points[rows] = self._computed(points[rows], features)
        return points

    def violations(self, points: FloatArray, box: Box, features: "FeatureSpace") -> BoolArray:
        """Say which columns break a link, shape (rows, features)."""
        broken = np.zeros(points.shape, dtype=bool)
        for a, b in self.ceilings:
            over = points[:, a] > points[:, b]
            broken[:, a] |= over
            broken[:, b] |= over
        if self.derived:
            obeying = self.apply(points.copy(), box, features)
            for j, _ in self.derived:
                broken[:, j] |= features.differs(obeying[:, j], points[:, j])
        return broken

    def conflicts(self, box: Box, features: "FeatureSpace") -> Iterator[tuple[int, str]]:
        """Name the rows in which a column cannot get below its ceiling."""
        for a, b in self.ceilings:
            for row in np.flatnonzero(box.lower[:, a] > box.upper[:, b]):
                low, high = features.columns[a], features.columns[b]
                yield (
                    int(row),
                    f"{low.title} can fall to {low.show(box.lower[row, a])} at least, {high.title} can rise to "
                    f"{high.show(box.upper[row, b])} at most, but the former must not exceed the latter",
                )

    def check(self, features: "FeatureSpace", points: FloatArray) -> None:
        """Compare derived columns with what the training table has."""
        computed = self._computed(points.copy(), features) if self.derived else points
        for j, _ in self.derived:
            column = features.columns[j]
            gap = np.abs(computed[:, j] - points[:, j])
            wrong = np.flatnonzero(~(gap <= _TOLERANCE * column.scale) & features.differs(computed[:, j], points[:, j]))
            if wrong.size:
                raise InvalidInput(
                    f"`features[{column.name!r}]` is derived, but its function disagrees with the training table in "
                    f"{wrong.size} of {len(points)} rows: row {wrong[0]} has {points[wrong[0], j]:g}, the function "
                    f"gives {computed[wrong[0], j]:g}."
                )

    def _computed(self, points: FloatArray, features: "FeatureSpace") -> FloatArray:
        for j, function in self.derived:
            name = features.columns[j].name
            try:
                values = np.asarray(function(features.decode(points)), dtype=np.float64)
            except InvalidInput as error:
                raise InvalidInput(f"Column {name!r} is derived. {error}") from error
            except Exception as error:
                raise InvalidInput(f"The function of the derived column {name!r} failed: {error!r}") from error
            if values.shape != (len(points),):
                raise InvalidInput(
                    f"The function of the derived column {name!r} must give one value a row, shape ({len(points)},); "
                    f"got shape {values.shape}."
                )
            points[:, j] = features.snap(values, j)
        return points


def _floor(values: FloatArray, j: int, features: "FeatureSpace") -> FloatArray:
    step = features.columns[j].step
    return values if step is None else features.snap(np.floor(values / step + 1e-9) * step, j)


def _ceil(values: FloatArray, j: int, features: "FeatureSpace") -> FloatArray:
    step = features.columns[j].step
    return values if step is None else features.snap(np.ceil(values / step - 1e-9) * step, j)
