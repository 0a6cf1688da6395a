"""Which rules stand in the way, and what takes the place of a base that was not found."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.explainers import Explained
from betarce.robustify.blocking import blocking_columns

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.normal(size=150), "b": RNG.normal(size=150), "c": RNG.normal(size=150)})
LABELS = (TABLE["a"] + 0.8 * TABLE["b"] > 0).astype(int)


def fitted(features, labels=LABELS, **options):
    settings = {"delta": 0.7, "confidence": 0.8, "n_models": (6, 8), "random_state": 0, "verbose": -1, **options}
    return brce.BetaRCE(LogisticRegression(), features=features, **settings).fit(TABLE, labels)


def rejected(rce):
    return TABLE[rce.model_.predict(TABLE) == 0][:4]


def test_a_row_without_an_answer_learns_which_rule_stands_in_the_way():
    frozen = {"a": brce.immutable(), "b": brce.immutable()}
    rce = fitted(frozen)
    result = rce.explain(rejected(rce))
    assert {item.status for item in result} == {"not-found"}
    assert "What stands in the way is the rule on 'a' (immutable)" in result[0].reason


def test_the_reason_of_the_fourth_row_without_an_answer_was_shorter_than_that_of_the_third():
    rce = fitted({"a": brce.at_most(0.02), "b": brce.at_most(0.02), "c": brce.immutable()})
    rows = TABLE[(rce.model_.predict(TABLE) == 0) & (TABLE["a"] + 0.8 * TABLE["b"] < -1)][:9]
    together = {item.name: item.reason for item in rce.explain(rows)}
    assert all("What stands in the way" in reason for reason in together.values())
    assert len(set(together.values())) > 1, "rows that all hear the same would hide a mix-up"
    assert {item.name: item.reason for item in rce.explain(rows[::-1])} == together
    assert {name: rce.explain(rows.loc[[name]])[0].reason for name in rows.index} == together


def test_a_rule_of_a_single_row_is_named_to_that_row_alone():
    rce = fitted({"b": brce.immutable()})
    rows = rejected(rce)
    own = {rows.index[1]: {"a": brce.immutable()}}
    result = rce.explain(rows, overrides=own)
    assert [item.status for item in result] == ["certified", "not-found", "certified", "certified"]
    assert "the rule on 'a' (immutable)" in result[1].reason


def test_rules_are_not_blamed_for_a_base_that_the_users_method_missed():
    rce = fitted({"c": brce.immutable(), "a": brce.at_most(3)}, base=Blind())
    assert [item.reason for item in rce.explain(rejected(rce))] == ["Nothing was found."] * 4


def test_two_rules_are_named_where_no_single_one_blocks():
    rules = {"a": brce.at_most(0.01), "b": brce.at_most(0.01), "c": brce.immutable()}
    rce = fitted(rules, labels=(TABLE["a"] + TABLE["b"] > 1.5).astype(int))
    row = rce.features_.encode(TABLE[:1].assign(a=TABLE["a"].min(), b=TABLE["b"].min()))
    assert blocking_columns(rce.problem_, row, np.array([[False, True]])) == [("a", "b")]


def test_nothing_is_blamed_where_there_are_no_rules():
    rce = fitted(None)
    assert blocking_columns(rce.problem_, rce.problem_.X_train[:1], np.array([[False, True]])) == [()]


class Blind:
    """Finds nothing."""

    def explain(self, originals, targets, problem, box, seeds):
        n = len(originals)
        return Explained(originals.copy(), np.zeros(n, dtype=bool), ["Nothing was found."] * n, np.zeros(n, dtype=int))


def test_a_named_base_method_that_finds_nothing_is_replaced_by_the_closest_counterfactual(monkeypatch):
    monkeypatch.setitem(brce.explainers.EXPLAINERS, "growing-spheres", Blind)
    rce = fitted(None, base="growing-spheres")
    result = rce.explain(rejected(rce))
    assert all(item.status == "certified" for item in result)
    assert "The closest plain counterfactual took its place." in result[0].note


@pytest.mark.parametrize("base", [Blind()])
def test_the_users_own_explainer_is_taken_at_its_word(base):
    rce = fitted(None, base=base)
    assert {item.status for item in rce.explain(rejected(rce))} == {"base-not-found"}
