"""Records as figures read them: in the paper's order and words, with means over answers."""

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from betarce.datasets import PAPER_NAMES

OURS, PAPER = "betarce", "betarce-paper"
"""The two forms of BetaRCE: our own (frontier, fresh members certify), and the paper's."""

_ORDER = [
    *PAPER_NAMES,
    "network",
    "lightgbm",
    "logistic",
    "seed",
    "bootstrap",
    "architecture",
    PAPER,
    OURS,
    "growing-spheres",
    "dice",
]
_WORDS = {
    "heloc": "HELOC",
    "breast_cancer": "breast cancer",
    "network": "neural network",
    "lightgbm": "LightGBM",
    "logistic": "logistic regression",
    "growing-spheres": "Growing Spheres",
    "dice": "DiCE",
    OURS: "our form",
    PAPER: "the paper's form",
}


def words(name: str) -> str:
    """Give the words that a figure has for a name of the records.

    Examples
    --------
    >>> words("lightgbm"), words("wine")
    ('LightGBM', 'wine')
    """
    return _WORDS.get(name, name)


def in_order(names: Iterable[str]) -> list[str]:
    """Sort names as the paper does, each once; unknown ones come last.

    Examples
    --------
    >>> in_order(["rice", "my data", "heloc", "rice"])
    ['heloc', 'rice', 'my data']
    """
    return sorted(set(names), key=_place)


def sort_lines(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Sort the lines of a frame by some columns: names as the paper does, numbers by size."""
    return frame.sort_values(list(by), key=_keys, ignore_index=True, kind="stable")


def over_answers(table: pd.DataFrame, by: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Average over the answers of each group.

    Parameters
    ----------
    table : DataFrame
        Records, from `check_records`.
    by, values : sequence of str
        Columns that make a group, and columns to average.

    Returns
    -------
    DataFrame
        One line per group: its columns, "rows" asked, "answers" found, and for each value its mean over the answers and
        their standard deviation, "..._sd" (NaN for a single answer).

    Examples
    --------
    >>> table = pd.DataFrame({"data": "car", "found": [True, True, False], "ms": [1.0, 3.0, 8.0]})
    >>> over_answers(table, ["data"], ["ms"]).round(3)
      data  rows  answers   ms  ms_sd
    0  car     3        2  2.0  1.414
    """
    numbers = table[list(values)].where(table["found"], axis=0)
    groups = pd.concat([table[[*by, "found"]], numbers], axis=1).groupby(list(by), dropna=False, sort=False)
    columns = {"rows": groups.size(), "answers": groups["found"].sum()}
    for value in values:
        columns |= {value: groups[value].mean(), f"{value}_sd": groups[value].std()}
    return sort_lines(pd.DataFrame(columns).reset_index(), by)


def _keys(column: Any) -> Any:
    return column if pd.api.types.is_numeric_dtype(column) else column.map(_place)


def _place(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)
