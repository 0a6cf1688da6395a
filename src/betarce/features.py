"""Columns of a table: what they are called, where they may go, how long a step along each is.

Outside, a point is a row of the user's own table. Inside, it is a row of plain floats in the *same* units (see
`docs/decisions/points.md`), and `FeatureSpace` is the only place that knows how to pass from one to the other.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.errors import InvalidInput

Norm = Literal["l1", "l2"]
RawTable = pd.DataFrame | AnyArray


@dataclass(frozen=True)
class Rule:
    """How far a value may move from where it is now, and where it may end.

    Made by `immutable`, `increase_only`, `decrease_only`, `at_most` and `between`.
    """

    down: float = np.inf
    up: float = np.inf
    low: float = -np.inf
    high: float = np.inf


def immutable() -> Rule:
    """Keep the value as it is.

    Examples
    --------
    >>> immutable()
    Rule(down=0, up=0, low=-inf, high=inf)
    """
    return Rule(down=0, up=0)


def increase_only() -> Rule:
    """Let the value grow, never shrink."""
    return Rule(down=0)


def decrease_only() -> Rule:
    """Let the value shrink, never grow."""
    return Rule(up=0)


def at_most(change: float) -> Rule:
    """Let the value move by no more than `change`, in its own units."""
    if not change >= 0:
        raise InvalidInput(f"`change` must be >= 0; got {change!r}.")
    return Rule(down=change, up=change)


def between(low: float, high: float) -> Rule:
    """Let the value end between `low` and `high`, whatever range the training data has."""
    if not low <= high:
        raise InvalidInput(f"`low` must be <= `high`; got {low!r} and {high!r}.")
    return Rule(low=low, high=high)


@dataclass(frozen=True, eq=False)
class Box:
    """Where the points of each row may lie: `lower` and `upper`, both of shape (rows, features)."""

    lower: FloatArray
    upper: FloatArray

    def take(self, rows: AnyArray | slice) -> "Box":
        """Pick the boxes of some rows, in any order and number."""
        return Box(self.lower[rows], self.upper[rows])


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """The columns of a numeric table.

    Attributes
    ----------
    names : tuple of str
        Column names; "x0", "x1", ... for a plain array.
    lower, upper : array of float, shape (features,)
        The range of the training data, or what a rule says instead.
    scale : array of float, shape (features,)
        The length of one unit of distance: the training range, 1 for a constant column.
    dtypes : tuple of numpy dtypes
        The user's own, one a column.
    is_frame : bool
        Whether tables are DataFrames outside.
    rules : mapping of str to Rule
        What the user declared.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [20, 60], "debt": [0.0, 4000.0]})
    >>> features = FeatureSpace.infer(table, rules={"age": immutable()})
    >>> features.distance(features.encode(table[:1]), features.encode(table[1:]))
    array([2.])
    >>> features.describe()
         kind       lower   upper  rule
    age   integer    20.0    60.0  immutable
    debt  continuous  0.0  4000.0
    """

    names: tuple[Hashable, ...]
    lower: FloatArray
    upper: FloatArray
    scale: FloatArray
    dtypes: tuple[np.dtype[Any], ...]
    is_frame: bool
    rules: Mapping[Hashable, Rule]

    @classmethod
    def infer(cls, X: object, rules: Mapping[Hashable, Rule] | None = None) -> "FeatureSpace":
        """Read the columns off a training table."""
        table = check_table(X)
        names, dtypes = _columns(table)
        points = _to_floats(table, names)
        low, high = points.min(axis=0), points.max(axis=0)
        spread = high - low
        inferred = cls(
            names=names,
            lower=low,
            upper=high,
            scale=np.where(spread > 0, spread, 1.0),
            dtypes=dtypes,
            is_frame=isinstance(table, pd.DataFrame),
            rules={},
        )
        return inferred.with_rules(rules) if rules else inferred

    def with_rules(self, rules: Mapping[Hashable, Rule]) -> "FeatureSpace":
        """Give the same columns under further rules, one a column."""
        lower, upper = self.lower.copy(), self.upper.copy()
        for name, rule in rules.items():
            if name not in self.names:
                raise InvalidInput(
                    f"`features` names the column {name!r}, which the table lacks. "
                    f"Its columns are: {_listing(self.names)}."
                )
            if not isinstance(rule, Rule):
                raise InvalidInput(f"`features[{name!r}]` must be a rule such as betarce.immutable(); got {rule!r}.")
            column = self.names.index(name)
            # A stated range replaces the training data's: the user knows better.
            lower[column] = rule.low if np.isfinite(rule.low) else lower[column]
            upper[column] = rule.high if np.isfinite(rule.high) else upper[column]
        return replace(self, lower=lower, upper=upper, rules={**self.rules, **rules})

    def __len__(self) -> int:
        return len(self.names)

    @property
    def is_integer(self) -> BoolArray:
        """Which columns hold whole numbers only."""
        return np.array([dtype.kind in "iub" for dtype in self.dtypes])

    def describe(self) -> pd.DataFrame:
        """Show the columns as a table, to check what was inferred."""
        return pd.DataFrame(
            {
                "kind": np.where(self.is_integer, "integer", "continuous"),
                "lower": self.lower,
                "upper": self.upper,
                "rule": [_rule_in_words(self.rules.get(name)) for name in self.names],
            },
            index=pd.Index(self.names),
        )

    def encode(self, X: object, *, what: str = "X") -> FloatArray:
        """Check a table of the user's and turn it into points, shape (rows, features)."""
        table = check_table(X, what=what)
        if isinstance(table, pd.DataFrame):
            if self.is_frame or set(table.columns) == set(self.names):
                table = self._in_order(table, what)
        elif self.is_frame and table.dtype == object:
            table = pd.DataFrame(table, columns=pd.Index(self.names)) if table.shape[1] == len(self) else table
        if table.shape[1] != len(self):
            raise InvalidInput(
                f"`{what}` must have the {len(self)} columns of the training table ({_listing(self.names)}); "
                f"got {table.shape[1]}."
            )
        return _to_floats(table, self.names, what=what)

    def decode(self, points: FloatArray, index: pd.Index | None = None) -> RawTable:
        """Turn points into a table of the user's own kind; exact for projected points."""
        if not self.is_frame:
            return np.asarray(points, dtype=self.dtypes[0])
        if all(dtype == np.float64 for dtype in self.dtypes):
            return pd.DataFrame(points, columns=pd.Index(self.names), index=index)
        columns = [points[:, j].astype(dtype) for j, dtype in enumerate(self.dtypes)]
        frame = pd.DataFrame(dict(enumerate(columns)), index=index)
        frame.columns = pd.Index(self.names)
        return frame

    def box(self, originals: FloatArray) -> Box:
        """Say where counterfactuals of each original may lie.

        A value that is out of range already may stay where it is: only moves are restricted.
        """
        lower = np.minimum(self.lower, originals)
        upper = np.maximum(self.upper, originals)
        for name, rule in self.rules.items():
            j = self.names.index(name)
            lower[:, j] = np.maximum(lower[:, j], originals[:, j] - rule.down)
            upper[:, j] = np.minimum(upper[:, j], originals[:, j] + rule.up)
        return Box(lower, upper)

    def unbounded(self, originals: FloatArray) -> Box:
        """Give boxes without any wall, as the paper searches."""
        wall = np.full(originals.shape, np.inf)
        return Box(-wall, wall)

    def project(self, points: FloatArray, box: Box) -> FloatArray:
        """Move points to the nearest values that can be handed out: inside the box, whole where whole is asked."""
        inside = np.clip(points, box.lower, box.upper)
        if all(dtype == np.float64 for dtype in self.dtypes):
            return inside
        for j, dtype in enumerate(self.dtypes):
            if dtype.kind in "iub":
                low, high = np.ceil(box.lower[:, j]), np.floor(box.upper[:, j])
                inside[:, j] = np.clip(np.rint(inside[:, j]), low, high)
            elif dtype != np.float64:
                inside[:, j] = inside[:, j].astype(dtype)
        return inside

    def distance(self, a: FloatArray, b: FloatArray, *, norm: Norm = "l1") -> FloatArray:
        """Give the distance of each row of `a` to the same row of `b`, features in units of their range."""
        gap = np.abs(a - b) / self.scale
        if norm == "l1":
            return np.asarray(gap.sum(axis=-1))
        return np.asarray(np.sqrt(np.square(gap).sum(axis=-1)))

    def _in_order(self, table: pd.DataFrame, what: str) -> pd.DataFrame:
        missing = [name for name in self.names if name not in table.columns]
        unknown = [name for name in table.columns if name not in self.names]
        if missing or unknown:
            parts = [f"lacks {_listing(missing)}"] * bool(missing) + [f"has unknown {_listing(unknown)}"] * bool(
                unknown
            )
            raise InvalidInput(
                f"`{what}` must have the columns of the training table; it {' and '.join(parts)}. "
                f"Expected: {_listing(self.names)}."
            )
        return table[list(self.names)]


