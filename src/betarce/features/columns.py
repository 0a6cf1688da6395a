"""One column of a point, as it was read off the training table."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.errors import InvalidInput
from betarce.features.table_adapters import is_object

Kind = Literal["continuous", "integer", "binary", "categorical", "ordinal"]


@dataclass(frozen=True, eq=False)
class Column:
    """What one column of a point stands for.

    Attributes
    ----------
    name : hashable
        What rules and messages call it.
    raw : tuple
        The columns of the table that it is made of: itself, or the columns of a one-hot group.
    kind : str
        "continuous", "integer", "binary", "categorical" or "ordinal".
    lower, upper : float
        The range of the training data, or what a rule says instead; codes for categories.
    scale : float
        The length of one unit of distance: the training range, 1 for a constant column.
    step : float or None
        Values are multiples of it; None for any value.
    levels : tuple or None
        What the codes stand for; None for numbers.
    seen : array of bool or None
        Which levels the training table holds.
    missing : bool
        Whether values are missing in the training table.
    single : bool
        Whether values are float32.
    common : tuple of float
        The most frequent codes; for numbers, the median.
    """

    name: Hashable
    raw: tuple[Hashable, ...]
    kind: Kind
    lower: float
    upper: float
    scale: float
    step: float | None = None
    levels: tuple[Any, ...] | None = None
    seen: BoolArray | None = None
    missing: bool = False
    single: bool = False
    common: tuple[float, ...] = ()

    @property
    def title(self) -> str:
        """What people read: the name, or what the names of a group have in common."""
        if len(self.raw) == 1:
            return str(self.name)
        names = [str(name) for name in self.raw]
        shared = next((k for k, letters in enumerate(zip(*names, strict=False)) if len(set(letters)) > 1), 0)
        return names[0][:shared].rstrip("_=.:- ") or " | ".join(names)

    def show(self, value: float) -> str:
        """Write a value of a point as the table has it."""
        if np.isnan(value):
            return "missing"
        return f"{value + 0.0:.10g}" if self.levels is None else str(self.levels[int(value)])

    def range_in_words(self, low: float | None = None, high: float | None = None) -> str:
        """Say which values are in range: those of the training table, or what a rule states instead."""
        if self.levels is None:
            return f"{self.lower if low is None else low:g} to {self.upper if high is None else high:g}"
        joint = " < " if self.kind == "ordinal" else ", "
        shown = joint.join(map(str, self.levels[:6]))
        return shown if len(self.levels) <= 6 else f"{shown}, ... ({len(self.levels)} levels)"

    @property
    def is_nominal(self) -> bool:
        """Whether its values have no order."""
        return self.kind == "categorical"

    def encode(self, values: "pd.Series[Any]", *, what: str) -> FloatArray:
        """Turn raw values into numbers or codes; NaN where they are missing."""
        if self.levels is None:
            return self._encode_numbers(values, what)
        missing = values.isna().to_numpy()
        with one_value_per_cell(values, self.name, what):
            codes = level_codes(values, self.levels).astype(np.float64)
        unknown = np.flatnonzero((codes < 0) & ~missing)
        if unknown.size:
            raise InvalidInput(
                f"`{what}` has {values.iloc[unknown[0]]!r} in column {self.name!r}, row "
                f"{_label(values.index[unknown[0]])}; the training table knows only {listing(self.levels)}. To "
                f"allow more, declare its levels: features={{{self.name!r}: betarce.categorical([...])}}."
            )
        codes[missing] = np.nan
        self._check_missing(missing, values.index, what)
        return codes

    def _encode_numbers(self, values: "pd.Series[Any]", what: str) -> FloatArray:
        if not is_number_like(values):
            raise InvalidInput(f"`{what}` must hold numbers in column {self.name!r}, as the training table does.")
        return self._checked(to_floats(values), values.index, what)

    def _checked(self, numbers: FloatArray, names: "pd.Index[Any]", what: str) -> FloatArray:
        infinite = np.flatnonzero(np.isinf(numbers))
        if infinite.size:
            raise InvalidInput(
                f"`{what}` must hold finite numbers; row {_label(names[infinite[0]])}, column {self.name!r} is "
                f"{numbers[infinite[0]]}."
            )
        self._check_missing(np.isnan(numbers), names, what)
        return numbers

    def _check_missing(self, missing: BoolArray, names: "pd.Index[Any]", what: str) -> None:
        if missing.any() and not self.missing:
            raise InvalidInput(
                f"`{what}` has no value in column {self.name!r}, row {_label(names[missing][0])} "
                f"({int(missing.sum())} such rows), where the training table is complete. Impute or drop them first."
            )


def _label(name: Hashable) -> str:
    return repr(name) if isinstance(name, str) else str(name)


@contextmanager
def one_value_per_cell(values: "pd.Series[Any]", name: Hashable, what: str) -> Iterator[None]:
    """Say where a cell holds a list, a dict or anything else that is no single value."""
    try:
        yield
    except TypeError as error:
        for row, value in enumerate(values):
            try:
                hash(value)
            except TypeError:
                raise InvalidInput(
                    f"`{what}` must hold one number or name in each cell; row {row}, column {name!r} holds "
                    f"{shortened(value)} ({type(value).__name__}). Give its parts columns of their own."
                ) from error
        raise


def one_hot_codes(
    columns: Sequence["pd.Series[Any]"], names: tuple[Hashable, ...], *, what: str, allow_none: bool
) -> FloatArray:
    """Say which column of a group is one in each row; the number of columns where none is."""
    ones = np.column_stack([to_floats(column) for column in columns])
    total = ones.sum(axis=1)
    bad = ~np.isin(ones, (0, 1)).all(axis=1) | (total > 1) | ((total < 1) & (not allow_none))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InvalidInput(
            f"`{what}` must have exactly one 1 among the one-hot columns {listing(names)}; row {row} has "
            f"{ones[row].tolist()}."
        )
    return np.where(total == 1, ones.argmax(axis=1), len(names)).astype(np.float64)


def is_number_like(values: "pd.Series[Any]") -> bool:
    """Say whether a column holds numbers, whatever its dtype."""
    dtype = values.dtype
    if pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_complex_dtype(dtype):
        return False
    if pd.api.types.is_numeric_dtype(dtype):
        return True
    numbers = (int, float, np.integer, np.floating)
    return is_object(dtype) and all(
        value is None or value is pd.NA or (isinstance(value, numbers) and not isinstance(value, bool))
        for value in values
    )


def to_floats(values: "pd.Series[Any]") -> FloatArray:
    """Turn numbers of any dtype into floats; NaN where they are missing."""
    # Adding zero turns -0.0 into 0.0: they are one number, and people write it without a sign.
    return values.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0


def level_codes(values: "pd.Series[Any]", levels: Sequence[Any]) -> AnyArray:
    """Find each value among the levels; -1 where it is none of them."""
    index = pd.Index(pd.Series(list(levels), dtype=object))
    return index.get_indexer(pd.Index(values.astype(object)))


def shortened(value: object, most: int = 60) -> str:
    """Write a value for a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def listing(names: Sequence[object], most: int = 12) -> str:
    """Write some names for a message."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"
