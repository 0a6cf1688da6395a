"""The tree kernel says what the members say, on both sides of every threshold."""

import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from betarce.ensemble.preprocessing.unwrap import UnwrappedModel
from betarce.ensemble.stacked import StackedGroup
from betarce.ensemble.trees import traversal
from betarce.ensemble.trees.forest_arrays import at_most_in_float32, less_in_float32
from betarce.ensemble.trees.kernel import TreeKernel, stack
from betarce.ensemble.trees.masks import masked_form
from betarce.ensemble.trees.places import index_cuts
from betarce.ensemble.unreadable import Unreadable

xgb = pytest.importorskip("xgboost")

N_MEMBERS = 4


def _lgbm(i: int, **options: Any) -> lgb.LGBMClassifier:
    settings = {"n_estimators": 10 + 3 * i, "num_leaves": 10 + 2 * i, "min_child_samples": 5, "random_state": i}
    return lgb.LGBMClassifier(**{**settings, "n_jobs": 1, "verbose": -1, **options})


def _xgb(i: int, **options: Any) -> Any:
    return xgb.XGBClassifier(**{"n_estimators": 8 + i, "max_depth": 2 + i, "n_jobs": 1, "random_state": i, **options})


FAMILIES: dict[str, Callable[[int], Any]] = {
    "lightgbm": _lgbm,
    "lightgbm, sigmoid 2": lambda i: _lgbm(i, sigmoid=2.0),
    "lightgbm, dart": lambda i: _lgbm(i, boosting_type="dart"),
    "lightgbm, rf": lambda i: _lgbm(i, boosting_type="rf", subsample=0.7, subsample_freq=1),
    "xgboost": _xgb,
    "xgboost, pruned": lambda i: _xgb(i, gamma=2.0, tree_method="exact", max_depth=6),
    "xgboost, four trees a step": lambda i: _xgb(i, num_parallel_tree=4, subsample=0.7, base_score=0.3),
    "decision tree": lambda i: DecisionTreeClassifier(max_leaf_nodes=20 + i, random_state=i),
    "random forest": lambda i: RandomForestClassifier(7 + i, max_leaf_nodes=60, random_state=i),
    "extra trees": lambda i: ExtraTreesClassifier(8 + i, max_leaf_nodes=30, random_state=i),
    "large forest": lambda i: RandomForestClassifier(6 + i, max_features=1, random_state=i),
    "bagging": lambda i: BaggingClassifier(n_estimators=5 + i, max_features=0.7, random_state=i),
    "ada boost": lambda i: AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8 + i, random_state=i),
    "gradient boosting": lambda i: GradientBoostingClassifier(n_estimators=8 + i, random_state=i),
    "gradient boosting from zero": lambda i: GradientBoostingClassifier(n_estimators=8, init="zero", random_state=i),
    "hist gradient boosting": lambda i: HistGradientBoostingClassifier(max_iter=8 + i, random_state=i),
}
CASES = [(family, n_classes) for family in FAMILIES for n_classes in (2, 3)]


@cache
def _data(n_classes: int) -> tuple[Any, Any]:
    X, y = make_classification(400, 6, n_informative=5, n_redundant=1, n_classes=n_classes, flip_y=0.2, random_state=3)
    X[:, 1] = np.round(X[:, 1])  # zeros, and values shared by many rows
    return X, y


@cache
def _members(family: str, n_classes: int) -> list[Any]:
    X, y = _data(n_classes)
    rows = [np.random.default_rng(i).integers(0, len(X), len(X)) for i in range(N_MEMBERS)]
    return [FAMILIES[family](i).fit(X[rows[i]], y[rows[i]]) for i in range(N_MEMBERS)]


def _stacked(models: list[Any]) -> TreeKernel | None:
    return stack([UnwrappedModel(model) for model in models])


def _kernel(models: list[Any]) -> TreeKernel:
    kernel = _stacked(models)
    assert kernel is not None, "this family must be stacked"
    return kernel


