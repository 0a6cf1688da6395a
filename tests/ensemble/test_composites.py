"""Models made of other models: searches, calibrated, voting and stacking classifiers, label for label their own."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, RandomizedSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from betarce import Ensemble, Network
from betarce.ensemble.composites.calibration import Calibration
from betarce.ensemble.composites.isotonic import IsotonicCurve
from betarce.ensemble.intervals import UNIT, Interval
from betarce.ensemble.stacked import StackedGroup
from betarce.errors import SlowMembers
from mixed_pipelines import bootstrap, columns, preprocessing, problem

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")

pytestmark = pytest.mark.filterwarnings(
    "ignore:Found unknown categories",
    "ignore:X does not have valid feature names",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


def logistic(**options):
    return LogisticRegression(max_iter=500, **options)


def lightgbm(i=0):
    return lgb.LGBMClassifier(n_estimators=5, num_leaves=6, min_child_samples=5, n_jobs=1, verbosity=-1, random_state=i)


def xgboost(i=0):
    return xgb.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1, random_state=i)


def forest(i=0):
    return RandomForestClassifier(6, max_depth=4, random_state=i)


def hist():
    return HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6)


def calibrated(part, **options):
    return CalibratedClassifierCV(part, cv=3, **options)


def voting(*parts, **options):
    return VotingClassifier([(f"m{i}", part) for i, part in enumerate(parts)], **options)


def stacking(*parts, **options):
    return StackingClassifier([(f"m{i}", part) for i, part in enumerate(parts)], cv=2, **options)


MODELS = {
    "grid search": lambda i: GridSearchCV(logistic(), {"C": [0.1, 10.0]}, cv=2),
    "random search": lambda i: RandomizedSearchCV(forest(i), {"max_depth": [2, 4]}, n_iter=2, cv=2, random_state=i),
    "search over a pipeline": lambda i: GridSearchCV(
        make_pipeline(StandardScaler(), LinearSVC()), {"linearsvc__C": [0.1, 1.0]}, cv=2
    ),
    "sigmoid, logistic": lambda i: calibrated(logistic(C=10.0**-i)),
    "sigmoid, svm": lambda i: calibrated(make_pipeline(StandardScaler(), LinearSVC())),
    "sigmoid, forest": lambda i: calibrated(forest(i)),
    "sigmoid, lightgbm": lambda i: calibrated(lightgbm(i)),
    "sigmoid, xgboost": lambda i: calibrated(xgboost(i)),
    "sigmoid, network": lambda i: calibrated(Network(neurons=6, max_epochs=15, random_state=i)),
    "sigmoid, one curve": lambda i: calibrated(logistic(), ensemble=False),
    "isotonic, logistic": lambda i: calibrated(logistic(), method="isotonic"),
    "isotonic, forest": lambda i: calibrated(forest(i), method="isotonic"),
    "isotonic, xgboost": lambda i: calibrated(xgboost(i), method="isotonic"),
    "isotonic, one curve": lambda i: calibrated(logistic(), method="isotonic", ensemble=False),
    "calibrated search": lambda i: calibrated(GridSearchCV(RidgeClassifier(), {"alpha": [1.0, 9.0]}, cv=2)),
    "soft votes": lambda i: voting(logistic(), forest(i), lightgbm(i), voting="soft"),
    "weighted soft votes": lambda i: voting(
        make_pipeline(StandardScaler(), MLPClassifier((6,), max_iter=30, random_state=i)),
        GradientBoostingClassifier(n_estimators=4, random_state=i),
        xgboost(i),
        voting="soft",
        weights=[1, 2, 0.5],
    ),
    "soft votes of sgd": lambda i: voting(
        make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=i)), logistic(), voting="soft"
    ),
    "hard votes": lambda i: voting(logistic(), forest(i), LinearSVC()),
    "hard votes with ties": lambda i: voting(logistic(), ExtraTreesClassifier(5, max_depth=3, random_state=i)),
    "weighted hard votes": lambda i: voting(logistic(), forest(i), hist(), weights=[0.3, 0.3, 0.6]),
    "stacking": lambda i: stacking(make_pipeline(StandardScaler(), logistic()), forest(i)),
    "stacking by decision": lambda i: stacking(logistic(), hist(), stack_method="decision_function"),
    "stacking by label": lambda i: stacking(logistic(), lightgbm(i), forest(i), stack_method="predict"),
    "stacking, scaled": lambda i: stacking(
        logistic(), xgboost(i), final_estimator=make_pipeline(StandardScaler(), logistic())
    ),
    "stacking, svm at last": lambda i: stacking(logistic(), forest(i), final_estimator=LinearSVC()),
    "stacking, columns passed": lambda i: stacking(LinearSVC(), forest(i), passthrough=True),
    "stacking, columns passed and scaled": lambda i: stacking(
        logistic(), forest(i), passthrough=True, final_estimator=make_pipeline(StandardScaler(), logistic())
    ),
    "calibrated votes": lambda i: calibrated(voting(logistic(), forest(i), voting="soft")),
    "votes of calibrated": lambda i: voting(calibrated(LinearSVC()), forest(i), voting="soft"),
    "votes of votes": lambda i: voting(voting(logistic(), forest(i), LinearSVC()), logistic(C=0.1), hist()),
    "votes of stacking": lambda i: voting(stacking(logistic(), forest(i)), forest(i), voting="soft"),
    "scaled votes": lambda i: make_pipeline(StandardScaler(), voting(logistic(), forest(i), voting="soft")),
}
TWO_CLASSES = {
    "temperature, svm": lambda i: calibrated(LinearSVC(), method="temperature"),
    "temperature, forest": lambda i: calibrated(forest(i), method="temperature"),
    "exponential loss": lambda i: calibrated(GradientBoostingClassifier(n_estimators=4, loss="exponential")),
    "threshold on calibrated": lambda i: FixedThresholdClassifier(calibrated(logistic()), threshold=0.3),
    "threshold on votes": lambda i: FixedThresholdClassifier(
        voting(logistic(), forest(i), voting="soft"), threshold=0.6
    ),
    "lightgbm, another sigmoid": lambda i: calibrated(lightgbm(i).set_params(objective="binary", sigmoid=2.0)),
}


def data(n_classes, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(180, 4))
    score = X @ [1.0, -0.7, 0.4, 0.2] + 0.5 * X[:, 0] * X[:, 1] + 0.4 * rng.normal(size=180)
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X * [1.0, 5.0, 0.2, 30.0], y


def trained(make, X, y, n=3):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [make(i).fit(X, y) for i in range(n)]


def edges(model, X, rng, n=150):
    """Bisect between rows of different label until two neighbouring points differ."""
    left, right = X[rng.integers(len(X), size=(2, n))]
    differ = model.predict(left) != model.predict(right)
    left, right = left[differ][:25], right[differ][:25]
    start = model.predict(left) if len(left) else None
    for _ in range(60 if len(left) else 0):
        middle = (left + right) / 2
        same = (model.predict(middle) == start)[:, None]
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    return np.vstack([left, right])


def own_labels(models, table):
    return np.stack([model.predict(table) for model in models], axis=1)


def check_stacked(ensemble):
    assert {type(group) for _, group in ensemble.groups} == {StackedGroup}, ensemble
    assert "stacked" in repr(ensemble)


CASES = [(name, n_classes) for n_classes in (2, 3) for name in MODELS] + [(name, 2) for name in TWO_CLASSES]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_classes"), CASES)
def test_models_made_of_others_answer_through_kernels_of_their_parts(name, n_classes):
    if name.startswith("temperature"):
        pytest.importorskip("sklearn", "1.8")
    X, y = data(n_classes)
    models = trained((MODELS | TWO_CLASSES)[name], X, y)
    ensemble = Ensemble(models, np.arange(n_classes), probe=X[:20])
    check_stacked(ensemble)
    rng = np.random.default_rng(0)
    near = [edges(model, X, rng) for model in models]
    points = np.vstack([X, 2 * X.std(axis=0) * rng.normal(size=(300, 4)), *near])
    own = own_labels(models, points)
    np.testing.assert_array_equal(ensemble.labels(points), own)
    for target in range(n_classes):
        np.testing.assert_array_equal(ensemble.margins(points, target) > 0, own == target)
    np.testing.assert_array_equal(ensemble.reaches(points, 1, 2), (own == 1).sum(axis=1) >= 2)


@pytest.mark.parametrize("name", ["sigmoid, forest", "isotonic, logistic", "soft votes", "hard votes with ties"])
def test_members_are_asked_themselves_for_few_points_only(name):
    X, y = data(2)
    models = trained(MODELS[name], X, y)
    ensemble = Ensemble(models, [0, 1])
    points = 2 * X.std(axis=0) * np.random.default_rng(3).normal(size=(1000, 4))
    ((_, group),) = ensemble.groups
    asked = []
    for model in models:
        own = type(model).predict
        model.predict = lambda X, own=own, model=model: asked.append(len(X)) or own(model, X)
    group.labels(points, slice(None))
    assert sum(asked) <= 3


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sigmoid, logistic", "isotonic, forest", "soft votes", "stacking"])
def test_margins_are_the_log_odds_of_the_models_own_probabilities(name):
    X, y = data(2)
    models = trained(MODELS[name], X, y)
    own = np.stack([model.predict_proba(X)[:, 1] for model in models], axis=1)
    within = (own > 1e-6) & (own < 1 - 1e-6)
    margins = Ensemble(models, [0, 1]).margins(X, 1)
    own = own[within]
    np.testing.assert_allclose(margins[within], np.log(own / (1 - own)), atol=1e-5)


SMOOTH = ["sigmoid, logistic", "sigmoid, svm", "calibrated search", "soft votes of sgd", "smooth stacking"]


@pytest.mark.slow
@pytest.mark.parametrize("name", SMOOTH)
def test_slopes_are_the_gradient_of_the_margins(name):
    X, y = data(2)
    makes = MODELS | {"smooth stacking": lambda i: stacking(logistic(), LinearSVC(), passthrough=True)}
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ensemble = Ensemble(trained(makes[name], X, y), [0, 1])
    assert ensemble.has_slopes
    weights = np.random.default_rng(0).normal(size=(len(X), 3))
    slopes = ensemble.slopes(X, 1, weights)
    for column in range(4):
        step = 1e-5 * (np.arange(4) == column)
        up, down = (ensemble.margins(X + sign * step, 1) for sign in (1, -1))
        np.testing.assert_allclose(slopes[:, column], ((up - down) * weights).sum(axis=1) / 2e-5, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ["soft votes", "isotonic, logistic", "hard votes", "sigmoid, forest"])
def test_what_is_made_of_steps_has_no_slopes(name):
    X, y = data(2)
    assert not Ensemble(trained(MODELS[name], X, y), [0, 1]).has_slopes


GENERIC = {
    "a part without a kernel": (lambda i: voting(logistic(), GaussianNB()), "there is no kernel for GaussianNB"),
    "calibrated svc": (lambda i: calibrated(SVC()), "there is no kernel for SVC"),
    "another final estimator": (
        lambda i: stacking(logistic(), forest(i), final_estimator=forest(i)),
        "RandomForestClassifier as its final estimator",
    ),
    "a threshold inside": (
        lambda i: voting(FixedThresholdClassifier(logistic(), threshold=0.4), logistic(), forest(i)),
        "VotingClassifier of a model with a threshold",
    ),
}


@pytest.mark.parametrize("case", GENERIC)
def test_what_cannot_be_taken_apart_is_asked_itself_and_says_why(case):
    make, why = GENERIC[case]
    X, y = data(2)
    models = trained(make, X, y)
    with pytest.warns(SlowMembers, match=why) as caught:
        ensemble = Ensemble(models, [0, 1])
    assert len(caught) == 1
    assert f"generic: {why}" in repr(ensemble) or why in repr(ensemble)
    np.testing.assert_array_equal(ensemble.labels(X), own_labels(models, X))


def test_a_flat_piece_at_one_half_is_a_tie_and_no_close_call():
    X = np.arange(40.0)[:, None]
    y = np.concatenate([np.zeros(10), np.tile([1, 0], 10), np.ones(10)]).astype(int)
    inner = FrozenEstimator(LogisticRegression().fit(X, y))
    models = [CalibratedClassifierCV(inner, method="isotonic").fit(X, y) for _ in range(2)]
    points = np.linspace(12, 28, 200)[:, None]
    assert (models[0].predict_proba(points)[:, 1] == 0.5).sum() > 100
    ensemble = Ensemble(models, [0, 1])
    np.testing.assert_array_equal(ensemble.labels(points), own_labels(models, points))
    for model in models:
        model.predict = None
    ensemble.labels(points[(points[:, 0] > 14) & (points[:, 0] < 26)])


FRACTIONS = st.fractions(0, 1, max_denominator=12)


@pytest.mark.slow
@given(folds=st.lists(FRACTIONS, min_size=1, max_size=4))
@example(folds=[Fraction(4, 5), Fraction(1, 10), Fraction(3, 5)])
@example(folds=[Fraction(1, 6), Fraction(2, 3), Fraction(2, 3)])
def test_means_of_flat_pieces_are_settled_as_scikit_learn_adds_them_up(folds):
    heights = [float(each) for each in folds] + [float(1 - each) for each in folds]
    total = np.zeros(2)
    for height in heights:
        total += [1.0 - height, height]
    curves = tuple((IsotonicCurve(np.array([0.0, 1.0]), np.array([height, height])),) for height in heights)
    rule = Calibration("isotonic", np.zeros((len(heights), 1, 2)), curves)
    answer = Interval(np.full((1, 1, 1), 0.3), np.full((1, 1, 1), 0.4))
    scores, doubt = rule.stacked([rule], UNIT).scored([answer] * len(heights), np.zeros((1, 1)), slice(None))
    assert abs(scores[0, 0]) > doubt[0, 0]
    assert (scores[0, 0] > 0) == bool(np.argmax(total / len(heights)))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["stacking", "soft votes", "sigmoid, forest"])
def test_frozen_models_are_taken_apart_behind_thresholds_and_curves(name):
    X, y = data(2)
    frozen = [FrozenEstimator(model) for model in trained(MODELS[name], X, y)]
    for wrap in (
        lambda model: model,
        lambda model: FixedThresholdClassifier(model, threshold=0.4),
        lambda model: CalibratedClassifierCV(model, method="isotonic"),
    ):
        models = [wrap(model).fit(X, y) for model in frozen]
        ensemble = Ensemble(models, [0, 1], probe=X[:20])
        check_stacked(ensemble)
        points = np.vstack([X, edges(models[0], X, np.random.default_rng(0))])
        np.testing.assert_array_equal(ensemble.labels(points), own_labels(models, points))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sigmoid, svm", "linear"),
        ("sigmoid, forest", "trees"),
        ("search over a pipeline", "linear"),
        ("stacking", "other"),
    ],
)
def test_models_made_of_others_are_of_the_kind_of_their_parts(name, kind):
    X, y = data(2)
    assert Ensemble(trained(MODELS[name], X, y), [0, 1]).kind == kind


@pytest.mark.slow
def test_labels_of_any_kind_are_given_back():
    X, y = data(3)
    names = np.array(["low", "middle", "top"])
    models = trained(MODELS["soft votes"], X, names[y]) + trained(MODELS["stacking"], X, names[y])
    ensemble = Ensemble(models, names)
    check_stacked(ensemble)
    np.testing.assert_array_equal(ensemble.labels(X), own_labels(models, X))


PARTS = {
    "logistic": lambda i: make_pipeline(preprocessing(), logistic()),
    "svm": lambda i: make_pipeline(preprocessing("min-max"), LinearSVC()),
    "forest": lambda i: make_pipeline(preprocessing(), forest(i)),
    "lightgbm": lightgbm,
    "xgboost": lambda i: xgboost(i).set_params(enable_categorical=True),
    "hist": lambda i: hist().set_params(categorical_features="from_dtype"),
}
PROBABLE = [name for name in PARTS if name != "svm"]


@st.composite
def made_of_others(draw):
    """Draw a way to make a model of others, each with its own way to read a mixed table."""
    kind = draw(st.sampled_from(["calibrated", "soft", "hard", "stacking", "search"]))
    known = PROBABLE if kind == "soft" else list(PARTS)
    names = draw(st.lists(st.sampled_from(known), min_size=2, max_size=3, unique=True))
    method = draw(st.sampled_from(["sigmoid", "isotonic"]))

    def make(i):
        parts = [PARTS[name](i) for name in names]
        match kind:
            case "calibrated":
                return calibrated(parts[0], method=method)
            case "search":
                return GridSearchCV(calibrated(parts[0], method=method), {"ensemble": [True, False]}, cv=2)
            case "stacking":
                return stacking(*parts)
        return voting(*parts, voting=kind)

    return make


@pytest.mark.slow
@given(make=made_of_others(), n_classes=st.sampled_from([2, 3]), missing=st.sampled_from([0.0, 0.1]))
@settings(max_examples=15)
def test_kernels_agree_with_the_members_on_mixed_tables(make, n_classes, missing):
    space = columns()
    points, y = problem(space, n=250, n_classes=n_classes, missing=missing)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = bootstrap(make, space, points, y)
        ensemble = Ensemble(models, np.arange(n_classes), features=space, probe=points[:20])
        check_stacked(ensemble)
        drawn = space.draw(np.random.default_rng(5), 400, missing=missing)
        own = own_labels(models, space.decode(drawn))
        np.testing.assert_array_equal(ensemble.labels(drawn), own)
        np.testing.assert_array_equal(ensemble.margins(drawn, 1) > 0, own == 1)
