"""Adapters for the tables that users have: DataFrames of pandas or polars, plain arrays."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.checks import check_unmasked
from betarce.errors import InvalidInput, require

RawTable = Any
"""A pandas or polars DataFrame, or an array of shape (rows, columns)."""


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as codes into its levels; -1 is missing."""

    codes: IntArray
    levels: Sequence[Any]


class Form(Protocol):
    """One kind of table."""

    @property
    def names(self) -> tuple[Hashable, ...]:
        """What the columns of a table are called."""

    def series(self, table: RawTable, j: int) -> "pd.Series[Any]":
        """Give column `j` as a pandas Series."""

    def build(self, columns: Sequence[FloatArray | Coded], index: "pd.Index[Any] | None") -> RawTable:
        """Make a table of columns, in the dtypes that the training table had."""

    def row(self, table: RawTable, i: int, name: Hashable) -> Any:
        """Pick one row: a Series, a dict, or a flat array."""


@dataclass(frozen=True, eq=False)
class PandasForm:
    """DataFrames of pandas."""

    names: tuple[Hashable, ...]
    dtypes: tuple[Any, ...]
    blanks: tuple[Any, ...]  # what a missing value looks like in each column
    _lookups: dict[int, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, table: pd.DataFrame) -> "PandasForm":
        """Take note of columns and dtypes."""
        return cls(
            tuple(table.columns), tuple(table.dtypes), tuple(_blank(table.iloc[:, j]) for j in range(table.shape[1]))
        )

    def series(self, table: pd.DataFrame, j: int) -> "pd.Series[Any]":
        return table.iloc[:, j]

    def build(self, columns: Sequence[FloatArray | Coded], index: "pd.Index[Any] | None") -> pd.DataFrame:
        data = {j: self._column(j, column) for j, column in enumerate(columns)}
        frame = pd.DataFrame(data)
        frame.columns = pd.Index(self.names)
        if index is not None:
            frame.index = index
        return frame

    def row(self, table: pd.DataFrame, i: int, name: Hashable) -> "pd.Series[Any]":
        # A Series has one dtype; as objects, integers stay integers.
        values = {column: table[column].iloc[i] for column in table.columns}
        return pd.Series(values, name=name, dtype=None if len(set(map(str, self.dtypes))) == 1 else object)

    def _column(self, j: int, column: FloatArray | Coded) -> Any:
        dtype = self.dtypes[j]
        if not isinstance(column, Coded):
            if is_object(dtype):
                return pd.Series(_blanked(column.astype(object), np.isnan(column), self.blanks[j]), dtype=object)
            return _cast(column, dtype) if isinstance(dtype, np.dtype) else pd.array(column, dtype=dtype)
        if j not in self._lookups:
            self._lookups[j] = _lookup(column.levels, dtype)
        lookup = self._lookups[j]
        if isinstance(lookup, np.ndarray):
            # A Series, since pandas guesses the dtype of a bare array of objects anew.
            return pd.Series(_blanked(lookup[column.codes], column.codes < 0, self.blanks[j]), dtype=dtype)
        return lookup.take(column.codes, allow_fill=bool((column.codes < 0).any()))


@dataclass(frozen=True, eq=False)
class ArrayForm:
    """Plain arrays, of one dtype; mixed ones are arrays of objects."""

    names: tuple[Hashable, ...]
    dtype: Any
    dtypes: tuple[Any, ...]  # of the columns of an array of objects

    @classmethod
    def of(cls, table: AnyArray) -> "ArrayForm":
        """Take note of dtypes; columns are called x0, x1, ..."""
        names = tuple(f"x{j}" for j in range(table.shape[1]))
        if table.dtype != object:
            return cls(
                names, table.dtype if table.dtype.kind in "fiub" else np.dtype(object), (table.dtype,) * len(names)
            )
        return cls(names, table.dtype, tuple(pd.Series(column).infer_objects().dtype for column in table.T))

    def series(self, table: AnyArray, j: int) -> "pd.Series[Any]":
        column = pd.Series(table[:, j])
        return column.infer_objects() if table.dtype == object else column

    def build(self, columns: Sequence[FloatArray | Coded], index: "pd.Index[Any] | None") -> AnyArray:
        if self.dtype != object:
            plain = [np.asarray(c.levels)[c.codes] if isinstance(c, Coded) else c for c in columns]
            return _cast(np.column_stack(plain), self.dtype)
        table = np.empty((len(_codes_or_values(columns[0])), len(columns)), dtype=object)
        for j, column in enumerate(columns):
            if isinstance(column, Coded):
                table[:, j] = np.array([*column.levels, np.nan], dtype=object)[column.codes]
            else:
                whole = isinstance(self.dtypes[j], np.dtype) and self.dtypes[j].kind in "iu"
                table[:, j] = column.astype(self.dtypes[j]) if whole else column
        return table

    def row(self, table: AnyArray, i: int, name: Hashable) -> AnyArray:
        return np.asarray(table[i])


