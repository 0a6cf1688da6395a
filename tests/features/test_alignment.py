"""Rows that carry labels are matched by them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier

import betarce as brce
from betarce.errors import InvalidInput
from betarce.features.alignment import aligned_rows, aligned_values, check_labels_in_order

PEOPLE = pd.DataFrame({"age": [30, 50, 70]}, index=["ann", "bob", "cyd"])


@pytest.mark.slow
@given(
    st.permutations(range(5)),
    st.sampled_from([list("abcde"), [10, 11, 12, 13, 14], [(1, "x"), (2, "x"), (3, "y"), (4, "z"), (5, "z")]]),
)
def test_base_points_and_a_target_series_are_matched_by_position(order, labels):
    X = pd.DataFrame({"age": np.arange(5)}, index=pd.Index(labels))
    shuffled = X.iloc[list(order)]
    pd.testing.assert_frame_equal(aligned_rows(shuffled, X, what="base_points"), X)
    pd.testing.assert_series_equal(aligned_values(shuffled["age"], X, what="target"), X["age"])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["ann", "bob", "eve"], "`base_points` must have the row labels of `X`; it has 'eve', which `X` lacks"),
        (["ann", "bob"], "it lacks 'cyd'"),
        ([0, 1, 2], r"it has 0, which `X` lacks\. To match rows by their place instead, pass base_points\.to_numpy"),
        (["ann", "bob", "bob"], "since `base_points` has the label 'bob' twice"),
    ],
)
def test_other_labels_are_refused_with_the_way_out(labels, message):
    other = pd.DataFrame({"age": np.arange(len(labels))}, index=labels)
    with pytest.raises(InvalidInput, match=message):
        aligned_rows(other, PEOPLE, what="base_points")
    with pytest.raises(InvalidInput, match=message):
        aligned_values(other["age"], PEOPLE, what="base_points")


def test_labels_that_repeat_must_be_the_same_ones_in_the_same_order():
    X = pd.DataFrame({"age": [1, 2, 3]}, index=["a", "b", "b"])
    same = X + 10
    assert aligned_rows(same, X, what="base_points") is same
    with pytest.raises(InvalidInput, match="since `X` has the label 'b' twice"):
        aligned_rows(same.iloc[::-1], X, what="base_points")


@pytest.mark.parametrize(
    "given",
    [
        np.array([[1], [2], [3]]),
        [[1], [2], [3]],
        pl.DataFrame({"age": [1, 2, 3]}),
        pd.Series({"age": 30}, name="a single row"),
        None,
    ],
    ids=["array", "list", "polars", "row", "none"],
)
def test_what_has_no_labels_keeps_its_place(given):
    assert aligned_rows(given, PEOPLE, what="base_points") is given


@pytest.mark.parametrize(
    "X", [PEOPLE.to_numpy(), pl.DataFrame({"age": [1, 2, 3]}), PEOPLE.iloc[0]], ids=["array", "polars", "row"]
)
def test_rows_without_labels_are_matched_by_place(X):
    other = pd.DataFrame({"age": [1, 2, 3]}, index=[7, 8, 9])
    assert aligned_rows(other, X, what="base_points") is other
    assert aligned_values(other["age"], X, what="target") is not None


@pytest.mark.parametrize("target", ["yes", {"yes", "no"}, ["yes", "no", "yes"], np.array([1, 0, 1]), None])
def test_a_target_without_labels_is_left_alone(target):
    assert aligned_values(target, PEOPLE, what="target") is target


def test_labels_to_train_with_in_another_order_are_refused():
    with pytest.raises(InvalidInput, match=r"`y` must be in the order of `X`; row 0 of `X` is 'ann', and of `y` 'cyd'"):
        check_labels_in_order(pd.Series([1, 0, 1], index=["cyd", "bob", "ann"]), PEOPLE)


@pytest.mark.parametrize("labels", [["ann", "bob", "cyd"], [0, 1, 2], ["ann", "ann", "bob"]], ids=repr)
def test_labels_with_another_index_go_by_place_as_in_scikit_learn(labels):
    check_labels_in_order(pd.Series([1, 0, 1], index=labels), PEOPLE)
    check_labels_in_order(pd.Series([1, 0, 1], index=labels), PEOPLE.to_numpy())


def test_the_share_of_members_is_matched_by_label_too():
    yes = DummyClassifier(strategy="constant", constant=1).fit(PEOPLE, [0, 1, 1])
    target = pd.Series([0, 1, 1], index=["cyd", "bob", "ann"])
    np.testing.assert_array_equal(brce.metrics.robustness([yes], PEOPLE, target), [1, 1, 0])
    with pytest.raises(InvalidInput, match="`target` must have the row labels of `points`; it has 7, which `points`"):
        brce.metrics.robustness([yes], PEOPLE, pd.Series([0, 1, 1], index=[7, 8, 9]))
