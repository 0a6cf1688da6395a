"""Small problems with known answers, for methods that follow gradients."""

import numpy as np
from sklearn.linear_model import LogisticRegression

from betarce.ensemble import Ensemble
from betarce.explainers import Problem
from betarce.features import FeatureSpace

CLASSES = [0, 1]


def linear_model(weights, intercept):
    """A logistic regression with these weights."""
    model = LogisticRegression()
    model.classes_ = np.array(CLASSES)
    model.coef_ = np.array([weights], dtype=float)
    model.intercept_ = np.array([float(intercept)])
    model.n_features_in_ = len(weights)
    return model


class Opaque:
    """A model of which only probabilities are known, so that no kernel and no gradient applies."""

    def __init__(self, model):
        self.model = model
        self.classes_ = model.classes_

    def predict(self, X):
        return self.model.predict(X)

    def predict_proba(self, X):
        return self.model.predict_proba(X)


def problem_of(model, X, **rules):
    """The problem of explaining one model on a plain array."""
    features = FeatureSpace.infer(X, rules=rules)
    return Problem(Ensemble([model], CLASSES), features, X, np.asarray(model.predict(X)))


def uniform(n=200, d=3, seed=0):
    """Points of the unit cube, its corners included, so that every range is 1."""
    X = np.random.default_rng(seed).random((n, d))
    return np.concatenate([np.zeros((1, d)), np.ones((1, d)), X])


def explain(method, problem, originals, wanted=1, seed=0):
    """Run a method on rows that all want one class."""
    targets = np.tile(np.arange(2) == wanted, (len(originals), 1))
    seeds = list(range(seed, seed + len(originals)))
    return method.explain(originals, targets, problem, problem.features.box(originals), seeds)


def awkward():
    """A table with a constant column, names and missing values, and trees that take them all."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder
    from sklearn.tree import DecisionTreeClassifier

    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.random(300),
            "same": np.full(300, 7.0),
            "holes": np.where(rng.random(300) < 0.3, np.nan, rng.random(300)),
            "name": rng.choice(["x", "y"], 300),
        }
    )
    labels = (table["a"] + 0.2 * table["holes"].fillna(0.5) + 0.1 * (table["name"] == "x") > 0.7).astype(int)
    encoder = ColumnTransformer([("names", OneHotEncoder(), ["name"])], remainder="passthrough", sparse_threshold=0)
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=6, random_state=0)).fit(table, labels)
    features = FeatureSpace.infer(table)
    points = features.encode(table)
    problem = Problem(Ensemble([model], CLASSES, features=features), features, points, labels.to_numpy())
    originals = points[:20]
    targets = model.predict(table[:20])[:, None] != np.array(CLASSES)
    return problem, originals, targets


def check_awkward(method):
    """Run on the awkward table: nothing but what was missing is missing, and the statuses are true."""
    problem, originals, targets = awkward()
    box = problem.features.box(originals)
    result = method.explain(originals, targets, problem, box, list(range(len(originals))))
    np.testing.assert_array_equal(np.isnan(result.points), np.isnan(originals))
    np.testing.assert_array_equal(result.points[:, 1], originals[:, 1])
    np.testing.assert_array_equal(result.points[:, 3], originals[:, 3])
    assert result.found.any()
    assert problem.is_target(result.points, targets)[result.found].all()
    assert [bool(reason) for reason in result.reasons] == list(~result.found)
    return result
