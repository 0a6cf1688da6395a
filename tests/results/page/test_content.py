"""What the page says about each row, beside what the result says."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import betarce as brce
from answers_by_hand import HOUSING, answer, batch
from betarce.features import FeatureSpace
from betarce.results.page.content import page_content
from betarce.results.result import Result
from results_by_hand import N_MODELS, certified, many, unanswered


def place_at(person, quorum):
    """Find the option that a quorum leads to, as the script of the page does."""
    return sum(option["least"] >= quorum for option in person["options"]) - 1


@pytest.fixture(scope="module")
def explained():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=120).round(2), "b": rng.integers(0, 30, 120), "c": rng.normal(size=120)})
    y = np.where(X["a"] + X["b"] / 15 + X["c"] / 2 + rng.normal(size=120) / 3 > 1, "yes", "no")
    rce = brce.BetaRCE(LogisticRegression(), n_models=(15, 103), random_state=0, verbose=-1).fit(X, y)
    return rce.explain(X[rce.model_.predict(X) == "no"][:8], target="yes")


@pytest.mark.slow
def test_every_setting_of_the_slider_shows_what_that_delta_hands_out(explained):
    content = page_content(explained)
    [vote] = content["votes"]
    assert len(vote["settings"]) > 40
    for item, person in zip(explained, content["people"], strict=True):
        for delta, quorum in vote["settings"]:
            place, point = place_at(person, quorum), item.at(delta)
            assert (point is None) == (place < 0), delta
            if point is not None:
                moved = [j for j, name in enumerate("abc") if point[name] != item.original[name]]
                assert sorted(change[0] for change in person["options"][place]["changes"]) == moved


def test_the_setting_that_was_asked_for_shows_the_answer(explained):
    content = page_content(explained)
    for item, person in zip(explained, content["people"], strict=True):
        option = person["options"][person["answer"]]
        assert option["agree"] == item.certificate.n_agree
        assert option["effort"] == pytest.approx(item.distance_to_original, abs=1e-4)
        assert person["base"]["agree"] == item.base_agree
        assert len(option["changes"]) == len(item.changes()[item.changes()["from"] != item.changes()["to"]])


def test_deltas_that_so_many_members_cannot_certify_are_no_setting(explained):
    [vote] = page_content(explained)["votes"]
    deltas = [delta for delta, _ in vote["settings"]]
    assert deltas[0] == 0.5
    assert deltas[-1] == 0.97
    assert 0.9 in deltas
    assert deltas == sorted(deltas)


def test_an_odd_delta_is_a_setting_of_its_own():
    item = answer(robust={"age": 31})
    other = brce.Guarantee(0.875, 0.95, "jeffreys")
    content = page_content(batch(answer(robust={"age": 31}, certificate=other.certify(37, 38)), item))
    assert [0.875 in [delta for delta, _ in vote["settings"]] for vote in content["votes"]] == [True, False]
    assert [person["vote"]["on"] for person in content["people"]] == [0, 1]


def test_changes_are_in_original_units_the_largest_effort_first():
    [person] = page_content(batch(answer(robust={"income": 16_250.5, "purpose": "home", "age": 31})))["people"]
    changes = person["options"][person["answer"]]["changes"]
    columns = page_content(batch(answer(robust={"age": 31})))["columns"]
    named = [(columns[j]["title"], person["now"][j], to, kind) for j, to, _, kind, _ in changes]
    assert named == [
        ("purpose", "car", "home", "switch"),
        ("income", "12,000.00", "16,250.50", "up"),
        ("age", "30", "31", "up"),
    ]
    assert [change[2] for change in changes] == sorted((change[2] for change in changes), reverse=True)


def test_words_say_how_a_value_moves():
    robust = {"visits": None, "income": 3.0, **dict(zip(HOUSING, (1, 0, 0), strict=True))}
    [person] = page_content(batch(answer(robust=robust)))["people"]
    kinds = {kind: to for _, to, _, kind, _ in person["options"][0]["changes"]}
    assert kinds == {"withdraw": "missing", "down": "3", "switch": "own"}
    [person] = page_content(batch(answer(original={"visits": None}, base={"visits": None}, robust={"visits": 3})))[
        "people"
    ]
    assert person["options"][0]["changes"][0][:2] == [5, "3"]
    assert person["options"][0]["changes"][0][3] == "fill"


def test_places_lie_in_the_range_of_the_training_table():
    [person] = page_content(batch(answer(robust={"age": 80, "purpose": "home"})))["people"]
    places = {j: place for j, _, _, _, place in person["options"][0]["changes"]}
    assert places == {0: 1.0, 3: None}
    assert person["places"][0] == pytest.approx((30 - 18) / (80 - 18), abs=1e-4)


def test_what_costs_more_counts_as_more_effort():
    table = pd.DataFrame({"x": [0.0, 10.0, 5.0], "y": [0.0, 10.0, 5.0]})
    features = FeatureSpace.infer(table, {"y": brce.rules.cost(3)})
    item = certified(0, np.array([0.0, 0.0]), "yes", features, far=np.array([10.0, 10.0]))
    [person] = page_content(Result([item], features))["people"]
    changes = person["options"][0]["changes"]
    assert [(j, size) for j, _, size, _, _ in changes] == [(1, 3.0), (0, 1.0)]
    assert person["options"][0]["effort"] == 4.0


def test_derived_columns_are_marked_and_rules_are_in_words():
    table = pd.DataFrame({"debt": [10.0, 50.0, 30.0], "income": [100.0, 80.0, 40.0], "share": [0.1, 0.625, 0.75]})
    rules = {"share": brce.rules.derived("debt / income"), "debt": brce.rules.decrease_only()}
    content = page_content(Result([], FeatureSpace.infer(table, rules)))
    assert [column["derived"] for column in content["columns"]] == [False, False, True]
    assert content["columns"][0]["rule"] == "decrease only"
    assert content["columns"][1]["range"] == "40 to 100"


def test_rows_without_an_answer_say_their_status_and_reason():
    features = many(1).features
    original = many(1)[0].points["original"]
    items = [
        unanswered(status, original, "yes", features, status, reason=f"Because {status}.")
        for status in ("not-found", "infeasible", "already-there", "unreadable", "not-varied", "budget-spent")
    ]
    people = page_content(Result(items, features))["people"]
    assert [person["answer"] for person in people] == [None] * 6
    assert [person["reason"] for person in people] == [f"Because {person['status']}." for person in people]
    assert [person["now"] is None for person in people] == [False, False, False, True, False, False]
    assert [person["target"] for person in people][3] == []
    assert [person["vote"] is None for person in people] == [False, True, True, True, False, True]


def test_a_row_that_has_an_answer_only_for_less_certainty_keeps_it():
    result = many(1)
    features, original = result.features, result[0].points["original"]
    ladder = brce.results.ladder.Ladder(original[None], np.array([80]), np.array([80]))
    [person] = page_content(Result([unanswered("x", original, "yes", features, ladder=ladder)], features))["people"]
    assert person["answer"] is None
    assert [option["least"] for option in person["options"]] == [80]
    assert person["vote"]["agree"] == 80 < brce.Guarantee(0.9, 0.95).quorum(N_MODELS)


def test_several_accepted_classes_are_all_named():
    item = answer(robust={"age": 31}, target=["good", "top"])
    [person] = page_content(batch(item))["people"]
    assert person["target"] == ["good", "top"]
