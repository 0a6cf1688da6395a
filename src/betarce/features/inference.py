"""Infer the columns of a training table, as far as rules are silent about them."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray, FloatArray
from betarce.errors import InvalidInput
from betarce.features.columns import (
    Column,
    Kind,
    is_number_like,
    level_codes,
    listing,
    one_hot_codes,
    one_value_per_cell,
    to_floats,
)
from betarce.features.rules.kind import DeclaredKind
from betarce.features.rules.protocol import Rule
from betarce.features.table_adapters import check_precision, is_known, is_object, is_text

_LARGEST = 2.0**53  # whole numbers beyond are not exact as floats
_MOST_DECIMALS = 6
_MOST_COMMON = 32
_LEAST_ROWS = 10  # fewer rows say nothing about decimals, nor that a float is 0 or 1 only
_EVIDENCE = 8  # floats between two steps of a grid, for a column on it to be there on purpose


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
    declared = rule.part(DeclaredKind) or DeclaredKind()
    kind = declared.kind or _kind_of(values, name)
    if kind in ("categorical", "ordinal") or _is_bool(values):
        kind = "binary" if declared.kind is None and _is_bool(values) else kind
        column = _coded(values, name, declared, kind)
    else:
        column = _numeric(values, name, declared, kind, guess_step)
    return replace(column, missing=column.missing or rule.lets_miss)


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
        numbers = to_floats(values)
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
        'instance days since a date) or into categories (astype("category")), or drop it.'
    )


def _coded(values: "pd.Series[Any]", name: Hashable, declared: DeclaredKind, kind: Kind) -> Column:
    present = values.dropna()
    if declared.levels is not None:
        levels = declared.levels
    elif isinstance(values.dtype, pd.CategoricalDtype):
        levels = tuple(values.dtype.categories)
    elif _is_bool(values):
        levels = (False, True)
    else:
        with one_value_per_cell(values, name, "X"):
            # Not pandas.unique: before pandas 3 it takes two texts for one that are the same up to a NUL.
            levels = _in_order(dict.fromkeys(present.tolist()))
    with one_value_per_cell(values, name, "X"):
        codes = level_codes(present, levels)
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
        missing=bool(values.isna().any()),
        common=_common(codes),
    )


def _numeric(values: "pd.Series[Any]", name: Hashable, declared: DeclaredKind, kind: Kind, guess_step: bool) -> Column:
    if not is_number_like(values):
        raise InvalidInput(f"`features[{name!r}]` says {kind}, but the column holds {values.iloc[0]!r}.")
    check_precision(str(values.dtype), name)
    numbers = to_floats(values)
    infinite = np.flatnonzero(np.isinf(numbers))
    if infinite.size:
        raise InvalidInput(
            f"`X` must hold finite numbers; row {values.index[infinite[0]]!r}, column {name!r} is "
            f"{numbers[infinite[0]]} ({infinite.size} such values in it). Impute or drop them first."
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
    guess_step = guess_step and declared.kind is None
    step = declared.step or (1.0 if whole else _decimal_step(known, single=single) if guess_step else None)
    return Column(
        name=name,
        raw=(name,),
        kind=kind,
        lower=low,
        upper=high,
        scale=high - low if high > low else 1.0,
        step=step,
        missing=bool(np.isnan(numbers).any()),
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


def _is_bool(values: "pd.Series[Any]") -> bool:
    if isinstance(values.dtype, pd.CategoricalDtype):
        return False
    if is_object(values.dtype):  # as soon as one is missing
        return pd.api.types.infer_dtype(values, skipna=True) == "boolean"
    return bool(pd.api.types.is_bool_dtype(values.dtype))


def _is_whole_dtype(dtype: Any) -> bool:
    return bool(pd.api.types.is_integer_dtype(dtype))


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


def _common(codes: AnyArray) -> tuple[float, ...]:
    found, counts = np.unique(codes, return_counts=True)
    return tuple(found[np.argsort(-counts, kind="stable")][:_MOST_COMMON].astype(float).tolist())


def _in_order(values: Any) -> tuple[Any, ...]:
    try:
        return tuple(sorted(values))
    except TypeError:
        return tuple(sorted(values, key=lambda value: (type(value).__name__, str(value))))
