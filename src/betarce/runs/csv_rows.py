"""Rows of CSV files, read by the columns of a run: to be explained, or with labels to train on."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import BetarceWarning, InvalidInput
from betarce.features import FeatureSpace
from betarce.models.recipe import Table
from betarce.robustify import BetaRCE
from betarce.robustify.rows import readable_rows
from betarce.runs.manifest import TableSource
from betarce.tables.csv_file import check_column, read_csv, without_label


@dataclass(frozen=True, eq=False)
class RowsFile:
    """Rows of a CSV file.

    Attributes
    ----------
    table : DataFrame
        With the columns of a training table.
    others : DataFrame
        The same rows with all other columns, which no model sees.
    """

    table: pd.DataFrame
    others: pd.DataFrame

    @property
    def extra(self) -> tuple[str, ...]:
        """The columns that no model sees."""
        return tuple(map(str, self.others.columns))

    def column(self, name: str) -> "pd.Series[Any]":
        """Give a column of the file, whether the model sees it or not; missing values are empty text."""
        table = pd.concat([self.others, self.table], axis="columns")
        check_column(table, name)
        return table[name].astype(object).where(table[name].notna(), "")

    def named_by(self, column: str) -> "RowsFile":
        """Call the rows by one of the other columns; refuse one that names two rows alike, or none."""
        check_column(self.others, column)
        names = self.others[column]
        if names.isna().any() or not names.is_unique:
            twice = names[names.duplicated()].astype(str).tolist()
            wrong = "is empty in some rows" if names.isna().any() else f"has {twice[0]!r} twice"
            raise InvalidInput(
                f"A column that names the rows must have one value of its own for each; {column!r} {wrong}."
            )
        index = pd.Index(names.tolist())
        return RowsFile(self.table.set_axis(index), self.others.set_axis(index))


def read_rows(path: str | os.PathLike[str], space: FeatureSpace, *, missing: Sequence[str] = ()) -> RowsFile:
    """Read rows to explain: columns are matched by name, and some of the rows must be readable.

    Raises
    ------
    InvalidInput
        If columns are missing, all of which are named, or no row can be read.
    """
    names = list(space.form.names)
    texts = {str(reading.name) for reading in space.readings if reading.is_text}
    rows = read_csv(path, texts=sorted(texts), missing=missing, codes=False)
    absent = [str(name) for name in names if name not in rows.columns]
    if len(absent) == 1:
        check_column(rows, absent[0])
    if absent:
        raise InvalidInput(
            f"{str(path)!r} lacks {len(absent)} columns that the model was trained on: {', '.join(map(repr, absent))}."
        )
    table = rows[names]
    _, unreadable = readable_rows(space, table, str(path))
    if len(unreadable) == len(table):
        raise InvalidInput(unreadable[0])
    return RowsFile(table, rows.drop(columns=names))


def read_table(path: str | os.PathLike[str], rce: BetaRCE, source: TableSource) -> Table:
    """Read a table with labels as the training table of a run was read.

    Rows that hold what the run's columns cannot say, such as a category that is new, are left out, which is said.

    Parameters
    ----------
    path : str or path
        A CSV file with the columns of the run and its label.
    rce : BetaRCE
        The run.
    source : TableSource
        How its own table was read.
    """
    if source.label is None:
        raise InvalidInput(
            "The run does not say which column holds the classes: it was not made from a CSV file. Train the new model "
            "yourself, and pass that."
        )
    found = read_rows(path, rce.features_, missing=source.missing)
    check_column(found.others, source.label)
    rows = found.others[source.label].notna()
    _, labels = without_label(
        found.table[rows].assign(**{source.label: found.others[source.label][rows]}), source.label
    )
    points, unreadable = readable_rows(rce.features_, found.table[rows], os.fspath(path))
    if unreadable:
        first = next(iter(unreadable.values()))
        warnings.warn(
            f"{len(unreadable):,} of {len(labels):,} rows of {os.fspath(path)!r} are left out, the first since {first}",
            BetarceWarning,
            stacklevel=2,
        )
    readable = np.setdiff1d(np.arange(len(labels)), list(unreadable))
    return Table(rce.features_.decode(points), np.asarray(labels)[readable])
