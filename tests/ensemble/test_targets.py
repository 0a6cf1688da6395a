"""Targets that accept several classes, and members that decide at other than even odds."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC, LinearSVC

from betarce import Ensemble, Network
from betarce.ensemble.generic import GenericGroup
from betarce.ensemble.stacked import StackedGroup
from betarce.errors import InvalidInput

RNG = np.random.default_rng(0)


def data(n_classes):
    X, y = make_classification(200, 4, n_informative=4, n_redundant=0, n_classes=n_classes, flip_y=0.2, random_state=1)
    return X * [1.0, 30.0, 0.2, 100.0], y


def trained(make, X, y, n=3):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [make(i).fit(X, y) for i in range(n)]


def lightgbm(i):
    return pytest.importorskip("lightgbm").LGBMClassifier(n_estimators=6, num_leaves=6 + i, n_jobs=1, verbosity=-1)


def xgboost(i):
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=5, max_depth=2 + i, n_jobs=1)


MANY_CLASSES = {
    "logistic": (lambda i: LogisticRegression(C=10.0**-i), StackedGroup),
    "forest": (lambda i: RandomForestClassifier(5, max_depth=4, random_state=i), StackedGroup),
    "lightgbm": (lightgbm, StackedGroup),
    "network": (lambda i: Network(neurons=8, max_epochs=20, random_state=i), StackedGroup),
    "naive bayes": (lambda i: GaussianNB(var_smoothing=10.0 ** -(9 - i)), GenericGroup),
}


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("family", MANY_CLASSES)
def test_a_target_of_several_classes_is_reached_by_any_of_them(family, n_classes):
    make, kind = MANY_CLASSES[family]
    X, y = data(n_classes)
    models = trained(make, X, y)
    ensemble = Ensemble(models, np.arange(n_classes))
    assert {type(group) for _, group in ensemble.groups} == {kind}
    points = np.vstack([X, RNG.normal(size=(300, 4)) * X.std(axis=0)])
    wanted = RNG.random((len(points), n_classes)) < 0.5
    own = np.stack([model.predict(points) for model in models], axis=1)
    accepted = wanted[np.arange(len(points))[:, None], own]
    margins = ensemble.margins(points, wanted)
    np.testing.assert_array_equal(margins > 0, accepted)
    np.testing.assert_array_equal(ensemble.votes(points, wanted), accepted.sum(axis=1))
    np.testing.assert_array_equal(ensemble.reaches(points, wanted, 2), accepted.sum(axis=1) >= 2)
    assert np.isposinf(margins[wanted.all(axis=1)]).all()
    assert np.isneginf(margins[~wanted.any(axis=1)]).all()


def test_a_mask_of_one_class_is_the_same_as_its_label():
    X, y = data(3)
    ensemble = Ensemble(trained(MANY_CLASSES["logistic"][0], X, y), np.arange(3))
    mask = np.zeros((len(X), 3), dtype=bool)
    mask[:, 2] = True
    np.testing.assert_array_equal(ensemble.margins(X, mask), ensemble.margins(X, 2))
    weights = RNG.normal(size=(len(X), 3))
    np.testing.assert_array_equal(ensemble.slopes(X, mask, weights), ensemble.slopes(X, 2, weights))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("family", ["logistic", "network"])
def test_slopes_are_the_gradient_of_the_margins_of_a_mask(family, n_classes):
    X, y = data(n_classes)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ensemble = Ensemble(trained(MANY_CLASSES[family][0], X, y), np.arange(n_classes))
    points = X[:40]
    wanted = RNG.random((40, n_classes)) < 0.5
    wanted[:, 0], wanted[:, 1] = True, False
    weights = RNG.normal(size=(40, 3))
    slopes = ensemble.slopes(points, wanted, weights)
    h = 1e-3 if family == "network" else 1e-6
    near = []
    for column in range(4):
        step = h * (np.arange(4) == column)
        up, down = (ensemble.margins(points + sign * step, wanted) for sign in (1, -1))
        numeric = ((up - down) * weights).sum(axis=1) / (2 * h)
        near.append(np.isclose(slopes[:, column], numeric, rtol=1e-2, atol=1e-3))
    assert np.mean(near) > 0.9, "kinks may hit a few points, no more"


def test_masks_of_the_wrong_shape_are_refused():
    X, y = data(3)
    ensemble = Ensemble(trained(MANY_CLASSES["logistic"][0], X, y), np.arange(3))
    with pytest.raises(InvalidInput, match="mask of shape"):
        ensemble.votes(X, np.ones((len(X), 2), dtype=bool))
    with pytest.raises(InvalidInput, match="must be one of the classes"):
        ensemble.votes(X, np.full(len(X), 7))


def fixed(base, **options):
    return lambda i: FixedThresholdClassifier(base(i), **options)


THRESHOLDS = {
    "logistic": (fixed(lambda i: LogisticRegression(C=10.0**-i), threshold=0.2), StackedGroup),
    "logistic, the other label": (fixed(lambda i: LogisticRegression(), threshold=0.3, pos_label=0), StackedGroup),
    "logistic, auto": (fixed(lambda i: LogisticRegression()), StackedGroup),
    "logistic, decision": (
        fixed(lambda i: LogisticRegression(), threshold=0.7, pos_label=0, response_method="decision_function"),
        StackedGroup,
    ),
    "linear svm": (fixed(lambda i: LinearSVC(C=0.1), threshold=0.1), StackedGroup),
    "scaled logistic": (
        lambda i: make_pipeline(StandardScaler(), FixedThresholdClassifier(LogisticRegression(), threshold=0.8)),
        StackedGroup,
    ),
    "threshold on a pipeline": (
        fixed(lambda i: make_pipeline(StandardScaler(), LogisticRegression()), threshold=0.35),
        StackedGroup,
    ),
    "threshold on a threshold": (
        fixed(fixed(lambda i: LogisticRegression(), threshold=0.9), threshold=0.3),
        StackedGroup,
    ),
    "tuned logistic": (
        lambda i: TunedThresholdClassifierCV(LogisticRegression(C=10.0**-i), scoring="f1", cv=3),
        StackedGroup,
    ),
    "sgd": (fixed(lambda i: SGDClassifier(loss="log_loss", random_state=i), threshold=0.4), StackedGroup),
    "mlp": (fixed(lambda i: MLPClassifier((8,), max_iter=40, random_state=i), threshold=0.3), StackedGroup),
    "network": (fixed(lambda i: Network(neurons=8, max_epochs=20, random_state=i), threshold=0.45), StackedGroup),
    "forest": (fixed(lambda i: RandomForestClassifier(5, random_state=i), threshold=0.4), StackedGroup),
    "gradient boosting": (
        fixed(
            lambda i: GradientBoostingClassifier(n_estimators=5, loss="exponential", random_state=i),
            threshold=-0.1,
            response_method="decision_function",
        ),
        StackedGroup,
    ),
    "hist gradient boosting": (
        fixed(lambda i: HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6), threshold=0.25),
        StackedGroup,
    ),
    "lightgbm": (fixed(lightgbm, threshold=0.3), StackedGroup),
    "xgboost": (fixed(xgboost, threshold=0.3), StackedGroup),
    "naive bayes": (fixed(lambda i: GaussianNB(), threshold=0.2, pos_label=0), GenericGroup),
    "svc": (fixed(lambda i: SVC(C=1 + i), threshold=0.2), GenericGroup),
    "polynomials": (
        lambda i: make_pipeline(
            StandardScaler(), PolynomialFeatures(2), FixedThresholdClassifier(LogisticRegression(), threshold=0.2)
        ),
        GenericGroup,
    ),
    "an extreme threshold": (fixed(lambda i: LogisticRegression(), threshold=1.0), GenericGroup),
    "probabilities that are no sigmoid": (
        fixed(lambda i: SGDClassifier(loss="modified_huber", random_state=i), threshold=0.4),
        GenericGroup,
    ),
}


def edges(model, points, n=40):
    """Bisect between points of different label to where it turns."""
    left, right = points[RNG.integers(len(points), size=(2, 300))]
    differ = model.predict(left) != model.predict(right)
    left, right = left[differ][:n], right[differ][:n]
    if not len(left):
        return left
    start = model.predict(left)
    for _ in range(70):
        middle = (left + right) / 2
        same = model.predict(middle) == start
        left, right = np.where(same[:, None], middle, left), np.where(same[:, None], right, middle)
    return np.vstack([left, right])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("family", THRESHOLDS)
def test_labels_turn_exactly_where_predict_says(family):
    make, kind = THRESHOLDS[family]
    X, y = data(2)
    models = trained(make, X, y)
    ensemble = Ensemble(models, [0, 1], probe=X[:20])
    assert {type(group) for _, group in ensemble.groups} == {kind}
    points = np.vstack([X, RNG.normal(size=(300, 4)) * X.std(axis=0)])
    if family != "network":  # in float32, away from even odds, its own labels on the edge change with the batch
        points = np.vstack([points, *[edges(model, points) for model in models]])
    own = np.stack([model.predict(points) for model in models], axis=1)
    np.testing.assert_array_equal(ensemble.labels(points), own)
    for target in (0, 1):
        np.testing.assert_array_equal(ensemble.margins(points, target) > 0, own == target)


@pytest.mark.parametrize("family", ["logistic", "logistic, the other label", "naive bayes", "svc", "polynomials"])
def test_margins_pass_smoothly_through_the_threshold(family):
    X, y = data(2)
    ensemble = Ensemble(trained(THRESHOLDS[family][0], X, y), [0, 1])
    labels = ensemble.labels(X)[:, 0]
    a, b = X[labels == 0][:1], X[labels == 1][:1]
    path = a + np.linspace(0, 1, 2001)[:, None] * (b - a)
    margins = ensemble.margins(path, 1)[:, 0]
    assert margins[0] < 0 < margins[-1]
    assert np.abs(np.diff(margins)).max() < 0.1 * np.ptp(margins), "a jump at the threshold"


def test_margins_of_a_threshold_are_log_odds_beyond_it_stacked_or_not():
    X, y = data(2)
    base = LogisticRegression().fit(X, y)
    plain = base.decision_function(X)
    turned = FixedThresholdClassifier(FrozenEstimator(base), threshold=0.2).fit(X, y)
    stacked = Ensemble([turned], [0, 1]).margins(X, 1)[:, 0]
    np.testing.assert_allclose(stacked, plain - np.log(0.2 / 0.8))

    class Alien(LogisticRegression):
        pass

    alien = FixedThresholdClassifier(Alien(), threshold=0.2).fit(X, y)
    generic = Ensemble([clone(alien).fit(X, y)], [0, 1])
    assert {type(group) for _, group in generic.groups} == {GenericGroup}
    np.testing.assert_allclose(generic.margins(X, 1)[:, 0], stacked, rtol=1e-6)
