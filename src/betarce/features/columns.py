"""One column of a point: what it holds, read off the training table."""

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.errors import InvalidInput
from betarce.features.rules import Kind, Rule
from betarce.features.table_adapters import check_precision, is_known, is_object, is_text

_LARGEST = 2.0**53  # whole numbers beyond are not exact as floats
_MOST_DECIMALS = 6
_MOST_COMMON = 32
_LEAST_ROWS = 10  # fewer rows say nothing about decimals, nor that a float is 0 or 1 only
_EVIDENCE = 8  # floats between two steps of a grid, for a column on it to be there on purpose


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

    def range_in_words(self, rule: Rule) -> str:
        """Say which values are in range."""
        if self.levels is None:
            low, high = (
                own if own is not None else seen for own, seen in ((rule.low, self.lower), (rule.high, self.upper))
            )
            return f"{low:g} to {high:g}"
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
        with _one_value_a_cell(values, self.name, what):
            codes = _positions(values, self.levels).astype(np.float64)
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
        return self._checked(_to_floats(values), values.index, what)

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


def infer_column(values: "pd.Series[Any]", name: Hashable, rule: Rule, *, guess_step: bool) -> Column:
    """Read a column off the training table, as far as its rule is silent.

    Parameters
    ----------
    values : Series
        The training values.
    name : hashable
    rule : Rule
        What the user said about it.
    guess_step : bool
        Whether decimals count: 12.5 and 13.0 then suggest steps of 0.1 or whole numbers.

    Examples
    --------
    >>> infer_column(pd.Series(["rent", "own", "rent"]), "housing", Rule(), guess_step=True).levels
    ('own', 'rent')
    """
    kind = rule.kind or _kind_of(values, name)
    if kind in ("categorical", "ordinal") or _is_bool(values):
        return _coded(values, name, rule, "binary" if rule.kind is None and _is_bool(values) else kind)
    return _numeric(values, name, rule, kind, guess_step)


def _kind_of(values: "pd.Series[Any]", name: Hashable) -> Kind:
    dtype = values.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordinal" if dtype.ordered else "categorical"
    if not is_known(dtype):
        raise _unreadable(dtype, name)
    if is_object(dtype) and pd.api.types.infer_dtype(values, skipna=True) == "decimal":
        check_precision("Decimal", name)
    if _is_bool(values):
        return "binary"
    if is_number_like(values):
        numbers = _to_floats(values)
        known = numbers[~np.isnan(numbers)]
        whole = bool((known == np.rint(known)).all())
        is_flag = bool(known.size) and bool(np.isin(known, (0, 1)).all())
        # pandas turns whole numbers into floats as soon as one of them is missing.
        if whole and (_is_whole_dtype(dtype) or np.isnan(numbers).any()):
            return "binary" if is_flag else "integer"
        return "binary" if is_flag and known.size >= _LEAST_ROWS else "continuous"
    if is_object(dtype) or is_text(dtype):
        return "categorical"
    raise _unreadable(dtype, name)


def _unreadable(dtype: Any, name: Hashable) -> InvalidInput:
    return InvalidInput(
        f"`X` has a column {name!r} of type {dtype}, which is neither number nor category. Turn it into a number (for "
        "instance days since a date) or drop it."
    )


@contextmanager
def _one_value_a_cell(values: "pd.Series[Any]", name: Hashable, what: str) -> Iterator[None]:
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


def _coded(values: "pd.Series[Any]", name: Hashable, rule: Rule, kind: Kind) -> Column:
    present = values.dropna()
    if rule.levels is not None:
        levels = rule.levels
    elif isinstance(values.dtype, pd.CategoricalDtype):
        levels = tuple(values.dtype.categories)
    elif _is_bool(values):
        levels = (False, True)
    else:
        with _one_value_a_cell(values, name, "X"):
            # Not pandas.unique: before pandas 3 it takes two texts for one that are the same up to a NUL.
            levels = _in_order(dict.fromkeys(present.tolist()))
    with _one_value_a_cell(values, name, "X"):
        codes = _positions(present, levels)
    if (codes < 0).any():
        raise InvalidInput(
            f"`features[{name!r}]` lists the levels {listing(levels)}, but the training table also has "
            f"{present.iloc[np.flatnonzero(codes < 0)[0]]!r}."
        )
    if not levels:
        raise InvalidInput(f"`X` has no value at all in column {name!r}. Drop it.")
    seen = np.isin(np.arange(len(levels)), codes)
    ordered = kind != "categorical"
    return Column(
        name=name,
        raw=(name,),
        kind=kind,
        lower=0.0,
        upper=len(levels) - 1.0,
        scale=max(1.0, len(levels) - 1.0) if ordered else 1.0,
        step=1.0,
        levels=tuple(level.item() if isinstance(level, np.generic) else level for level in levels),
        seen=seen,
        missing=bool(values.isna().any()) or bool(rule.missing),
        common=_common(codes),
    )


