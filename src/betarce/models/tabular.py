"""Classifiers for mixed tables with missing values."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline

from betarce.errors import InvalidInput, require

_MOST_LEVELS = 255  # what scikit-learn's gradient boosting can tell apart
_NOT_IN_NAMES = re.compile(r'[\[\]{}":,]')  # LightGBM refuses them in names of columns


def tabular_model(name: str, table: pd.DataFrame) -> Any:
    """Make an unfitted classifier that takes a mixed table as it is.

    Parameters
    ----------
    name : {"hist-gradient-boosting", "lightgbm", "logistic", "random-forest"}
        The first two handle categories themselves; the others get them one-hot encoded, with numbers imputed and
        scaled.
    table : DataFrame
        The training table, with text as categories.

    Examples
    --------
    >>> table = pd.DataFrame({"age": [20, 60], "housing": pd.Categorical(["rent", "own"])})
    >>> tabular_model("hist-gradient-boosting", table).categorical_features
    'from_dtype'
    >>> tabular_model("forest", table)
    Traceback (most recent call last):
    betarce.errors.InvalidInput: There is no model 'forest'. Take one of: hist-gradient-boosting, lightgbm, logistic,
    random-forest.
    """
    if name not in MODELS:
        raise InvalidInput(f"There is no model {name!r}. Take one of: {', '.join(MODELS)}.")
    return MODELS[name](table)


def _hist_gradient_boosting(table: pd.DataFrame) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    for name in table.select_dtypes("category"):
        if len(table[name].cat.categories) > _MOST_LEVELS:
            raise InvalidInput(
                f"Column {name!r} has {len(table[name].cat.categories)} different texts; hist-gradient-boosting takes "
                f"up to {_MOST_LEVELS}. Leave it out (--drop {str(name)!r}), or take another model."
            )
    return HistGradientBoostingClassifier(
        max_iter=100, max_leaf_nodes=15, max_features=0.8, categorical_features="from_dtype", early_stopping=False
    )


def _lightgbm(table: pd.DataFrame) -> Any:
    lightgbm = require("lightgbm", extra="lightgbm", purpose="The model lightgbm")
    model = lightgbm.LGBMClassifier(
        n_estimators=100, num_leaves=15, subsample=0.8, subsample_freq=1, colsample_bytree=0.8, verbosity=-1
    )
    if not any(_NOT_IN_NAMES.search(str(name)) for name in table.columns):
        return model
    from sklearn.preprocessing import FunctionTransformer

    return make_pipeline(FunctionTransformer(columns_by_number), model)


def columns_by_number(table: pd.DataFrame) -> pd.DataFrame:
    """Name columns by their places, since LightGBM refuses some characters in names."""
    return table.set_axis([f"x{j}" for j in range(table.shape[1])], axis=1)


def _logistic(table: pd.DataFrame) -> Any:
    from sklearn.linear_model import LogisticRegression

    return Pipeline([("columns", _as_numbers(table)), ("model", LogisticRegression(max_iter=1000))])


def _random_forest(table: pd.DataFrame) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=100, min_samples_leaf=2)
    return Pipeline([("columns", _as_numbers(table)), ("model", forest)])


def _as_numbers(table: pd.DataFrame) -> Any:
    """Impute and scale numbers; encode categories one-hot."""
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = list(table.select_dtypes("number").columns)
    names = [name for name in table.columns if name not in numbers]
    filled = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer([("numbers", filled, numbers), ("names", coded, names)])


MODELS: Mapping[str, Callable[[pd.DataFrame], Any]] = {
    "hist-gradient-boosting": _hist_gradient_boosting,
    "lightgbm": _lightgbm,
    "logistic": _logistic,
    "random-forest": _random_forest,
}