@dataclass(frozen=True, eq=False)
class NarwhalsForm:
    """DataFrames of polars, and of other libraries that narwhals speaks."""

    names: tuple[Hashable, ...]
    schema: Any
    backend: Any

    @classmethod
    def of(cls, table: Any) -> "NarwhalsForm":
        """Take note of columns and dtypes."""
        nw = _narwhals()
        frame = nw.from_native(table, eager_only=True)
        for name, dtype in frame.schema.items():
            check_precision(type(dtype).__name__, name)
        return cls(tuple(frame.columns), frame.schema, frame.implementation)

    def series(self, table: Any, j: int) -> "pd.Series[Any]":
        nw = _narwhals()
        column = nw.from_native(table, eager_only=True)[:, j]
        if isinstance(column.dtype, nw.Enum):
            return pd.Series(pd.Categorical(column.to_list(), list(column.dtype.categories), ordered=True))
        if column.dtype.is_numeric():
            as_it_is = column.dtype == nw.Float32 or (column.dtype.is_integer() and column.null_count() == 0)
            return pd.Series(column.to_numpy() if as_it_is else column.cast(nw.Float64).to_numpy())
        return pd.Series(
            column.to_list(), dtype=bool if column.dtype == nw.Boolean and not column.null_count() else object
        )

    def build(self, columns: Sequence[FloatArray | Coded], index: "pd.Index[Any] | None") -> Any:
        data = {name: self._values(name, column) for name, column in zip(self.names, columns, strict=True)}
        return _narwhals().from_dict(data, schema=self.schema, backend=self.backend).to_native()

    def _values(self, name: Hashable, column: FloatArray | Coded) -> Any:
        if isinstance(column, Coded):
            return np.array([*column.levels, None], dtype=object)[column.codes].tolist()
        whole = self.schema[name].is_integer()
        if np.isnan(column).any():
            return [None if value != value else int(value) if whole else value for value in column.tolist()]
        return column.astype(np.int64) if whole else column

    def row(self, table: Any, i: int, name: Hashable) -> dict[str, Any]:
        row: dict[str, Any] = _narwhals().from_native(table, eager_only=True).row(i)
        return dict(zip(map(str, self.names), row, strict=True))


def check_table(X: object, *, what: str = "X") -> RawTable:
    """Check the shape of a table; a single row may come as a Series, a dict or a flat array."""
    if isinstance(X, pd.Series):
        # A row of a mixed table is a Series of objects: let every value find its own dtype again.
        X = pd.DataFrame([dict(zip(X.index, X, strict=True))], index=[X.name])
    elif isinstance(X, dict):
        X = pd.DataFrame([_single_row(X, what)])
    if isinstance(X, pd.DataFrame) or _is_other_frame(X):
        table: Any = X
    else:
        check_unmasked(X, what=what)
        try:
            table = np.asarray(X)
        except ValueError as error:
            raise InvalidInput(f"`{what}` must be a table whose rows all have the same length; {error}") from error
        if hint := _way_to_a_table(X, table, what):
            raise InvalidInput(f"`{what}` must be a DataFrame or a 2-D array; got {type(X).__name__}. Pass {hint}.")
        if table.dtype.kind in "US":
            table = np.array(X, dtype=object)  # numpy turns [30, "rent"] into text; objects stay what they are
        if table.ndim == 1 and table.size and table.dtype != object:
            table = table.reshape(1, -1)
    if len(table.shape) != 2:
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


