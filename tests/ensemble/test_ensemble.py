"""Members answering as one: label for label what each would say itself."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC

from betarce import Ensemble, FeatureSpace, Network
from betarce.ensemble import ensemble as ensemble_module
from betarce.ensemble.generic import GenericGroup
from betarce.ensemble.linear import LinearKernel
from betarce.ensemble.stacked import StackedGroup
from betarce.errors import InvalidInput, SlowMembers, UnusableModel
from betarce.models import ValidationSplit, paper_model

RNG = np.random.default_rng(0)


def lightgbm(**options):
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=6, num_leaves=6, verbosity=-1, **options)


def xgboost(**options):
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, **options)


STACKED = {
    "logistic": lambda i: LogisticRegression(C=10.0**-i),
    "linear svm": lambda i: LinearSVC(C=10.0**-i, random_state=i),
    "ridge": lambda i: RidgeClassifier(alpha=10.0**i),
    "sgd": lambda i: SGDClassifier(random_state=i),
    "standardised logistic": lambda i: make_pipeline(StandardScaler(), LogisticRegression(C=10.0**-i)),
    "min-max logistic": lambda i: make_pipeline(MinMaxScaler(), LogisticRegression(C=10.0 ** (2 - i))),
    "max-abs svm": lambda i: make_pipeline(MaxAbsScaler(), LinearSVC(C=10.0**-i)),
    "twice scaled logistic": lambda i: make_pipeline(
        RobustScaler(), "passthrough", MinMaxScaler(), LogisticRegression()
    ),
    "split logistic": lambda i: ValidationSplit(LogisticRegression(), random_state=i),
    "mlp": lambda i: MLPClassifier((8, 5), max_iter=40, random_state=i),
    "standardised mlp": lambda i: make_pipeline(StandardScaler(), MLPClassifier((8,), max_iter=40, random_state=i)),
    "network": lambda i: Network(hidden_layers=2, neurons=8 + i, max_epochs=20, random_state=i),
    "standardised network": lambda i: make_pipeline(
        StandardScaler(), Network(neurons=8, dropout=0.0, learning_rate=0.01, random_state=i)
    ),
    "forest": lambda i: RandomForestClassifier(5 + i, max_depth=4, random_state=i),
    "extra trees": lambda i: ExtraTreesClassifier(5, max_depth=4, random_state=i),
    "gradient boosting": lambda i: GradientBoostingClassifier(n_estimators=5, subsample=0.7, random_state=i),
    "hist gradient boosting": lambda i: HistGradientBoostingClassifier(max_iter=5 + i, max_leaf_nodes=6),
    "lightgbm": lambda i: lightgbm(random_state=i, subsample=0.7, subsample_freq=1),
    "split lightgbm": lambda i: paper_model("lightgbm").set_params(
        random_state=i, estimator__n_estimators=5, estimator__n_jobs=1, estimator__objective=None
    ),
    "xgboost": lambda i: xgboost(random_state=i, subsample=0.7),
}
GENERIC = {
    "naive bayes": lambda i: GaussianNB(var_smoothing=10.0 ** -(9 - i)),
    "svc": lambda i: SVC(C=1 + i),
    "calibrated": lambda i: CalibratedClassifierCV(GaussianNB(), cv=2 + i),
    "polynomial": lambda i: make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression(C=1 + i)),
}


def members_of(make, n_classes, n=3):
    X, y = make_classification(
        n_samples=150, n_features=4, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=1
    )
    X *= [1.0, 30.0, 0.2, 1000.0]
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return X, [make(i).fit(X, y) for i in range(n)]


def boundary_points(model, X, n=200):
    """Bisect between rows of different label until two neighbouring points differ: the edge of the decision."""
    left = X[RNG.integers(len(X), size=n)]
    right = X[RNG.integers(len(X), size=n)]
    differ = model.predict(left) != model.predict(right)
    if not differ.any():
        return np.empty((0, 4))
    left, right = left[differ][:40], right[differ][:40]
    start = model.predict(left)
    for _ in range(70):
        middle = (left + right) / 2
        same = model.predict(middle) == start
        left, right = np.where(same[:, None], middle, left), np.where(same[:, None], right, middle)
    return np.vstack([left, right, np.nextafter(left, np.inf), np.nextafter(right, -np.inf)])


def own_labels(models, X):
    return np.stack([model.predict(X) for model in models], axis=1)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", [*STACKED, *GENERIC])
def test_labels_margins_and_votes_are_those_of_the_members_even_on_the_edge(family, n_classes):
    X, models = members_of((STACKED | GENERIC)[family], n_classes)
    ensemble = Ensemble(models, np.arange(n_classes), probe=X[:20])
    expected_group = StackedGroup if family in STACKED else GenericGroup
    assert {type(group) for _, group in ensemble.groups} == {expected_group}
    spread = RNG.normal(size=(300, 4)) * 2 * X.std(axis=0)
    edges = np.vstack([boundary_points(model, np.vstack([X, spread])) for model in models])
    assert len(edges), "all members are constant: nothing would be tested"
    points = np.vstack([X, spread, edges])
    own = own_labels(models, points)
    np.testing.assert_array_equal(ensemble.labels(points), own)
    for target in range(n_classes):
        margins = ensemble.margins(points, target)
        np.testing.assert_array_equal(margins > 0, own == target)
        np.testing.assert_array_equal(ensemble.votes(points, target), (own == target).sum(axis=1))
        for quorum in (1, 2, 3):
            np.testing.assert_array_equal(
                ensemble.reaches(points, target, quorum), (own == target).sum(axis=1) >= quorum
            )


def test_margins_of_a_linear_model_are_its_log_odds():
    X, models = members_of(STACKED["logistic"], 2)
    ensemble = Ensemble(models, [0, 1])
    np.testing.assert_allclose(ensemble.margins(X, 1)[:, 0], models[0].decision_function(X))
    np.testing.assert_allclose(ensemble.margins(X, 0), -ensemble.margins(X, 1))


def test_each_point_may_have_its_own_target():
    X, models = members_of(STACKED["logistic"], 3)
    ensemble = Ensemble(models, [0, 1, 2])
    targets = np.arange(len(X)) % 3
    margins = ensemble.margins(X, targets)
    for target in range(3):
        rows = targets == target
        np.testing.assert_allclose(margins[rows], ensemble.margins(X[rows], target))


def test_mixed_families_keep_their_order():
    makes = [STACKED["logistic"], GENERIC["naive bayes"], STACKED["gradient boosting"], STACKED["logistic"]]
    X, _ = members_of(makes[0], 2)
    models = [members_of(make, 2, n=1)[1][0] for make in makes]
    ensemble = Ensemble(models, [0, 1])
    assert len(ensemble.groups) == 3
    np.testing.assert_array_equal(ensemble.labels(X), own_labels(models, X))
    np.testing.assert_array_equal(ensemble.reaches(X, 1, 3), (own_labels(models, X) == 1).sum(axis=1) >= 3)


def test_strings_and_data_frames_work():
    X, y = make_classification(n_samples=80, n_features=3, n_informative=3, n_redundant=0, random_state=0)
    frame = pd.DataFrame(X, columns=list("abc"))
    labels = np.where(y == 1, "yes", "no")
    models = [GaussianNB().fit(frame, labels), LogisticRegression().fit(frame, labels)]
    ensemble = Ensemble(models, ["no", "yes"], features=FeatureSpace.infer(frame))
    np.testing.assert_array_equal(ensemble.labels(X), own_labels(models, frame))
    assert set(ensemble.votes(X, "yes")) <= {0, 1, 2}


class LabelsOnly:
    def __init__(self, threshold):
        self.threshold = threshold

    def predict(self, X):
        return (np.asarray(X)[:, 0] > self.threshold).astype(int)


def test_members_that_give_labels_only_have_margins_of_one():
    ensemble = Ensemble([LabelsOnly(0.2), LabelsOnly(0.6)], [0, 1])
    np.testing.assert_array_equal(ensemble.margins(np.array([[0.4], [0.9]]), 1), [[1, -1], [1, 1]])


def test_predict_has_the_last_word_over_probabilities():
    class Strict(GaussianNB):
        def predict(self, X):
            return (self.predict_proba(X)[:, 1] > 0.9).astype(int)

    X, y = make_classification(n_samples=80, n_features=4, random_state=0)
    ensemble = Ensemble([Strict().fit(X, y)], [0, 1])
    np.testing.assert_array_equal(ensemble.margins(X, 1)[:, 0] > 0, Strict().fit(X, y).predict(X) == 1)


@given(n_rows=st.integers(1, 60), quorum=st.integers(0, 8), seed=st.integers(0, 100))
@settings(max_examples=40)
def test_dropping_hopeless_points_early_changes_no_answer(n_rows, quorum, seed):
    rng = np.random.default_rng(seed)
    models = [LabelsOnly(threshold) for threshold in rng.random(20)]
    X = rng.random((n_rows, 2))
    ensemble = Ensemble(models, [0, 1])
    np.testing.assert_array_equal(ensemble.reaches(X, 1, quorum), ensemble.votes(X, 1) >= quorum)


def test_members_are_not_asked_about_points_that_are_out():
    asked = []

    class Counting(LabelsOnly):
        def predict(self, X):
            asked.append(len(X))
            return super().predict(X)

    ensemble = Ensemble([Counting(2.0) for _ in range(32)], [0, 1])
    ensemble.reaches(np.zeros((100, 1)), 1, 32)
    assert sum(asked) == 100 * ensemble_module.BLOCK


def test_a_large_batch_is_cut_into_chunks(monkeypatch):
    X, models = members_of(STACKED["logistic"], 2)
    whole = Ensemble(models, [0, 1]).margins(X, 1)
    sizes = []
    scores = StackedGroup.margins
    monkeypatch.setattr(StackedGroup, "margins", lambda self, X, *rest: sizes.append(len(X)) or scores(self, X, *rest))
    monkeypatch.setattr(ensemble_module, "CHUNK", 60)
    np.testing.assert_allclose(Ensemble(models, [0, 1]).margins(X, 1), whole)
    assert max(sizes) == 60 // (3 * 2)
    assert sum(sizes) == len(X)


def test_a_kernel_that_disagrees_with_its_members_is_not_used(monkeypatch):
    X, models = members_of(STACKED["logistic"], 2)
    monkeypatch.setattr(LinearKernel, "scores", lambda self, X, members: np.ones((len(X), 3)))
    with pytest.warns(SlowMembers, match="gives other labels than its own `predict`"):
        ensemble = Ensemble(models, [0, 1], probe=X[:20])
    assert {type(group) for _, group in ensemble.groups} == {GenericGroup}
    np.testing.assert_array_equal(ensemble.labels(X), own_labels(models, X))


class Wrong:
    def __init__(self, answer):
        self.answer = answer

    def predict(self, X):
        return self.answer(len(X))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda n: np.zeros(n + 1), "must give one label per row"),
        (lambda n: np.zeros((n, 2)), "must give one label per row"),
        (lambda n: np.full(n, 0.3), "none of the classes"),
        (lambda n: np.full(n, 7), "gave .*7"),
    ],
)
def test_a_model_that_answers_in_the_wrong_form_is_refused(answer, message):
    with pytest.raises(UnusableModel, match=message):
        Ensemble([Wrong(answer)], [0, 1]).votes(np.zeros((5, 2)), 1)


def test_probabilities_of_the_wrong_shape_are_refused():
    class Odd(GaussianNB):
        def predict_proba(self, X):
            return super().predict_proba(X)[:, :1]

    X, y = make_classification(n_samples=80, n_features=4, random_state=0)
    with pytest.raises(UnusableModel, match="one column a class"):
        Ensemble([Odd().fit(X, y)], [0, 1]).margins(X, 1)


def test_an_empty_ensemble_and_an_unknown_target_are_refused():
    with pytest.raises(InvalidInput, match="at least one member"):
        Ensemble([], [0, 1])
    with pytest.raises(InvalidInput, match="`target` must be one of the classes"):
        Ensemble([LabelsOnly(0)], [0, 1]).votes(np.zeros((1, 1)), 2)


def test_a_batch_of_no_points_gives_no_answers():
    ensemble = Ensemble([LabelsOnly(0.5)], [0, 1])
    assert ensemble.reaches(np.zeros((0, 1)), 1, 1).shape == (0,)
    assert ensemble.margins(np.zeros((0, 1)), 1).shape == (0, 1)
