"""Trees behind encoders, scalers and imputers, and trees that know categories themselves: split for split."""

import re
import warnings

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, MinMaxScaler

from betarce import Ensemble
from betarce.ensemble.generic import GenericGroup
from betarce.ensemble.stacked import StackedGroup
from betarce.ensemble.trees import traversal
from mixed_pipelines import (
    CATEGORIES,
    ENCODERS,
    IMPUTERS,
    NUMBERS,
    SCALERS,
    bootstrap,
    columns,
    labels,
    preprocessing,
    problem,
)

xgb = pytest.importorskip("xgboost")

pytestmark = pytest.mark.filterwarnings("ignore:Found unknown categories", "ignore:X does not have valid feature names")


def group_types(ensemble):
    return {type(group) for _, group in ensemble.groups}


def own_labels(models, table):
    return np.stack([model.predict(table) for model in models], axis=1)


def lightgbm(i, **options):
    settings = {"n_estimators": 8, "num_leaves": 12, "min_child_samples": 5, "n_jobs": 1, "verbosity": -1}
    return lgb.LGBMClassifier(**{**settings, "random_state": i, **options})


FAMILIES = {
    "lightgbm": lightgbm,
    "xgboost": lambda i: xgb.XGBClassifier(n_estimators=6, max_depth=4, n_jobs=1, random_state=i),
    "forest": lambda i: RandomForestClassifier(6, max_leaf_nodes=30, random_state=i),
    "large forest": lambda i: RandomForestClassifier(4, max_features=1, random_state=i),
    "extra trees": lambda i: ExtraTreesClassifier(6, max_leaf_nodes=30, random_state=i),
    "gradient boosting": lambda i: GradientBoostingClassifier(n_estimators=6, random_state=i),
    "hist": lambda i: HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=12, random_state=i),
}


def on_the_cuts(kernel, drawn, rng):
    """Put numbers of points on cuts, and on the floats next to them."""
    split = kernel.forest.children[::2] != np.arange(len(kernel.forest.feature))
    points = drawn.copy()
    for j in (0, 2, 3):
        mine = np.isin(kernel.forest.feature, np.flatnonzero(kernel.columns.source == j))
        cuts = kernel.forest.threshold[split & mine]
        cuts = cuts[np.abs(cuts) < 1e30]
        if len(cuts):
            t = rng.choice(cuts, len(points))
            near = [t, np.nextafter(t, np.inf), np.nextafter(t, -np.inf), points[:, j]]
            points[:, j] = np.choose(rng.integers(0, 4, len(points)), near)
    return points


def check(models, space, kind=StackedGroup, *, missing=0.1, probe=None, monkeypatch=None):
    classes = models[0].classes_
    ensemble = Ensemble(models, classes, features=space, probe=probe)
    assert group_types(ensemble) == {kind}
    rng = np.random.default_rng(7)
    points = space.draw(rng, 1500, missing=missing)
    if kind is StackedGroup:
        (_, group), *_ = ensemble.groups
        points = np.vstack([points, on_the_cuts(group.kernel, points, rng)])
    own = own_labels(models, space.decode(points))
    np.testing.assert_array_equal(ensemble.labels(points), own)
    np.testing.assert_array_equal(ensemble.margins(points, classes[0]) > 0, own == classes[0])
    whole = points[~np.isnan(points).any(axis=1)]
    np.testing.assert_array_equal(ensemble.labels(whole), own_labels(models, space.decode(whole)))
    if monkeypatch is not None:
        masked = group.kernel.scores(points[:300], slice(None))
        monkeypatch.setattr(traversal, "compiled", lambda: None)
        np.testing.assert_array_equal(group.kernel.scores(points[:300], slice(None)), masked)
    return ensemble


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("family", FAMILIES)
def test_trees_behind_encoders_scalers_and_imputers_are_stacked(family, n_classes, monkeypatch):
    space = columns()
    points, y = problem(space, n_classes=n_classes)
    models = bootstrap(
        lambda i: make_pipeline(preprocessing(sparse_threshold=0), FAMILIES[family](i)), space, points, y
    )
    check(models, space, probe=points[:20], monkeypatch=monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["lightgbm", "forest", "large forest", "gradient boosting"])
def test_trees_that_are_given_sparse_matrices_are_stacked(family):
    space = columns()
    points, y = problem(space)
    models = bootstrap(
        lambda i: make_pipeline(preprocessing(sparse_threshold=1.0), FAMILIES[family](i)), space, points, y
    )
    ensemble = check(models, space)
    assert ensemble.groups[0][1].models[0][0].sparse_output_


@pytest.mark.slow
def test_sparse_matrices_of_xgboost_are_left_to_it():
    space = columns()
    points, y = problem(space)
    models = bootstrap(
        lambda i: make_pipeline(preprocessing(sparse_threshold=1.0), FAMILIES["xgboost"](i)), space, points, y
    )
    check(models, space, GenericGroup)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["lightgbm", "xgboost", "forest", "extra trees", "hist"])