def _numeric(values: "pd.Series[Any]", name: Hashable, rule: Rule, kind: Kind, guess_step: bool) -> Column:
    if not is_number_like(values):
        raise InvalidInput(f"`features[{name!r}]` says {kind}, but the column holds {values.iloc[0]!r}.")
    check_precision(str(values.dtype), name)
    numbers = _to_floats(values)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise InvalidInput(
            f"`X` must hold finite numbers; row {infinite[0]}, column {name!r} is {numbers[infinite[0]]} "
            f"({infinite.size} such values in it). Impute or drop them first."
        )
    known = numbers[~np.isnan(numbers)]
    if not known.size:
        raise InvalidInput(f"`X` has no value at all in column {name!r}. Drop it.")
    whole = kind in ("integer", "binary") or _is_whole_dtype(values.dtype)
    if whole and np.abs(known).max() > _LARGEST:
        raise InvalidInput(
            f"`X` has whole numbers beyond 2**53 in column {name!r}, which cannot be carried exactly. Drop it if it is "
            "an identifier."
        )
    if kind in ("integer", "binary") and (known != np.rint(known)).any():
        raise InvalidInput(f"`features[{name!r}]` says {kind}, but the column holds fractions.")
    low, high = float(known.min()), float(known.max())
    single = getattr(values.dtype, "numpy_dtype", values.dtype) == np.float32
    guess_step = guess_step and rule.kind is None
    step = rule.step or (1.0 if whole else _decimal_step(known, single=single) if guess_step else None)
    return Column(
        name=name,
        raw=(name,),
        kind=kind,
        lower=low,
        upper=high,
        scale=high - low if high > low else 1.0,
        step=step,
        missing=bool(np.isnan(numbers).any()) or bool(rule.missing),
        single=single,
        common=(float(np.quantile(known, 0.5, method="nearest")),),
    )


def group_column(columns: Sequence["pd.Series[Any]"], names: tuple[Hashable, ...]) -> Column:
    """Make one column of a one-hot group."""
    codes = one_hot_codes(columns, names, what="X", allow_none=True)
    levels: tuple[Any, ...] = tuple(names)
    if (codes == len(names)).any():
        levels = (*levels, None)  # no column is one: the level that was dropped
    return Column(
        name=names,
        raw=names,
        kind="categorical",
        lower=0.0,
        upper=len(levels) - 1.0,
        scale=1.0,
        step=1.0,
        levels=levels,
        seen=np.isin(np.arange(len(levels)), codes),
        common=_common(codes),
    )


def one_hot_codes(
    columns: Sequence["pd.Series[Any]"], names: tuple[Hashable, ...], *, what: str, allow_none: bool
) -> FloatArray:
    """Say which column of a group is one in each row; the number of columns where none is."""
    ones = np.column_stack([_to_floats(column) for column in columns])
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


def _is_bool(values: "pd.Series[Any]") -> bool:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return False
    if is_object(values.dtype):  # as soon as one is missing
        return pd.api.types.infer_dtype(values, skipna=True) == "boolean"
    return bool(pd.api.types.is_bool_dtype(values.dtype))


def _is_whole_dtype(dtype: Any) -> bool:
    return bool(pd.api.types.is_integer_dtype(dtype))


def _to_floats(values: "pd.Series[Any]") -> FloatArray:
    # Adding zero turns -0.0 into 0.0: they are one number, and people write it without a sign.
    return values.to_numpy(dtype=np.float64, na_value=np.nan) + 0.0


def _decimal_step(known: FloatArray, *, single: bool) -> float | None:
    """Find the coarsest decimal step that all values keep; None if they have more digits than people write."""
    if len(known) < _LEAST_ROWS:
        return None
    largest = np.abs(known).max()
    # Below that, any float of this size lies on the grid, and that it does says nothing.
    finest = _EVIDENCE * float(np.spacing(np.float32(largest) if single else largest))
    for decimals in range(_MOST_DECIMALS + 1):
        step = float(f"1e-{decimals}")
        rounded = np.round(known, decimals)
        if step >= finest and ((rounded.astype(np.float32) if single else rounded) == known).all():
            return step
    return None


def _positions(values: "pd.Series[Any]", levels: Sequence[Any]) -> AnyArray:
    index = pd.Index(pd.Series(list(levels), dtype=object))
    return index.get_indexer(pd.Index(values.astype(object)))


def _common(codes: AnyArray) -> tuple[float, ...]:
    found, counts = np.unique(codes, return_counts=True)
    return tuple(found[np.argsort(-counts, kind="stable")][:_MOST_COMMON].astype(float).tolist())


def _in_order(values: Any) -> tuple[Any, ...]:
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda value: (type(value).__name__, str(value))))


def shortened(value: object, most: int = 60) -> str:
    """Write a value for a message."""
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."


def listing(names: Sequence[object], most: int = 12) -> str:
    """Write some names for a message."""
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ... ({len(names)} in all)"
