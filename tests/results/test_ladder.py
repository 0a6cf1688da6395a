"""Answers at other deltas: what a result keeps of its ladders is what other deltas would have handed out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.errors import InvalidInput
from betarce.results.ladder import Ladder, least_quorum
from betarce.robustify.certify import rungs_passed

X, Y = make_classification(n_samples=300, n_features=5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
DELTAS = (0.5, 0.55, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93)


@pytest.fixture(scope="module")
def rce():
    given = {"delta": 0.8, "confidence": 0.9, "n_models": (20, 60), "random_state": 0, "verbose": -1}
    return brce.BetaRCE(LogisticRegression(), **given).fit(X[:200], Y[:200])


@given(st.lists(st.integers(0, 20), max_size=12), st.integers(0, 20))
def test_every_walk_ends_where_the_ladder_says(votes, least):
    votes = np.array(votes, dtype=np.intp)
    points = np.arange(len(votes), dtype=float)[:, None]
    ladder = Ladder.walked(points, votes, least)
    for quorum in range(max(least, 1), 22):
        passed, place = rungs_passed(votes, quorum), ladder.place(quorum)
        assert (place is None) == (passed == 0)
        if place is not None:
            assert ladder.points[place, 0] == passed - 1
            assert ladder.n_agree[place] == votes[passed - 1] >= ladder.n_least[place] >= quorum
    assert (np.diff(ladder.n_least) < 0).all()


@pytest.mark.slow
def test_other_deltas_get_what_explain_would_have_handed_out(rce):
    rows = X[205:212]
    result = rce.explain(rows)
    assert result.certified.all()
    for delta in DELTAS:
        again = rce.set_params(delta=delta).explain(rows)
        for item, other in zip(result, again, strict=True):
            mine = item.at(delta)
            assert (mine is None) == (other.robust is None), delta
            assert mine is None or np.array_equal(mine, other.robust)
    rce.set_params(delta=0.8)


def test_the_answer_is_on_its_own_ladder(rce):
    for item in rce.explain(X[205:212]):
        place = item.ladder.place(rce.guarantee_.quorum(60))
        np.testing.assert_array_equal(item.ladder.points[place], item.points["robust"])
        assert item.ladder.n_agree[place] == item.certificate.n_agree
        assert len(item.ladder) > 3


def test_ladders_keep_no_answer_below_one_half(rce):
    lowest = least_quorum(rce.guarantee_, 60)
    assert lowest == brce.Guarantee(0.5, 0.9, reserve=0.5).quorum(60)
    assert all((item.ladder.n_least >= lowest).all() for item in rce.explain(X[205:212]))
    [item] = rce.explain(X[205])
    with pytest.raises(InvalidInput, match=r"`delta` must be at least 0\.5: no lower answer is recorded; got 0\.4"):
        item.at(0.4)
    with pytest.raises(InvalidInput, match="`delta` must be strictly between 0 and 1"):
        item.at(1)


def test_a_delta_that_so_many_members_cannot_certify_has_no_answer(rce):
    [item] = rce.explain(X[205])
    assert item.at(0.999) is None


@pytest.mark.slow
def test_a_row_in_a_table_gives_a_row_at_other_deltas():
    table = pd.DataFrame(X[:200], columns=list("abcde")).round(2)
    given = {"delta": 0.8, "confidence": 0.9, "n_models": (20, 60), "random_state": 0, "verbose": -1}
    rce = brce.BetaRCE(LogisticRegression(), **given).fit(table, Y[:200])
    [item] = rce.explain(table[:1])
    assert item.at(0.6).index.tolist() == list("abcde")
    assert item.at(0.8).equals(item.robust)
    loaded = brce.Result.from_json(rce.explain(table[:1]).to_json())[0]
    assert loaded.at(0.6).equals(item.at(0.6))


def test_rows_without_a_vote_have_no_answer_at_any_delta(rce):
    [label] = rce.model_.predict(X[205:206])
    [item] = rce.explain(X[205], target=label)
    assert item.status == "already-there"
    assert item.at(0.6) is None


def test_votes_of_members_that_are_all_the_same_promise_nothing_at_any_delta():
    rce = brce.BetaRCE(LogisticRegression(), space="seed", n_models=(5, 30), delta=0.9, random_state=0, verbose=-1)
    with pytest.warns(brce.errors.DegenerateSpace):
        rce.fit(X[:200], Y[:200])
    [item] = rce.explain(X[205])
    assert item.status == "not-varied"
    assert len(item.ladder) == 0
