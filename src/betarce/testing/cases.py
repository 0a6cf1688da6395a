"""Cases that contracts are checked on: small tables that differ in everything that implementations get wrong.

`four_cases` are the problems that every contract runs over; `rule_cases` put one mixed table under every kind of rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble import Ensemble
from betarce.errors import require
from betarce.explainers import Problem
from betarce.features import FeatureSpace, Rules
from betarce.models.recipe import Table
from betarce.robustify.goal import Anchors, MembersGoal, margin_scales
from betarce.robustify.subject import Subject
from betarce.rules import (
    at_most,
    between,
    cost,
    decrease_only,
    derived,
    immutable,
    increase_only,
    integer,
    may_be_missing,
    no_more_than,
    one_hot,
    one_of,
    transitions,
)
from betarce.search import Task

_ROWS = 8  # that are explained
_MEMBERS = 6
_GROUP = ("g_x", "g_y", "g_z")


@dataclass(frozen=True, eq=False)
class Case:
    """A table, a model and rules, with rows to explain.

    Attributes
    ----------
    name : str
    X : DataFrame or array
        The training table.
    y : array
        Its labels.
    prepare : transformer
        What stands before the estimator in the pipeline.
    estimator : classifier
        Unfitted.
    features : FeatureSpace
    n_rows : int
        The first rows of the table are explained.

    Examples
    --------
    >>> case = four_cases()[0]
    >>> case.name, case.n_rows
    ('binary logistic', 8)
    """

    name: str
    X: Any
    y: AnyArray
    prepare: Any
    estimator: Any
    features: FeatureSpace
    n_rows: int = _ROWS

    def __repr__(self) -> str:
        return f"Case({self.name!r})"

    def pipeline(self, estimator: Any = None) -> Pipeline:
        """Give an unfitted pipeline for this table; the estimator is its step "model"."""
        return Pipeline(
            [
                ("prepare", clone(self.prepare)),
                ("model", clone(self.estimator if estimator is None else estimator)),
            ]
        )

    def under(self, features: FeatureSpace) -> "Case":
        """Give the same case under other rules."""
        other = replace(self, features=features)
        vars(other)["model"] = self.model  # rules do not train it anew
        return other

    @cached_property
    def model(self) -> Any:
        """The model that is explained."""
        return self.pipeline().fit(self.X, self.y)

    @cached_property
    def subject(self) -> Subject:
        """The model with its table and its features."""
        return Subject(self.model, self.table, self.features)

    @property
    def table(self) -> Table:
        """The training rows and their labels."""
        return Table(self.X, self.y)

    @property
    def problem(self) -> Problem:
        """What explainers are told."""
        return self.subject.problem

    @property
    def originals(self) -> FloatArray:
        """The rows to explain, as points."""
        return np.array(self.subject.points[: self.n_rows])

    @cached_property
    def targets(self) -> BoolArray:
        """The classes that each row accepts: any but its own, and of several only the next for every other row."""
        classes = self.problem.model.classes
        own = np.searchsorted(classes, self.problem.model.labels(self.originals)[:, 0])
        targets = own[:, None] != np.arange(len(classes))
        for i in range(0, self.n_rows, 2):
            targets[i] = np.arange(len(classes)) == (own[i] + 1) % len(classes)
        return np.asarray(targets)

    @property
    def seeds(self) -> list[int]:
        """One per row."""
        return [11 * i + 5 for i in range(self.n_rows)]

    def accepts(self, points: FloatArray, rows: IntArray) -> BoolArray:
        """Ask the model's own `predict` whether points have a class that their rows accept."""
        labels = np.asarray(self.model.predict(self.features.decode(points)))
        return np.asarray(self.targets[rows, np.searchsorted(self.problem.model.classes, labels)])

    def around(self, n: int = 120) -> FloatArray:
        """Give rows of the data, points between two of them and points beyond, as they could be handed out."""
        rng, rows = np.random.default_rng(2), self.subject.points
        some, others = (rows[rng.integers(0, len(rows), n)] for _ in range(2))
        between = self.features.blend(some, others, rng.random((n, 1)))
        coded = np.array([column.levels is not None for column in self.features.columns])
        beyond = np.where(coded, some, some + (some - others))
        return self.features.encode(self.features.decode(np.concatenate([some, between, beyond])))

    # For searches

    @cached_property
    def members(self) -> Ensemble:
        """Some models trained on bootstrapped rows."""
        return self.subject.ensemble(self.bootstrapped(self.pipeline(), _MEMBERS))

    def bootstrapped(self, estimator: Any, n: int) -> list[Any]:
        """Train clones of an estimator on rows drawn with replacement, every class among them."""
        models = []
        for i in range(n):
            rng = np.random.default_rng(i)
            every = np.unique(self.y, return_index=True)[1]
            rows = np.concatenate([every, rng.integers(0, len(self.y), len(self.y) - len(every))])
            models.append(clone(estimator).fit(*_taken(self.X, self.y, rows)))
        return models

    def task(self, rows: IntArray) -> Task:
        """Start from some of the rows."""
        starts = self.originals[rows]
        return Task(starts, self.features, self.features.box(starts), [self.seeds[i] for i in rows])

    def goal(self, rows: IntArray) -> MembersGoal:
        """Want the target of these rows, under the model and all members."""
        scales = margin_scales(self.problem, self.members)
        anchors = Anchors(self.problem, self.members, scales)
        return MembersGoal(self.problem, self.members, self.targets[rows], scales=scales, anchors=anchors)


def _taken(X: Any, y: AnyArray, rows: IntArray) -> tuple[Any, AnyArray]:
    return (X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]), y[rows]


