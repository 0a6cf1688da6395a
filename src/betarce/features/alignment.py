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


def aligned_values(given: Any, X: object, *, what: str) -> Any:
    """Give one value for each row in the order of `X`: a Series is matched by its index, all else by place.

    Examples
    --------
    >>> people = pd.DataFrame({"age": [30, 50]}, index=["ann", "bob"])
    >>> aligned_values(pd.Series(["high", "low"], index=["bob", "ann"]), people, what="target").tolist()
    ['low', 'high']
    >>> aligned_values(["high", "low"], people, what="target")
    ['high', 'low']
    """
    return _in_order_of(given, X, what) if isinstance(given, pd.Series) else given


def _in_order_of(given: Any, X: object, what: str) -> Any:
    if not isinstance(X, pd.DataFrame) or given.index.equals(X.index):
        return given
    hint = f"To match rows by their place instead, pass {what}.to_numpy()."
    for labels, whose in ((X.index, "X"), (given.index, what)):
        if not labels.is_unique:
            raise InvalidInput(
                f"`{what}` must have the row labels of `X` in the same order, since `{whose}` has the label "
                f"{_first(labels[labels.duplicated()])} twice. {hint}"
            )
    if len(unknown := given.index.difference(X.index, sort=False)):
        raise InvalidInput(
            f"`{what}` must have the row labels of `X`; it has {_first(unknown)}, which `X` lacks. {hint}"
        )
    if len(lacking := X.index.difference(given.index, sort=False)):
        raise InvalidInput(f"`{what}` must have the row labels of `X`; it lacks {_first(lacking)}. {hint}")
    return given.iloc[np.asarray(given.index.get_indexer(X.index))]


def _first(labels: "pd.Index[Any]") -> str:
    return repr(labels.tolist()[0])
