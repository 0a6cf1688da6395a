"""A small mixed table, and fitted classifiers of every kind that files can hold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from betarce.models.network import Network
from betarce.models.tabular import columns_by_number
from betarce.models.validation import ValidationSplit

_RNG = np.random.default_rng(5)
N_ROWS = 160
TABLE = pd.DataFrame(
    {
        "income": _RNG.integers(10, 90, N_ROWS),
        "debt": np.where(_RNG.random(N_ROWS) < 0.05, np.nan, np.round(_RNG.gamma(2.0, 8.0, N_ROWS), 1)),
        "age": _RNG.integers(18, 80, N_ROWS),
        "housing": pd.Categorical(_RNG.choice(["own", "rent", "with family"], N_ROWS)),
    }
)
LABELS = (
    TABLE["income"] - TABLE["debt"].fillna(16) + 8 * (TABLE["housing"] == "own") + _RNG.normal(0, 6, N_ROWS) > 36
).to_numpy(dtype=np.int64)


def preparation():
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    coded = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_column_transformer((numbers, ["income", "debt", "age"]), (coded, ["housing"]))


def prepared(model):
    return make_pipeline(preparation(), model)


def _lightgbm(**parameters):
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=8, num_leaves=5, verbosity=-1, n_jobs=1, **parameters)


def _xgboost(**parameters):
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1, **parameters)


def _small_forest():
    return RandomForestClassifier(n_estimators=5, max_depth=4)


MODELS = {
    "logistic": lambda: prepared(LogisticRegression()),
    "lightgbm": lambda: _lightgbm(),
    "lightgbm pipeline": lambda: prepared(_lightgbm()),
    "lightgbm, names by number": lambda: make_pipeline(FunctionTransformer(columns_by_number), _lightgbm()),
    "xgboost": lambda: _xgboost(enable_categorical=True),
    "xgboost pipeline": lambda: prepared(_xgboost()),
    "random forest": lambda: prepared(_small_forest()),
    "hist gradient boosting": lambda: HistGradientBoostingClassifier(
        max_iter=6, max_leaf_nodes=6, categorical_features="from_dtype"
    ),
    "gradient boosting": lambda: prepared(GradientBoostingClassifier(n_estimators=4)),
    "network": lambda: prepared(Network(hidden_layers=2, neurons=16, max_epochs=25, dropout=0.1, learning_rate=0.01)),
    "calibrated": lambda: prepared(CalibratedClassifierCV(LogisticRegression(), cv=2)),
    "calibrated forest": lambda: prepared(CalibratedClassifierCV(_small_forest(), cv=2, method="isotonic")),
    "voting": lambda: prepared(VotingClassifier([("a", LogisticRegression()), ("b", _small_forest())], voting="soft")),
    "stacking": lambda: prepared(
        StackingClassifier([("a", LogisticRegression()), ("b", DecisionTreeClassifier(max_depth=3))], cv=2)
    ),
    "split": lambda: ValidationSplit(_lightgbm()),
    "support vectors": lambda: prepared(SVC()),
    "perceptron": lambda: prepared(MLPClassifier((4,), max_iter=400, tol=0.1)),
    "stochastic gradient": lambda: prepared(SGDClassifier(loss="log_loss")),
    "naive Bayes": lambda: prepared(GaussianNB()),
    "neighbours": lambda: prepared(KNeighborsClassifier(algorithm="brute")),
}


def fitted(kind, *, seed=3, table=TABLE, labels=LABELS):
    """Train a model of a kind, every random state inside it set."""
    from betarce.models.recipe import seed_everything

    return seed_everything(MODELS[kind](), seed).fit(table, labels)


def scores(model, table=TABLE):
    """Give what a model says, as finely as it does."""
    name = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    return np.asarray(getattr(model, name)(table))