def _points(kernel: TreeKernel, X: Any, n: int = 1500) -> Any:
    """Points anywhere, and points on, just below and just above thresholds in either precision."""
    rng = np.random.default_rng(0)
    anywhere = rng.normal(size=(n // 3, X.shape[1])) * rng.choice([0.0, 1e-40, 1.0, 1e6], size=(n // 3, 1))
    edges = X[rng.integers(0, len(X), n)].copy()
    forest = kernel.forest
    for j in range(X.shape[1]):
        split = forest.children[::2] != np.arange(len(forest.feature))
        cuts = forest.threshold[split & np.isin(forest.feature, np.flatnonzero(kernel.columns.source == j))]
        cuts = cuts[np.abs(cuts) < 1e30]  # others part what is missing from what is not
        t = rng.choice(cuts if len(cuts) else [0.0], n)
        t32 = t.astype(np.float32)
        near = [t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), t32, edges[:, j], edges[:, j]]
        near += [np.nextafter(t32, np.float32(side)) for side in (-np.inf, np.inf)]
        edges[:, j] = np.choose(rng.integers(0, len(near), n), [np.asarray(c, dtype=np.float64) for c in near])
    holed = [] if kernel.refused else [np.where(rng.random(edges.shape) < 0.2, np.nan, edges)]
    return np.concatenate([X, edges, anywhere, *holed])


def _own_scores(model: Any, X: Any) -> Any:
    """The member's own scores on the scale that the kernel promises."""
    match model:
        case lgb.LGBMClassifier():
            # Raw scores of the rf mode are sums, though its probabilities come from means.
            steps = model.n_iter_ if model.boosting_type == "rf" else 1
            sigmoid = model.get_params().get("sigmoid", 1.0) if model.n_classes_ == 2 else 1.0
            return model.predict(X, raw_score=True) * sigmoid / steps
        case xgb.XGBClassifier():
            return model.predict(X, output_margin=True).astype(np.float64)
        case GradientBoostingClassifier() | HistGradientBoostingClassifier():
            return model.decision_function(X)
        case AdaBoostClassifier():
            return model.decision_function(X) / (model.n_classes_ - 1)
    p = model.predict_proba(X).clip(1e-6, 1 - 1e-6)
    return np.log(p[:, 1] / (1 - p[:, 1])) if p.shape[1] == 2 else np.log(p)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "n_classes"), CASES)
def test_labels_are_those_of_predict_on_both_sides_of_every_threshold(family: str, n_classes: int) -> None:
    models = _members(family, n_classes)
    kernel = _kernel(models)
    X = _points(kernel, _data(n_classes)[0])
    own = np.stack([model.predict(X) for model in models], axis=1)
    group = StackedGroup(models, np.arange(n_classes), np.asarray, kernel)
    np.testing.assert_array_equal(group.labels(X, slice(None)), own)


@pytest.mark.slow
@pytest.mark.parametrize(("family", "n_classes"), CASES)
def test_scores_differ_from_the_members_own_by_less_than_the_doubt(family: str, n_classes: int) -> None:
    models = _members(family, n_classes)
    kernel = _kernel(models)
    X = _points(kernel, _data(n_classes)[0])
    own = np.stack([_own_scores(model, X) for model in models], axis=1)
    scores = kernel.scores(X, slice(None))
    assert scores.shape == own.shape
    # One over p stretches rounding near the clip, where no label hangs on it.
    doubt = np.full(N_MEMBERS, 1e-8) if kernel.probability else kernel.doubt(X, slice(None))
    assert np.all(np.abs(scores - own) <= (doubt if n_classes == 2 else doubt[:, np.newaxis]))


@pytest.mark.parametrize(("family", "n_classes"), [case for case in CASES if "boost" in case[0] or "light" in case[0]])
def test_hardly_any_point_is_in_doubt(family: str, n_classes: int) -> None:
    kernel = _kernel(_members(family, n_classes))
    X = _points(kernel, _data(n_classes)[0])
    scores = kernel.scores(X, slice(None))
    ranked = np.sort(scores, axis=-1)
    gap = np.abs(scores) if n_classes == 2 else ranked[..., -1] - ranked[..., -2]
    assert np.mean(gap <= 2 * kernel.doubt(X, slice(None))) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(("family", "n_classes"), CASES)
