"""Numbers are handed out as the table writes them: decimals, zeros and ones, no noise, no signed zero."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.features import FeatureSpace
from betarce.search import GrowingSpheresSearch, Task

RNG = np.random.default_rng(0)
N = 80
FLAG = (RNG.random(N) > 0.6).astype(float)
MONEY = np.round(RNG.uniform(0, 90, N), 2)
ANY = RNG.uniform(0, 90, N)


def kinds(table):
    return [(column.kind, column.step) for column in FeatureSpace.infer(table).columns]


def moved(features, points, seed=0):
    """Points far and near, as a search would try them."""
    rng = np.random.default_rng(seed)
    box = features.box(points)
    return features.project(points + rng.normal(size=points.shape) * features.scale, box), box


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_float32_tables_ignore_decimals(dtype):
    table = pd.DataFrame({"female": FLAG, "debt": MONEY, "rate": ANY}).astype(dtype)
    assert kinds(table) == [("binary", 1.0), ("continuous", 0.01), ("continuous", None)]
    features = FeatureSpace.infer(table)
    points, box = moved(features, features.encode(table))
    handed_out = features.decode(points)
    assert set(handed_out["female"]) == {0, 1}
    np.testing.assert_array_equal(handed_out["debt"], handed_out["debt"].astype(float).round(2).astype(dtype))
    assert not features.violations(points, box).any()


def test_float32_of_polars_keeps_decimals_too():
    table = pl.DataFrame({"female": FLAG, "debt": MONEY}, schema={"female": pl.Float32, "debt": pl.Float32})
    assert kinds(table) == [("binary", 1.0), ("continuous", 0.01)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_floats_that_are_0_or_1_are_binary_as_the_docs_say_in_arrays_too(dtype):
    table = np.column_stack([FLAG, MONEY]).astype(dtype)
    assert kinds(table) == [("binary", 1.0), ("continuous", None)]


def test_a_few_zeros_and_ones_say_nothing():
    assert kinds(np.array([[0.0], [1.0]])) == [("continuous", None)]


@pytest.mark.parametrize("size", [1e3, 1e5, 1e7])
def test_any_large_float32_has_few_decimals_and_that_says_nothing(size):
    table = pd.DataFrame({"x": (RNG.random(N) * size).astype(np.float32)})
    assert kinds(table) == [("continuous", None)]


@pytest.mark.slow
@settings(max_examples=60)
@given(
    st.lists(st.integers(-900, 900), min_size=10, max_size=20),
    st.sampled_from([1, 10, 100]),
    st.sampled_from([None, brce.at_most(0.3), brce.increase_only(), brce.between(-0.7, 0.7)]),
    st.integers(0, 99),
)
def test_the_grid_of_float32_reaches_the_ends_of_its_range(places, parts, rule, seed):
    numbers = pd.DataFrame({"x": (np.array(places) / parts).astype(np.float32)})
    features = FeatureSpace.infer(numbers, None if rule is None else {"x": rule})
    points = features.encode(numbers)
    projected, box = moved(features, points, seed)
    fine = np.array([not conflict for conflict in box.conflicts])
    assert not features.violations(projected, box)[fine].any()
    np.testing.assert_array_equal(features.project(projected, box)[fine], projected[fine])
    written = features.decode(projected)["x"].to_numpy()
    np.testing.assert_array_equal(written[fine], np.round(written.astype(float), 2).astype(np.float32)[fine])
    if rule is None and features.columns[0].step is not None:
        for end, far in ((points.min(), -np.inf), (points.max(), np.inf)):
            assert (features.project(np.full_like(points, far), box) == end).all()


def test_a_step_of_float32_may_be_taken_in_full():
    numbers = pd.DataFrame({"x": (np.arange(12) / 10).astype(np.float32)})
    features = FeatureSpace.infer(numbers, {"x": brce.at_most(0.1)})
    points = features.encode(numbers)
    box = features.box(points)
    np.testing.assert_array_equal(features.project(points + 5, box)[:-1], points[1:])
    np.testing.assert_array_equal(features.project(points - 5, box)[1:], points[:-1])


# Zero has no sign


def test_minus_zero_is_shown_and_stored():
    table = pd.DataFrame({"x": [-0.0, 1.0, -0.25, -0.5] * 4, "n": [-0.3, 2.7, 1.5, 0.0] * 4, "i": [0, 1, 2, 3] * 4})
    features = FeatureSpace.infer(table, {"n": brce.continuous(step=1)})
    points = features.encode(table)
    assert not np.signbit(points[points == 0]).any()
    box = features.box(points)
    for walls in (box.lower, box.upper):
        assert not np.signbit(walls[walls == 0]).any()
    tries = np.stack([np.full(3, value) for value in (-0.0, -1e-9, -0.2, 0.2)])[np.arange(16) % 4]
    projected = features.project(tries, box)
    assert not np.signbit(projected[projected == 0]).any()
    assert features.columns[0].show(-0.0) == "0"
    model = LGBMClassifier(n_estimators=5, min_child_samples=2, verbose=-1)
    y = (table["x"] < -0.1).astype(int)
    rce = brce.BetaRCE(
        model, base=None, delta=0.6, confidence=0.7, n_models=6, prior="jeffreys", random_state=0, verbose=-1
    ).fit(table, y)
    text = rce.explain(table[:4]).to_json()
    assert not re.search(r"-0\.0(?!\d)", text)
    assert json.loads(text)["rows"][0]["original"]["x"] == 0.0


# No move that nobody can make


def test_growing_spheres_hands_out_1e_35():
    """LightGBM's threshold beside zero is 1e-35: the smallest ball around zero always holds a hit."""
    features = FeatureSpace.infer(np.array([[0.0, 0.0], [1.0, 5.0]]))
    centers = np.zeros((1, 2))

    def beyond_zero(points, rows):
        return points[:, 0] > 1e-35

    found = GrowingSpheresSearch().find(Task(centers, features, features.box(centers), [0]), beyond_zero)
    assert found.found.all()
    assert found.points[0, 0] >= 1e-12
    assert found.points[0, 1] == 0 or abs(found.points[0, 1]) >= 5e-12


@given(st.lists(st.floats(-1e-9, 1e-9), min_size=6, max_size=6), st.floats(-50, 50))
def test_tidy_points_are_at_the_original_at_zero_or_off_by_more_than_rounding(moves, start):
    features = FeatureSpace.infer(np.array([[-50.0, 0.0], [50.0, 1.0]]))
    origin = np.array([[start, 0.5]] * 6)
    box = features.box(origin)
    points = features.project(origin + np.array(moves)[:, None], box)
    tidied = features.tidy(points, box)
    gap = np.abs(tidied - origin)
    assert ((gap == 0) | (gap > 1e-12 * features.scale) | (tidied == 0)).all()
    assert (np.abs(tidied - points) <= 1e-12 * features.scale).all()
    assert not features.violations(tidied, box).any()


def test_changes_of_single_precision_are_written_with_their_decimals():
    table = pd.DataFrame({"debt": MONEY, "rate": MONEY[::-1]}).astype("float32")
    rce = brce.BetaRCE(LogisticRegression(), delta=0.7, confidence=0.8, n_models=(5, 12), random_state=0, verbose=-1)
    changes = rce.fit(table, MONEY > 45).explain(table[:8]).changes()
    assert len(changes)
    for text in changes[["from", "base", "to"]].to_numpy().ravel():
        assert len(str(text).partition(".")[2]) <= 2, text
