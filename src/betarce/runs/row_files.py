"""Read rows part by part from files of any size: CSV, Parquet or JSON lines, or a folder of such files."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.features.readings import Reading
from betarce.runs.json_lines import json_parts
from betarce.runs.parquet_rows import n_rows, parquet_parts
from betarce.storage.files import check_path
from betarce.tables.csv_parts import csv_parts

_BLOCK = 1 << 20
_AT_ONCE = 4096  # rows that are read at a time
KINDS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
"""Which suffix stands for which format."""


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """Say which format a file has by its name; None for one that is not known.

    Examples
    --------
    >>> kind_of("rows.parquet"), kind_of("rows.CSV"), kind_of("rows.xlsx")
    ('parquet', 'csv', None)
    """
    return KINDS.get(Path(path).suffix.lower())


@dataclass(frozen=True)
class RowFiles:
    """Files of rows, all of one format, in the order of their names.

    Attributes
    ----------
    paths : tuple of Path
    kind : str
        "csv", "parquet" or "jsonl".
    missing : tuple of str
        What else stands for a missing value in text files.
    columns : tuple of str
        Those that are needed; what others hold is not read from Parquet and JSON lines. All if there are none.
    """

    paths: tuple[Path, ...]
    kind: str
    missing: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @classmethod
    def at(
        cls, path: str | os.PathLike[str], *, missing: Sequence[str] = (), columns: Sequence[str] = ()
    ) -> "RowFiles":
        """Find the files at a path: that of a file, or of a folder of them.

        Raises
        ------
        InvalidInput
            If there is nothing, or nothing of a known format, or files of several formats.
        """
        place = Path(check_path(path))
        if place.is_dir():
            found = [each for each in sorted(place.iterdir()) if each.is_file() and each.name[0] not in "._"]
        elif place.is_file():
            found = [place]
        else:
            raise InvalidInput(f"There is no file or folder {str(path)!r}.")
        kinds = {kind_of(each) for each in found}
        if len(kinds) != 1 or None in kinds:
            raise InvalidInput(
                f"Rows must be in files that all end in .csv, .parquet or .jsonl; {str(path)!r} "
                f"{_listed(found) if found else 'is an empty folder'}."
            )
        return cls(tuple(found), str(kinds.pop()), tuple(missing), tuple(columns))

    def survey(self) -> "Survey":
        """Read all files once: what they hold, and about how many rows."""
        hashed, lines = sha256(), 0
        for path in self.paths:
            hashed.update(f"{path.name}\0{path.stat().st_size}\0".encode("utf-8", "surrogateescape"))
            with path.open("rb") as file:
                while block := file.read(_BLOCK):
                    hashed.update(block)
                    lines += block.count(b"\n")
        if self.kind == "parquet":
            lines = sum(map(n_rows, self.paths))
        return Survey(hashed.hexdigest(), lines - (len(self.paths) if self.kind == "csv" else 0))

    def parts(self, size: int) -> Iterator[pd.DataFrame]:
        """Give the rows, `size` at a time, counted from 1 through all files; the last part may be smaller."""
        held, n_held, first = list[pd.DataFrame](), 0, 1
        for table in chain.from_iterable(map(self._tables, self.paths)):
            rest = table
            while n_held + len(rest) >= size:
                held.append(rest.iloc[: size - n_held])
                rest = rest.iloc[size - n_held :]
                yield _counted(held, first)
                held, n_held, first = [], 0, first + size
            if len(rest):
                held.append(rest)
                n_held += len(rest)
        if held:
            yield _counted(held, first)

    def _tables(self, path: Path) -> Iterator[pd.DataFrame]:
        if self.kind == "csv":
            return csv_parts(path, size=_AT_ONCE, missing=self.missing)
        read = parquet_parts if self.kind == "parquet" else json_parts
        return read(path, size=_AT_ONCE, columns=self.columns)


@dataclass(frozen=True)
class Survey:
    """What files of rows hold, without holding it.

    Attributes
    ----------
    digest : str
        Of their content, in their order.
    n_about : int
        Rows, as far as lines tell: values may hold line ends, too.
    """

    digest: str
    n_about: int


def _listed(found: Sequence[Path]) -> str:
    names = ", ".join(repr(each.name) for each in found[:5])
    return f"has {names}{', ...' if len(found) > 5 else ''}"


def _counted(tables: Sequence[pd.DataFrame], first: int) -> pd.DataFrame:
    table = tables[0] if len(tables) == 1 else pd.concat(tables)
    return table.set_axis(pd.RangeIndex(first, first + len(table)))


def as_trained(table: pd.DataFrame, features: FeatureSpace, *, what: str) -> pd.DataFrame:
    """Pick the columns that the model was trained on, each value read for itself.

    A value that is none of its column's kind stays as it is and makes its own row unreadable, not the others.

    Raises
    ------
    InvalidInput
        If columns are missing, all of which are named.
    """
    absent = [str(name) for name in features.form.names if name not in table.columns]
    if absent:
        raise InvalidInput(
            f"{what!r} lacks columns that the model was trained on: {', '.join(map(repr, absent))}. It has: "
            f"{', '.join(map(repr, map(str, table.columns[:20])))}{', ...' if table.shape[1] > 20 else ''}."
        )
    readings = {reading.name: reading for reading in features.readings}
    return pd.DataFrame({name: _read(table[name], readings[name]) for name in features.form.names}, index=table.index)


def _read(column: "pd.Series[Any]", reading: Reading) -> "pd.Series[Any]":
    if reading.is_text:
        return column.astype(object).where(column.notna(), None)
    if reading.levels is not None and all(isinstance(level, bool) for level in reading.levels):
        known = {"true": True, "false": False}
        return column.map(lambda value: known.get(str(value).strip().lower(), value)).astype(object)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    numbers = pd.to_numeric(column, errors="coerce")
    wrong = numbers.isna() & column.notna()
    return numbers.astype(object).where(~wrong, column) if wrong.any() else numbers
