"""From a CSV file to certified counterfactuals: what `betarce init` and `betarce explain` do."""

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import AnyArray
from betarce.data.csv_file import as_categories, check_column, class_named, read_csv, without_label
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace, Rule, read_rules
from betarce.features.hints import hints
from betarce.models.tabular import tabular_model
from betarce.progress import progress
from betarce.robustify import BetaRCE, Result
from betarce.seeding import derive

_MOST_ROWS = 10  # explained of the training table, unless asked for more
_LEAST_A_CLASS = 5  # rows, to keep some aside
_CHUNKS = 10


@dataclass(frozen=True, eq=False)
class Inspection:
    """What a CSV file holds: its columns, and what to look at in them."""

    features: FeatureSpace
    hints: Mapping[Hashable, str]
    n_rows: int
    dropped: tuple[str, ...]


def inspect(path: str | os.PathLike[str], *, label: str | None = None, drop: Sequence[str] = ()) -> Inspection:
    """Infer the feature space of a CSV file."""
    table = read_csv(path)
    if label is not None:
        table, _ = without_label(table, label)
    table, empty = _usable(table, drop)
    features = FeatureSpace.infer(as_categories(table))
    return Inspection(features, hints(table, features), len(table), empty)


@dataclass(frozen=True, eq=False)
class Job:
    """A fitted explainer and the rows to be explained.

    Attributes
    ----------
    rce : BetaRCE
    n_rows : int
        Rows that the model learnt from.
    accuracy : float
        Share of rows kept aside for which a model trained on the others is right; NaN where there are too few rows.
    target : label
        The class wanted.
    rows : DataFrame
        What is to be explained.
    n_there : int
        Rows that were left out, since the model gives them the target already.
    n_more : int
        Rows that could be explained as well, but for the limit.
    dropped : tuple of str
        Columns without any value.
    """

    rce: BetaRCE
    n_rows: int
    accuracy: float
    target: Any
    rows: pd.DataFrame
    n_there: int
    n_more: int
    dropped: tuple[str, ...]

    def explain(self) -> Result:
        """Explain the rows, a few at a time, with a progress bar; what one row gets never depends on the others."""
        size = -(-len(self.rows) // _CHUNKS)
        items = []
        with progress("Explaining", total=len(self.rows)) as advance:
            for start in range(0, len(self.rows), size):
                part = self.rows.iloc[start : start + size]
                items += list(self.rce.explain(part, target=self.target))
                advance(len(part))
        return Result(items, self.rce.features_)


def prepare(
    path: str | os.PathLike[str],
    *,
    label: str,
    target: str | None,
    rows: str | os.PathLike[str] | None = None,
    features: str | os.PathLike[str] | None = None,
    drop: Sequence[str] = (),
    model: str = "hist-gradient-boosting",
    limit: int | None = None,
    seed: int = 0,
    **settings: Any,
) -> Job:
    """Train a model on a CSV file, with siblings to search and to certify with; pick the rows to explain.

    Parameters
    ----------
    path : str or path
        The training table.
    label : str
        Its column of classes.
    target : str or None
        The class wanted, as text; None raises an error that lists the classes.
    rows : str or path, optional
        A CSV file of rows to explain; by default those of the training table that the model gives another class.
    features : str or path, optional
        A file of rules.
    drop : sequence of str
        Columns to leave out.
    model : str
        See `betarce.models.tabular.tabular_model`.
    limit : int, optional
        How many rows to explain; 10 of the training table, all of `rows`.
    seed : int
    **settings
        Of `BetaRCE`: space, delta, confidence, n_jobs.
    """
    table, labels = without_label(read_csv(path), label)
    wanted = _target(target, label, labels)
    table, empty = _usable(table, drop)
    rules = {} if features is None else read_rules(features)
    table = _as_declared(as_categories(table), rules)
    estimator = tabular_model(model, table)
    rce = BetaRCE(estimator, features=rules, random_state=seed, **settings)
    space = FeatureSpace.infer(table, rules)
    asked = None if rows is None else _read_rows(rows, table, space)
    accuracy = _accuracy(estimator, table, labels, derive(seed, "aside"))
    rce.fit(table, labels)
    asked = table if asked is None else asked
    elsewhere = asked[np.asarray(rce.model_.predict(asked)) != wanted]
    if elsewhere.empty:
        raise InvalidInput(
            f"The model gives all {len(asked)} rows the class {wanted!r} already. Ask for another --target, or for "
            "other --rows."
        )
    most = limit if limit is not None else _MOST_ROWS if rows is None else len(elsewhere)
    there = len(asked) - len(elsewhere) if rows is not None else 0
    chosen = elsewhere.iloc[:most]
    return Job(rce, len(table), accuracy, wanted, chosen, there, len(elsewhere) - len(chosen), empty)


def _usable(table: pd.DataFrame, drop: Sequence[str]) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Leave out what the user names, and columns without any value."""
    for name in drop:
        check_column(table, name)
    table = table.drop(columns=list(drop))
    empty = [name for name in table.columns if table[name].isna().all()]
    if len(empty) == table.shape[1]:
        raise InvalidInput("The table has no column left to learn from.")
    return table.drop(columns=empty), tuple(map(str, empty))


def _target(target: str | None, label: str, labels: AnyArray) -> Any:
    classes = np.unique(labels)
    if target is None:
        raise InvalidInput(f"Say with --target which class of {label!r} is wanted: {', '.join(map(str, classes))}.")
    return class_named(target, classes)


def _as_declared(table: pd.DataFrame, rules: Mapping[Any, Rule]) -> pd.DataFrame:
    """Show the model as categories what the rules declare to be some, in their order."""
    for name, rule in rules.items():
        if name in table.columns and rule.kind in ("categorical", "ordinal"):
            levels = None if rule.levels is None else list(rule.levels)
            known = table[name].dropna()
            if levels is None or known.isin(levels).all():
                dtype = pd.CategoricalDtype(levels, ordered=rule.kind == "ordinal" and levels is not None)
                table = table.assign(**{name: table[name].astype(dtype)})
    return table


def _read_rows(path: str | os.PathLike[str], table: pd.DataFrame, space: FeatureSpace) -> pd.DataFrame:
    """Read the rows to explain, in the dtypes of the training table; further columns are ignored."""
    texts = [
        str(name)
        for name in table.select_dtypes("category")
        if all(isinstance(level, str) for level in table[name].cat.categories)
    ]
    rows = read_csv(path, texts=texts)
    for name in table.columns:
        check_column(rows, name)
    encoded = space.encode(rows[list(table.columns)], what=str(path))
    decoded: pd.DataFrame = space.decode(encoded, rows.index)
    return decoded


def _accuracy(estimator: Any, table: pd.DataFrame, labels: AnyArray, seed: int) -> float:
    """Train on four fifths of the rows and count how often the model is right for the others."""
    from sklearn.base import clone
    from sklearn.model_selection import train_test_split

    if np.unique(labels, return_counts=True)[1].min() < _LEAST_A_CLASS:
        return np.nan
    seen, unseen = train_test_split(np.arange(len(table)), test_size=0.2, stratify=labels, random_state=seed % 2**32)
    model = clone(estimator).fit(table.iloc[seen], labels[seen])
    return float(np.mean(model.predict(table.iloc[unseen]) == labels[unseen]))
