"""Base methods: the contract, and foreign functions."""

import numpy as np
import pytest

from betarce.errors import InvalidInput
from betarce.explainers import FromCallable, GrowingSpheres, NearestUnlike, check_explainer
from betarce.search import GrowingSpheresSearch
from contract_cases import keeps_the_contract
from small_problem import (
    FEATURES,
    MODEL,
    ORIGINALS,
    PROBLEM,
    SEEDS,
    TABLE,
    TARGETS,
)

test_growing_spheres_keeps_the_contract = keeps_the_contract(
    GrowingSpheres(), rules=True, frugal=GrowingSpheres(GrowingSpheresSearch(max_evaluations=1))
)


def nearest_of_the_class(x, model, target):
    rows = TABLE[TABLE["d"] != "z"].assign(c=x["c"])
    rows = rows[model.predict(rows) == target]
    return rows.loc[((rows["a"] - x["a"]).abs() + (rows["b"] - x["b"]).abs() / 9).idxmin()]


def nearest_allowed(case):
    """Give a function that hands out the nearest training row of the class, in the user's own form."""

    def function(x, model, target):
        original = case.features.encode(x)
        wanted = np.isin(case.problem.model.classes, target)[None]
        answer = NearestUnlike().explain(original, wanted, case.problem, case.features.box(original), [0])
        if not answer.found[0]:
            raise RuntimeError("none")
        return case.features.row(answer.points[0])

    return FromCallable(function)


test_a_function_keeps_the_contract = keeps_the_contract(nearest_allowed)


def explain(explainer):
    return explainer.explain(ORIGINALS, TARGETS, PROBLEM, FEATURES.box(ORIGINALS), SEEDS)


def test_a_function_that_fails_for_one_row_spoils_no_other():
    calls = []

    def moody(x, model, target):
        calls.append(x)
        if len(calls) == 3:
            raise RuntimeError("no idea")
        return nearest_of_the_class(x, model, target)

    result = explain(FromCallable(moody))
    np.testing.assert_array_equal(np.flatnonzero(~result.found), [2])
    assert result.reasons[2] == "The base method failed: RuntimeError: no idea"


def test_a_function_that_returns_nonsense_says_so():
    result = explain(FromCallable(lambda x, model, target: [1.0]))
    assert not result.found.any()
    assert "must have the 4 columns" in result.reasons[0]


def test_a_spent_budget_gives_a_reason():
    result = explain(GrowingSpheres(GrowingSpheresSearch(max_evaluations=1)))
    assert not result.found.any()
    assert "Raise `max_evaluations`" in result.reasons[0]


@pytest.mark.parametrize("base", ["magic", 3, GrowingSpheres])
def test_an_unknown_base_is_refused(base):
    with pytest.raises(InvalidInput, match="`base` must be"):
        check_explainer(base)


def test_the_model_gets_the_users_own_table():
    seen = []
    explain(FromCallable(lambda x, model, target: seen.append((x, model)) or x))
    assert list(seen[0][0].index) == list(TABLE.columns)
    assert seen[0][1] is MODEL