def check_table(X: object, *, what: str = "X") -> RawTable:
    """Check the shape of a table; a single row may come as a Series or a flat array."""
    if isinstance(X, pd.Series):
        # A row of a mixed table is a Series of objects: let every value find its own dtype again.
        X = pd.DataFrame([dict(zip(X.index, X, strict=True))], index=[X.name])
    try:
        table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    except ValueError as error:
        raise InvalidInput(f"`{what}` must be a table whose rows all have the same length; {error}") from error
    if isinstance(table, np.ndarray) and table.ndim == 1 and table.size and table.dtype != object:
        table = table.reshape(1, -1)
    if table.ndim != 2:
        raise InvalidInput(
            f"`{what}` must be a table with rows and columns (a DataFrame or a 2-D array); got "
            f"{type(X).__name__} of shape {table.shape}."
        )
    if table.shape[0] == 0 or table.shape[1] == 0:
        raise InvalidInput(
            f"`{what}` must have at least one row and one column; got shape {table.shape}. "
            "Is a filter in front of it too strict?"
        )
    return table


def _columns(table: RawTable) -> tuple[tuple[Hashable, ...], tuple[np.dtype[Any], ...]]:
    if isinstance(table, pd.DataFrame):
        names = tuple(table.columns)
        repeated = sorted({str(name) for name in names if names.count(name) > 1})
        if repeated:
            raise InvalidInput(f"`X` must have distinct column names; repeated: {_listing(repeated)}.")
        return names, tuple(_numpy_dtype(table[name]) for name in names)
    dtype = table.dtype if table.dtype.kind in "fiub" else np.dtype(np.float64)
    return tuple(f"x{j}" for j in range(table.shape[1])), (dtype,) * table.shape[1]


