"""Read rows of a file of JSON lines part by part."""

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from betarce.errors import InvalidInput
from betarce.storage.documents import MOST_DIGITS

MOST_LINE = 2**24
"""Most characters of a line; a row of ten thousand columns has half a million."""
_MOST_TOGETHER = 2**26  # characters of lines that are read at a time
_NAMED = 20  # columns that nobody needs, and that are shown by name where one is missing


def json_parts(path: Path, *, size: int, columns: Collection[str] = ()) -> Iterator[pd.DataFrame]:
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
        If a line is too long, or no object, or gives two columns the same name.
    """
    others: dict[str, None] = {}
    records: list[dict[str, Any]] = []
    n_characters = 0
    for number, line in _lines(path):
        record = _record(line, number, path)
        if columns:
            others |= dict.fromkeys(
                [name for name in list(record)[: len(columns) + _NAMED] if name not in columns][: _NAMED - len(others)]
            )
            record = {name: record[name] for name in record if name in columns}
        records.append(record)
        n_characters += len(line)
        if len(records) == size or n_characters > _MOST_TOGETHER:
            yield _table(records, list(others))
            records, n_characters = [], 0
    if records:
        yield _table(records, list(others))


def _table(records: Sequence[dict[str, Any]], others: Sequence[str]) -> pd.DataFrame:
    table = pd.DataFrame(records, dtype=object, index=range(len(records)))
    return table.assign(**dict.fromkeys(others)) if others else table


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Give the lines that are not empty, with their numbers."""
    with path.open(encoding="utf-8-sig") as file:
        try:
            number = 0
            while line := file.readline(MOST_LINE + 1):
                number += 1
                if len(line) > MOST_LINE:
                    raise InvalidInput(f"Line {number} of {str(path)!r} has more than {MOST_LINE:,} characters.")
                if line.strip():
                    yield number, line
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{str(path)!r} is not text in UTF-8: {error}.") from error


def _record(line: str, number: int, path: Path) -> dict[str, Any]:
    try:
        record = json.loads(line, parse_int=_bounded, object_pairs_hook=_distinct)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"Line {number} of {str(path)!r} is not JSON: {error}.") from error
    if not isinstance(record, dict):
        raise InvalidInput(f"Line {number} of {str(path)!r} must be an object, one value per column; got {record!r}.")
    return record


def _bounded(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"a whole number has more than {MOST_DIGITS} digits")
    return int(text)


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it names a column more than once")
    return found
