"""Answers as a plain table that any file format can hold: one line per row, one type per column."""

from typing import Any

import numpy as np
import pandas as pd

from betarce.features import FeatureSpace
from betarce.results.frames import as_pandas
from betarce.results.result import Result

_KNOWN = {
    "target": "string",
    "status": "string",
    "lower_bound": "Float64",
    "n_agree": "Int64",
    "n_models": "Int64",
    "base_agree": "Int64",
    "features_changed": "Int64",
    "distance_to_base": "Float64",
    "distance_to_original": "Float64",
    "n_evaluations": "Int64",
    "reason": "string",
    "note": "string",
}
_BLOCKS = ("original", "base", "robust")


def answer_table(result: Result) -> pd.DataFrame:
    """Lay answers out as a plain table: the same columns and types for any rows.

    Columns are "row", what is known of the answer ("status", "reason", "lower_bound", ...), "certificate" as JSON, and
    "original.<column>", "base.<column>" and "robust.<column>" in original units; what does not exist is missing. Times
    are left out: the same rows give the same table.
    """
    whole: Any = result.to_frame()
    values: dict[str, Any] = {"row": result.row_names}
    values |= {name: whole["result"][name] for name in _KNOWN}
    # In a column of pandas, the class 1 would be 1.0 beside a row that has no target.
    values["target"] = [item.target for item in result]
    values["certificate"] = [item.certificate and item.certificate.to_json() for item in result]
    for block in _BLOCKS:
        names = [f"{block}.{name}" for name in result.features.form.names]
        values |= {name: whole[block].iloc[:, place] for place, name in enumerate(names)}
    return pd.DataFrame({name: _as(values[name], kind) for name, kind in column_types(result.features).items()})


def empty_table(features: FeatureSpace) -> pd.DataFrame:
    """Give the table of no answers, which has the columns and types of all others."""
    return pd.DataFrame({name: _as([], kind) for name, kind in column_types(features).items()})


def column_types(features: FeatureSpace) -> dict[str, Any]:
    """Say which type each column of the table has, whatever is missing in it."""
    table = as_pandas(features.decode(np.zeros((0, len(features)))), features)
    own = {str(name): _type(dtype) for name, dtype in table.dtypes.items()}
    blocks = {f"{block}.{name}": kind for block in _BLOCKS for name, kind in own.items()}
    return {"row": "string", **_KNOWN, "certificate": "string", **blocks}


def _type(dtype: Any) -> str:
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_integer_dtype(dtype):
        return "Int64"
    return "Float64" if pd.api.types.is_float_dtype(dtype) else "string"


def _as(values: Any, kind: Any) -> Any:
    if kind == "string":
        return pd.array([None if _is_missing(value) else str(value) for value in values], dtype="string")
    if kind == "boolean":
        return pd.array([None if _is_missing(value) else bool(value) for value in values], dtype="boolean")
    numbers: Any = pd.to_numeric(pd.Series(list(values), dtype=object)).to_numpy(dtype="float64", na_value=np.nan)
    return pd.Series(numbers).astype("Float64").astype(kind).array


def _is_missing(value: Any) -> bool:
    return not isinstance(value, (list, tuple)) and bool(pd.isna(value))
