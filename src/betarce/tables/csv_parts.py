"""Read CSV files part by part, every value as text."""

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from betarce.errors import InvalidInput
from betarce.tables.csv_file import in_plain_words, refuse_binary, separator_of

_ODD = (UnicodeDecodeError, pd.errors.ParserError, pd.errors.ParserWarning, pd.errors.EmptyDataError, ValueError)


def csv_parts(path: Path, *, size: int, missing: Sequence[str] = ()) -> Iterator[pd.DataFrame]:
    """Give the rows of a CSV file as text, at most `size` at a time.

    Types are not inferred: what a value is must not depend on the rows that are read with it.

    Parameters
    ----------
    path : Path
        Separated by commas, semicolons, tabs or bars, as its first line says.
    size : int
        The most rows of a part.
    missing : sequence of str
        What else stands for a missing value, such as "?".

    Raises
    ------
    InvalidInput
        If it is no CSV in UTF-8, gives two columns the same name, or has lines that are longer than its heading.
    """
    refuse_binary(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            options: dict[str, Any] = {"sep": separator_of(path), "encoding": "utf-8-sig", "dtype": "str"}
            options["skipinitialspace"] = True
            heading = pd.read_csv(path, header=None, nrows=1, **options).iloc[0]
            twice = heading[heading.duplicated() & heading.notna()].unique()
            if len(twice):
                raise InvalidInput(f"The heading of {str(path)!r} names {', '.join(map(repr, twice))} more than once.")
            with pd.read_csv(path, index_col=False, chunksize=size, na_values=list(missing), **options) as tables:
                yield from tables
    except InvalidInput:
        raise
    except _ODD as error:
        raise InvalidInput(f"{str(path)!r} cannot be read as CSV in UTF-8: {in_plain_words(error)}.") from error