def _numpy_dtype(column: "pd.Series[Any]") -> np.dtype[Any]:
    # Nullable dtypes (Int64, Float64, boolean) carry the numpy dtype they are made of.
    dtype = getattr(column.dtype, "numpy_dtype", column.dtype)
    return dtype if isinstance(dtype, np.dtype) and dtype.kind in "fiub" else np.dtype(np.float64)


def _to_floats(table: RawTable, names: Sequence[Hashable], *, what: str = "X") -> FloatArray:
    numeric = _numeric_columns(table)
    if not all(numeric):
        wrong = [name for name, is_numeric in zip(names, numeric, strict=True) if not is_numeric]
        raise InvalidInput(
            f"`{what}` must hold numbers only; these columns do not: {_listing(wrong)}. "
            "Drop them, or encode them as numbers before the model sees them."
        )
    if isinstance(table, pd.DataFrame):
        points = table.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        points = np.array(table, dtype=np.float64)
    bad = ~np.isfinite(points)
    if bad.any():
        rows, columns = np.nonzero(bad)
        raise InvalidInput(
            f"`{what}` must hold finite numbers; row {rows[0]}, column {names[columns[0]]!r} is "
            f"{points[rows[0], columns[0]]} ({bad.sum()} such values in all). Impute or drop them first."
        )
    return points


def _numeric_columns(table: RawTable) -> list[bool]:
    if isinstance(table, pd.DataFrame):
        return [
            bool(pd.api.types.is_numeric_dtype(dtype)) and not pd.api.types.is_complex_dtype(dtype)
            for dtype in table.dtypes
        ]
    if table.dtype != object:
        return [table.dtype.kind in "fiub"] * table.shape[1]
    numbers = (int, float, np.integer, np.floating)
    return [all(isinstance(value, numbers) for value in column) for column in table.T]


def _listing(names: Sequence[object], most: int = 12) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"


def _rule_in_words(rule: Rule | None) -> str:
    if rule is None:
        return ""
    words = [
        f"between {rule.low:g} and {rule.high:g}" if np.isfinite([rule.low, rule.high]).any() else "",
        {
            (True, True): "immutable",
            (True, False): "increase only",
            (False, True): "decrease only",
        }.get((rule.down == 0, rule.up == 0), ""),
        f"at most {rule.up:g}" if 0 < rule.up < np.inf else "",
    ]
    return ", ".join(filter(None, words))
