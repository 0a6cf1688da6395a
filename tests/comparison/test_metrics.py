"""The paper's measures against hand-made numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

from betarce import Ensemble, FeatureSpace
from betarce.errors import InvalidInput
from betarce.metrics import (
    distance_to_base,
    empirical_robustness,
    plausibility,
    proximity,
    robustness,
    sparsity,
    validity,
)

RNG = np.random.default_rng(0)
POINTS, ORIGINALS, TRAIN = RNG.random((7, 4)), RNG.random((7, 4)), RNG.random((50, 4))


@pytest.mark.parametrize("p", [1, 2])
def test_proximity_is_the_norm_of_the_change(p):
    np.testing.assert_allclose(proximity(POINTS, ORIGINALS, p=p), np.linalg.norm(POINTS - ORIGINALS, ord=p, axis=1))


def test_scale_turns_original_units_into_ranges():
    scale = np.array([1.0, 10.0, 100.0, 1000.0])
    np.testing.assert_allclose(proximity(POINTS * scale, ORIGINALS * scale, scale=scale), proximity(POINTS, ORIGINALS))
    np.testing.assert_allclose(plausibility(POINTS * scale, TRAIN * scale, scale=scale), plausibility(POINTS, TRAIN))


@pytest.mark.parametrize("n_neighbors", [1, 15])
def test_plausibility_is_the_mean_distance_to_the_nearest_rows(n_neighbors):
    distances, _ = NearestNeighbors(n_neighbors=n_neighbors).fit(TRAIN).kneighbors(POINTS)
    np.testing.assert_allclose(plausibility(POINTS, TRAIN, n_neighbors=n_neighbors), distances.mean(axis=1))


def test_distance_to_base_is_l1():
    np.testing.assert_allclose(distance_to_base(POINTS, ORIGINALS), np.abs(POINTS - ORIGINALS).sum(axis=1))


def test_sparsity_counts_changed_features():
    changed = ORIGINALS.copy()
    changed[0, 1] += 0.5
    np.testing.assert_array_equal(sparsity(changed, ORIGINALS), [1, 0, 0, 0, 0, 0, 0])


def test_empirical_robustness_averages_over_points_and_models():
    y = TRAIN[:, 0] > 0.5
    model = DecisionTreeClassifier(max_depth=1).fit(TRAIN, y)
    opposite = DecisionTreeClassifier(max_depth=1).fit(TRAIN, ~y)
    assert empirical_robustness(model, [model, model, opposite], POINTS) == pytest.approx(2 / 3)
    assert validity(model, POINTS, model.predict(POINTS)) == 1


def test_robustness_is_a_share_of_members_for_each_point():
    y = TRAIN[:, 0] > 0.5
    members = [DecisionTreeClassifier(max_depth=1, random_state=0).fit(TRAIN, labels) for labels in (y, y, y, ~y)]
    target = members[0].predict(POINTS)
    np.testing.assert_array_equal(robustness(members, POINTS, target), np.full(7, 0.75))
    np.testing.assert_array_equal(robustness(Ensemble(members, [False, True]), POINTS, target), np.full(7, 0.75))
    assert robustness(members, POINTS[:0], True).shape == (0,)


def test_tables_are_measured_in_the_units_of_their_feature_space():
    table = pd.DataFrame({"age": [20.0, 40.0, 60.0, 60.0], "home": ["rent", "own", "own", "rent"]})
    features = FeatureSpace.infer(table)
    before, after = table.iloc[[0, 1]], table.iloc[[2, 1]]
    np.testing.assert_allclose(proximity(after, before, scale=features), [2.0, 0.0])
    np.testing.assert_allclose(proximity(after, before, p=2, scale=features), [np.sqrt(2), 0.0])
    np.testing.assert_allclose(distance_to_base(after, before, scale=features), [2.0, 0.0])
    np.testing.assert_array_equal(sparsity(after, before, scale=features), [2, 0])
    np.testing.assert_allclose(plausibility(before, table, n_neighbors=2, scale=features), [0.5, 0.25])
    encoded = features.encode(table)
    np.testing.assert_array_equal(
        proximity(encoded[:2], encoded[2:], scale=features), features.distance(encoded[:2], encoded[2:])
    )


def test_two_missing_values_do_not_differ():
    np.testing.assert_array_equal(sparsity(np.array([[np.nan, np.nan]]), np.array([[np.nan, 1.0]])), [1])


@pytest.mark.parametrize(
    "call",
    [
        lambda: proximity(POINTS, ORIGINALS[:3]),
        lambda: sparsity(POINTS[0], ORIGINALS[0]),
        lambda: plausibility(POINTS, TRAIN, n_neighbors=51),
        lambda: empirical_robustness(None, [], POINTS),
        lambda: robustness([], POINTS, 1),
    ],
)
def test_wrong_input_is_refused(call):
    with pytest.raises(InvalidInput):
        call()