def _single_row(row: dict[Any, Any], what: str) -> dict[Any, Any]:
    for name, value in row.items():
        if not isinstance(value, str) and hasattr(value, "__len__"):
            raise InvalidInput(
                f"`{what}` must have one value for each column if it is a dict, as a single row; column {name!r} has "
                f"{len(value)}. For several rows: pandas.DataFrame({what})."
            )
    return row


def _way_to_a_table(X: object, table: AnyArray, what: str) -> str:
    """Say how to make a table of what numpy makes none of; "" for plain arrays."""
    if hasattr(X, "toarray"):
        return f"{what}.toarray()"
    if hasattr(X, "collect"):
        return f"{what}.collect()"
    records = table.dtype.names is not None or (table.ndim == 1 and any(isinstance(each, dict) for each in table))
    return f"pandas.DataFrame({what})" if records else ""


def form_of(table: RawTable) -> Form:
    """Say what kind of table this is, with its columns and dtypes."""
    if isinstance(table, np.ndarray):
        return ArrayForm.of(table)
    form = PandasForm.of(table) if isinstance(table, pd.DataFrame) else NarwhalsForm.of(table)
    repeated = sorted({str(name) for name in form.names if form.names.count(name) > 1})
    if repeated:
        raise InvalidInput(f"`X` must have distinct column names; repeated: {', '.join(map(repr, repeated))}.")
    return form


def row_names(table: RawTable) -> "pd.Index[Any]":
    """Give the index of a table; row numbers where it has none."""
    return table.index if isinstance(table, pd.DataFrame) else pd.RangeIndex(len(table))


def _is_other_frame(X: object) -> bool:
    # Whoever holds a polars frame has imported polars; nothing is imported to find out.
    return type(X).__module__.partition(".")[0] in ("polars", "pyarrow", "modin") and hasattr(X, "shape")


def _narwhals() -> Any:
    return require("narwhals.stable.v2", extra="polars", purpose="A table that is not of pandas")


def _blank(column: "pd.Series[Any]") -> Any:
    if not is_object(column.dtype):
        return np.nan
    missing = column[column.isna()]
    return missing.iloc[0] if len(missing) else np.nan


def is_object(dtype: Any) -> bool:
    """Say whether a dtype holds Python objects of any kind."""
    return isinstance(dtype, np.dtype) and dtype.kind == "O"


def check_precision(dtype: str, name: Hashable) -> None:
    """Refuse numbers that a float cannot stand for: what is certified would not be what is handed out."""
    if dtype.lower().startswith(("decimal", "float16", "halffloat", "float96", "float128")):
        raise InvalidInput(
            f"`X` must hold whole numbers, float32 or float64; column {name!r} is of type {dtype}. Cast it first."
        )


def is_known(dtype: Any) -> bool:
    """Say whether pandas can name a dtype; Arrow has some that it cannot."""
    try:
        return dtype.type is not None
    except NotImplementedError:
        return False


def is_text(dtype: Any) -> bool:
    """Say whether a dtype holds text, whoever stores it: pandas itself or Arrow."""
    if isinstance(dtype, pd.StringDtype):
        return True
    # Of Arrow's own dtypes, views of text lack most operations of pandas.
    return isinstance(dtype, pd.ArrowDtype) and str(dtype.pyarrow_dtype) in ("string", "large_string")


def _cast(values: AnyArray, dtype: "np.dtype[Any]") -> AnyArray:
    if dtype.kind in "iu" and np.isnan(values).any():
        raise InvalidInput("A column of whole numbers cannot hold a missing value.")
    return values.astype(dtype)


def _lookup(levels: Sequence[Any], dtype: Any) -> Any:
    if isinstance(dtype, np.dtype):
        values = np.empty(len(levels), dtype=dtype)
        values[:] = list(levels)
        return values
    return pd.array(list(levels), dtype=dtype)


def _blanked(values: AnyArray, missing: BoolArray, blank: Any) -> AnyArray:
    if missing.any():
        values[missing] = blank
    return values


def _codes_or_values(column: FloatArray | Coded) -> AnyArray:
    return column.codes if isinstance(column, Coded) else column
