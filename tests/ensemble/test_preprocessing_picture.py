"""The picture of docs/preprocessing.md says what the fitted pipelines do."""

import numpy as np
import pandas as pd
import pytest

import preprocessing_picture
from betarce.datasets import load_loan


@pytest.fixture(scope="module")
def folded():
    return preprocessing_picture.compute()


def test_the_folded_tree_rejects_the_same_loans(folded):
    table = load_loan().X[["savings", "purpose"]].astype({"savings": float})
    rejected = (table["savings"] <= folded.cut) & table["purpose"].isin(folded.rejected)
    np.testing.assert_array_equal(rejected, folded.tree.predict(table) == 0)


def test_the_folded_logistic_regression_has_the_same_scores(folded):
    table = load_loan().X[["savings", "purpose"]].astype({"savings": float})
    levels = pd.Series(folded.level_weights, index=list(folded.levels))
    scores = folded.weight * table["savings"] + folded.intercept + levels[table["purpose"]].to_numpy()
    np.testing.assert_allclose(scores, folded.logistic.decision_function(table), rtol=1e-9, atol=1e-12)


def test_the_rewritten_cut_is_exact_where_the_inverse_of_the_scaler_is_not(folded):
    frame = folded.around_cut
    np.testing.assert_array_equal(frame["savings"] <= folded.cut, frame["went_left"])
    assert ((frame["savings"] <= folded.naive_cut) != frame["went_left"]).any()


def test_labels_that_differ_are_close_calls(folded):
    frame = folded.close_calls
    # Whether two labels differ at all hangs on how a processor rounds; where they could, both scores are in doubt.
    assert (frame["kernel"].abs() <= frame["doubt"]).any(), "no point of the picture is a close call"
    assert ((frame["kernel"] - frame["member"]).abs() <= frame["doubt"]).all()
    differ = (frame["kernel"] > 0) != (frame["member"] > 0)
    assert (frame.loc[differ, "kernel"].abs() <= frame.loc[differ, "doubt"]).all()


@pytest.mark.slow
def test_the_picture_is_drawn(folded, tmp_path):
    path = preprocessing_picture.save_png(preprocessing_picture.draw(folded), tmp_path / "preprocessing.png")
    assert path.stat().st_size > 20_000
