"""Predictions of any scoring system in the world, read from a CSV file by promise or by row."""

import os
from collections.abc import Sequence
from typing import Any

import pandas as pd

from betarce.errors import InvalidInput
from betarce.ledger.promises import Promise
from betarce.tables.csv_file import read_csv

_KEYS = ("promise", "row", "name")
_CLASSES = ("prediction", "predicted", "class", "label")


def read_predictions(
    path: str | os.PathLike[str], promises: Sequence[Promise], *, label: str | None = None
) -> "pd.Series[Any]":
    """Read predicted classes from a CSV file; give them by the name of the promise.

    The column that names them is called "promise", "row" or "name"; that of the classes "prediction", "predicted",
    "class", "label", or as in the training table. A file of two columns may call the second one anything.

    Parameters
    ----------
    path : str or path
    promises : sequence of Promise
        Those that are on record.
    label : str, optional
        What the classes are called in the training table.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.linear_model import LogisticRegression
    >>> from betarce import BetaRCE, Ledger
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> rce = BetaRCE(LogisticRegression(), delta=0.8, confidence=0.9, n_models=(6, 18), random_state=0).fit(X, y)
    >>> result = rce.explain(X[y == 0][:3], target=1)
    >>> ledger = Ledger(pathlib.Path(tempfile.mkdtemp()) / "promises.db")
    >>> names = ledger.record(result)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "scores.csv"
    >>> _ = path.write_text(f"promise,prediction\\n{names[0]},1\\n")
    >>> read_predictions(path, [ledger.promise(name) for name in names]).tolist()
    [1]
    >>> ledger.close()
    """
    table = read_csv(path, texts=_KEYS)
    key = next((name for name in _KEYS if name in table.columns), None)
    if key is None:
        raise InvalidInput(
            f"{os.fspath(path)!r} must have a column 'promise' or 'row' that says what each prediction is about; its "
            f"columns are {', '.join(map(repr, table.columns))}."
        )
    names = table[key].astype(str)
    if not names.is_unique:
        raise InvalidInput(f"{os.fspath(path)!r} has {names[names.duplicated()].iloc[0]!r} more than once.")
    classes = table[_class_column(path, table, key, label)].set_axis(names)
    by_name = classes.to_dict()
    keys = {promise.id: promise.id if key == "promise" else str(promise.name) for promise in promises}
    found = {promise: by_name[name] for promise, name in keys.items() if name in by_name}
    if promises and not found:
        raise InvalidInput(
            f"{os.fspath(path)!r} has no prediction for any promise: its column {key!r} begins with "
            f"{names.iloc[0]!r}, that of the ledger with {next(iter(keys.values()))!r}."
        )
    return pd.Series(found, dtype=object)


def _class_column(path: str | os.PathLike[str], table: pd.DataFrame, key: str, label: str | None) -> str:
    others = [str(name) for name in table.columns if name != key]
    wanted = [name for name in (*_CLASSES, label) if name in others]
    if len(wanted) == 1 or len(others) == 1:
        return (wanted or others)[0]
    found = f"it has {' and '.join(map(repr, wanted))}" if wanted else f"its columns are {', '.join(map(repr, others))}"
    raise InvalidInput(f"{os.fspath(path)!r} must have one column 'prediction' with the classes; {found}.")
