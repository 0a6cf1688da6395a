"""Write answers as plain tables, part by part: CSV, Parquet or JSON lines."""

import json
import os
import shutil
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd

from betarce.errors import CorruptFile, require
from betarce.features import FeatureSpace
from betarce.results.frames import as_pandas
from betarce.results.result import Result

_COUNTS = ("n_agree", "n_models", "base_agree", "features_changed", "n_evaluations")
_TEXTS = ("target", "status", "reason", "note")


def answer_table(result: Result) -> pd.DataFrame:
    """Lay answers out as a plain table: one line per row, the same columns and types for any rows.

    Columns are "row", what is known of the answer ("status", "reason", "lower_bound", ...), "certificate" as JSON, and
    "original.<column>", "base.<column>" and "robust.<column>" in original units; what does not exist is missing. Times
    are left out: the same rows give the same table.
    """
    whole: Any = result.to_frame()
    known = {name: whole["result"][name] for name in whole["result"].columns}
    # In a column of pandas, the class 1 would be 1.0 beside a row that has no target.
    known["target"] = pd.Series([item.target for item in result], dtype=object)
    columns: dict[str, Any] = {"row": [str(name) for name in result.row_names]}
    columns |= {name: _typed(values, name) for name, values in known.items()}
    columns["certificate"] = pd.array(
        [None if item.certificate is None else item.certificate.to_json() for item in result], dtype="string"
    )
    kinds = _kinds(result.features)
    for block in ("original", "base", "robust"):
        for place, (name, kind) in enumerate(kinds.items()):
            values = whole[block].iloc[:, place]
            columns[f"{block}.{name}"] = _as(values, kind)
    return pd.DataFrame({name: np.asarray(c) if isinstance(c, list) else pd.array(c) for name, c in columns.items()})


def _typed(values: "pd.Series[Any]", name: str) -> Any:
    return _as(values, "Int64" if name in _COUNTS else "string" if name in _TEXTS else "Float64")


def _as(values: "pd.Series[Any]", kind: Any) -> Any:
    if kind == "string":
        return pd.array([None if _is_missing(value) else str(value) for value in values], dtype="string")
    if kind == "boolean":
        return pd.array([None if _is_missing(value) else bool(value) for value in values], dtype="boolean")
    numbers: Any = pd.to_numeric(values).to_numpy(dtype="float64", na_value=np.nan)
    return pd.Series(numbers).astype("Float64").astype(kind).array


def _is_missing(value: Any) -> bool:
    return not isinstance(value, (list, tuple)) and bool(pd.isna(value))


def _kinds(features: FeatureSpace) -> dict[str, str]:
    """Say by column which type a file has for it; the same for all parts, whatever is missing in one of them."""
    table = as_pandas(features.decode(np.zeros((0, len(features)))), features)
    kinds = {}
    for name, dtype in table.dtypes.items():
        if pd.api.types.is_bool_dtype(dtype):
            kinds[str(name)] = "boolean"
        elif pd.api.types.is_integer_dtype(dtype):
            kinds[str(name)] = "Int64"
        else:
            kinds[str(name)] = "Float64" if pd.api.types.is_float_dtype(dtype) else "string"
    return kinds


def encoded(table: pd.DataFrame, kind: str, *, heading: bool = True) -> bytes:
    """Write a table in a format, "csv", "parquet" or "jsonl"; numbers are written to the last bit."""
    if kind == "csv":
        return table.to_csv(index=False, header=heading, lineterminator="\n").encode("utf-8", "backslashreplace")
    if kind == "jsonl":
        plain = table.astype(object).where(table.notna(), None)
        records = (dict(zip(table.columns, row, strict=True)) for row in plain.itertuples(index=False, name=None))
        lines = [json.dumps(record, ensure_ascii=False, allow_nan=False) for record in records]
        return "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
    arrow = require("pyarrow", extra="parquet", purpose="Writing Parquet files")
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Writing Parquet files")
    content = BytesIO()
    parquet.write_table(arrow.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(), content)
    return content.getvalue()


def joined(parts: Sequence[Path], out: Path, kind: str) -> None:
    """Put parts together to one file, whole or not at all, without holding them all."""
    temporary = out.with_name(f".{uuid4().hex}.tmp")
    try:
        if kind == "parquet":
            _join_parquet(parts, temporary)
        else:
            _join_text(parts, temporary)
        os.replace(temporary, out)
    finally:
        temporary.unlink(missing_ok=True)


def _join_text(parts: Sequence[Path], out: Path) -> None:
    with out.open("xb") as file:
        for part in parts:
            with part.open("rb") as content:
                shutil.copyfileobj(content, file)
        file.flush()
        os.fsync(file.fileno())


def _join_parquet(parts: Sequence[Path], out: Path) -> None:
    arrow = require("pyarrow", extra="parquet", purpose="Writing Parquet files")
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Writing Parquet files")
    with out.open("xb") as file:
        writer = None
        for part in parts:
            try:
                table = parquet.read_table(part)
            except (arrow.ArrowInvalid, OSError) as error:
                raise CorruptFile(
                    f"{str(part)!r} was damaged: {error}. Delete it, and run the same command."
                ) from error
            writer = parquet.ParquetWriter(file, table.schema) if writer is None else writer
            writer.write_table(table)
        if writer is not None:
            writer.close()
        file.flush()
        os.fsync(file.fileno())
