"""Read rows of a Parquet file part by part, however much a few kilobytes of it unfold to."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from betarce.errors import InvalidInput, require

MOST_UNFOLDED = 2**30
"""Most bytes that one column of one row group may take unfolded; pandas writes a million rows to each."""
_NAMED = 20  # columns that nobody needs, and that are shown by name where one is missing


def n_rows(path: Path) -> int:
    """Say how many rows a file has, without reading them."""
    with _opened(path) as file:
        return int(file.metadata.num_rows)


def parquet_parts(path: Path, *, size: int, columns: Collection[str] = ()) -> Iterator[pd.DataFrame]:
    """Give the rows of a file, at most `size` at a time.

    Parameters
    ----------
    path : Path
    size : int
    columns : collection of str
        Those that are needed; of all others only the first names are given, with nothing in them. All by default.

    Raises
    ------
    InvalidInput
        If it is no Parquet file, gives two columns the same name, or unfolds to too much.
    """
    with _opened(path) as file:
        names = list(file.schema_arrow.names)
        twice = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        if twice:
            raise InvalidInput(f"{str(path)!r} names the columns {', '.join(map(repr, twice[:5]))} more than once.")
        wanted = [name for name in names if name in columns] if columns else names
        nested = {name: str(file.schema_arrow.field(name).type) for name in wanted if _is_nested(file, name)}
        read = [name for name in wanted if name not in nested]
        _check_size(file, set(read), path)
        others = [name for name in names if name not in wanted][:_NAMED]
    texts = [name for name in read if _is_text(file, name)]
    with _opened(path, read_dictionary=texts) as file:
        shown = [name for name in names if name in {*wanted, *others}]
        for batch in file.iter_batches(batch_size=size, columns=read):
            # Each text is held once, however many rows have it.
            table = batch.to_pandas(ignore_metadata=True)
            found = {name: table[name].astype(object) if name in texts else table[name] for name in read}
            found |= dict.fromkeys(others) | {name: f"<{kind}>" for name, kind in nested.items()}
            yield pd.DataFrame({name: found[name] for name in shown}, index=range(len(batch)))


@contextmanager
def _opened(path: Path, **options: Any) -> Iterator[Any]:
    arrow = require("pyarrow", extra="parquet", purpose="Reading Parquet files")
    parquet = require("pyarrow.parquet", extra="parquet", purpose="Reading Parquet files")
    try:
        with parquet.ParquetFile(path, **options) as file:
            yield file
    except InvalidInput:
        raise
    except (arrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read as Parquet: {error}") from error


def _check_size(file: Any, names: Collection[str], path: Path) -> None:
    """Refuse what unfolds to more than memory should hold, before any of it is unfolded."""
    for i in range(file.metadata.num_row_groups):
        group = file.metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            if column.path_in_schema in names and column.total_uncompressed_size > MOST_UNFOLDED:
                raise InvalidInput(
                    f"{str(path)!r} cannot be read: its column {column.path_in_schema!r} unfolds to "
                    f"{column.total_uncompressed_size:,} bytes in one row group; at most {MOST_UNFOLDED:,} are read. "
                    "Write it in smaller row groups."
                )


def _is_nested(file: Any, name: str) -> bool:
    """Say whether a value of a column is no plain value: a list, a record, or a block of bytes."""
    types = require("pyarrow.types", extra="parquet", purpose="Reading Parquet files")
    kind = file.schema_arrow.field(name).type
    return bool(types.is_nested(kind) or types.is_fixed_size_binary(kind))


def _is_text(file: Any, name: str) -> bool:
    types = require("pyarrow.types", extra="parquet", purpose="Reading Parquet files")
    kind = file.schema_arrow.field(name).type
    kinds = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(is_kind(kind) for is_kind in kinds)
