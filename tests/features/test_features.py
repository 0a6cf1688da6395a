"""Columns: types and units survive, rules hold."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from betarce import at_most, between, decrease_only, immutable, increase_only
from betarce.errors import InvalidInput
from betarce.features import FeatureSpace, Rule
from betarce.features.limits import is_unlimited, joined_limits

TABLE = pd.DataFrame(
    {
        "age": np.array([20, 60, 35], dtype=np.int64),
        "debt": [0.1, 4000.7, 12.25],
        "ratio": np.array([0.1, 0.9, 0.3], dtype=np.float32),
        "owner": [True, False, True],
    }
)


def test_a_table_comes_back_as_it_went_in_bit_for_bit():
    features = FeatureSpace.infer(TABLE)
    again = features.decode(features.encode(TABLE), index=TABLE.index)
    pd.testing.assert_frame_equal(again, TABLE, check_exact=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int32])
def test_an_array_comes_back_as_it_went_in(dtype):
    X = np.array([[1, 2], [3, 5]], dtype=dtype)
    again = FeatureSpace.infer(X).decode(FeatureSpace.infer(X).encode(X))
    assert again.dtype == dtype
    np.testing.assert_array_equal(again, X)


@pytest.mark.slow
@given(arrays(np.float64, (20, 4), elements=st.floats(-1e6, 1e6)))
def test_a_projected_point_can_be_handed_out_without_a_change(points):
    features = FeatureSpace.infer(TABLE, rules={"debt": between(-10, 10)})
    originals = np.repeat(features.encode(TABLE[:1]), 20, axis=0)
    box = features.box(originals)
    projected = features.project(points, box)
    assert (projected >= box.lower).all()
    assert (projected <= box.upper + 1e-6).all()
    np.testing.assert_array_equal(features.encode(features.decode(projected)), projected)
    np.testing.assert_array_equal(features.project(projected, box), projected)


def test_rules_say_where_each_row_may_go():
    features = FeatureSpace.infer(TABLE, rules={"age": immutable(), "debt": at_most(5.0), "ratio": increase_only()})
    box = features.box(features.encode(TABLE))
    np.testing.assert_array_equal(box.lower[:, 0], TABLE["age"])
    np.testing.assert_array_equal(box.upper[:, 0], TABLE["age"])
    assert box.lower[2, 1] == 12.25 - 5.0
    np.testing.assert_allclose(box.lower[:, 2], TABLE["ratio"])
    down = FeatureSpace.infer(TABLE, rules={"debt": decrease_only()}).box(features.encode(TABLE))
    np.testing.assert_array_equal(down.upper[:, 1], TABLE["debt"])


def test_a_value_out_of_range_may_stay_where_it_is():
    features = FeatureSpace.infer(np.array([[0.0], [1.0]]))
    box = features.box(np.array([[3.0]]))
    assert (box.lower[0, 0], box.upper[0, 0]) == (0.0, 3.0)


def test_a_constant_column_cannot_move_and_does_not_divide_by_zero():
    features = FeatureSpace.infer(np.array([[0.0, 7.0], [1.0, 7.0]]))
    assert features.scale[1] == 1
    box = features.box(np.array([[0.5, 7.0]]))
    assert box.lower[0, 1] == box.upper[0, 1] == 7


def test_columns_are_found_by_name_in_any_order():
    features = FeatureSpace.infer(TABLE)
    np.testing.assert_array_equal(features.encode(TABLE[TABLE.columns[::-1]]), features.encode(TABLE))


def test_a_single_row_may_be_a_series():
    features = FeatureSpace.infer(TABLE)
    np.testing.assert_array_equal(features.encode(TABLE.iloc[1]), features.encode(TABLE[1:2]))


@given(arrays(np.float64, (2, 5, 3), elements=st.floats(-10, 10)))
def test_distance_is_a_metric_in_units_of_the_range(ab):
    a, b = ab
    features = FeatureSpace.infer(np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 4.0]]))
    for norm, p in (("l1", 1), ("l2", 2)):
        expected = np.linalg.norm((a - b) / [1, 2, 4], ord=p, axis=1)
        np.testing.assert_allclose(features.distance(a, b, norm=norm), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (TABLE.drop(columns="age"), "lacks 'age'"),
        (TABLE.assign(extra=1), "has unknown 'extra'"),
        (TABLE.assign(debt=np.nan), "has no value in column 'debt', row 0"),
        (TABLE.assign(debt=np.inf), "is inf"),
        (TABLE.assign(debt="much"), "must hold numbers in column 'debt'"),
        (TABLE[:0], "at least one row"),
        (np.zeros((3, 2)), "must have the 4 columns"),
        (np.zeros((2, 2, 2)), "must be a table"),
        (3.0, "must be a table"),
    ],
)
def test_a_wrong_table_is_refused_with_a_clear_word(X, message):
    with pytest.raises(InvalidInput, match=message):
        FeatureSpace.infer(TABLE).encode(X)


def test_an_array_of_mixed_objects_comes_back_as_it_went_in():
    X = np.array([[1, "a", 0.5], [2, "b", 1.0]], dtype=object)
    features = FeatureSpace.infer(X)
    again = features.decode(features.encode(X))
    assert again.tolist() == X.tolist()
    assert [type(value) for value in again[0]] == [int, str, float]
    assert features.describe()["kind"].tolist() == ["integer", "categorical", "continuous"]


def test_repeated_column_names_are_refused():
    with pytest.raises(InvalidInput, match="distinct column names; repeated: 'a'"):
        FeatureSpace.infer(pd.DataFrame([[1, 2]], columns=["a", "a"]))


@pytest.mark.parametrize(
    ("rules", "message"),
    [({"wealth": immutable()}, "the column 'wealth', which the table lacks"), ({"age": "fixed"}, "must be a rule")],
)
def test_a_wrong_rule_is_refused(rules, message):
    with pytest.raises(InvalidInput, match=message):
        FeatureSpace.infer(TABLE, rules=rules)


def test_a_rule_that_cannot_be_is_refused():
    with pytest.raises(InvalidInput):
        between(3, 1)
    with pytest.raises(InvalidInput):
        at_most(-1)


def test_columns_without_rules_have_the_limits_that_each_would_have_alone():
    table = pd.DataFrame({"a": [0.137, 2.71, np.nan], "b": [1.31, 5.117, 3.0013], "c": [1.0, 2.5, 4.123]})
    features = FeatureSpace.infer(table)
    assert all(is_unlimited(column, None) for column in features.columns), "nothing would be compared"
    rows = np.array([[0.5, np.nan, 9.0], [np.nan, 2.0, -3.0], [9.0, 1.31, 4.123]])
    box = features.box(rows)
    for j, column in enumerate(features.columns):
        alone = joined_limits(column, [(Rule(), np.arange(3))], rows[:, j])
        for name in ("lower", "upper", "may_miss"):
            assert np.array_equal(getattr(box, name)[:, j], getattr(alone, name), equal_nan=name != "may_miss"), name
        assert alone.choices is None
        assert not any(alone.conflict)