def test_all_traversals_give_the_same_sums_to_the_bit(
    family: str, n_classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = _kernel(_members(family, n_classes))
    X = _points(kernel, _data(n_classes)[0], n=300)
    masked = kernel.scores(X, slice(None))
    walker = replace(kernel)
    walker.__dict__.update({"masked": None, "masked_whole": None})
    walked = walker.scores(X, slice(None))
    monkeypatch.setattr(traversal, "compiled", lambda: None)
    np.testing.assert_array_equal(walked, masked)
    np.testing.assert_array_equal(kernel.scores(X, slice(None)), masked)
    np.testing.assert_array_equal(kernel.scores(X, slice(1, 3)), masked[:, 1:3])


def test_trees_beyond_64_leaves_are_walked_and_others_are_not() -> None:
    large, small = (_kernel(_members(name, 2)) for name in ("large forest", "random forest"))
    assert masked_form(large.forest, large.columns) is None
    masked = masked_form(small.forest, small.columns)
    assert masked is not None
    assert masked[1].keep.dtype == np.uint64


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", ["lightgbm", "random forest", "large forest"])
def test_a_slice_of_members_gives_these_columns(family: str, n_classes: int) -> None:
    kernel = _kernel(_members(family, n_classes))
    X = _data(n_classes)[0]
    everyone = kernel.scores(X, slice(None))
    assert len(kernel) == N_MEMBERS == everyone.shape[1]
    for members in (slice(0, 1), slice(1, 3), slice(2, 99), slice(3, 3), slice(3, 1)):
        np.testing.assert_array_equal(kernel.scores(X, members), everyone[:, members])


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 127, 128, 129, 300])
def test_a_points_scores_do_not_depend_on_the_batch(n: int) -> None:
    kernel = _kernel(_members("lightgbm", 2))
    X = _data(2)[0]
    np.testing.assert_array_equal(kernel.scores(X[:n], slice(None)), kernel.scores(X, slice(None))[:n])


def test_points_are_left_as_they_were_in_any_memory_order() -> None:
    kernel = _kernel(_members("gradient boosting", 2))
    X = np.asfortranarray(_data(2)[0])
    before = X.copy()
    np.testing.assert_array_equal(kernel.scores(X, slice(None)), kernel.scores(before, slice(None)))
    np.testing.assert_array_equal(X, before)


def test_a_kernel_survives_the_way_to_another_process() -> None:
    kernel = _kernel(_members("xgboost", 3))
    X = _data(3)[0]
    scores = kernel.scores(X, slice(None))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(kernel)).scores(X, slice(None)), scores)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_trees_after_the_best_iteration_do_not_count(library: str, n_classes: int) -> None:
    X, y = _data(n_classes)
    if library == "lightgbm":
        model = _lgbm(0, n_estimators=20).fit(X, y)
        model.booster_.best_iteration = 5  # what its early stopping leaves behind
    else:
        model = _xgb(0, n_estimators=200, learning_rate=0.9, early_stopping_rounds=3)
        model.fit(X[:300], y[:300], eval_set=[(X[300:], y[300:])], verbose=False)
        assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    kernel = _kernel([model])
    assert np.abs(kernel.scores(X, slice(None))[:, 0] - _own_scores(model, X)).max() <= kernel.doubt(X, slice(None))


def test_the_exponential_loss_is_brought_to_log_odds() -> None:
    X, y = _data(2)
    model = GradientBoostingClassifier(n_estimators=10, loss="exponential").fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(_kernel([model]).scores(X, slice(None))[:, 0], np.log(p[:, 1] / p[:, 0]), rtol=1e-9)


