"""A model that is fitted again in place is no longer the one that members are siblings of."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce
from betarce.errors import InvalidInput

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.normal(size=80), "b": RNG.normal(size=80)})
LABELS = (TABLE["a"] + TABLE["b"] > 0).astype(int)
SMALL = {"delta": 0.6, "confidence": 0.7, "n_models": 6, "prior": "jeffreys", "random_state": 0, "verbose": -1}


class OwnModel:
    """Written by hand, with nothing of scikit-learn."""

    def fit(self, X, y):
        self.center = np.average(X, axis=0, weights=y)
        self.calls = 0
        return self

    def predict(self, X):
        self.calls += 1  # what changes with every call is no second fit
        return (np.asarray(X) @ self.center > 0).astype(int)


MODELS = {
    "linear": LogisticRegression,
    "pipeline": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": lambda: RandomForestClassifier(3, random_state=0),
    "voting": lambda: VotingClassifier([("a", LogisticRegression()), ("b", RandomForestClassifier(3))]),
    "grid": lambda: GridSearchCV(LogisticRegression(), {"C": [1.0]}, cv=2),
    "own": OwnModel,
}


@pytest.mark.filterwarnings("ignore::betarce.errors.SlowMembers")
@pytest.mark.parametrize("name", MODELS)
def test_a_model_that_was_fitted_again_in_place_got_the_members_of_the_old_one(name):
    model = MODELS[name]().fit(TABLE, LABELS)
    rce = brce.BetaRCE(model, **SMALL).fit(TABLE, LABELS)
    before = rce.certify(TABLE[:3], target=1)
    assert len(rce.explain(TABLE[:2])) == 2
    model.fit(TABLE, 1 - LABELS)
    for ask in (lambda: rce.explain(TABLE[:3]), lambda: rce.certify(TABLE[:3], target=1)):
        with pytest.raises(InvalidInput, match=r"`model` was fitted again after `fit`.* call `fit` again"):
            ask()
    assert [str(vote) for vote in rce.fit(TABLE, LABELS).certify(TABLE[:3], target=0)] != [str(v) for v in before]


def test_the_same_fit_once_more_changes_nothing():
    model = LogisticRegression().fit(TABLE, LABELS)
    rce = brce.BetaRCE(model, **SMALL).fit(TABLE, LABELS)
    model.fit(TABLE, LABELS)
    assert len(rce.explain(TABLE[:2])) == 2


def test_a_model_that_was_passed_unfitted_is_the_users_to_fit():
    model = LogisticRegression()
    rce = brce.BetaRCE(model, **SMALL).fit(TABLE, LABELS)
    model.fit(TABLE, 1 - LABELS)
    assert len(rce.explain(TABLE[:2])) == 2


def test_a_copy_of_an_explainer_watches_its_own_model():
    model = LogisticRegression().fit(TABLE, LABELS)
    copy = pickle.loads(pickle.dumps(brce.BetaRCE(model, **SMALL).fit(TABLE, LABELS)))
    model.fit(TABLE, 1 - LABELS)
    assert len(copy.explain(TABLE[:2])) == 2
    copy.model.fit(TABLE, 1 - LABELS)
    with pytest.raises(InvalidInput, match="fitted again"):
        copy.explain(TABLE[:2])
