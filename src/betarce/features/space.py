"""The feature space: the columns of a table under rules.

Outside, a point is a row of the user's own table. Inside, it is a row of plain floats: numbers in the *same* units (see
`docs/decisions/points.md`), categories as codes, NaN where a value is missing. `FeatureSpace` is the only place that
knows how to pass from one to the other.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.features.box import Box, Choices, is_choice, nearest_choice, without_noise
from betarce.features.checks import check_names, check_rule_fits, rules_of_rows
from betarce.features.codec import TableCodec
from betarce.features.columns import Column
from betarce.features.grid import Grid, snapped
from betarce.features.inference import group_column, infer_column
from betarce.features.limits import is_unlimited, joined_limits, training_range
from betarce.features.links import Links
from betarce.features.readings import Reading
from betarce.features.rules.one_hot import OneHot
from betarce.features.rules.protocol import Rule, check_rule, check_rules
from betarce.features.table_adapters import ArrayForm, Form, RawTable, check_table, form_of

Norm = Literal["l1", "l2"]
Rules = Mapping[Any, Any]

_NOISE = 1e-12  # of a column's range


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The columns of a table, and what may happen to them.

    Made by `FeatureSpace.infer`.

    Attributes
    ----------
    columns : tuple of Column
        One for each column of a point.
    rules : mapping of column name to Rule
        What the user declared.
    form : Form
        What tables are outside.
    max_changes : int or None
        How many columns of a row may change; what is derived from others does not count.

    Examples
    --------
    >>> from betarce.features.rules import immutable
    >>> table = pd.DataFrame({"age": [20, 60], "debt": [0.0, 4000.5], "housing": ["rent", "own"]})
    >>> features = FeatureSpace.infer(table, rules={"age": immutable()})
    >>> features.encode(table)
    array([[2.0000e+01, 0.0000e+00, 1.0000e+00],
           [6.0000e+01, 4.0005e+03, 0.0000e+00]])
    >>> features.distance(features.encode(table[:1]), features.encode(table[1:]))
    array([3.])
    >>> features.describe()
                    kind     range               rule
    age          integer  20 to 60  immutable
    debt      continuous  0 to 4000.5
    housing  categorical  own, rent
    """

    columns: tuple[Column, ...]
    rules: Mapping[Hashable, Rule]
    form: Form
    max_changes: int | None = None

    @classmethod
    def infer(cls, X: object, rules: Rules | None = None, *, max_changes: int | None = None) -> "FeatureSpace":
        """Read the columns off a training table, as far as the rules are silent.

        Parameters
        ----------
        X : DataFrame or array of shape (n, d)
        rules : mapping of column to rule, optional
            A rule or a list of them for each column; a tuple of columns names a one-hot group.
        max_changes : int, optional
            How many columns of a row may change; if None, what a file of rules says.
        """
        table = check_table(X)
        form = form_of(table)
        declared = {name: check_rule(rule, name) for name, rule in check_rules({} if rules is None else rules).items()}
        groups = {name: rule for name, rule in declared.items() if OneHot() in rule.parts}
        check_names(declared, groups, form.names)
        group_of = {member: name for name in groups for member in name}
        columns: list[Column] = []
        for j, name in enumerate(form.names):
            if name not in group_of:
                rule = declared.get(name, Rule())
                guess = not isinstance(form, ArrayForm)
                columns.append(infer_column(form.series(table, j), name, rule, guess_step=guess))
            elif name == group_of[name][0]:
                members = group_of[name]
                series = [form.series(table, form.names.index(member)) for member in members]
                columns.append(group_column(series, members))
        most = getattr(rules, "max_changes", None) if max_changes is None else max_changes
        space = cls(tuple(columns), declared, form, most)
        space.links.check(space, space.encode(table))
        return space

    def with_rules(self, rules: Rules) -> "FeatureSpace":
        """Give the same columns under further rules; what a column is must be said when it is inferred."""
        declared = {name: check_rule(rule, name) for name, rule in check_rules(rules).items()}
        check_names(declared, {}, self.names)
        for name, rule in declared.items():
            if any(part.scope == "column" for part in rule.parts):
                raise InvalidInput(
                    f"What column {name!r} is must be declared before its values are read: "
                    "FeatureSpace.infer(X, rules={...})."
                )
        joined = {name: self.rules.get(name, Rule()) & rule for name, rule in declared.items()}
        return replace(self, rules={**self.rules, **joined})

    def __len__(self) -> int:
        return len(self.columns)

    def __post_init__(self) -> None:
        most = self.max_changes
        if most is not None and (isinstance(most, bool) or not isinstance(most, (int, np.integer)) or most < 1):
            raise InvalidInput(f"`max_changes` must be a whole number >= 1, or None for no limit; got {most!r}.")
        for column in self.columns:
            check_rule_fits(column, self.rules.get(column.name, Rule()))
        _ = self.links

    # What the columns are

    @cached_property
    def names(self) -> tuple[Hashable, ...]:
        """What the columns of a point are called."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def scale(self) -> FloatArray:
        """The length of one unit of distance along each column."""
        return np.array([column.scale for column in self.columns])

    @cached_property
    def weight(self) -> FloatArray:
        """What one unit of distance along each column costs, as the rule `cost` says; 1 where it is silent."""
        return np.array([self.rules.get(column.name, Rule()).weight for column in self.columns])

    @cached_property
    def unit(self) -> FloatArray:
        """The smallest step that each column can take."""
        return np.array([column.step or 0.0 for column in self.columns])

    @cached_property
    def is_nominal(self) -> BoolArray:
        """Which columns hold names without an order."""
        return np.array([column.is_nominal for column in self.columns])

    @cached_property
    def any_nominal(self) -> bool:
        """Whether some column holds names without an order."""
        return bool(self.is_nominal.any())

    @cached_property
    def links(self) -> Links:
        """Columns that depend on others."""
        return Links.of(self.rules, self.names)

    @cached_property
    def _codec(self) -> TableCodec:
        return TableCodec(self.columns, self.form)

    @property
    def is_frame(self) -> bool:
        """Whether tables are DataFrames outside."""
        return self._codec.is_frame

    @property
    def readings(self) -> tuple[Reading, ...]:
        """How each column of the table outside is read off a point."""
        return self._codec.readings

    def reads_like(self, other: "FeatureSpace") -> bool:
        """Say whether points of both spaces stand for the same tables: columns, levels and dtypes."""
        return self._codec.reads_like(other._codec)

    @cached_property
    def settings(self) -> tuple[IntArray, FloatArray]:
        """Values worth trying outright, since no small step leads to them: columns and values, both (k,)."""
        pairs = [(j, value) for j, column in enumerate(self.columns) for value in self._tries(column)]
        return np.array([j for j, _ in pairs], dtype=np.intp), np.array([value for _, value in pairs], dtype=float)

    def _tries(self, column: Column) -> Iterable[float]:
        rule = self.rules.get(column.name, Rule())
        if column.is_nominal:
            yield from column.common
        if rule.lets_miss:
            yield np.nan
            if not column.is_nominal:
                yield column.common[0]

    def describe(self) -> pd.DataFrame:
        """Show the columns as a table, to check what was inferred."""
        return pd.DataFrame(
            {
                "kind": [column.kind for column in self.columns],
                "range": [self._range_in_words(column) for column in self.columns],
                "rule": [str(self.rules.get(column.name, "")) for column in self.columns],
            },
            index=pd.Index([column.title for column in self.columns]),
        )

    def _range_in_words(self, column: Column) -> str:
        ends = self.rules.get(column.name, Rule()).ends(column)
        return column.range_in_words(ends.low, ends.high)

    # Between the user's tables and points

    def encode(self, X: object, *, what: str = "X") -> FloatArray:
        """Check a table of the user's and turn it into points, shape (rows, features)."""
        return self._codec.encode(X, what=what)

    def check_columns(self, X: object, *, what: str = "X") -> None:
        """Refuse a table that has other columns than the training table, whatever its rows hold."""
        self._codec.check_columns(X, what=what)

    def decode(self, points: FloatArray, index: "pd.Index[Any] | None" = None) -> RawTable:
        """Turn points into a table of the user's own kind; exact for projected points."""
        if not isinstance(points, np.ndarray) or points.ndim != 2 or points.shape[1] != len(self.columns):
            raise InvalidInput(
                f"`points` must be an array of shape (n, {len(self.columns)}), as `encode` gives; got "
                f"{points.shape if isinstance(points, np.ndarray) else points!r}."
            )
        return self._codec.decode(points, index)

    def row(self, point: FloatArray, name: Hashable = None) -> Any:
        """Turn one point into a row of the user's own kind: a Series, a dict, or a flat array."""
        return self._codec.row(point, name)

    # What points may be

    def box(self, originals: FloatArray, overrides: Sequence[Rules | None] | None = None) -> Box:
        """Say where counterfactuals of each original may lie.

        Parameters
        ----------
        originals : array of shape (n, d)
        overrides : sequence of mapping or None, optional
            For each row, rules that take the place of the general ones.
        """
        own = rules_of_rows(overrides, self.columns)
        lower, upper, may_miss = training_range(self.columns, originals)
        choices: dict[int, Choices] = {}
        conflicts: list[list[str]] = [[] for _ in originals]
        for j, column in enumerate(self.columns):
            if is_unlimited(column, self.rules.get(column.name)) and column.name not in own:
                continue
            rules = [(self.rules.get(column.name, Rule()), np.arange(len(originals))), *own.get(column.name, [])]
            part = joined_limits(column, rules, originals[:, j])
            lower[:, j], upper[:, j], may_miss[:, j] = part.lower, part.upper, part.may_miss
            if part.choices is not None:
                choices[j] = part.choices
            for row, text in enumerate(part.conflict):
                conflicts[row] += [text] if text else []
        free = (lower < upper) | (may_miss & (lower <= upper))
        free[:, self.links.derived_columns] = False
        box = Box(originals, lower, upper, free, may_miss, choices, max_changes=self.max_changes)
        for row, text in self.links.conflicts(box, self):
            conflicts[row].append(text)
        return replace(box, conflicts=tuple("; ".join(texts) for texts in conflicts))

    def unbounded(self, originals: FloatArray) -> Box:
        """Give boxes without any wall, as the paper searches."""
        wall = np.full(originals.shape, np.inf)
        nowhere = np.zeros(originals.shape, dtype=bool)
        return Box(originals, -wall, wall, ~nowhere, nowhere, {})

    def project(self, points: FloatArray, box: Box) -> FloatArray:
        """Move points to the nearest values that can be handed out: inside the box, on the grid, obeying every rule."""
        inside = np.clip(points, box.lower, box.upper)
        self._grid.snap(inside, box)
        for j, choice in box.choices.items():
            inside[:, j] = nearest_choice(self.columns[j], inside[:, j], box.origin[:, j], choice)
        if self._may_miss:
            lost = np.isnan(inside) & ~box.may_miss
            inside[lost] = box.origin[lost]
        if box.max_changes is not None:
            self._keep_largest(inside, box, box.max_changes)
        linked = self.links.apply(inside, box, self) if self.links else inside
        linked += 0.0  # no -0.0: people write it without a sign
        return linked

    def tidy(self, points: FloatArray, box: Box) -> FloatArray:
        """Make values of projected points that are within rounding of the original, or of zero, just that."""
        quiet = without_noise(points, box, self._noise)
        return self.links.apply(quiet, box, self) if self.links else quiet

    def _keep_largest(self, points: FloatArray, box: Box, most: int) -> None:
        """Put all but the largest changes of each point back; what is derived does not count."""
        changed = self.changes(points, box)
        over = np.flatnonzero(changed.sum(axis=1) > most)
        if over.size:
            gaps = np.where(changed[over], self.gaps(points[over], box.origin[over]), -1.0)
            small = np.argsort(-gaps, axis=1, kind="stable")[:, most:]
            back = np.zeros(gaps.shape, dtype=bool)
            np.put_along_axis(back, small, True, axis=1)
            points[over] = np.where(back & changed[over], box.origin[over], points[over])

    def changes(self, points: FloatArray, box: Box) -> BoolArray:
        """Say which columns count as changed, shape (rows, features): what is derived from others does not."""
        changed = self.differs(points, box.origin)
        changed[:, self.links.derived_columns] = False
        return changed

    @property
    def linked(self) -> bool:
        """Whether a projected point may still break a rule that spans columns, and must be looked at again."""
        return bool(self.links) or self.max_changes is not None

    def violations(self, points: FloatArray, box: Box) -> BoolArray:
        """Say which columns of which points break a rule, shape (rows, features)."""
        missing = np.isnan(points)
        outside = (points < box.lower) | (points > box.upper) | (missing & ~box.may_miss)
        # A missing value that must stay so has no bounds to compare with.
        outside |= ~missing & np.isnan(box.lower)
        stays = points == box.origin
        outside |= self._grid.off(points) & ~stays & ~missing
        for j, choice in box.choices.items():
            outside[:, j] |= ~is_choice(points[:, j], choice)
        if box.max_changes is not None:
            changed = self.changes(points, box)
            outside |= changed & (changed.sum(axis=1, keepdims=True) > box.max_changes)
        return outside | self.links.violations(points, box, self) if self.links else outside

    @cached_property
    def _grid(self) -> Grid:
        return Grid.of(self.columns)

    @cached_property
    def _noise(self) -> FloatArray:
        """What arithmetic adds to a value and nobody means; a grid leaves none."""
        return np.array([_NOISE * column.scale if column.step is None else 0.0 for column in self.columns])

    @cached_property
    def _may_miss(self) -> bool:
        return any(column.missing for column in self.columns)

    def snap(self, values: FloatArray, j: int) -> FloatArray:
        """Round values to the grid of one column."""
        return snapped(values, self.columns[j])

    # How points compare

    def distance(self, a: FloatArray, b: FloatArray, *, norm: Norm = "l1") -> FloatArray:
        """Give the distance of each row of `a` to the same row of `b`.

        Numbers count in units of their range, names 0 or 1, and so does a value that is missing on one side only.
        """
        gap = self.gaps(a, b)
        if norm == "l1":
            return np.asarray(gap.sum(axis=-1))
        return np.asarray(np.sqrt(np.square(gap).sum(axis=-1)))

    def gaps(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """Give the distance along each column, in the units of `distance`."""
        gap = np.abs(a - b) / self.scale
        if self._may_miss:
            gap = np.where(np.isnan(gap), np.isnan(a) != np.isnan(b), gap)
        if self.any_nominal:
            gap[..., self.is_nominal] = gap[..., self.is_nominal] > 0
        return np.asarray(gap)

    def blend(self, a: FloatArray, b: FloatArray, share: FloatArray | float) -> FloatArray:
        """Go a share of the way from `a` to `b`; names go all the way or not at all."""
        way = a + share * (b - a)
        if not (self.any_nominal or self._may_miss):
            return np.asarray(way)
        whole = np.where(np.broadcast_to(share, way.shape) >= 1, b, a)
        return np.where(self.is_nominal | np.isnan(way), whole, way)

    def differs(self, a: FloatArray, b: FloatArray) -> BoolArray:
        """Say which values differ; two missing ones do not."""
        differs = np.asarray(a != b)
        return np.asarray(differs & ~(np.isnan(a) & np.isnan(b))) if self._may_miss else differs
