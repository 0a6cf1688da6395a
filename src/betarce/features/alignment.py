"""Match rows by their labels, as pandas does."""

from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import InvalidInput


def aligned_rows(given: Any, X: object, *, what: str) -> Any:
    """Give the rows of a table in the order of `X`.

    Parameters
    ----------
    given : DataFrame, or anything else
        A DataFrame of pandas is matched by its index. What has no index (arrays, lists, polars), and a single row, is
        returned as it is: its place counts.
    X : DataFrame, or anything else
        The rows to be matched; without an index, places count.
    what : str
        What `given` is called in messages.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [30, 50]}, index=["ann", "bob"])
    >>> aligned_rows(pd.DataFrame({"age": [51, 31]}, index=["bob", "ann"]), people, what="base_points")
         age
    ann   31
    bob   51
    >>> aligned_rows(pd.DataFrame({"age": [51]}, index=["eve"]), people, what="base_points")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `base_points` must have the row labels of `X`; it has 'eve', which `X` lacks. To match
    rows by their place instead, pass base_points.to_numpy().
    """
    return _in_order_of(given, X, what) if isinstance(given, pd.DataFrame) else given


def aligned_values(given: Any, X: object, *, what: str, rows: str = "X") -> Any:
    """Give one value for each row in the order of `X`: a Series is matched by its index, all else by place.

    Parameters
    ----------
    given : Series, or anything else
    X : DataFrame, or anything else
    what, rows : str
        What `given` and `X` are called in messages.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [30, 50]}, index=["ann", "bob"])
    >>> aligned_values(pd.Series(["high", "low"], index=["bob", "ann"]), people, what="target").tolist()
    ['low', 'high']
    >>> aligned_values(["high", "low"], people, what="target")
    ['high', 'low']
    """
    return _in_order_of(given, X, what, rows) if isinstance(given, pd.Series) else given


def check_labels_in_order(y: object, X: object) -> None:
    """Refuse labels whose index is that of the table in another order; all else goes by place, as in scikit-learn.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [30, 50]}, index=["ann", "bob"])
    >>> check_labels_in_order(pd.Series([1, 0], index=["bob", "ann"]), people)
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `y` must be in the order of `X`; row 0 of `X` is 'ann', and of `y` 'bob'. Pass
    y.loc[X.index], or y.to_numpy() if the places are right.
    """
    if not isinstance(y, pd.Series) or not isinstance(X, pd.DataFrame) or len(y) != len(X) or y.index.equals(X.index):
        return
    if y.index.is_unique and X.index.is_unique and not len(y.index.difference(X.index, sort=False)):
        place = int(np.flatnonzero(y.index != X.index)[0])
        raise InvalidInput(
            f"`y` must be in the order of `X`; row {place} of `X` is {_first(X.index[place:])}, and of `y` "
            f"{_first(y.index[place:])}. Pass y.loc[X.index], or y.to_numpy() if the places are right."
        )


def _in_order_of(given: Any, X: object, what: str, rows: str = "X") -> Any:
    if not isinstance(X, pd.DataFrame) or given.index.equals(X.index):
        return given
    hint = f"To match rows by their place instead, pass {what}.to_numpy()."
    for labels, whose in ((X.index, rows), (given.index, what)):
        if not labels.is_unique:
            raise InvalidInput(
                f"`{what}` must have the row labels of `{rows}` in the same order, since `{whose}` has the label "
                f"{_first(labels[labels.duplicated()])} twice. {hint}"
            )
    if len(unknown := given.index.difference(X.index, sort=False)):
        raise InvalidInput(
            f"`{what}` must have the row labels of `{rows}`; it has {_first(unknown)}, which `{rows}` lacks. {hint}"
        )
    if len(lacking := X.index.difference(given.index, sort=False)):
        raise InvalidInput(f"`{what}` must have the row labels of `{rows}`; it lacks {_first(lacking)}. {hint}")
    return given.iloc[np.asarray(given.index.get_indexer(X.index))]


def _first(labels: "pd.Index[Any]") -> str:
    return repr(labels.tolist()[0])
