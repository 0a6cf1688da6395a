"""CatBoost: symmetric trees, numbers, categories of few levels, and what is left to the model itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV

from betarce import Ensemble
from betarce.ensemble.stacked import StackedGroup
from betarce.errors import SlowMembers
from betarce.models.recipe import fresh_copy, seed_everything
from mixed_pipelines import CATEGORIES, bootstrap, columns, problem

catboost = pytest.importorskip("catboost", reason="CatBoost is not installed: pip install betarce[catboost]")


def model(i, **options):
    settings = {"iterations": 8, "depth": 4, "cat_features": CATEGORIES, "one_hot_max_size": 10}
    quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "random_seed": i}
    return catboost.CatBoostClassifier(**{**settings, **quiet, **options})


def no_missing_categories(points):
    """Fill in the categories: CatBoost refuses missing ones."""
    return np.where(np.isnan(points) & (np.arange(points.shape[1]) >= 4), 0.0, points)


def trained(space, n_classes=2, **options):
    points, y = problem(space, n_classes=n_classes)
    points = no_missing_categories(points)
    return points, bootstrap(lambda i: model(i, **options), space, points, y)


def own_labels(models, table):
    return np.stack([model.predict(table).reshape(-1) for model in models], axis=1)


@given(
    n_classes=st.sampled_from([2, 3]),
    depth=st.integers(1, 6),
    options=st.sampled_from([{}, {"nan_mode": "Max"}, {"one_hot_max_size": 3, "max_ctr_complexity": 1}]),
    category=st.sampled_from(["category", "object"]),
)
@settings(max_examples=8)
def test_labels_are_those_of_the_members_on_mixed_tables(n_classes, depth, options, category):
    space = columns(category=category)
    points, models = trained(space, n_classes, depth=depth, **options)
    ensemble = Ensemble(models, np.arange(n_classes), features=space, probe=points[:20])
    assert {type(group) for _, group in ensemble.groups} == {StackedGroup}, ensemble
    drawn = no_missing_categories(space.draw(np.random.default_rng(3), 600))
    own = own_labels(models, space.decode(drawn))
    np.testing.assert_array_equal(ensemble.labels(drawn), own)
    np.testing.assert_array_equal(ensemble.margins(drawn, 1) > 0, own == 1)


def test_borders_of_numbers_are_met_to_the_last_bit():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
    models = [model(i, cat_features=None, iterations=20).fit(X, y) for i in range(2)]
    ensemble = Ensemble(models, [0, 1], probe=X[:20])
    ((_, group),) = ensemble.groups
    cuts = group.kernel.forest.threshold
    cuts = cuts[np.isfinite(cuts)]
    points = np.random.default_rng(1).choice(np.concatenate([cuts, np.nextafter(cuts, 9)]), (2000, 3))
    np.testing.assert_array_equal(ensemble.labels(points), own_labels(models, points))


def test_margins_are_the_raw_scores_of_the_model():
    space = columns()
    points, models = trained(space)
    ensemble = Ensemble(models, [0, 1], features=space)
    raw = models[0].predict(space.decode(points), prediction_type="RawFormulaVal")
    np.testing.assert_allclose(ensemble.margins(points, 1)[:, 0], raw, atol=1e-12)


def test_a_missing_category_is_the_members_own_error():
    space = columns()
    points, models = trained(space)
    ensemble = Ensemble(models, [0, 1], features=space)
    holed = points[:2].copy()
    holed[0, 4] = np.nan
    with pytest.raises(catboost.CatBoostError, match="NaN"):
        ensemble.labels(holed)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (
            {"one_hot_max_size": 1, "iterations": 60, "depth": 6, "max_ctr_complexity": 3},
            "statistics over several columns at once",
        ),
        ({"grow_policy": "Depthwise"}, "not symmetric"),
        ({"loss_function": "CrossEntropy"}, "CrossEntropy"),
    ],
)
def test_what_is_not_read_is_asked_itself_and_says_why(options, why):
    space = columns()
    points, models = trained(space, **options)
    with pytest.warns(SlowMembers, match=why):
        ensemble = Ensemble(models, [0, 1], features=space)
    np.testing.assert_array_equal(ensemble.labels(points), own_labels(models, space.decode(points)))


@pytest.mark.parametrize("gone", ["save_model", "get_all_params", "calc_leaf_indexes", "get_cat_feature_indices"])
def test_a_method_that_is_gone_means_one_warning_and_the_same_labels(gone, monkeypatch):
    space = columns()
    points, models = trained(space)
    own = own_labels(models, space.decode(points))

    def fail(*_, **__):
        raise AttributeError(gone)

    for each in models:
        monkeypatch.setattr(each, gone, fail)
    with pytest.warns(SlowMembers) as caught:
        ensemble = Ensemble(models, [0, 1], features=space)
    assert len(caught) == 1
    np.testing.assert_array_equal(ensemble.labels(points), own)


def test_members_get_seeds_of_their_own():
    given = [catboost.CatBoostClassifier(), catboost.CatBoostClassifier(random_state=1, thread_count=3)]
    one, two = (seed_everything(each, 7).get_params() for each in given)
    assert one == {"random_seed": 7, "thread_count": 1}
    assert two == {"random_state": 7, "thread_count": 1}


def test_a_model_with_a_list_of_categories_is_copied():
    given = model(3)
    copied = fresh_copy(given)
    assert copied is not given
    assert copied.get_params() == given.get_params()


def test_a_calibrated_model_answers_through_its_trees():
    X = np.random.default_rng(0).normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.5).astype(int)
    models = [CalibratedClassifierCV(model(i, cat_features=None), cv=2).fit(X, y) for i in range(2)]
    ensemble = Ensemble(models, [0, 1], probe=X[:20])
    assert ensemble.path == "stacked"
    np.testing.assert_array_equal(ensemble.labels(X), own_labels(models, X))
