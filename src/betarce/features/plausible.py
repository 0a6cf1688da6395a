"""Refuse feature spaces from files that no table can have led to."""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.features.columns import Column
from betarce.features.rules.one_hot import OneHot
from betarce.features.space import FeatureSpace

_NUMBERS = ("continuous", "integer", "binary")
_MOST_PROBES = 1000
_COARSE = {"float16": 1e-3, "Float16": 1e-3, "float32": 1e-6, "Float32": 1e-6, "Decimal": 1e-6}


def check_plausible(space: FeatureSpace) -> None:
    """Refuse columns and rules that `FeatureSpace.infer` never makes.

    Raises
    ------
    ValueError
        With what is wrong.
    """
    raw = [name for column in space.columns for name in column.raw]
    if len(set(raw)) < len(raw) or set(raw) != set(space.form.names) or len(raw) != len(space.form.names):
        raise ValueError("its columns are not those of its table")
    for column in space.columns:
        _require(column, _common_faults(column))
        _require(column, _number_faults(column) if column.levels is None else _level_faults(column))
    for name, rule in space.rules.items():
        if name not in space.names:
            raise ValueError(f"there is a rule for {name!r}, but no such column")
        column = space.columns[space.names.index(name)]
        _require(column, {part.denied_by(column): True for part in rule.parts if part.denied_by(column)})
        _require(column, {"is a group without a rule that says so": (OneHot() in rule.parts) != (len(column.raw) > 1)})
    wrong = ~survives(space, _probes(space)).all(axis=0)
    if wrong.any():
        raise ValueError(f"column {space.columns[int(wrong.argmax())].title!r} does not fit its dtype")


def survives(space: FeatureSpace, points: FloatArray) -> BoolArray:
    """Say which values of points come back from the user's own table as they are, shape (rows, features)."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what does not fit its dtype comes back changed, and that is what we ask
        again = space.encode(space.decode(points))
    return np.asarray(~space.differs(points, again) | (np.abs(again - points) <= _tolerance(space) * np.abs(points)))


def _tolerance(space: FeatureSpace) -> FloatArray:
    """Give what a dtype with fewer digits than a point may change of each column."""
    form: Any = space.form
    dtypes = [form.schema[name] for name in form.names] if hasattr(form, "schema") else form.dtypes
    by_name = dict(zip(form.names, dtypes, strict=True))
    return np.array([_COARSE.get(_name(by_name[column.raw[0]]), 0.0) for column in space.columns])


def _name(dtype: Any) -> str:
    return str(getattr(dtype, "name", dtype)).partition("(")[0]


def _probes(space: FeatureSpace) -> FloatArray:
    """Give points that together have every level, up to a thousand, and an ordinary value of all numbers."""
    n = max([1, *(len(column.levels) for column in space.columns if column.levels is not None)])
    rows = np.arange(min(n, _MOST_PROBES))
    values = [
        np.full(len(rows), column.common[0]) if column.levels is None else rows % len(column.levels)
        for column in space.columns
    ]
    return np.column_stack(values).astype(np.float64)


def _require(column: Column, faults: Mapping[str, bool]) -> None:
    for fault, is_so in faults.items():
        if is_so:
            raise ValueError(f"column {column.title!r} {fault}")


def _common_faults(column: Column) -> dict[str, bool]:
    numbers = (column.lower, column.upper, column.scale, *column.common, *([column.step] if column.step else []))
    one = len(column.raw) == 1
    return {
        "has no table column of its name": not column.raw or column.name != (column.raw[0] if one else column.raw),
        "has numbers that are not finite": not all(math.isfinite(number) for number in numbers),
        "has an empty range": not column.lower <= column.upper,
        "has no scale": not column.scale > 0,
        "has a step that is not above zero": column.step is not None and not column.step > 0,
        "has levels, but does not say which were seen": (column.levels is None) != (column.seen is None),
    }


def _number_faults(column: Column) -> dict[str, bool]:
    width = column.upper - column.lower
    return {
        "holds names, but has no levels": column.kind not in _NUMBERS,
        "is a group, but has no levels": len(column.raw) > 1,
        "has a scale that is not its range": column.scale != (width if width > 0 else 1.0),
        "has no median in its range": len(column.common) != 1 or not column.lower <= column.common[0] <= column.upper,
    }


def _level_faults(column: Column) -> dict[str, bool]:
    assert column.levels is not None
    n = len(column.levels)
    ordered = not column.is_nominal
    group = len(column.raw) > 1
    return {
        "has no levels": n == 0,
        "has a level twice": len(set(map(repr, column.levels))) < n,
        "has a range that is not its levels": (column.lower, column.upper, column.step) != (0.0, n - 1.0, 1.0),
        "has a scale that is not its range": column.scale != (max(1.0, n - 1.0) if ordered else 1.0),
        "has levels that it lacks": not set(column.common) <= set(range(n)),
        "has a common level twice": len(set(column.common)) < len(column.common),
        "has levels that are not its columns": group and column.levels not in (column.raw, (*column.raw, None)),
        "is a group, but not categorical": group and not column.is_nominal,
        "has levels of single precision": column.single,
    }
