"""Hints on columns that a newcomer should look at: codes that look like amounts, identifiers, dates."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd

from betarce.features.columns import Column
from betarce.features.space import FeatureSpace

_FEW = 10
_MANY = 50
_LEAST_ROWS = 20  # fewer say nothing about how often values repeat
DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?"


def hints(table: pd.DataFrame, space: FeatureSpace) -> dict[Hashable, str]:
    """Say for each column what its values suggest, if anything.

    Examples
    --------
    >>> table = pd.DataFrame({"rating": [1, 2, 3] * 10, "customer": [f"C{i}" for i in range(30)]})
    >>> for name, text in hints(table, FeatureSpace.infer(table)).items():
    ...     print(f"{name}: {text}")
    rating: 3 different numbers. If they are codes, not amounts: kind = "categorical"
    customer: 30 different texts in 30 rows. If it is an identifier, leave it out.
    """
    found = {column.name: _hint(table[column.name], column) for column in space.columns if len(column.raw) == 1}
    return {name: text for name, text in found.items() if text}


def _hint(values: "pd.Series[Any]", column: Column) -> str:
    present = values.dropna()
    distinct = present.unique()
    if len(distinct) == 1:
        return "Always the same value: a model learns nothing from it."
    if len(values) < _LEAST_ROWS:
        return ""
    if column.kind == "categorical":
        if present.map(lambda value: isinstance(value, str)).all() and present.astype(str).str.fullmatch(DATE).all():
            return "Looks like dates. Turn them into numbers (days since ...), or leave the column out."
        if len(distinct) > _MANY or len(distinct) == len(values):
            return f"{len(distinct)} different texts in {len(values)} rows. If it is an identifier, leave it out."
    if column.kind == "integer":
        if len(distinct) == len(values) and present.is_monotonic_increasing:
            return "A number of its own for each row, ascending. If it is an identifier, leave it out."
        if len(distinct) <= _FEW:
            return f'{len(distinct)} different numbers. If they are codes, not amounts: kind = "categorical"'
        if (step := int(np.gcd.reduce(distinct.astype(np.int64)))) > 1:
            return f'All are multiples of {step}. To keep it so: kind = "integer" and step = {step}'
    return ""
