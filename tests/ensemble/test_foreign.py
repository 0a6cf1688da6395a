"""Other libraries may change inside: whatever can no longer be read costs time and a warning, and nothing else."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler

from betarce import BetaRCE, Ensemble
from betarce.errors import SlowMembers
from mixed_pipelines import bootstrap, columns, preprocessing, problem

lgb = pytest.importorskip("lightgbm")
xgb = pytest.importorskip("xgboost")


def logistic():
    return LogisticRegression(max_iter=500)


def forest(i):
    return RandomForestClassifier(3, max_depth=3, random_state=i)


def named(*parts):
    return [(f"m{i}", part) for i, part in enumerate(parts)]


MODELS = {
    "linear": lambda i: make_pipeline(preprocessing(), logistic()),
    "transformers": lambda i: make_pipeline(preprocessing("robust", "median", "target"), MinMaxScaler(), logistic()),
    "more transformers": lambda i: make_pipeline(preprocessing("max-abs", "mean", "ordinal"), logistic()),
    "network": lambda i: make_pipeline(preprocessing(), MLPClassifier((4,), max_iter=20, random_state=i)),
    "forest": lambda i: make_pipeline(preprocessing(), forest(i)),
    "bagging": lambda i: make_pipeline(preprocessing(), BaggingClassifier(n_estimators=3, random_state=i)),
    "ada boost": lambda i: make_pipeline(preprocessing(), AdaBoostClassifier(n_estimators=3, random_state=i)),
    "boosting": lambda i: make_pipeline(preprocessing(), GradientBoostingClassifier(n_estimators=3, random_state=i)),
    "hist": lambda i: HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype"),
    "lightgbm": lambda i: lgb.LGBMClassifier(n_estimators=3, n_jobs=1, verbosity=-1),
    "xgboost": lambda i: xgb.XGBClassifier(n_estimators=3, n_jobs=1, enable_categorical=True),
    "fixed threshold": lambda i: FixedThresholdClassifier(make_pipeline(preprocessing(), logistic()), threshold=0.3),
    "tuned threshold": lambda i: TunedThresholdClassifierCV(
        make_pipeline(preprocessing(), logistic()), scoring="f1", cv=2, thresholds=10
    ),
    "search": lambda i: GridSearchCV(
        make_pipeline(preprocessing(), SGDClassifier(loss="log_loss", random_state=i)),
        {"sgdclassifier__alpha": [0.1]},
        cv=2,
    ),
    "sigmoid": lambda i: CalibratedClassifierCV(make_pipeline(preprocessing(), logistic()), cv=2),
    "isotonic": lambda i: CalibratedClassifierCV(make_pipeline(preprocessing(), forest(i)), cv=2, method="isotonic"),
    "voting": lambda i: make_pipeline(
        preprocessing(), VotingClassifier(named(logistic(), forest(i)), voting="soft", weights=[1, 2])
    ),
    "stacking": lambda i: make_pipeline(
        preprocessing(), StackingClassifier(named(logistic(), forest(i)), cv=2, passthrough=True)
    ),
}
# Read with something to fall back on: absent in some versions of the library, or in some models.
OPTIONAL = {"loss", "clip", "multi_class", "n_features_in_", "__sklearn_tags__", "feature_names_in_", "toarray"}
# What makes an estimator: a library that lacks them for us lacks them for itself.
PUBLIC = {"predict_proba", "decision_function"}


def trained(name):
    space = columns()
    points, y = problem(space, n=200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return space, points, bootstrap(MODELS[name], space, points, y, n=2)


def foreign_types(models):
    """Find the types of all objects of other libraries that a model holds, however deep."""
    found, seen, queue = set(), set(), list(models)
    while queue:
        item = queue.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            queue.extend(item.values())
        elif isinstance(item, (list, tuple)) or (isinstance(item, np.ndarray) and item.dtype == object):
            queue.extend(list(item))
        elif type(item).__module__.partition(".")[0] in ("sklearn", "lightgbm", "xgboost") and hasattr(
            item, "__dict__"
        ):
            found.add(type(item))
            queue.extend(vars(item).values())
    return found


def is_ours():
    """Say whether it is the reading part of an ensemble that asks, and not the library itself."""
    name = sys._getframe(2).f_globals.get("__name__", "")
    return name.startswith("betarce.ensemble") and not name.endswith((".generic", ".stacked"))


def watch(monkeypatch, kinds, hidden=None):
    """Note what is read from objects of some types; with a hidden pair of type and name, let that read fail."""
    read = set()
    for kind in kinds:

        def look(self, name, kind=kind, own=kind.__getattribute__):
            if type(self) is kind and is_ours() and name != "__class__":
                read.add((kind, name))
                if (kind, name) == hidden:
                    raise AttributeError(f"{kind.__name__} has no {name!r} in this version")
            return own(self, name)

        monkeypatch.setattr(kind, "__getattribute__", look)
    return read


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_an_attribute_that_is_gone_means_one_warning_and_the_same_labels(name):
    space, points, models = trained(name)
    kinds = foreign_types(models)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = np.stack([model.predict(space.decode(points)) for model in models], axis=1)
    with pytest.MonkeyPatch.context() as patch:
        read = watch(patch, kinds)
        Ensemble(models, [0, 1], features=space)
    assert read, "nothing is read: nothing would be tested"
    slow = set()
    for pair in sorted((pair for pair in read if pair[1] not in PUBLIC), key=str):
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            watch(patch, kinds, hidden=pair)
            ensemble = Ensemble(models, [0, 1], features=space)
            labels = ensemble.labels(points)
        told = [warning for warning in caught if warning.category is SlowMembers]
        np.testing.assert_array_equal(labels, own, err_msg=str(pair))
        assert len(told) == ("generic" in ensemble.path), pair
        if told:
            slow.add(pair[1])
        else:
            assert pair[1] in OPTIONAL, pair
    assert slow


def nothing(*_, **__):
    return "{}"


@pytest.mark.parametrize(
    ("name", "owner", "attribute"),
    [("lightgbm", lgb.Booster, "model_to_string"), ("xgboost", xgb.Booster, "save_raw")],
)
def test_a_file_format_that_changed_means_one_warning_and_the_same_labels(name, owner, attribute, monkeypatch):
    space, points, models = trained(name)
    own = np.stack([model.predict(space.decode(points)) for model in models], axis=1)
    monkeypatch.setattr(owner, attribute, nothing)
    with pytest.warns(SlowMembers) as caught:
        ensemble = Ensemble(models, [0, 1], features=space)
    assert len(caught) == 1
    np.testing.assert_array_equal(ensemble.labels(points), own)


@pytest.mark.slow
def test_a_fit_survives_an_attribute_that_is_gone(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(200, 3)), np.arange(200) % 2
    X[:, 0] += 3 * y
    model = HistGradientBoostingClassifier(max_iter=10)
    rce = BetaRCE(model, n_models=(20, 20), delta=0.7, confidence=0.8, random_state=0, verbose=-1)
    plain = rce.fit(X, y).certify(X[:5], target=1)

    def gone(self, name, own=HistGradientBoostingClassifier.__getattribute__):
        if name == "_predictors" and is_ours():
            raise AttributeError(name)
        return own(self, name)

    monkeypatch.setattr(HistGradientBoostingClassifier, "__getattribute__", gone)
    with pytest.warns(SlowMembers, match="could not be read") as caught:
        again = rce.fit(X, y).certify(X[:5], target=1)
    assert {(str(warning.message), warning.lineno) for warning in caught} == {
        (str(caught[0].message), caught[0].lineno)
    }, "Python shows the same warning from the same line once"
    assert [str(each) for each in again] == [str(each) for each in plain]


def test_classes_that_cannot_be_read_ended_in_an_error_of_the_model(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2
    models = [make_pipeline(MinMaxScaler(), LogisticRegression(C=c)).fit(X + y[:, None], y) for c in (0.1, 1.0)]
    plain = Ensemble(models, [0, 1]).labels(X)

    def locked(self, name, own=Pipeline.__getattribute__):
        if name == "classes_" and is_ours():
            raise RuntimeError("not in this version")
        return own(self, name)

    monkeypatch.setattr(Pipeline, "__getattribute__", locked)
    with pytest.warns(SlowMembers, match="could not be read"):
        ensemble = Ensemble(models, [0, 1])
    np.testing.assert_array_equal(ensemble.labels(X), plain)
