"""The model to be explained: what is taken, what is refused, and what a refusal advises."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.ensemble import IsolationForest, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from betarce import BetaRCE, Given
from betarce.errors import UnusableModel
from betarce.models.recipe import Recipe, Retraining, Table
from betarce.robustify.model import check_model, explained_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=120) > 0).astype(int)
NAMES = np.array(["no", "yes"])[Y]


def stacking():
    return StackingClassifier([("a", LogisticRegression()), ("b", LogisticRegression(C=0.1))], cv=2)


def explainer(model, **options):
    settings = {"n_models": (15, 15), "delta": 0.7, "confidence": 0.8, "random_state": 0, "verbose": -1}
    return BetaRCE(model, **{**settings, **options})


@pytest.mark.slow
def test_an_unfitted_stacking_classifier_is_no_model_without_predict():
    assert not hasattr(stacking(), "predict")
    check_model(stacking())
    rce = explainer(stacking()).fit(X, Y)
    assert rce.explain(X[Y == 0][:2], target=1)[0].status == "certified"


class NeverPredicts(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.fitted_ = True
        return self


def test_a_classifier_that_cannot_predict_even_after_training_is_refused():
    with pytest.raises(UnusableModel, match="`model` must have `predict`; NeverPredicts has none"):
        explained_model(NeverPredicts(), Table(X, Y), seed=0)
    with pytest.raises(UnusableModel, match="`model` must have `predict`"):
        check_model(NeverPredicts().fit(X, Y))


class Answers:
    """A model that somebody else has trained."""

    def predict(self, X):
        return (np.asarray(X)[:, 0] > 0).astype(int)


class Tunable(BaseEstimator, Answers):
    """The same, with parameters."""


class Uncopyable(BaseEstimator, Answers):
    def __init__(self, *names):
        self.names = names

    def fit(self, X, y):
        return self


@pytest.mark.parametrize("model", [Answers(), Tunable()], ids=["bare", "with parameters"])
def test_a_model_without_fit_is_refused_once_and_before_any_training(model):
    with pytest.raises(UnusableModel, match=r"has no `fit`.*Given\(models\)"):
        explainer(model).fit(X, Y)


def test_a_model_without_fit_may_be_explained_with_given_members():
    members = [LogisticRegression(C=1.0 + i).fit(X, Y) for i in range(30)]
    rce = explainer(Answers(), space=Given(members)).fit(X, Y)
    assert len(rce.members_.search) == 15


def test_a_model_that_cannot_be_copied_is_refused_with_a_reason():
    with pytest.raises(UnusableModel, match="Uncopyable cannot be copied, so it cannot be retrained: RuntimeError"):
        Recipe(Uncopyable()).batches([Retraining("one", seed=0)])


def test_string_labels_that_xgboost_refuses_get_advice_about_labels():
    xgb = pytest.importorskip("xgboost")
    with pytest.raises(UnusableModel) as caught:
        explainer(xgb.XGBClassifier(n_estimators=2, n_jobs=1)).fit(X, NAMES)
    assert "It takes the labels 0 to 1 only; `y` holds 'no', 'yes'." in str(caught.value)
    assert "Pipeline" not in str(caught.value)


def test_a_table_that_a_model_refuses_gets_advice_about_the_table():
    with pytest.raises(UnusableModel, match="put encoders and imputers in front of it"):
        explained_model(LogisticRegression(), Table(np.array([["a"], ["b"]] * 9), NAMES[:18]), seed=0)


def test_a_forest_is_trained_as_before():
    model = explained_model(RandomForestClassifier(3), Table(X, NAMES), seed=4)
    assert model.random_state == 4


NOT_CLASSIFIERS = {
    "clusterer": KMeans(2, n_init=1),
    "regressor": Ridge(),
    "outlier detector": IsolationForest(),
    "density estimator": GaussianMixture(2),
}


@pytest.mark.parametrize("kind", NOT_CLASSIFIERS)
def test_a_clusterer_was_taken_for_a_classifier(kind):
    for model in (NOT_CLASSIFIERS[kind], make_pipeline(StandardScaler(), NOT_CLASSIFIERS[kind])):
        with pytest.raises(UnusableModel, match=rf"`model` must be a classifier; \w+ is an? {kind}\."):
            BetaRCE(model).fit(NAMED, SIGNS)


NAMED = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 3)), columns=["a", "b", "c"])
SIGNS = (NAMED["a"] > 0).astype(int)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["a", "b"], "not on these columns: `X` adds 'c'"),
        (["a", "b", "c", "d"], "not on these columns: `X` lacks 'd'"),
        (["a", "b", "z"], "not on these columns: `X` lacks 'z' and adds 'c'"),
        (["b", "a", "c"], r"not on these columns: they come in another order, \['b', 'a', 'c'\]"),
    ],
)
def test_a_model_fitted_on_other_columns_raised_a_foreign_error(columns, message):
    table = NAMED.assign(d=1.0, z=2.0)[columns]
    with pytest.raises(UnusableModel, match=message):
        BetaRCE(LogisticRegression().fit(table, SIGNS)).fit(NAMED, SIGNS)


def test_a_model_fitted_on_an_array_of_another_width_says_so():
    model = LogisticRegression().fit(NAMED.to_numpy()[:, :2], SIGNS)
    with pytest.raises(UnusableModel, match=r"not on these columns: X has 3 features, .* 2 features as input\. Pass"):
        BetaRCE(model).fit(NAMED.to_numpy(), SIGNS)


def test_a_library_that_takes_columns_by_their_place_got_the_wrong_ones():
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=3, n_jobs=1, verbosity=-1).fit(NAMED[["c", "b", "a"]], SIGNS)
    with pytest.raises(UnusableModel, match="same columns in another order"):
        BetaRCE(model).fit(NAMED, SIGNS)


def test_a_model_fitted_on_other_labels_says_which():
    model = LogisticRegression().fit(NAMED, SIGNS.map({0: "no", 1: "yes"}))
    with pytest.raises(UnusableModel, match=r"was fitted on \['no', 'yes'\] and has never seen 0"):
        BetaRCE(model).fit(NAMED, SIGNS)


def test_given_models_of_other_columns_say_so_too():
    others = [LogisticRegression().fit(NAMED[["a", "b"]], SIGNS) for _ in range(40)]
    rce = BetaRCE(LogisticRegression(), space=Given(others), n_models=12, delta=0.6, confidence=0.7)
    with pytest.raises(UnusableModel, match="could not answer for rows of the training table"):
        rce.fit(NAMED, SIGNS)
