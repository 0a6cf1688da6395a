"""A mixed table under every kind of rule, and what must hold whatever company a row is in."""

from functools import cache

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from betarce.ensemble import Ensemble
from betarce.explainers import Problem
from betarce.features import (
    FeatureSpace,
    at_most,
    between,
    cost,
    decrease_only,
    derived,
    immutable,
    increase_only,
    may_be_missing,
    no_more_than,
    one_hot,
    one_of,
    transitions,
)

GROUP = ("g_x", "g_y", "g_z")


def mixed_table(n=240, seed=0):
    """Whole numbers, two decimals, plain floats, names, gaps, a one-hot group, and columns that hang together."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "a": rng.integers(0, 12, n),
            "b": rng.uniform(0, 5, n).round(2),
            "c": rng.random(n),
            "k": rng.choice(["u", "v", "w"], n),
            "m": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(1)),
            **{name: (group == i).astype(int) for i, name in enumerate(GROUP)},
        }
    )
    table["limit"] = (table["c"] + rng.random(n)).round(6)
    table["sum"] = table["a"] + 2 * table["b"]
    return table


def labels_of(table, seed=1):
    """Classes that hang on every column."""
    score = (
        table["a"] / 12
        + table["b"] / 5
        + table["c"]
        + 0.4 * (table["k"] == "v")
        - 0.4 * (table["k"] == "w")
        + 0.2 * table["m"].fillna(0.8)
        + 0.3 * table["g_y"]
        + 0.2 * np.random.default_rng(seed).normal(size=len(table))
    )
    return (score > score.median()).astype(int).to_numpy()


TABLE = mixed_table()
LABELS = labels_of(TABLE)
NUMBERS = ["a", "b", "c", "m", "limit", "sum"]

RULES = {
    "none": {},
    "immutable": {"c": immutable(), "sum": immutable()},
    "increase_only": {"b": increase_only(), "c": increase_only()},
    "decrease_only": {"a": decrease_only(), "sum": decrease_only()},
    "at_most": {"a": at_most(3), "b": at_most(1)},
    "between": {"c": between(0.1, 0.8), "a": between(2, 9)},
    "one_of": {"k": one_of(["u", "v"])},
    "transitions": {"k": transitions({"u": ["v"], "v": ["u"]})},
    "no_more_than": {"c": no_more_than("limit")},
    "derived": {"sum": derived("a + 2 * b")},
    "may_be_missing": {"m": may_be_missing()},
    "one_hot": {GROUP: one_hot()},
    "cost": {"b": cost(3), "k": cost(0.5)},
    "max_changes": {},
    "all": {
        "a": [increase_only(), at_most(5), cost(2)],
        "b": between(0, 4.5),
        "c": no_more_than("limit"),
        "k": transitions({"u": ["v"], "v": ["u", "w"]}),
        "m": may_be_missing(),
        GROUP: one_hot(),
        "limit": immutable(),
        "sum": derived("a + 2 * b"),
    },
}
"""By the kind of rule."""
MOST = {"max_changes": 2, "all": 4}


def features_under(kind, most=None):
    """Read the table under the rules of one kind."""
    return FeatureSpace.infer(TABLE, rules=RULES[kind], max_changes=most or MOST.get(kind))


def pipeline(estimator=None):
    """Give what turns the table into numbers, with a classifier behind it."""
    preprocessing = ColumnTransformer(
        [
            ("names", OneHotEncoder(handle_unknown="ignore"), ["k"]),
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        ],
        remainder="passthrough",
    )
    return make_pipeline(preprocessing, LogisticRegression() if estimator is None else estimator)


MODEL = pipeline().fit(TABLE, LABELS)


@cache
def problem_under(kind, most=None):
    """Give the problem that an explainer sees under the rules of one kind."""
    features = features_under(kind, most)
    return Problem(Ensemble([MODEL], [0, 1], features=features), features, features.encode(TABLE), LABELS)


def assert_alone_is_together_is_shuffled(run, n, *, alone=(0, 3, 8)):
    """Compare what `run(rows)`, a list of arrays by row, says of rows in company, in another order, and alone."""
    together = run(np.arange(n))
    order = np.random.default_rng(7).permutation(n)
    for part, shuffled in zip(together, run(order), strict=True):
        np.testing.assert_array_equal(np.asarray(shuffled), np.asarray(part)[order])
    for i in alone:
        for part, single in zip(together, run(np.array([i])), strict=True):
            np.testing.assert_array_equal(np.asarray(single)[0], np.asarray(part)[i])
    return together
