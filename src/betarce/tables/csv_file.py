"""Read tables with labels from CSV files."""

import os
import re
import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray
from betarce.errors import InvalidInput
from betarce.storage.files import check_path

_SEPARATORS = (",", ";", "\t", "|")
_MOST_CLASSES = 20
_BLOCK = 1 << 20
_LEADING_ZERO = re.compile(r"""(^|[,;\t|"\s])0\d""")


def read_csv(
    path: str | os.PathLike[str], *, texts: Sequence[str] = (), missing: Sequence[str] = (), codes: bool = True
) -> pd.DataFrame:
    """Read a CSV file; a first column without a name holds row names, else rows are counted from 1.

    Parameters
    ----------
    path : str or path
        Separated by commas, semicolons, tabs or bars, as its first line says.
    texts : sequence of str
        Columns to be read as text even if they look like numbers; they stay plain text.
    missing : sequence of str
        What else stands for a missing value, such as "?".
    codes : bool
        Whether columns of whole numbers with leading zeros, such as "00123", are codes and stay text.

    Raises
    ------
    InvalidInput
        If there is no such file, it is no CSV in UTF-8, has no rows, or gives two columns the same name.
    """
    file = Path(check_path(path))
    if os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file):
        raise InvalidInput(f"{str(path)!r} is a device or a pipe, no file. Write what comes out of it to a file first.")
    if not os.path.isfile(file):
        near = [other.name for other in file.parent.glob("*.csv")] if file.parent.is_dir() else []
        close = get_close_matches(file.name, near, 1)
        raise InvalidInput(f"There is no file {str(path)!r}.{f' Did you mean {close[0]!r}?' if close else ''}")
    try:
        table = _parsed(file, texts, missing, codes=codes)
    except InvalidInput:
        raise
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read as CSV in UTF-8: {in_plain_words(error)}.") from error
    if table.empty:
        raise InvalidInput(f"{str(path)!r} has no rows.")
    return _with_row_names(table)


def in_plain_words(error: Exception) -> str:
    """Say what is wrong with a file, for people who did not write its parser."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is {error.object[error.start]:#04x}. Save it again as CSV in UTF-8"
    text = str(error).strip()
    if found := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text):
        names, line, values = found.groups()
        return f"line {line} has {values} values, but the lines before have {names}. Put texts with commas in quotes"
    if "EOF inside string" in text:
        return "a quotation mark is opened and never closed"
    return "it is empty" if isinstance(error, pd.errors.EmptyDataError) else text.rstrip(".")


def separator_of(file: Path) -> str:
    """Give what separates the values of a CSV file, as its first line says."""
    with file.open(encoding="utf-8-sig") as lines:
        heading = lines.readline()
    return max(_SEPARATORS, key=heading.count)


def refuse_binary(file: Path) -> None:
    """Refuse a file with zero bytes, which pandas would leave out in silence."""
    with file.open("rb") as content:
        while block := content.read(_BLOCK):
            if b"\0" in block:
                raise InvalidInput(f"{str(file)!r} is no CSV file: it holds zero bytes, as binary files do.")


def _parsed(file: Path, texts: Sequence[str], missing: Sequence[str], *, codes: bool) -> pd.DataFrame:
    separator = separator_of(file)
    refuse_binary(file)
    options: dict[str, Any] = {
        "sep": separator,
        "encoding": "utf-8-sig",
        "skipinitialspace": True,
        "na_values": list(missing),
    }
    names = pd.read_csv(file, header=None, nrows=1, dtype="str", **options).iloc[0].dropna().str.strip()
    twice = names[names.duplicated()].unique()
    if len(twice):
        raise InvalidInput(
            f"The heading of {str(file)!r} names {', '.join(map(repr, twice))} more than once. Give every column a "
            "name of its own."
        )
    options |= {"dtype": dict.fromkeys(texts, "str"), "low_memory": False}
    table, options = _as_wide_as_its_heading(file, options)
    return _with_codes(table, file, options) if codes and _holds_leading_zeros(file) else table


def _as_wide_as_its_heading(file: Path, options: dict[str, Any]) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read a table, and say with which options: are first values row names, or do lines end in a separator?"""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", pd.errors.ParserWarning)
        table: pd.DataFrame = pd.read_csv(file, index_col=False, **options)
    if not any(issubclass(warning.category, pd.errors.ParserWarning) for warning in caught):
        return table, {"index_col": False, **options}
    # Lines have more values than the heading has names: row names come first, or every line ends in a separator.
    named: pd.DataFrame = pd.read_csv(file, **options)
    if isinstance(named.index, pd.MultiIndex):
        raise InvalidInput(f"The lines of {str(file)!r} have more values than its heading has names.")
    if named.iloc[:, -1].isna().all():
        return table, {"index_col": False, **options}
    return named.set_axis(pd.Index(list(named.index))), options


def _holds_leading_zeros(file: Path) -> bool:
    with file.open(encoding="utf-8-sig") as lines:
        return any(_LEADING_ZERO.search(line) for line in lines)


