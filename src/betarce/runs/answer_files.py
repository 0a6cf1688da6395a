"""Write tables of answers, part by part: CSV, Parquet or JSON lines."""

import json
import os
import shutil
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from uuid import uuid4

import pandas as pd

from betarce.errors import CorruptFile, require


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