@cache
def four_cases() -> tuple[Case, ...]:
    """Give the cases that every contract runs over.

    * "binary logistic": plain numbers, two classes, a linear model;
    * "mixed table": whole numbers, decimals and names under rules, at most three changes, LightGBM;
    * "three classes": one of them wanted, or any of two, a random forest;
    * "gaps and links": missing values, a one-hot group, a derived column and one that limits another.

    Needs the extra `lightgbm`.

    Examples
    --------
    >>> [case.name for case in four_cases()]
    ['binary logistic', 'mixed table', 'three classes', 'gaps and links']
    """
    return _binary_logistic(), _mixed_table(), _three_classes(), rule_case("all", name="gaps and links")


def _binary_logistic() -> Case:
    X, y = make_classification(
        n_samples=200, n_features=4, n_informative=3, n_redundant=0, flip_y=0.05, class_sep=0.8, random_state=3
    )
    return Case("binary logistic", X, y, StandardScaler(), LogisticRegression(), FeatureSpace.infer(X))


def _three_classes() -> Case:
    X, y = make_classification(
        n_samples=240,
        n_features=4,
        n_informative=4,
        n_redundant=0,
        n_classes=3,
        n_clusters_per_class=1,
        class_sep=0.8,
        random_state=1,
    )
    forest = RandomForestClassifier(10, max_depth=5, random_state=0, n_jobs=1)
    return Case("three classes", X, np.array(["a", "b", "c"])[y], StandardScaler(), forest, FeatureSpace.infer(X))


def _mixed_table() -> Case:
    lightgbm = require("lightgbm", extra="lightgbm", purpose="The case of a mixed table")
    rng = np.random.default_rng(4)
    n = 240
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.uniform(10, 90, n).round(1),
            "debt": rng.uniform(0, 40, n).round(2),
            "purpose": rng.choice(["car", "house", "travel"], n),
            "term": rng.choice([12, 24, 36, 48], n),
        }
    )
    score = X["income"] / 90 - X["debt"] / 40 + 0.3 * (X["purpose"] == "house") - X["term"] / 96 + X["age"] / 200
    y = (score + 0.1 * rng.normal(size=n) > 0).astype(int).to_numpy()
    rules: Rules = {
        "age": immutable(),
        "income": increase_only() & between(10, 100),
        "debt": decrease_only(),
        "purpose": one_of(["car", "house"]),
        "term": integer(step=12),
    }
    names = ColumnTransformer([("names", OneHotEncoder(handle_unknown="ignore"), ["purpose"])], remainder="passthrough")
    trees = lightgbm.LGBMClassifier(n_estimators=20, num_leaves=7, random_state=0, n_jobs=1, verbose=-1)
    # LightGBM knows its columns by name, and numbers that come out of a transformer have none.
    names.set_output(transform="default")
    return Case("mixed table", X, y, names, trees, FeatureSpace.infer(X, rules=rules, max_changes=3))


def mixed_frame(n: int = 240, seed: int = 0) -> pd.DataFrame:
    """Draw whole numbers, two decimals, plain floats, names, gaps, a one-hot group, and columns that hang together."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {
            "a": rng.integers(0, 12, n),
            "b": rng.uniform(0, 5, n).round(2),
            "c": rng.random(n),
            "k": rng.choice(["u", "v", "w"], n),
            "m": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n).round(1)),
            **{name: (group == i).astype(int) for i, name in enumerate(_GROUP)},
        }
    )
    table["limit"] = (table["c"] + rng.random(n)).round(6)
    table["sum"] = table["a"] + 2 * table["b"]
    return table


def mixed_labels(table: pd.DataFrame, seed: int = 1) -> AnyArray:
    """Give classes that hang on every column."""
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
    return np.asarray((score > score.median()).astype(int))


RULE_SETS: Mapping[str, Mapping[Any, Any]] = {
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
    "one_hot": {_GROUP: one_hot()},
    "cost": {"b": cost(3), "k": cost(0.5)},
    "max_changes": {},
    "all": {
        "a": [increase_only(), at_most(5), cost(2)],
        "b": between(0, 4.5),
        "c": no_more_than("limit"),
        "k": transitions({"u": ["v"], "v": ["u", "w"]}),
        "m": may_be_missing(),
        _GROUP: one_hot(),
        "limit": immutable(),
        "sum": derived("a + 2 * b"),
    },
}
"""Rules for `mixed_frame`, by their kind."""
_MOST_CHANGES = {"max_changes": 2, "all": 4}


@cache
def rule_case(kind: str, *, name: str = "", max_changes: int | None = None) -> Case:
    """Give the mixed table under the rules of one kind, with a linear model behind imputers and encoders.

    Parameters
    ----------
    kind : str
        One of `RULE_SETS`.
    name : str
        What the case is called; the kind of rule by default.
    max_changes : int, optional
        How many features may change, where the kind itself does not say.
    """
    X = mixed_frame()
    numbers = ["a", "b", "c", "m", "limit", "sum"]
    prepare = ColumnTransformer(
        [
            ("names", OneHotEncoder(handle_unknown="ignore"), ["k"]),
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
        ],
        remainder="passthrough",
    )
    most = max_changes or _MOST_CHANGES.get(kind)
    features = FeatureSpace.infer(X, rules=RULE_SETS[kind], max_changes=most)
    return Case(name or f"rules {kind!r}", X, mixed_labels(X), prepare, LogisticRegression(), features, n_rows=10)


def rule_cases() -> tuple[Case, ...]:
    """Give the mixed table under the rules of every kind.

    Examples
    --------
    >>> len(rule_cases()) >= 1
    True
    """
    return tuple(rule_case(kind) for kind in RULE_SETS)