def test_missing_values_that_reach_the_trees_go_where_the_library_sends_them(family, monkeypatch):
    space = columns()
    points, y = problem(space)
    models = bootstrap(
        lambda i: make_pipeline(
            preprocessing("standard", "none", "ordinal, missing kept", sparse_threshold=0), FAMILIES[family](i)
        ),
        space,
        points,
        y,
    )
    check(models, space, monkeypatch=monkeypatch)


def test_missing_values_that_the_trees_refuse_are_the_members_own_error():
    space = columns()
    points, y = problem(space, missing=0.0)
    models = bootstrap(
        lambda i: make_pipeline(preprocessing("standard", "none"), FAMILIES["gradient boosting"](i)), space, points, y
    )
    ensemble = check(models, space, missing=0.0)
    holed = points[:2].copy()
    holed[0, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        ensemble.labels(holed)


def test_a_level_that_becomes_missing_and_is_refused_is_the_members_own_error():
    space = columns()
    points, y = problem(space, missing=0.0)
    models = bootstrap(
        lambda i: make_pipeline(
            preprocessing("standard", "mean", "ordinal, missing kept"), FAMILIES["gradient boosting"](i)
        ),
        space,
        points,
        y,
    )
    ensemble = Ensemble(models, [0, 1], features=space)
    assert group_types(ensemble) == {StackedGroup}
    known = points[points[:, 6] > 2]
    np.testing.assert_array_equal(ensemble.labels(known), own_labels(models, space.decode(known)))
    with pytest.raises(ValueError, match="NaN"):
        ensemble.labels(points)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    scaler=st.sampled_from(sorted(SCALERS)),
    imputer=st.sampled_from(sorted(set(IMPUTERS) - {"none"})),
    encoder=st.sampled_from(sorted(set(ENCODERS) - {"imputed one-hot", "ordinal, missing kept"})),
    seed=st.integers(0, 1000),
)
def test_labels_of_random_pipelines_are_those_of_predict(family, scaler, imputer, encoder, seed):
    space = columns()
    points, y = problem(space, seed, n=200)
    models = bootstrap(
        lambda i: make_pipeline(preprocessing(scaler, imputer, encoder, sparse_threshold=0), FAMILIES[family](i)),
        space,
        points,
        y,
    )
    check(models, space)


def test_an_ordinal_encoder_before_a_forest_shares_its_sets():
    space = columns()
    points, y = problem(space, missing=0.0)
    models = bootstrap(
        lambda i: make_pipeline(preprocessing("none", "none", "ordinal"), RandomForestClassifier(9, random_state=i)),
        space,
        points,
        y,
        n=2,
    )
    ensemble = check(models, space, missing=0.0)
    kernel = ensemble.groups[0][1].kernel
    splits = kernel.forest.feature >= len(kernel.columns.source)
    assert 0 < len(kernel.columns.set_source) < splits.sum() / 3


def has_sets(model):
    return re.search("num_cat=[1-9]", model.booster_.model_to_string()) is not None


def bootstrap_on(space, make, points, y):
    return bootstrap(make, space, points, y, n=2)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_categories_that_lightgbm_knows_itself_are_sets(n_classes, monkeypatch):
    space = columns()
    points, y = problem(space, n_classes=n_classes, n=800)
    models = bootstrap_on(
        space, lambda i: lightgbm(i, n_estimators=15, min_data_per_group=5, cat_smooth=1.0), points, y
    )
    assert all(has_sets(model) for model in models)
    check(models, space, probe=points[:20], monkeypatch=monkeypatch)


def test_lightgbm_may_have_other_categories_in_another_order():
    space = columns(group=False)
    points, y = problem(space, n=800)
    models = []
    for i in range(2):
        table = space.decode(points)
        kept = list(table["c6"].cat.categories)[::-1][i:]
        table["c6"] = table["c6"].cat.set_categories(kept, ordered=bool(i))
        models.append(lightgbm(i, n_estimators=15, min_data_per_group=5).fit(table, y))
    check(models, space)


def test_ordered_categories_and_plain_ones_of_lightgbm_behind_preprocessing_are_stacked():
    space = columns()
    points, y = problem(space, n=800)
    make = lambda i: make_pipeline(  # noqa: E731
        preprocessing("standard", "mean", "one-hot")
        .set_params(categories="passthrough")
        .set_output(transform="pandas"),
        lightgbm(i, n_estimators=15, min_data_per_group=5, cat_smooth=1.0),
    )
    models = bootstrap_on(space, make, points, y)
    assert all(has_sets(model[-1]) for model in models)
    check(models, space)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("behind", ["nothing", "scaled numbers"])