def _with_codes(table: pd.DataFrame, file: Path, options: dict[str, Any]) -> pd.DataFrame:
    """Give columns of numbers back as text where leading zeros would get lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.ParserWarning)
        raw: pd.DataFrame = pd.read_csv(file, **{**options, "dtype": "str"}).set_axis(table.index)
    numbers = [name for name in table.columns if table[name].dtype.kind in "iuf" and are_codes(raw[name])]
    return table.assign(**{name: raw[name] for name in numbers})


def are_codes(values: "pd.Series[Any]") -> bool:
    """Say whether texts are whole numbers some of which begin with a zero: as numbers, "007" and "7" would be one.

    Examples
    --------
    >>> are_codes(pd.Series(["00123", "98100", None])), are_codes(pd.Series(["0", "12"]))
    (True, False)
    """
    texts = values.dropna().astype(str).str.strip()
    return bool(texts.str.fullmatch(r"\d+").all() and texts.str.match(r"0\d").any())


def _with_row_names(table: pd.DataFrame) -> pd.DataFrame:
    if str(table.columns[0]) == "Unnamed: 0" and table.shape[1] > 1 and table.iloc[:, 0].is_unique:
        return table.set_index(table.columns[0]).rename_axis(None)
    counted = isinstance(table.index, pd.RangeIndex)
    return table.set_axis(pd.RangeIndex(1, len(table) + 1)) if counted else table


def as_categories(table: pd.DataFrame) -> pd.DataFrame:
    """Turn columns of text, or of truth values with missing ones, into categories."""
    texts = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name].dtype)]
    return table.astype(dict.fromkeys(texts, "category"))


def without_label(table: pd.DataFrame, label: str) -> tuple[pd.DataFrame, AnyArray]:
    """Split a table into features and labels; rows without a label are left out.

    Examples
    --------
    >>> X, y = without_label(pd.DataFrame({"age": [20, 60, 40], "approved": [0.0, 1.0, None]}), "approved")
    >>> y
    array([0, 1])
    >>> without_label(X, "aproved")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: The table has no column 'aproved'. Its columns are: age.
    """
    check_column(table, label)
    known = table[table[label].notna()]
    X, labels = known.drop(columns=label), known[label]
    if len(known) < len(table):
        X = numbers_again(X)
    if X.shape[1] == 0:
        raise InvalidInput(f"The table has no column besides the label {label!r}; there is nothing to learn from.")
    if pd.api.types.is_float_dtype(labels.dtype):
        if (labels != np.rint(labels)).any():
            raise InvalidInput(
                f"The label {label!r} holds numbers with fractions, as in a regression. betarce explains classes: make "
                f"some first, for instance a column that says whether {label} is above a threshold."
            )
        labels = labels.astype(np.int64)
    classes = labels.unique()
    if len(classes) > _MOST_CLASSES:
        raise InvalidInput(
            f"The label {label!r} has {len(classes)} different values; at most {_MOST_CLASSES} can be classes. If it "
            "is an amount (a regression), make classes of it first; if the classes are in another column, name that."
        )
    if len(classes) < 2:
        raise InvalidInput(f"The label {label!r} has one value only; there is no other class to reach.")
    return X, labels.to_numpy() if labels.dtype.kind in "iub" else labels.to_numpy(dtype=object)


def numbers_again(table: pd.DataFrame) -> pd.DataFrame:
    """Read as numbers what only a row that was left out, such as a line of totals, had turned into text."""
    texts = [name for name in table.columns if not pd.api.types.is_numeric_dtype(table[name].dtype)]
    read = {name: pd.to_numeric(table[name], errors="coerce") for name in texts if not are_codes(table[name])}
    return table.assign(**{name: values for name, values in read.items() if values.notna().equals(table[name].notna())})


def check_column(table: pd.DataFrame, name: str) -> None:
    """Refuse a column that the table does not have, and suggest one that it has."""
    if name not in table.columns:
        known = [str(column) for column in table.columns]
        close = get_close_matches(name, known, 1)
        listed = ", ".join(known[:20]) + (", ..." if len(known) > 20 else "")
        hint = f"Did you mean {close[0]!r}?" if close else f"Its columns are: {listed}."
        raise InvalidInput(f"The table has no column {name!r}. {hint}")


def class_named(text: str, classes: AnyArray) -> Any:
    """Find the class that a text stands for.

    Examples
    --------
    >>> class_named("1", np.array([0, 1])), class_named("TRUE", np.array([False, True]))
    (1, True)
    >>> class_named("maybe", np.array(["no", "yes"], dtype=object))
    Traceback (most recent call last):
    betarce.errors.InvalidInput: There is no class 'maybe'. The classes are: no, yes.
    """
    labels = classes.tolist()
    typed = {str(label).lower(): label for label in labels} | {str(label): label for label in labels}
    for written in (text, text.strip().lower()):
        if written in typed:
            return typed[written]
    try:
        return next(label for label in labels if not isinstance(label, str) and float(text) == label)
    except (ValueError, StopIteration):
        raise InvalidInput(f"There is no class {text!r}. The classes are: {', '.join(map(str, labels))}.") from None