def test_a_missing_value_that_a_family_refuses_has_no_score() -> None:
    X, _ = _data(2)
    kernel = _kernel(_members("gradient boosting", 2))
    holed = X[:5].copy()
    holed[2, 3] = np.nan
    scores = kernel.scores(holed, slice(None))
    np.testing.assert_array_equal(np.isnan(scores).all(axis=1), np.arange(5) == 2)
    np.testing.assert_array_equal(scores[:2], kernel.scores(X[:2], slice(None)))


@pytest.mark.parametrize("family", [f for f in FAMILIES if "hist" in f or not f.startswith(("gradient", "ada"))])
def test_members_trained_with_missing_values_send_them_where_they_learned_to(family: str) -> None:
    X, y = _data(2)
    rng = np.random.default_rng(5)
    X = np.where(rng.random(X.shape) < 0.2 + 0.1 * y[:, np.newaxis], np.nan, X)
    models = [FAMILIES[family](i).fit(X, y) for i in range(3)]
    kernel = _kernel(models)
    points = _points(kernel, X)
    own = np.stack([model.predict(points) for model in models], axis=1)
    group = StackedGroup(models, np.arange(2), np.asarray, kernel)
    np.testing.assert_array_equal(group.labels(points, slice(None)), own)


def test_tied_forests_are_in_doubt() -> None:
    X = np.array([[0.0], [1.0]] * 5)
    models = [RandomForestClassifier(2, random_state=i).fit(X, [0, 0] + [0, 1] * 4) for i in range(3)]
    for model in models:
        for tree, p in zip(model.estimators_, ([0.3, 0.7], [0.7, 0.3]), strict=True):
            tree.tree_.value[:, 0] = p
    kernel = _kernel(models)
    assert np.all(np.abs(kernel.scores(X, slice(None))) <= kernel.doubt(X, slice(None)))


def test_a_tree_without_splits_is_a_constant() -> None:
    X, y = _data(2)
    models = [DecisionTreeClassifier(max_depth=depth).fit(X, y) for depth in (1, 2)]
    models.append(DecisionTreeClassifier(min_samples_split=1000).fit(X, y))
    p = y.mean()
    np.testing.assert_allclose(_kernel(models).scores(X, slice(None))[:, 2], np.log(p / (1 - p)))


def _with_categories(model: Any) -> Any:
    X, y = _data(2)
    rng = np.random.default_rng(0)
    X = np.column_stack([X, (y + rng.integers(0, 2, len(y))) * 3 % 5])
    return model.fit(X, y, categorical_feature=[6]) if isinstance(model, lgb.LGBMClassifier) else model.fit(X, y)


UNSTACKABLE: dict[str, Callable[[], list[Any]]] = {
    "other classes": lambda: [_members("random forest", 2)[0], _members("random forest", 3)[0]],
    "other columns": lambda: [DecisionTreeClassifier().fit(_data(2)[0][:, :d], _data(2)[1]) for d in (3, 4)],
    "one class": lambda: [DecisionTreeClassifier().fit(_data(2)[0], np.zeros(400))],
    "two outputs": lambda: [DecisionTreeClassifier().fit(_data(2)[0], np.stack([_data(2)[1]] * 2, axis=1))],
    "an initial estimator": lambda: [
        GradientBoostingClassifier(n_estimators=2, init=LogisticRegression()).fit(*_data(2))
    ],
    "lightgbm, categories": lambda: [_with_categories(_lgbm(0))],
    "hist, categories": lambda: [
        _with_categories(HistGradientBoostingClassifier(max_iter=2, categorical_features=[6]))
    ],
    "lightgbm, linear leaves": lambda: [_lgbm(0, linear_tree=True).fit(*_data(2))],
    "lightgbm, zero is missing": lambda: [_lgbm(0, zero_as_missing=True).fit(*_data(2))],
    "lightgbm, one against all": lambda: [_lgbm(0, objective="multiclassova").fit(*_data(3))],
    "lightgbm, prediction stops early": lambda: [_lgbm(0, pred_early_stop=True).fit(*_data(2))],
    "xgboost, dart": lambda: [_xgb(0, booster="dart").fit(*_data(2))],
    "xgboost, linear": lambda: [_xgb(0, booster="gblinear", max_depth=None).fit(*_data(2))],
    "xgboost, hinge": lambda: [_xgb(0, objective="binary:hinge").fit(*_data(2))],
    "xgboost, zero is missing": lambda: [_xgb(0, missing=0.0).fit(*_data(2))],
    "xgboost, leaves of vectors": lambda: [_xgb(0, multi_strategy="multi_output_tree").fit(*_data(3))],
}