def test_categories_that_hist_gradient_boosting_knows_itself_are_sets(behind, n_classes, monkeypatch):
    space = columns()
    points, y = problem(space, n_classes=n_classes)
    core = lambda i: HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=9, random_state=i)  # noqa: E731
    if behind == "nothing":
        models = bootstrap_on(space, core, points, y)
    else:
        models = bootstrap_on(
            space,
            lambda i: make_pipeline(
                preprocessing("robust", "median").set_params(categories="passthrough").set_output(transform="pandas"),
                core(i),
            ),
            points,
            y,
        )
    ensemble = check(models, space, probe=points[:20], monkeypatch=monkeypatch)
    assert len(ensemble.groups[0][1].kernel.columns.set_source)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", [{}, {"max_cat_to_onehot": 20}, {"max_cat_threshold": 2}], ids=str)
def test_categories_that_xgboost_knows_itself_are_stacked(options, n_classes, monkeypatch):
    space = columns()
    points, y = problem(space, n_classes=n_classes)
    models = bootstrap_on(
        space,
        lambda i: xgb.XGBClassifier(n_estimators=6, max_depth=4, n_jobs=1, enable_categorical=True, **options),
        points,
        y,
    )
    ensemble = check(models, space, probe=points[:20], monkeypatch=monkeypatch)
    assert len(ensemble.groups[0][1].kernel.columns.set_source)


GENERIC = {
    "bins": lambda: make_pipeline(preprocessing(), KBinsDiscretizer(encode="ordinal", quantile_method="linear")),
    "weighted": lambda: preprocessing(transformer_weights={"numbers": 2.0}),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", GENERIC)
def test_what_mixes_or_bins_columns_is_left_to_the_members(case):
    space = columns()
    points, y = problem(space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = bootstrap(lambda i: make_pipeline(GENERIC[case](), lightgbm(i)), space, points, y)
    check(models, space, GenericGroup)


def test_categories_among_the_numbers_of_a_point_are_left_to_the_members():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=300), rng.integers(0, 5, 300)])
    y = (X[:, 1] % 2 + 0.5 * rng.normal(size=300) > 0.5).astype(int)
    models = [HistGradientBoostingClassifier(max_iter=3, categorical_features=[1]).fit(X, y)]
    assert group_types(Ensemble(models, [0, 1])) == {GenericGroup}
    models = [lightgbm(0, min_data_per_group=5).fit(X, y, categorical_feature=[1])]
    assert group_types(Ensemble(models, [0, 1])) == {GenericGroup}


@pytest.mark.slow
def test_thresholds_and_masks_work_behind_preprocessing():
    space = columns()
    points, y = problem(space)
    models = bootstrap(
        lambda i: FixedThresholdClassifier(make_pipeline(preprocessing(), lightgbm(i)), threshold=0.3), space, points, y
    )
    check(models, space)
    points, y = problem(space, n_classes=4)
    models = bootstrap(lambda i: make_pipeline(preprocessing(), lightgbm(i)), space, points, y)
    ensemble = check(models, space)
    wanted = np.random.default_rng(0).random((len(points), 4)) < 0.5
    accepted = wanted[np.arange(len(points))[:, None], own_labels(models, space.decode(points))]
    np.testing.assert_array_equal(ensemble.margins(points, wanted) > 0, accepted)
    np.testing.assert_array_equal(ensemble.votes(points, wanted), accepted.sum(axis=1))


@pytest.mark.parametrize("family", ["lightgbm", "forest", "hist"])
def test_float32_columns_are_split_as_the_members_split_them(family):
    space = columns(number="float32", group=False)
    numbers = type(space)(tuple(r for r in space.readings if r.levels is None and r.name != "n1"), ("float32",) * 3)
    points, y = problem(space, missing=0.0)
    models = bootstrap(lambda i: make_pipeline(MinMaxScaler(), FAMILIES[family](i)), numbers, points, y)
    drawn = np.vstack([points, space.draw(np.random.default_rng(1), 2000, missing=0.0)])
    ensemble = Ensemble(models, [0, 1], features=numbers, probe=points[:20])
    assert group_types(ensemble) == {StackedGroup}
    (_, group), *_ = ensemble.groups
    edges = on_the_cuts(group.kernel, drawn, np.random.default_rng(2)).astype(np.float32).astype(np.float64)
    np.testing.assert_array_equal(ensemble.labels(edges), own_labels(models, numbers.decode(edges)))


def test_a_table_of_whole_numbers_and_categories_of_numbers_is_read():
    rng = np.random.default_rng(0)
    space = columns(category="object")
    points = space.draw(rng, 300)
    y = labels(points, rng)
    table = space.decode(points)
    assert pd.api.types.is_integer_dtype(table["n1"])
    assert set(CATEGORIES) | set(NUMBERS) <= set(table.columns)
    models = bootstrap(lambda i: make_pipeline(preprocessing("none", "mean", "target"), lightgbm(i)), space, points, y)
    check(models, space)
