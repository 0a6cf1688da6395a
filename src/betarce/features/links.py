"""Columns that depend on others."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.errors import InvalidInput
from betarce.features.box import Box
from betarce.features.grid import snapped
from betarce.features.rules.derived import Derived
from betarce.features.rules.protocol import Rule
from betarce.features.rules.relation import Relation

if TYPE_CHECKING:
    from betarce.features.space import FeatureSpace

_TOLERANCE = 1e-6  # of a column's range: how far a computed value may lie from the recorded one


@dataclass(frozen=True, eq=False)
class Links:
    """What holds between columns.

    Attributes
    ----------
    relations : tuple of Relation
        What must hold between columns, such as that one may not exceed another.
    derived : tuple of pairs of int and Derived
        Columns that are computed, in the order of their rules.
    """

    relations: tuple[Relation, ...]
    derived: tuple[tuple[int, Derived], ...]

    @classmethod
    def of(cls, rules: Mapping[Hashable, Rule], names: Sequence[Hashable]) -> "Links":
        """Read the links off the rules."""
        places = {name: j for j, name in enumerate(names)}
        relations = [
            relation for name, rule in rules.items() for part in rule.parts for relation in part.relations(name, places)
        ]
        derived = [(places[name], part) for name, rule in rules.items() if (part := rule.part(Derived)) is not None]
        return cls(tuple(relations), tuple(derived))

    def __bool__(self) -> bool:
        return bool(self.relations or self.derived)

    @property
    def derived_columns(self) -> list[int]:
        """Which columns are computed."""
        return [j for j, _ in self.derived]

    def apply(self, points: FloatArray, box: Box, features: "FeatureSpace") -> FloatArray:
        """Make projected points obey every relation; then compute what is derived."""
        for relation in self.relations:
            relation.apply(points, box, features.columns)
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
        for relation in self.relations:
            wrong = relation.violations(points)
            for j in relation.places:
                broken[:, j] |= wrong
        if self.derived:
            obeying = self.apply(points.copy(), box, features)
            for j, _ in self.derived:
                broken[:, j] |= features.differs(obeying[:, j], points[:, j])
        return broken

    def conflicts(self, box: Box, features: "FeatureSpace") -> Iterator[tuple[int, str]]:
        """Name the rows in which no point of the box obeys a relation."""
        for relation in self.relations:
            yield from relation.conflicts(box, features.columns)

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
        for j, part in self.derived:
            column = features.columns[j]
            points[:, j] = snapped(part.compute(points, column.name, features.decode), column)
        return points