@pytest.mark.parametrize("case", UNSTACKABLE)
def test_what_cannot_be_said_exactly_is_left_to_the_members(case: str) -> None:
    with pytest.raises(Unreadable):
        _stacked(UNSTACKABLE[case]())


def test_what_is_no_family_of_trees_has_no_kernel_of_trees() -> None:
    two_families = [*_members("random forest", 2), *_members("extra trees", 2)]
    for models in ([], [LogisticRegression().fit(*_data(2))], two_families):
        assert _stacked(models) is None


def test_a_subclass_is_left_to_the_members() -> None:
    class Contrary(DecisionTreeClassifier):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            return 1 - super().predict(X)

    assert _stacked([Contrary().fit(*_data(2))]) is None


FINITE_32 = st.floats(-(2.0**120), 2.0**120, width=64)


@pytest.mark.slow
@settings(deadline=None)
@given(threshold=FINITE_32, x=FINITE_32)
def test_folded_thresholds_say_what_float32_comparisons_say(threshold: float, x: float) -> None:
    at_most, less = (fold(np.array([threshold]))[0] for fold in (at_most_in_float32, less_in_float32))
    sides = [np.nextafter(limit, side) for limit in (at_most, less) for side in (-np.inf, np.inf)]
    for value in (x, threshold, at_most, less, *sides):
        rounded = float(np.float32(value))
        assert (rounded <= threshold) == (value <= at_most)
        assert (rounded < float(np.float32(threshold))) == (value <= less)


@settings(deadline=None)
@given(
    cuts=st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=30, unique=True),
    x=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=10),
)
def test_a_place_among_cuts_is_how_many_lie_below(cuts: list[float], x: list[float]) -> None:
    functions = traversal.compiled()
    assert functions is not None
    cut, points = np.unique(cuts), np.array([*x, *cuts])[:, np.newaxis]
    places = np.zeros((len(points), 1, 1), dtype=np.int16)
    functions.locate_numbers(points, np.zeros(1, dtype=int), np.zeros(1, dtype=bool), index_cuts([cut]), places)
    np.testing.assert_array_equal(places[:, 0, 0], np.searchsorted(cut, points[:, 0]))


@pytest.mark.slow
def test_numba_is_not_imported_before_a_kernel_is_asked() -> None:
    code = "import sys, betarce.ensemble.trees.kernel; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_without_numba_the_kernel_still_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = _kernel(_members("lightgbm", 2))
    X = _data(2)[0]
    scores = kernel.scores(X, slice(None))
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(traversal, "compiled", traversal.compiled.__wrapped__)
    assert traversal.compiled() is None
    np.testing.assert_array_equal(kernel.scores(X, slice(None)), scores)


def test_code_is_compiled_anew_where_it_cannot_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    def njit(*, nogil: bool, cache: bool = False) -> Callable[[object], object]:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr("numba.njit", njit)
    expected = (traversal.locate_numbers, traversal.locate_codes, traversal.masked_sums, traversal.walked_sums)
    assert traversal.compiled.__wrapped__() == traversal.Compiled(*expected)


@pytest.mark.parametrize(
    "family", ["lightgbm", "xgboost", "random forest", "gradient boosting", "hist gradient boosting"]
)
def test_members_trained_on_a_named_table_are_stacked_too(family: str) -> None:
    X, y = _data(2)
    table = pd.DataFrame(X, columns=list("abcdef"))
    models = [FAMILIES[family](i).fit(table, y) for i in range(2)]
    own = np.stack([model.predict(table) for model in models], axis=1)
    np.testing.assert_array_equal(_kernel(models).scores(X, slice(None)) > 0, own == 1)
