"""Promised points as the table that a new model takes, or the reason why it cannot take them."""

import re
from typing import Any

import pandas as pd

from betarce.errors import UnusableModel

_MADE_UP = re.compile(r"Column_\d+")  # what LightGBM calls the columns of an array


def table_for(model: Any, table: Any) -> Any:
    """Give the columns of a table in the order that a model was trained with.

    Raises
    ------
    UnusableModel
        If the model was trained with other columns; the message names them.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = pd.DataFrame({"age": [20, 60], "debt": [3, 5]})
    >>> model = DecisionTreeClassifier().fit(X[["debt", "age"]], [0, 1])
    >>> list(table_for(model, X))
    ['debt', 'age']
    >>> table_for(model, X.rename(columns={"age": "years"}))
    Traceback (most recent call last):
    betarce.errors.UnusableModel: the new model has other columns: it wants 'age'; the promises have 'years'
    """
    there = [str(name) for name in table.columns] if isinstance(table, pd.DataFrame) else None
    wanted = _columns_of(model)
    if wanted is not None and there is not None:
        # LightGBM writes spaces in names as underscores.
        places = {re.sub(r"\s", "_", name): i for i, name in enumerate(there)}
        keys = [re.sub(r"\s", "_", name) for name in wanted]
        lacking = [name for name, key in zip(wanted, keys, strict=True) if key not in places]
        new = [name for name in there if re.sub(r"\s", "_", name) not in keys]
        if lacking or new:
            said = [f"it wants {_listed(lacking)}"] * bool(lacking) + [f"the promises have {_listed(new)}"] * bool(new)
            raise UnusableModel(f"the new model has other columns: {'; '.join(said)}")
        return table.iloc[:, [places[key] for key in keys]]
    n_columns = getattr(model, "n_features_in_", None)
    width = table.shape[1]
    if isinstance(n_columns, int) and n_columns != width:
        raise UnusableModel(f"the new model has {n_columns} columns; the promises have {width}")
    return table


def _columns_of(model: Any) -> list[str] | None:
    """Give the names of the columns that a model was trained with, if it knows them."""
    names = getattr(model, "feature_names_in_", None)
    names = getattr(model, "feature_name_", None) if names is None else names
    if names is None or all(_MADE_UP.fullmatch(str(name)) for name in names):
        return None
    return [str(name) for name in names]


def _listed(names: list[str]) -> str:
    return ", ".join(map(repr, names[:5])) + ", ..." * (len(names) > 5)
